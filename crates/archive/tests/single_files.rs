//! Single compressed files: what they become beside what the compressions' own programs make of them.
#![cfg(unix)] // the tools are Unix's

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::*;
use manyfiles_archive::{Archive, ErrorKind, Input, Limits, Unpacker};
use manyfiles_testkit::{Need, scratch, skip_unless};

/// A program, how it compresses to standard output, and the ending that it gives.
const ALL: &[(&str, &[&str], &str)] = &[
    ("gzip", &["-c", "-n"], "gz"),
    ("zstd", &["-c", "-q"], "zst"),
    ("xz", &["-c"], "xz"),
    ("bzip2", &["-c"], "bz2"),
    ("lz4", &["-c", "-q"], "lz4"),
    ("xz", &["-c", "--format=lzma"], "lzma"),
    ("lzip", &["-c", "-q"], "lz"),
    ("compress", &["-c", "-f"], "Z"),
];

fn each(test: impl Fn(&dyn Fn(&[u8]) -> Vec<u8>, &str)) {
    for (name, args, ending) in ALL {
        match Need::Program(name).check() {
            Ok(()) => test(&|bytes| filter(&mut program(name, args), bytes), ending),
            Err(why) => manyfiles_testkit::skip(why),
        }
    }
}

fn contents() -> Vec<Vec<u8>> {
    vec![
        b"some notes\n".to_vec(),
        Vec::new(),
        vec![0; 1024],
        vec![0; 3 << 20],
        noise(700_000),
        b"a line, again and again\n".repeat(100_000),
    ]
}

#[test]
fn a_single_file_is_unpacked_under_its_name_with_the_time_and_mode_of_the_compressed_one() {
    each(|compress, ending| {
        for content in contents() {
            let temp = scratch().unwrap();
            let path = temp.path().join(format!("notes.txt.{ending}"));
            fs::write(&path, compress(&content)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
            assert_eq!(place.files(), ["notes.txt"], "{ending}");
            let written = place.root().join("notes.txt");
            assert!(fs::read(&written).unwrap() == content, "{ending}, {} bytes", content.len());
            let metadata = fs::metadata(&written).unwrap();
            assert_eq!((metadata.permissions().mode() & 0o777, metadata.modified().unwrap()), (0o640, time));
            assert_eq!((&*summary.format.to_string(), summary.entries), (ending, 1));
            assert_eq!(summary.bytes, content.len() as u64);

            let mut listed = Vec::new();
            Unpacker::new()
                .list(Input::File(path.clone()), &mut |entry| listed.push((entry.path.to_path_buf(), entry.size)))
                .unwrap();
            assert_eq!(listed, [(Path::new("notes.txt").to_path_buf(), content.len() as u64)]);
            let tested = Unpacker::new().test(Input::File(path.clone()), &mut |found| panic!("{found}")).unwrap();
            assert!(tested.is_sound());
            assert_eq!((tested.intact, tested.intact_bytes), (1, content.len() as u64));
            assert_eq!(tested.unproven, ["Z", "lzma"].contains(&ending), "{ending}");
            let archive = Archive::options().cache(None).open(&path).unwrap();
            assert_eq!(archive.format(), summary.format);
            assert!(archive.read("notes.txt").unwrap() == content);
        }
    });
}

#[test]
fn the_programs_make_the_same_of_it() {
    each(|compress, ending| {
        let temp = scratch().unwrap();
        let path = temp.path().join(format!("a.{ending}"));
        fs::write(&path, compress(&noise(5000))).unwrap();
        let (place, ..) = unpack_whole(Unpacker::new(), Input::File(path.clone()));
        let (name, args): (&str, &[&str]) = match ending {
            "Z" | "gz" => ("gzip", &["-dk"]),
            "zst" => ("zstd", &["-dqk"]),
            "bz2" => ("bzip2", &["-dk"]),
            "lz4" => ("lz4", &["-dqkm"]),
            "lz" => ("lzip", &["-dqk"]),
            _ => ("xz", &["-dk"]),
        };
        run(program(name, args).arg(&path), false);
        let (ours, theirs) = (place.root().join("a"), temp.path().join("a"));
        assert!(fs::read(&ours).unwrap() == fs::read(&theirs).unwrap());
        let of = |path: &Path| {
            let metadata = fs::metadata(path).unwrap();
            let seconds = metadata.modified().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            (metadata.permissions().mode(), seconds)
        };
        assert_eq!(of(&ours), of(&theirs), "{ending}");
    });
}

#[test]
fn one_that_is_cut_or_damaged_leaves_no_file() {
    each(|compress, ending| {
        let content = noise(600_000);
        let packed = compress(&content);
        let temp = scratch().unwrap();
        let path = temp.path().join(format!("a.{ending}"));
        let mut changed = packed.clone();
        changed[packed.len() / 2] ^= 0x10;
        for (what, bytes) in [("cut", &packed[..packed.len() - 40]), ("changed", &changed[..])] {
            // Of these, nothing tells.
            if (ending == "Z") || (ending == "lzma" && what == "changed") {
                continue;
            }
            fs::write(&path, bytes).unwrap();
            let place = Place::new();
            let (result, report) = place.unpack(Input::File(path.clone()));
            assert!(matches!(result.unwrap_err().kind(), ErrorKind::Damaged { .. }), "{ending} {what}");
            assert!(place.files().is_empty(), "{ending} {what}");
            // Where nothing could be decoded, there is no file that could fail.
            assert!(report.failures.iter().all(|failure| failure.path() == Some(Path::new("a"))));
            let mut told = 0;
            let tested = Unpacker::new().test(Input::File(path.clone()), &mut |_| told += 1).unwrap();
            assert!(told > 0 && tested.intact == 0, "{ending} {what}");
            assert!(Archive::options().cache(None).open(&path).is_err());
        }
    });
}

#[test]
fn what_is_called_a_tar_and_is_none_stays_an_error() {
    each(|compress, ending| {
        let temp = scratch().unwrap();
        let mut names = vec![format!("a.tar.{ending}"), "archive".into(), "a.bin".into()];
        names.extend(["gz"].contains(&ending).then(|| "a.tgz".into()));
        names.extend(["gz"].contains(&ending).then(|| "a.crate".into()));
        for name in names {
            let path = temp.path().join(&name);
            fs::write(&path, compress(b"These are only words.\n")).unwrap();
            let place = Place::new();
            let error = place.unpack(Input::File(path.clone())).0.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::NotAnArchive { compression: Some(_), .. }), "{name}: {error}");
            assert!(error.to_string().contains(&format!("NAME.{ending} is unpacked as the single file NAME")));
            assert!(place.files().is_empty());
            assert!(Archive::options().cache(None).open(&path).is_err());
        }
        // And a tar is one, whatever it is called.
        let path = temp.path().join(format!("a.{ending}"));
        fs::write(&path, compress(&Tar::default().file("in the tar", b"x").end())).unwrap();
        let (place, summary, _) = unpack_whole(Unpacker::new(), Input::File(path));
        assert_eq!((place.files(), summary.format.to_string()), (vec!["in the tar".into()], format!("tar.{ending}")));
    });
}

