//! What is to happen where a name is taken: one pure choice for all kinds of entries, and the numbers of those that are
//! kept beside what was there.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use super::folders::FolderId;
use super::lock::lock;
use crate::error::{explained, explained_as};
use crate::sys::{self, EntryKind, Stat};
use crate::tree::{Answer, OnConflict};

/// What an entry is, as far as a conflict goes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file with bytes.
    File,
    /// A link or a node, which is made whole or not at all.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Leave what is there; the entry is a failure.
    Fail(Obstacle),
    /// Leave what is there; the entry is skipped.
    Skip,
    /// Skip if what is there is the same, else as `Overwrite`.
    Compare,
    /// Write over it in place, or replace it where that cannot be.
    Overwrite,
    /// Make it beside, and rename.
    Replace,
    /// Keep both.
    Rename,
    Ask,
}

/// Why the file that has the name stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    Taken,
    Folder,
    Node,
    /// There is no answer: the program's callback panicked.
    Unanswered,
}

impl Obstacle {
    pub(super) fn error(self) -> io::Error {
        let taken = sys::name_is_taken();
        match self {
            Obstacle::Taken => taken,
            Obstacle::Unanswered => explained(taken, "the program's callback panicked when it was asked what to do"),
            Obstacle::Folder => {
                let meaning = "a folder is there, and no folder is replaced by something else";
                explained_as(io::ErrorKind::IsADirectory, taken, meaning)
            }
            Obstacle::Node => {
                explained(taken, "a device, FIFO or socket is there, which is replaced only if replacing is asked for")
            }
        }
    }
}

/// What to do about an entry of time `modified` where `there` has its name. What this run wrote itself
/// (`written_by_this_run`, and only the last of several entries of one name is to remain) is replaced under every
/// policy; a folder never is.
pub(super) fn choose(
    policy: &OnConflict,
    there: EntryKind,
    there_modified: SystemTime,
    entry: Entry,
    modified: Option<SystemTime>,
    written_by_this_run: bool,
) -> Choice {
    let unless_folder = |choice| if there == EntryKind::Folder { Choice::Fail(Obstacle::Folder) } else { choice };
    // Bytes are not written to what is no file; nor is that taken away unless the name says so.
    let unless_node = |choice| match (entry, there) {
        (Entry::File, EntryKind::Other) => Choice::Fail(Obstacle::Node),
        _ => unless_folder(choice),
    };
    if written_by_this_run {
        return unless_folder(Choice::Replace);
    }
    match policy {
        OnConflict::Error => unless_folder(Choice::Fail(Obstacle::Taken)),
        OnConflict::Skip => Choice::Skip,
        OnConflict::Rename => Choice::Rename,
        OnConflict::Ask(_) => Choice::Ask,
        OnConflict::Replace => unless_folder(Choice::Replace),
        OnConflict::Overwrite => unless_node(Choice::Overwrite),
        OnConflict::SkipIdentical => match (entry, there) {
            (Entry::Other, EntryKind::Other) => Choice::Compare,
            _ => unless_node(Choice::Compare),
        },
        OnConflict::Newer => match modified {
            Some(modified) if there_modified >= modified => unless_folder(Choice::Skip),
            _ => unless_folder(Choice::Replace),
        },
    }
}

/// What to do after an answer.
pub(super) fn answered(answer: Answer, there: EntryKind) -> Choice {
    match answer {
        Answer::Error => Choice::Fail(Obstacle::Taken),
        Answer::Skip => Choice::Skip,
        Answer::Overwrite if there == EntryKind::Folder => Choice::Fail(Obstacle::Folder),
        Answer::Overwrite => Choice::Replace,
        Answer::Rename => Choice::Rename,
    }
}

/// The error of a file that is to be a copy of itself, by whatever path.
pub(super) fn same_file(source: &Path) -> io::Error {
    let why = format!("it is the same file as {}, which it is to be a copy of", source.display());
    io::Error::new(io::ErrorKind::AlreadyExists, why)
}

/// Whether what is there is the file that the entry is a copy of.
pub(super) fn is_same_file(there: &Stat, source: Option<&Stat>) -> bool {
    source.is_some_and(|source| source.identity == there.identity)
}

/// For each name that was taken, the first number that may be free, so that a thousand entries of one name don't look
/// through a thousand numbers each.
#[derive(Debug, Default)]
pub(super) struct Numbers(Mutex<HashMap<(FolderId, Box<OsStr>), u32>>);

impl Numbers {
    /// The number to try next.
    pub(super) fn next(&self, folder: FolderId, name: &OsStr) -> u32 {
        *lock(&self.0).entry((folder, name.into())).and_modify(|number| *number += 1).or_insert(1)
    }
}

