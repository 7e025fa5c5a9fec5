//! Archives as a place to write to: [`ArchiveWriter`].
//!
//! Entries are taken in the order of the calls and gathered into batches of about a megabyte. The threads of the
//! [`engine`] read the files of a batch, lay it out ([`tar`], [`zip`]), and compress it. The batches reach the
//! [`destination`] in order. So the bytes of an archive depend on its entries and options alone, not on how many
//! threads there are.

mod compress;
mod destination;
mod engine;
mod entry;
mod options;
mod partial;
mod report;
mod source;
mod tar;
mod tar_head;
mod verify;
mod writer;
mod zip;

pub use options::WriterOptions;
pub use report::{NotWritten, WriterProgress, Written};
pub use source::SourceFile;
pub use writer::{ArchiveWriter, WriterCanceller};
