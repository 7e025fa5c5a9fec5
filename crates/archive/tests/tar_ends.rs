//! What follows the end of a tar: padding, another tar, or something else. Nothing of it is ignored in silence.

mod common;

use common::*;
use manyfiles_archive::{Input, Summary, Trailing, Unpacker};

fn tar(names: &[&str]) -> Vec<u8> {
    names.iter().fold(Tar::default(), |tar, name| tar.file(name, b"x")).end()
}

/// Unpacks from a file, a stream and a compressed stream, which must be the same.
#[track_caller]
fn unpacked(bytes: &[u8], ignore_zeros: bool) -> (Vec<String>, Summary) {
    let (_temp, path) = file_of(bytes);
    let mut outcomes = Vec::new();
    for input in [Input::File(path), stream_of(bytes), stream_of(zstd::encode_all(bytes, 1).unwrap())] {
        let (place, mut summary, _) = unpack_whole(Unpacker::options().ignore_zeros(ignore_zeros).build(), input);
        summary.format = manyfiles_archive::Format::Tar(None);
        outcomes.push((place.files(), summary));
    }
    assert_eq!(outcomes[0], outcomes[1], "a file and a stream differ");
    assert_eq!(outcomes[0], outcomes[2], "a compressed stream differs");
    outcomes.pop().unwrap()
}

#[test]
fn what_follows_the_end_is_read_if_asked_for_and_else_reported() {
    let (first, second) = (tar(&["a"]), tar(&["b", "c"]));
    let zeros = |count: usize| vec![0; count];
    let first_only = &["a"][..];
    let all = &["a", "b", "c"][..];
    for (what, bytes, ignored, found, trailing) in [
        ("nothing", first.clone(), first_only, None, None),
        ("padding", [first.clone(), zeros(9216)].concat(), first_only, None, None),
        ("half a block of padding", [first.clone(), zeros(100)].concat(), first_only, None, None),
        ("another tar", [&first[..], &second].concat(), all, Some(Trailing::Tar), None),
        ("padding and another tar", [&first[..], &zeros(9216), &second].concat(), all, Some(Trailing::Tar), None),
        ("an empty tar and another", [&first[..], &tar(&[]), &second].concat(), all, Some(Trailing::Tar), None),
        (
            "words",
            [&first[..], b"a signature"].concat(),
            first_only,
            Some(Trailing::AfterTar),
            Some(Trailing::AfterTar),
        ),
        (
            "a block of noise, and then a tar",
            [&first[..], &noise(512), &second].concat(),
            first_only,
            Some(Trailing::AfterTar),
            Some(Trailing::AfterTar),
        ),
        (
            "more zeros than a tar has",
            [first.clone(), zeros(2 << 20)].concat(),
            first_only,
            Some(Trailing::Zeros),
            Some(Trailing::Zeros),
        ),
        (
            "what was in the middle of a download",
            [first.clone(), zeros(2 << 20), second].concat(),
            all,
            Some(Trailing::Zeros),
            None,
        ),
    ] {
        println!("{what}");
        let (files, summary) = unpacked(&bytes, false);
        assert_eq!((&files[..], summary.trailing), (&["a".to_owned()][..], found), "{what}");
        let (files, summary) = unpacked(&bytes, true);
        assert_eq!((files, summary.trailing), (ignored.iter().map(|it| it.to_string()).collect(), trailing), "{what}");
    }
}

#[test]
fn an_empty_tar_before_another_is_one_that_another_follows() {
    let joined = [tar(&[]), tar(&["a"])].concat();
    let (files, summary) = unpacked(&joined, false);
    assert_eq!((files.len(), summary.trailing), (0, Some(Trailing::Tar)));
    assert_eq!(unpacked(&joined, true).0, ["a"]);
}

#[test]
fn a_global_header_of_one_tar_says_nothing_of_the_next() {
    let global = b"17 comment=abcde\n13 mtime=555\n";
    let first = Tar::default().entry(b'g', "global", "", global).file("a", b"x").end();
    let mut times = Vec::new();
    let joined = stream_of([first, tar(&["b"])].concat());
    Unpacker::options()
        .ignore_zeros(true)
        .build()
        .list(joined, &mut |entry| times.push(entry.modified.unwrap()))
        .unwrap();
    let at = |seconds| std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    assert_eq!(times, [at(555), at(1)]);
}

#[test]
fn damage_behind_the_end_is_damage_if_it_is_read() {
    let mut joined = [tar(&["a"]), tar(&["b", "c"])].concat();
    let len = joined.len();
    joined[len - 2048] ^= 1; // In the header of "c".
    assert_eq!(unpacked(&joined, false).1.trailing, Some(Trailing::Tar));
    let place = Place::new();
    let (result, _) = place.unpack_as(Unpacker::options().ignore_zeros(true).build(), stream_of(joined));
    assert_damaged(&result);
    assert_eq!(place.files(), ["a", "b"]);
}

#[test]
fn what_is_said_tells_what_to_do() {
    assert!(Trailing::Tar.to_string().contains("--ignore-zeros"));
    assert!(Trailing::Zeros.to_string().contains("download"));
    for trailing in [Trailing::Tar, Trailing::Zeros, Trailing::AfterTar, Trailing::AfterCompressed] {
        assert!(!trailing.to_string().contains("damaged"), "{trailing}");
    }
}

#[cfg(unix)]
#[test]
fn joined_tars_are_what_gnu_tar_reads_with_the_same_option() {
    use manyfiles_testkit::{Compare, Need, Tree, skip_unless};
    skip_unless!(Need::Program("tar"));
    let sample = sample();
    let mut joined = Vec::new();
    for format in ["gnu", "pax", "ustar"] {
        let root = format!("sample/{}", if format == "pax" { "folder" } else { "many" });
        let format = format!("--format={format}");
        let mut tar = program("tar", &[&format, "-cf", "-", "-C"]);
        joined.extend(run(tar.arg(sample.path()).arg(root), false));
    }
    let (_temp, path) = file_of(&joined);
    let expected = manyfiles_testkit::scratch().unwrap();
    run(program("tar", &["--ignore-zeros", "-xpf"]).arg(&path).arg("-C").arg(expected.path()), false);
    // Each name of `many` comes twice.
    let place = Place::new();
    let overwrite = manyfiles::tree::OnConflict::Overwrite;
    let tree = manyfiles::tree::Options::default().on_conflict(overwrite).open(place.root()).unwrap();
    Unpacker::options().ignore_zeros(true).build().unpack(Input::File(path), &tree).unwrap();
    tree.finish().unwrap();
    Tree::read(expected.path()).unwrap().assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL_BUT_TIMES);
}