/// `name (1).ext` for `name.ext`; the number of a compressed tar goes before both of its extensions.
pub(super) fn numbered(name: &OsStr, number: u32) -> OsString {
    let path = Path::new(name);
    let mut stem = Path::new(path.file_stem().unwrap_or(name));
    let mut extensions = path.extension().map(OsStr::to_owned);
    if let (Some(tar), Some(outer)) = (stem.extension(), &mut extensions)
        && tar.eq_ignore_ascii_case("tar")
    {
        *outer = [tar, OsStr::new("."), outer].into_iter().collect();
        stem = Path::new(stem.file_stem().unwrap_or_default());
    }
    let mut numbered = stem.as_os_str().to_owned();
    numbered.push(format!(" ({number})"));
    if let Some(extensions) = extensions {
        numbered.push(".");
        numbered.push(extensions);
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_number_goes_before_the_extension_or_both_of_a_tar() {
        for (name, expected) in [
            ("a.txt", "a (2).txt"),
            ("a", "a (2)"),
            (".bashrc", ".bashrc (2)"),
            ("a.tar.gz", "a (2).tar.gz"),
            ("a.b.TAR.zst", "a.b (2).TAR.zst"),
            ("a.min.js", "a.min (2).js"),
            (".tar.gz", ".tar (2).gz"),
            ("tar.gz", "tar (2).gz"),
        ] {
            assert_eq!(numbered(OsStr::new(name), 2), OsStr::new(expected));
        }
    }

    #[test]
    fn numbers_go_on_where_they_were_for_each_name_of_each_folder() {
        let numbers = Numbers::default();
        let next = |folder, name| numbers.next(folder, OsStr::new(name));
        assert_eq!([next(1, "a"), next(1, "a"), next(2, "a"), next(1, "b"), next(1, "a")], [1, 2, 1, 1, 3]);
    }

    /// A policy, the entry's time, and for a file, link, node and folder that is there: what becomes of a file, and of
    /// a link or node.
    type Row = (OnConflict, Option<SystemTime>, [Choice; 4], [Choice; 4]);

    /// The whole table: policy, what is there, kind of entry, whether the entry is newer.
    #[test]
    fn every_policy_holds_for_every_kind() {
        use Choice::*;
        use EntryKind as There;
        let fail = |obstacle| Choice::Fail(obstacle);
        let (folder, node, taken) = (fail(Obstacle::Folder), fail(Obstacle::Node), fail(Obstacle::Taken));
        let all = [There::File, There::Symlink, There::Other, There::Folder];
        let old = UNIX_EPOCH + Duration::from_secs(100);
        let (newer, older) = (Some(old + Duration::from_nanos(100)), Some(old - Duration::from_nanos(100)));
        let table: [Row; 11] = [
            (OnConflict::Error, newer, [taken, taken, taken, folder], [taken, taken, taken, folder]),
            (OnConflict::Skip, newer, [Skip; 4], [Skip; 4]),
            (OnConflict::Rename, newer, [Rename; 4], [Rename; 4]),
            (OnConflict::Ask(Arc::new(|_| Answer::Skip)), newer, [Ask; 4], [Ask; 4]),
            (OnConflict::Replace, older, [Replace, Replace, Replace, folder], [Replace, Replace, Replace, folder]),
            (
                OnConflict::Overwrite,
                older,
                [Overwrite, Overwrite, node, folder],
                [Overwrite, Overwrite, Overwrite, folder],
            ),
            (OnConflict::SkipIdentical, older, [Compare, Compare, node, folder], [Compare, Compare, Compare, folder]),
            (OnConflict::Newer, newer, [Replace, Replace, Replace, folder], [Replace, Replace, Replace, folder]),
            (OnConflict::Newer, older, [Skip, Skip, Skip, folder], [Skip, Skip, Skip, folder]),
            (OnConflict::Newer, Some(old), [Skip, Skip, Skip, folder], [Skip, Skip, Skip, folder]),
            (OnConflict::Newer, None, [Replace, Replace, Replace, folder], [Replace, Replace, Replace, folder]),
        ];
        for (policy, modified, of_files, of_others) in &table {
            for (entry, expected) in [(Entry::File, of_files), (Entry::Other, of_others)] {
                for (there, expected) in all.into_iter().zip(expected) {
                    let choice = choose(policy, there, old, entry, *modified, false);
                    assert_eq!(choice, *expected, "{policy:?} {there:?} {entry:?} {modified:?}");
                    let again = choose(policy, there, old, entry, *modified, true);
                    let expected = if there == There::Folder { folder } else { Replace };
                    assert_eq!(again, expected, "written by this run: {policy:?} {there:?} {entry:?}");
                }
            }
        }
        for there in all {
            let is_folder = there == There::Folder;
            assert_eq!(answered(Answer::Error, there), taken);
            assert_eq!(answered(Answer::Skip, there), Skip);
            assert_eq!(answered(Answer::Rename, there), Rename);
            assert_eq!(answered(Answer::Overwrite, there), if is_folder { folder } else { Replace });
        }
    }
}
