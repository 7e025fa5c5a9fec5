//! The place of each source, by the rules of `cp -a`; and the copies that are refused before anything is written.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};

use crate::sys::{self, FileId};
use crate::words::CannotBegin;

/// The destination and the place of each source in it.
pub(super) struct Target {
    /// The folder that everything is written below.
    pub root: PathBuf,
    /// Which folder that is, if it is there already.
    pub root_id: Option<FileId>,
    pub sources: Vec<Placed>,
}

/// A source and its place.
pub(super) struct Placed {
    /// As it was given.
    pub source: PathBuf,
    /// Below the root; `.`: the source becomes the root, or its content goes right into it.
    pub path: PathBuf,
    /// The name that it has, unless it stands for its content.
    pub name: Option<PathBuf>,
}

/// What is at the destination before anything is written.
enum There {
    Nothing,
    Folder,
    Other,
}

impl Target {
    /// Places all sources. Every contradiction is named, not only the first. Only the destination itself may be
    /// missing, unless folders above it are to be made.
    pub(super) fn of(sources: &[PathBuf], destination: &Path, make_parents: bool) -> Result<Target, CannotBegin> {
        let there = look(destination)?;
        if sources.len() > 1 && !matches!(there, There::Folder) {
            let to = destination.display();
            let why = match there {
                There::Other => format!("{to} is not a folder, and only a folder can take more than one source"),
                _ => format!("{to} is not there, and only a folder can take more than one source; make it: mkdir {to}"),
            };
            return Err(CannotBegin(vec![why]));
        }
        let mut root = destination.to_path_buf();
        let (mut placed, mut wrong) = (Vec::new(), Vec::new());
        for source in sources {
            match place(source, destination, &there) {
                Ok((below, path)) => {
                    root = below;
                    placed.push(Placed { source: source.clone(), path, name: own_name(source) });
                }
                Err(why) => wrong.push(why),
            }
        }
        wrong.extend(same_places(&placed, destination));
        if wrong.is_empty() && matches!(there, There::Nothing) && !make_parents {
            parent_is_there(destination)?;
        }
        match wrong.is_empty() {
            true => Ok(Target { root_id: id(&root), root, sources: placed }), // not there yet: no identity
            false => Err(CannotBegin(wrong)),
        }
    }
}

fn look(destination: &Path) -> Result<There, CannotBegin> {
    match fs::metadata(destination) {
        Ok(metadata) if metadata.is_dir() => Ok(There::Folder),
        Ok(_) => Ok(There::Other),
        Err(_) if fs::symlink_metadata(destination).is_ok_and(|link| link.is_symlink()) => {
            Err(CannotBegin::because(format_args!(
                "{} is a symbolic link that leads nowhere; remove it, or give where it should lead",
                destination.display()
            )))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(There::Nothing),
        Err(error) => Err(CannotBegin::because(format_args!("cannot use {}: {error}", destination.display()))),
    }
}

/// Sources that would take each other's place. Folders of one name become one.
fn same_places(placed: &[Placed], destination: &Path) -> Vec<String> {
    let mut first_of = HashMap::new();
    let mut wrong = Vec::new();
    for source in placed {
        let Some(first) = first_of.insert(&source.path, source) else { continue };
        let is_folder = |placed: &Placed| fs::symlink_metadata(&placed.source).is_ok_and(|found| found.is_dir());
        if !(is_folder(first) && is_folder(source)) {
            let (first, other) = (first.source.display(), source.source.display());
            let both = join(destination, &source.path);
            wrong.push(format!(
                "{first} and {other} would both become {}; copy them to different folders",
                both.display()
            ));
        }
    }
    wrong
}

impl Target {
    /// Whether entries of different sources may come to have one path.
    pub(super) fn may_meet(&self) -> bool {
        let mut paths: Vec<_> = self.sources.iter().map(|placed| &placed.path).collect();
        paths.sort();
        paths.windows(2).any(|pair| pair[0] == pair[1] || pair[0] == Path::new("."))
    }
}

/// A path of which more than the last name is missing is mistyped, or leads below a disk that is not mounted.
pub(super) fn parent_is_there(destination: &Path) -> Result<(), CannotBegin> {
    let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::metadata(parent) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = parent.display();
            Err(CannotBegin::because(format_args!(
                "the folder {parent} is not there; make it: mkdir -p {parent}, or have it made: --make-parents"
            )))
        }
        _ => Ok(()), // other errors are reported when the path is opened
    }
}

/// The root and the path below it for one source.
fn place(source: &Path, destination: &Path, there: &There) -> Result<(PathBuf, PathBuf), String> {
    let (from, to) = (source.display(), destination.display());
    let metadata = fs::symlink_metadata(source).map_err(|error| format!("cannot read {from}: {error}"))?;
    let (root, path) = match (there, metadata.is_dir()) {
        (There::Folder, _) => (destination.to_path_buf(), own_name(source).unwrap_or_else(|| ".".into())),
        (There::Nothing, true) => (destination.to_path_buf(), PathBuf::from(".")),
        (There::Other, true) => {
            return Err(format!("{to} is not a folder, and {from} is one; give another destination"));
        }
        (There::Nothing, false) if ends_with_separator(destination) => {
            return Err(format!("the folder {to} is not there; make it: mkdir {to}"));
        }
        (_, false) => {
            let name = destination.file_name().ok_or_else(|| format!("{to} has no name for a file"))?;
            let folder = destination.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            (folder.to_path_buf(), PathBuf::from(name))
        }
    };
    refuse_self_destruction(source, &metadata, &join(&root, &path))?;
    Ok((root, path))
}

