//! Whether a run wrote what it was to write.

use anyhow::{Result, ensure};
use manyfiles_testkit::{Compare, Corpus, Tree};

use crate::contest::Check;

/// Every corpus of every run is made from this seed.
pub const SEED: u64 = 20_261_121;

/// Checks that a folder holds the corpus and nothing else.
pub fn holds(corpus: &Corpus) -> Check<'static> {
    let expected = corpus.tree();
    Box::new(move |folder| same(&expected, &Tree::read(folder)?))
}

/// Names, kinds, contents, link targets and hard links.
pub fn same(expected: &Tree, actual: &Tree) -> Result<()> {
    alike(expected, actual, Compare { hard_links: true, ..Compare::default() })
}

pub fn alike(expected: &Tree, actual: &Tree, compare: Compare) -> Result<()> {
    let differences = expected.diff(actual, compare).0;
    ensure!(differences.is_empty(), "{} differences, the first: {}", differences.len(), differences[0]);
    Ok(())
}