/// A gzip with this name and time in its header.
fn gzip_of(name: &[u8], time: u32, content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let builder = flate2::GzBuilder::new().mtime(time);
    let builder = if name.is_empty() { builder } else { builder.filename(name) };
    let mut encoder = builder.write(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_name_that_gzip_stores_counts_only_where_the_files_own_says_nothing() {
    let unpack = |name: &str, bytes: &[u8]| {
        let temp = scratch().unwrap();
        fs::write(temp.path().join(name), bytes).unwrap();
        let place = Place::new();
        let (result, report) = place.unpack(Input::File(temp.path().join(name)));
        assert!(report.is_complete());
        place.assert_nothing_outside();
        result.map(|_| (place.files(), fs::metadata(place.root().join(&place.files()[0])).unwrap().modified().unwrap()))
    };
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(5);
    assert_eq!(unpack("b.gz", &gzip_of(b"stored", 5, b"x")).unwrap(), (vec!["b".into()], time));
    assert_eq!(unpack("b", &gzip_of(b"stored", 5, b"x")).unwrap(), (vec!["stored".into()], time));
    assert_eq!(unpack("b", &gzip_of(b"../../etc/stored", 5, b"x")).unwrap().0, ["stored"]);
    for bad in [&b".."[..], b"a/", b"", b"a.tar"] {
        assert!(unpack("b", &gzip_of(bad, 5, b"x")).is_err(), "{bad:?}");
    }
    let (place, ..) = unpack_whole(Unpacker::new(), stream_of(gzip_of(b"stored", 5, b"x")));
    assert_eq!(place.files(), ["stored"]);
    let error = Place::new().unpack(stream_of(gzip_of(b"", 5, b"x"))).0.unwrap_err().to_string();
    assert!(error.contains("NAME.gz is unpacked as the single file NAME"), "{error}");
}

#[test]
fn a_bomb_ends_at_the_limit_and_leaves_nothing() {
    skip_unless!(Need::Program("gzip"));
    let temp = scratch().unwrap();
    let path = temp.path().join("zeros.gz");
    fs::write(&path, gzip_of(b"", 0, &vec![0; 80 << 20])).unwrap();
    for limits in [Limits::default().bytes(1 << 20), Limits::default().ratio(100)] {
        let place = Place::new();
        let (result, _) = place.unpack_as(Unpacker::options().limits(limits).build(), Input::File(path.clone()));
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Limit { .. }));
        assert!(place.files().is_empty());
        assert!(Archive::options().cache(None).limits(limits).open(&path).is_err());
    }
}
