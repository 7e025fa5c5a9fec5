//! [`Differs`]: the list of deliberate differences from other programs.

use super::case::Other;

/// Where another program does something else, on purpose. The affected paths are not compared with that program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Differs {
    /// A folder is never replaced by something else, nor something else by a folder; so does cp. tar removes a folder
    /// that is empty, and a file that is where a folder is to be; rsync may end with an error of its protocol.
    FolderInTheWay,
    /// Nothing is written through a symbolic link. tar and unzip follow them.
    ThroughSymlink,
    /// A folder that is there gets the mode and the time of its entry under every policy. `tar -k` and `--skip-old-
    /// files` leave it as it is, `--keep-newer-files` does if it made the folder itself, and unzip leaves its mode.
    FolderThatWasThere,
    /// A folder has its time when all else is done. tar sets it when an entry of another folder comes. A later entry of
    /// the first folder changes it again.
    FolderTimeTooEarly,
    /// A file with other names is replaced, so that the other names keep the old content. `tar --overwrite` writes into
    /// it.
    WritesThroughLinks,
    /// A link to an entry that failed is a failure, and never a link to another file of that name.
    LinkToFailed,
    /// The last of several entries of one path stays, under every policy: a policy speaks of what was there before.
    /// tar asks `-k`, `--skip-old-files`, `--keep-newer-files` of what it has just made itself, and so does unzip.
    LastWins,
    /// A link is as old as the file that it is a name of. To tar it is as old as its header says.
    AgeOfLink,
    /// A symbolic link has its own time. unzip compares the time of its target.
    AgeOfSymlink,
    /// A file as old as the entry stays. `rsync --update` looks at the length then, and to it a second is one time.
    SameAge,
    /// A name with a newer file stays, whatever it is in the source. `cp -u` asks this of the first name of a file
    /// only: it replaces what is newer by a link, and links to what it kept.
    NewerAndLinked,
    /// "newer" speaks of everything but folders. `rsync --update` speaks of files.
    AgeOfOtherThanFiles,
    /// A link that fails may have made the folders above it. tar makes them always.
    LinkToNothing,
    /// A link to a folder fails, and the old file stays. tar removes the old file first.
    LinkToFolder,
    /// A FIFO is never written into, and replaced only by policies that replace. `tar --overwrite` opens it, the others
    /// replace it.
    FifoInTheWay,
    /// A file that cannot be written into is replaced: a FIFO of the same archive, a file without that permission.
    /// `tar --overwrite` fails.
    NotWritable,
    /// Every entry has the time it is given. tar leaves a symbolic link that says the same already, with its time.
    SameSymlink,
}

impl Differs {
    /// Whether this program does it.
    pub(crate) fn concerns(self, other: Other) -> bool {
        match self {
            Differs::FolderInTheWay => other != Other::Cp,
            Differs::FifoInTheWay => true,
            Differs::NewerAndLinked => other == Other::Cp,
            Differs::SameAge | Differs::AgeOfOtherThanFiles => other == Other::Rsync,
            _ => matches!(other, Other::Tar | Other::Unzip),
        }
    }
}
