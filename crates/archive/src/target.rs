//! Where the entries of an archive go.

use std::io;

use manyfiles::tree::{TreeFile, TreeWriter};
use manyfiles::{Error, Operation};

use crate::entry::Entry;
use crate::reader::Builder;
use crate::test::Test;

/// Where entries go.
pub(crate) enum Target<'a> {
    Tree(&'a TreeWriter),
    List(&'a mut dyn FnMut(&Entry<'_>)),
    /// Content is decoded and compared with its checksums, and goes nowhere.
    Test(Test<'a>),
    /// Into a tree, and what is damaged is told, and passed over.
    Salvage(&'a TreeWriter, Test<'a>),
    /// Into an index, by which they are read later.
    Index(&'a mut Builder),
}

impl<'a> Target<'a> {
    /// Who is told of damage, where reading goes on behind it.
    pub(crate) fn tolerant(&mut self) -> Option<&mut Test<'a>> {
        match self {
            Target::Test(test) | Target::Salvage(_, test) => Some(test),
            Target::Tree(_) | Target::List(_) | Target::Index(_) => None,
        }
    }
}

/// Ends a file of which only the beginning could be had. It stays, and is a failure of the report.
pub(crate) fn keep_part(file: TreeFile, cause: io::Error, entry: &Entry<'_>, tree: &TreeWriter) {
    match file.close() {
        Ok(written) => {
            let cause = format!("{cause}; it is kept up to byte {}", written.bytes);
            tree.fail(Error::new(Operation::Read, entry.path, io::Error::new(io::ErrorKind::InvalidData, cause)));
        }
        Err(error) => in_the_report(error),
    }
}

/// Takes an error of handing an entry over. The tree's report has it as well, and is read at the end.
pub(crate) fn in_the_report(error: manyfiles::Error) {
    drop(error);
}
