//! [`Corpus`]: the same files every time, and whether a folder holds them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

/// Every corpus is made from this seed.
pub(crate) const SEED: u64 = 20_261_121;

/// The content of one file in so many is compared after each run; names and lengths of all.
const SAMPLED: usize = 16;

/// Files in memory, those of one folder together.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Relative path and content of each file.
    pub files: Vec<(PathBuf, Arc<[u8]>)>,
}

/// Relative paths and contents, the files of one folder together.
pub type FileList = [(PathBuf, Arc<[u8]>)];

/// The folders of the files and those above, each before those in it.
pub(crate) fn folders(files: &FileList) -> BTreeSet<&Path> {
    let mut folders = BTreeSet::new();
    for (path, _) in files {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if !folders.insert(folder) {
                break;
            }
        }
    }
    folders
}

impl Corpus {
    /// `count` files of 1 to 2 KB of text in `folders` folders, two levels of them if there are many.
    pub fn pages(count: usize, folders: usize) -> Corpus {
        let mut random = fastrand::Rng::with_seed(SEED);
        let file = |n: usize| {
            let folder = n * folders / count;
            let path = match folders {
                1 => format!("pages/{n:06}.txt"),
                _ => format!("{:02}/{:03}/{n:06}.txt", folder / 25, folder),
            };
            (path.into(), text(1024 + random.usize(..1024), n, &mut random).into_bytes().into())
        };
        Corpus { files: (0..count).map(file).collect() }
    }

    /// The font that `manyfiles bench` saves: a Unified Font Object, an XML file for each of 2,300 glyphs.
    pub fn font() -> Corpus {
        crate::font::font()
    }

    /// Whether `root` holds these files and no others: names and lengths of all, the content of one file in 16.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, root: &Path) -> Result<()> {
        for (n, (path, bytes)) in self.files.iter().enumerate() {
            let path = root.join(path);
            let length = fs::metadata(&path).with_context(|| path.display().to_string())?.len();
            ensure!(length == bytes.len() as u64, "{}: {length} bytes, not {}", path.display(), bytes.len());
            if n % SAMPLED == 0 {
                ensure!(fs::read(&path)?[..] == bytes[..], "{}: other bytes than were written", path.display());
            }
        }
        let found = count(root)?;
        ensure!(found == self.files.len(), "{found} files, not {}", self.files.len());
        Ok(())
    }
}

/// How many files there are at any depth.
fn count(folder: &Path) -> Result<usize> {
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(files)
}

/// So many bytes that look like text. No two files are the same, or a writer that mixed them up would go unnoticed.
fn text(length: usize, number: usize, random: &mut fastrand::Rng) -> String {
    let mut text = format!("page {number}\n");
    while text.len() < length {
        write!(text, "{:x} ", random.u32(..1 << 20)).expect("into a string");
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(corpus: &Corpus) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in folders(&corpus.files) {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        corpus.files.iter().for_each(|(path, bytes)| fs::write(root.path().join(path), bytes).unwrap());
        root
    }

    #[test]
    fn a_corpus_has_the_files_and_folders_it_says() {
        let corpus = Corpus::pages(10_000, 600);
        let leaves: BTreeSet<_> = corpus.files.iter().map(|(path, _)| path.parent().unwrap()).collect();
        assert_eq!((corpus.files.len(), leaves.len()), (10_000, 600));
        assert!(corpus.files.iter().all(|(_, bytes)| (1024..2048).contains(&bytes.len())));
        assert_eq!(folders(&Corpus::pages(2_300, 1).files).len(), 1);
    }

    #[test]
    fn a_missing_a_longer_another_and_a_foreign_file_are_found() {
        let corpus = Corpus::pages(50, 5);
        let whole = written(&corpus);
        corpus.check(whole.path()).unwrap();
        let (first, bytes) = (whole.path().join(&corpus.files[0].0), &corpus.files[0].1);
        fs::remove_file(&first).unwrap();
        assert!(corpus.check(whole.path()).is_err());
        for (content, problem) in
            [(vec![b'x'; bytes.len() + 1], "bytes, not"), (vec![b'x'; bytes.len()], "other bytes")]
        {
            fs::write(&first, content).unwrap();
            assert!(format!("{:#}", corpus.check(whole.path()).unwrap_err()).contains(problem), "{problem}");
        }
        fs::write(&first, bytes).unwrap();
        fs::write(whole.path().join("foreign"), "").unwrap();
        assert_eq!(corpus.check(whole.path()).unwrap_err().to_string(), "51 files, not 50");
    }
}