/// `below` below `path`, `.` being `path` itself.
pub(super) fn join(path: &Path, below: &Path) -> PathBuf {
    match (path == Path::new("."), below == Path::new(".")) {
        (_, true) => path.to_path_buf(),
        (true, false) => below.to_path_buf(),
        (false, false) => path.join(below),
    }
}

/// The name a source has in a folder it is copied into; none for `.`, `..`, `/`, `x/.` and `x/..`, which stand for
/// their content.
fn own_name(source: &Path) -> Option<PathBuf> {
    let bytes = source.as_os_str().as_encoded_bytes();
    if let Some(before) = bytes.strip_suffix(b".")
        && before.last().is_none_or(is_separator)
    {
        return None;
    }
    match source.components().next_back() {
        Some(Component::Normal(name)) => Some(name.into()),
        _ => None,
    }
}

/// An error if the copy would overwrite its own source or never end.
fn refuse_self_destruction(source: &Path, metadata: &Metadata, target: &Path) -> Result<(), String> {
    let (from, to) = (source.display(), target.display());
    if !metadata.is_dir() {
        let own = sys::file_id(source, metadata);
        return match fs::symlink_metadata(target) {
            Ok(there) if own.is_some() && sys::file_id(target, &there) == own => {
                Err(format!("{from} and {to} are the same file"))
            }
            _ => Ok(()),
        };
    }
    // The part of the target that is there, without links and "..": all it is in is above it then.
    let existing = target.ancestors().find_map(|ancestor| {
        let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        fs::canonicalize(ancestor).ok() // not there: its parent may be
    });
    let Some(existing) = existing else { return Ok(()) };
    let own = sys::file_id(source, metadata);
    for (levels_up, ancestor) in existing.ancestors().enumerate() {
        if own.is_some() && id(ancestor) == own {
            return Err(match levels_up == 0 && target.exists() {
                true => format!("{from} and {to} are the same folder"),
                false => format!("cannot copy the folder {from} into itself ({to})"),
            });
        }
    }
    Ok(())
}

/// Which file or folder a path leads to. `None` if it is not there.
fn id(path: &Path) -> Option<FileId> {
    sys::file_id(path, &fs::metadata(path).ok()?)
}

fn is_separator(byte: &u8) -> bool {
    std::path::is_separator(char::from(*byte))
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(is_separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyfiles_testkit::{Need, symlink};

    #[test]
    fn only_a_source_with_a_name_of_its_own_gets_a_folder() {
        for (source, name) in [("a", Some("a")), ("a/b/", Some("b")), ("/x/y", Some("y")), ("a/b/..", None)] {
            assert_eq!(own_name(Path::new(source)), name.map(PathBuf::from), "{source}");
        }
        for content in [".", "..", "/", "a/.", "/x/y/."] {
            assert_eq!(own_name(Path::new(content)), None, "{content}");
        }
    }

    #[test]
    fn one_folder_becomes_a_missing_destination_and_goes_into_one_that_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let (source, there, missing) = (temp.path().join("s"), temp.path().join("there"), temp.path().join("missing"));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&there).unwrap();
        let becomes = Target::of(std::slice::from_ref(&source), &missing, false).unwrap();
        assert_eq!((becomes.root.as_path(), becomes.sources[0].path.as_path()), (missing.as_path(), Path::new(".")));
        let into = Target::of(std::slice::from_ref(&source), &there, false).unwrap();
        assert_eq!((into.root.as_path(), into.sources[0].path.as_path()), (there.as_path(), Path::new("s")));
        let content = Target::of(&[source.join(".")], &there, false).unwrap();
        assert_eq!(content.sources[0].path.as_path(), Path::new("."));
    }

    #[test]
    fn a_folder_is_not_copied_into_itself_however_the_path_is_written() {
        let temp = tempfile::tempdir().unwrap();
        let source = temp.path().join("s");
        fs::create_dir_all(source.join("inner")).unwrap();
        let mut inside = vec!["s", "s/inner", "s/new", "s/inner/../new/deep"];
        if Need::Symlinks.check().is_ok() {
            symlink(source.join("inner"), temp.path().join("link")).unwrap();
            inside.extend(["link", "link/new"]);
        }
        for destination in inside {
            let refused = Target::of(std::slice::from_ref(&source), &temp.path().join(destination), false).err();
            let refused = refused.unwrap_or_else(|| panic!("{destination} was not refused"));
            assert!(refused.0[0].contains("into itself"), "{destination}: {refused:?}");
        }
        let same = Target::of(&[source], temp.path(), false).err().unwrap();
        assert!(same.0[0].contains("same folder"), "{same:?}");
    }
}
