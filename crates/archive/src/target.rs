//! Where the entries of an archive go.

use manyfiles::tree::TreeWriter;

use crate::entry::Entry;
use crate::reader::Builder;
use crate::test::Test;

/// Where entries go.
pub(crate) enum Target<'a> {
    Tree(&'a TreeWriter),
    List(&'a mut dyn FnMut(&Entry<'_>)),
    /// Content is decoded and compared with its checksums, and goes nowhere.
    Test(Test<'a>),
    /// Into an index, by which they are read later.
    Index(&'a mut Builder),
}

/// Takes an error of handing an entry over. The tree's report has it as well, and is read at the end.
pub(crate) fn in_the_report(error: manyfiles::Error) {
    drop(error);
}
