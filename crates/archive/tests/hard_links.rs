//! Hard links to what is not there: left out, stripped away, refused, or never named. Each is an error of its own
//! entry.
#![cfg(unix)] // links are made

mod common;

use std::path::Path;
use std::sync::Arc;

use common::*;
use manyfiles_archive::{Input, Kind, Unpacker};

/// Unpacks as a file and as a stream, and lists; all three must refuse the same. Returns the files and what was
/// refused.
#[track_caller]
fn refused(unpacker: &Unpacker, archive: &[u8]) -> (Vec<String>, Vec<String>) {
    let (_temp, path) = file_of(archive);
    let mut listed = Vec::new();
    let list = |entry: &manyfiles_archive::Entry<'_>| listed.extend(entry.refusal.as_ref().map(ToString::to_string));
    unpacker.list(Input::File(path.clone()), &mut { list }).unwrap();
    listed.sort();
    let mut outcomes = Vec::new();
    for input in [Input::File(path), stream_of(archive)] {
        let place = Place::new();
        let (result, report) = place.unpack_as(unpacker.clone(), input);
        result.unwrap();
        let mut failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
        failures.sort();
        assert_eq!(failures, listed, "what is listed is not what is refused");
        outcomes.push((place.files(), failures));
    }
    assert_eq!(outcomes[0], outcomes[1], "a file and a stream differ");
    outcomes.pop().unwrap()
}

fn all_but(name: &'static str) -> Unpacker {
    Unpacker::options().select(Arc::new(move |path| path != Path::new(name))).build()
}

#[test]
fn a_link_to_what_was_not_selected_names_it_and_says_so() {
    let tar = Tar::default().file("folder/a", b"x").entry(b'1', "b", "./folder//a", b"").file("c", b"x").end();
    let (files, failures) = refused(&all_but("folder/a"), &tar);
    assert_eq!(files, ["c"]);
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    for part in ["hard link b", "folder//a", "not selected", "--include"] {
        assert!(failure.contains(part), "{failure}");
    }
}

#[test]
fn a_link_to_what_was_not_selected_never_leads_to_what_has_that_name_on_the_disk() {
    let tar = Tar::default().file("a", b"from the archive").entry(b'1', "b", "a", b"").end();
    let place = Place::new();
    std::fs::create_dir_all(place.root()).unwrap();
    std::fs::write(place.root().join("a"), "mine").unwrap();
    let (_, report) = place.unpack_as(all_but("a"), stream_of(tar));
    assert_eq!((place.files(), report.failures.len()), (vec!["a".to_owned()], 1));
}

#[test]
fn a_link_to_a_link_that_was_refused_is_refused_and_says_so() {
    let tar = Tar::default()
        .file("a", b"x")
        .entry(b'1', "b", "a", b"")
        .entry(b'1', "c", "b", b"")
        .entry(b'3', "null", "", b"")
        .entry(b'1', "d", "null", b"");
    let (files, failures) = refused(&all_but("a"), &tar.end());
    assert!(files.is_empty());
    assert_eq!(failures.len(), 4, "{failures:?}");
    assert!(failures.iter().any(|it| it.contains("hard link c") && it.contains("links to b, which was refused")));
    assert!(failures.iter().any(|it| it.contains("hard link d") && it.contains("links to null, which was refused")));
}

#[test]
fn what_was_refused_and_then_comes_as_a_file_can_be_linked_to() {
    let tar = Tar::default().entry(b'6', "a", "", b"").file("a", b"x").entry(b'1', "b", "a", b"");
    let mut refused = Vec::new();
    let see = &mut |entry: &manyfiles_archive::Entry<'_>| refused.push(entry.refusal.is_some());
    Unpacker::new().list(stream_of(tar.end()), see).unwrap();
    assert_eq!(refused, [true, false, false]);
}

#[test]
fn a_link_to_what_stripping_leaves_no_name_of_is_refused_with_the_whole_path() {
    let tar = Tar::default()
        .file("sub/a", b"x")
        .entry(b'1', "sub/deep/b", "sub/a", b"")
        .file("sub/deep/c", b"x")
        .entry(b'1', "sub/deep/d", "sub/deep/c", b"")
        .end();
    let (files, failures) = refused(&Unpacker::options().strip_components(2).build(), &tar);
    assert_eq!(files, ["c", "d"]);
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    assert!(failure.contains("links to sub/a, of which --strip-components 2 leaves no name"), "{failure}");
}

#[test]
fn stripping_that_leaves_no_name_of_any_entry_is_counted_apart_from_the_selection() {
    let tar = Tar::default().file("a", b"x").file("b/c", b"x").entry(b'5', "b/./", "", b"").file("d", b"x").end();
    let select = Arc::new(|path: &Path| path != Path::new("d"));
    let unpacker = Unpacker::options().strip_components(1).select(select).build();
    let mut listed = Vec::new();
    let summary = unpacker.list(stream_of(tar), &mut |entry| listed.push(entry.path.to_owned())).unwrap();
    assert_eq!(listed, [Path::new("c")], "a folder of which '.' is left is none");
    assert_eq!((summary.entries, summary.left_out, summary.stripped), (4, 3, 2));
}

#[test]
fn a_link_to_nothing_or_to_the_root_is_an_error_of_its_entry() {
    for target in ["", ".", "./", ".//.", "/"] {
        let tar = Tar::default().file("a", b"x").entry(b'1', "b", target, b"").file("c", b"x").end();
        let (files, failures) = refused(&Unpacker::new(), &tar);
        assert_eq!(files, ["a", "c"], "{target:?}");
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].contains("hard link b"), "{failures:?}");
    }
    // And with nothing else in the archive.
    let (_, failures) = refused(&Unpacker::new(), &Tar::default().entry(b'1', "b", "./", b"").end());
    assert!(failures[0].contains("links to ./, which is the folder that is unpacked to"), "{failures:?}");
    let (_, failures) = refused(&Unpacker::new(), &Tar::default().entry(b'1', "./", "./", b"").end());
    assert_eq!(failures.len(), 1);
}

#[test]
fn who_selects_is_asked_once_for_each_entry() {
    let tar = Tar::default().file("a", b"x").entry(b'1', "b", "a", b"").entry(b'5', "c/", "", b"").end();
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let by = Arc::clone(&asked);
    let select = Arc::new(move |path: &Path| {
        by.lock().unwrap().push(path.to_string_lossy().into_owned());
        true
    });
    let unpacker = Unpacker::options().select(select).build();
    let place = Place::new();
    assert!(place.unpack_as(unpacker.clone(), stream_of(&tar[..])).1.is_complete());
    assert_eq!(*asked.lock().unwrap(), ["a", "b", "c"]);
    let mut links = 0;
    let is_link = |entry: &manyfiles_archive::Entry<'_>| matches!(entry.kind, Kind::HardLink(_));
    unpacker.list(stream_of(tar), &mut |entry| links += usize::from(is_link(entry))).unwrap();
    assert_eq!((links, asked.lock().unwrap().len()), (1, 6));
}
