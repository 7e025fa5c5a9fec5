//! [`Walk`]: going through an archive from entry to entry, front to back. Tar, cpio and ar are read this way.

use manyfiles::tree::Content;

use super::body::Body;
use super::member::Member;
use super::source::Source;
use crate::cancel::Cancel;
use crate::error::{ErrorKind, Result};
use crate::summary::Trailing;
use crate::test::Test;

pub(crate) trait Walk: Sized {
    type Source: Source;

    /// Reads the next entry's headers into `member`, after what is left of the one before. `false`: the archive has
    /// ended.
    fn next(&mut self, member: &mut Member) -> Result<bool, ErrorKind>;

    /// Looks at what follows the end that [`next`](Walk::next) has found. `true`: another archive, which is to be read
    /// on. Bytes that are not read are in [`trailing`](Walk::trailing).
    fn go_on(&mut self, ignore_zeros: bool, cancel: &Cancel) -> Result<bool, ErrorKind>;

    /// Goes to the next entry behind damage. There may be none: then the archive has ended.
    fn find_next(&mut self, cancel: &Cancel) -> Result<(), ErrorKind>;

    fn body(&self) -> &Body<Self::Source>;

    fn body_mut(&mut self) -> &mut Body<Self::Source>;

    fn into_source(self) -> Self::Source;

    /// The bytes behind the archive that were not read.
    fn trailing(&self) -> Option<Trailing>;

    /// Tells what is wrong before the entry that was found.
    fn note(&mut self, _test: &mut Test<'_>, _ignore_zeros: bool) {}

    /// Tells what is wrong with the end.
    fn check_end(&self, _test: &mut Test<'_>) {}

    /// The error of an archive that ends too early.
    fn cut_short(&self) -> ErrorKind {
        self.source().damage(self.source().position(), "it is cut short")
    }

    fn source(&self) -> &Self::Source {
        &self.body().source
    }

    fn source_mut(&mut self) -> &mut Self::Source {
        &mut self.body_mut().source
    }

    /// How much of the entry's content has not been read.
    fn left(&self) -> u64 {
        self.body().left
    }

    /// The next `len` bytes of content in one piece.
    fn content(&mut self, len: usize) -> Result<Content, ErrorKind> {
        match self.body_mut().content(len)? {
            Some(content) => Ok(content),
            None => Err(self.cut_short()),
        }
    }

    /// Compares the content that was read with its sum, where it has one.
    fn check_sum(&self, member: &Member) -> Result<(), SumDiffers> {
        match (member.sum, self.body().sum) {
            (Some(expected), Some(sum)) if expected != sum => Err(SumDiffers),
            _ => Ok(()),
        }
    }
}

/// The content of an entry is not what its sum was made of.
pub(crate) struct SumDiffers;

impl SumDiffers {
    pub(crate) const CAUSE: &str = "its content does not match its checksum";
}
