//! Why a name is not taken.

use std::fmt;

/// Why an entry was refused before the operating system was asked.
///
/// An [`Error`](crate::Error) that comes from a refusal has it as its payload:
/// [`Error::refusal`](crate::Error::refusal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The path is empty.
    Empty,
    /// The path starts at a root: `/x`, `C:\x`, `\\server\share`.
    Absolute,
    /// The path has a `..`.
    ParentFolder,
    /// The path has a NUL byte.
    Nul,
    /// The path goes through more than a thousand folders.
    TooDeep,
    /// A name in the path is longer than any system takes (4,095 bytes).
    TooLong,
    /// The path ends in a separator, as that of a folder, and the entry is none.
    FolderPath,
    /// Windows: the name is that of a device (`NUL`, `com1.txt`), in whatever folder.
    Device,
    /// Windows: behind a `:` is the name of a stream of another file, or of another drive.
    Stream,
    /// Windows: no name of a file, or one that most programs would take for another: with one of `<>"|?*` or a control
    /// character, or with a dot or a space at the end.
    NotAName,
    /// Windows: the name, or what the link says, is not Unicode, which all names are there.
    NotUnicode,
    /// A symbolic link stands where a folder is needed; links are not followed on the way down.
    ThroughSymlink,
    /// The kind of entry is not one that this program writes, or not without being asked to.
    UnwantedKind,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Empty => "refused: the path is empty",
            Refusal::Absolute => "refused: an absolute path could leave the root",
            Refusal::ParentFolder => "refused: a path with '..' could leave the root",
            Refusal::Nul => "refused: the path has a NUL byte",
            Refusal::TooDeep => "refused: the path goes through more than 1,000 folders",
            Refusal::TooLong => "refused: a name in the path is longer than any system takes",
            Refusal::FolderPath => "refused: a path that ends in a separator is that of a folder",
            Refusal::Device => "refused: Windows has a device of that name",
            Refusal::Stream => "refused: to Windows ':' is no part of a name",
            Refusal::NotAName => "refused: Windows has no such names: with <, >, \", |, ?, * or a control character, or with a dot or a space at the end",
            Refusal::NotUnicode => "refused: it is not Unicode, which all names of Windows are",
            Refusal::ThroughSymlink => "refused: a symbolic link stands in the way, and links are not followed",
            Refusal::UnwantedKind => "refused: not a file, folder or link",
        })
    }
}

impl std::error::Error for Refusal {}
