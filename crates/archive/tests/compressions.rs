//! Compressed tars: whole, in several members, followed by other bytes, cut short, and with flipped bits.
#![cfg(unix)] // the tools that make the archives, and what they keep, are Unix's

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use common::*;
use manyfiles_archive::{ErrorKind, Input, Trailing, Unpacker};
use manyfiles_testkit::{Compare, Kind, Need, Tree, seeds, skip_unless};

struct Compressor {
    name: &'static str,
    ending: &'static str,
    args: &'static [&'static str],
}

const ALL: &[Compressor] = &[
    Compressor { name: "gzip", ending: "tar.gz", args: &["-c"] },
    Compressor { name: "zstd", ending: "tar.zst", args: &["-c", "-q"] },
    Compressor { name: "zstd", ending: "tar.zst", args: &["-c", "-q", "-19"] },
    Compressor { name: "xz", ending: "tar.xz", args: &["-c", "-1"] },
    Compressor { name: "xz", ending: "tar.xz", args: &["-c", "-1", "-T2", "--block-size=1MiB"] },
    Compressor { name: "bzip2", ending: "tar.bz2", args: &["-c"] },
    Compressor { name: "lz4", ending: "tar.lz4", args: &["-c", "-q"] },
    Compressor { name: "lz4", ending: "tar.lz4", args: &["-c", "-q", "-BX", "-B4", "-BD", "--content-size"] },
    Compressor { name: "lz4", ending: "tar.lz4", args: &["-c", "-q", "-l"] },
    Compressor { name: "xz", ending: "tar.lzma", args: &["-c", "-1", "--format=lzma"] },
    Compressor { name: "lzip", ending: "tar.lz", args: &["-c", "-q"] },
    Compressor { name: "lzip", ending: "tar.lz", args: &["-c", "-q", "-0", "-b", "100000"] },
    Compressor { name: "compress", ending: "tar.Z", args: &["-c", "-f"] },
    Compressor { name: "compress", ending: "tar.Z", args: &["-c", "-f", "-b", "12"] },
];

impl Compressor {
    fn compress(&self, bytes: &[u8]) -> Vec<u8> {
        filter(&mut program(self.name, self.args), bytes)
    }

    /// Whether another member can follow: the old format of lz4, LZMA alone and compress(1) have no second one.
    fn has_members(&self) -> bool {
        !self.args.contains(&"-l") && self.ending != "tar.lzma" && self.ending != "tar.Z"
    }

    /// Whether a checksum says that what was decoded is right.
    fn has_checksum(&self) -> bool {
        self.has_members()
    }

    /// What it is called in messages.
    fn called(&self) -> &str {
        match self.ending {
            "tar.lzma" => "lzma",
            "tar.Z" => "compress(1)",
            _ => self.name,
        }
    }
}

/// A tar, and what it is to be unpacked to. Made once.
fn tar() -> &'static (Vec<u8>, Tree) {
    static TAR: OnceLock<(Vec<u8>, Tree)> = OnceLock::new();
    TAR.get_or_init(|| {
        let sample = sample();
        let tar =
            run(Command::new("tar").args(["--format=pax", "-cf", "-", "-C"]).arg(sample.path()).arg("sample"), false);
        let (place, ..) = unpack_whole(Unpacker::new(), stream_of(&tar[..]));
        (tar, Tree::read(place.root()).unwrap())
    })
}

/// Calls `test` with every compressor that is here and the compressed tar.
fn each(test: impl Fn(&Compressor, &[u8], Vec<u8>)) {
    for compressor in ALL {
        if let Err(why) = Need::Program(compressor.name).check() {
            manyfiles_testkit::skip(why);
            continue;
        }
        println!("{} {:?}", compressor.name, compressor.args);
        test(compressor, &tar().0, compressor.compress(&tar().0));
    }
}

#[track_caller]
fn assert_whole(archive: &[u8], ending: &str) -> manyfiles_archive::Summary {
    let (_temp, path) = file_of(archive);
    let (place, from_file, _) = unpack_whole(Unpacker::new(), Input::File(path));
    tar().1.assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL);
    let (place, from_stream, _) = unpack_whole(Unpacker::new(), stream_of(archive));
    tar().1.assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL);
    assert_eq!(from_file, from_stream);
    assert_eq!(from_file.format.to_string(), ending);
    from_file
}

#[test]
fn every_compression_is_unpacked_from_a_file_and_from_a_stream() {
    skip_unless!(Need::Program("tar"));
    each(|compressor, _, archive| assert_eq!(assert_whole(&archive, compressor.ending).trailing, None));
}

#[test]
fn a_file_of_several_members_is_one_tar() {
    skip_unless!(Need::Program("tar"));
    each(|compressor, tar, _| {
        if !compressor.has_members() {
            return;
        }
        let middle = tar.len() / 3;
        let parts = [&tar[..middle], &[], &tar[middle..]].map(|part| compressor.compress(part));
        assert_whole(&parts.concat(), compressor.ending);
    });
}

#[test]
fn frames_to_be_skipped_are_skipped() {
    skip_unless!(Need::Program("tar"));
    each(|compressor, tar, archive| {
        let skippable = b"\x5a\x2a\x4d\x18\x05\0\0\0skip!";
        match compressor.name {
            "zstd" => assert_whole(&[skippable, &archive[..], skippable].concat(), "tar.zst"),
            "lz4" if !compressor.args.contains(&"-l") => {
                let (first, second) = tar.split_at(1000);
                let parts = [&compressor.compress(first)[..], skippable, skippable, &compressor.compress(second)];
                assert_whole(&parts.concat(), "tar.lz4")
            }
            _ => return,
        };
    });
}

#[test]
fn what_follows_compressed_data_is_judged_by_one_rule_for_all() {
    skip_unless!(Need::Program("tar"));
    each(|compressor, tar, archive| {
        if !compressor.has_members() {
            return;
        }
        let (first, second) = tar.split_at(tar.len() / 3);
        let [first, second] = [first, second].map(|part| compressor.compress(part));
        let zeros = |count| vec![0; count];
        let tar_entries = Unpacker::new().list(stream_of(tar), &mut |_| {}).unwrap().entries;
        for (what, bytes, trailing) in [
            ("four zeros", [&archive[..], &zeros(4)].concat(), None),
            ("an odd number of zeros", [&archive[..], &zeros(4095)].concat(), None),
            ("a megabyte of zeros", [&archive[..], &zeros(1 << 20)].concat(), None),
            ("zeros between members", [&first[..], &zeros(1000), &second, &zeros(3)].concat(), None),
            ("a byte", [&archive[..], b"x"].concat(), Some(Trailing::AfterCompressed)),
            ("words", [&archive[..], b"some words, not compressed"].concat(), Some(Trailing::AfterCompressed)),
            ("zeros and words", [&archive[..], &zeros(700), b"words"].concat(), Some(Trailing::AfterCompressed)),
            ("noise", [&archive[..], &noise(600_000)].concat(), Some(Trailing::AfterCompressed)),
        ] {
            println!("  {what}");
            let mut entries = 0;
            let listed = Unpacker::new().list(stream_of(bytes), &mut |_| entries += 1).unwrap();
            assert_eq!((entries, listed.trailing), (tar_entries, trailing), "{what}");
        }
        // A member that follows is no garbage, and damage in it is damage.
        let cut = [&first[..], &second[..second.len() / 2]].concat();
        assert_damaged(&Place::new().unpack(stream_of(cut)).0);
    });
}

/// Each file that came out is right, or the report names it.
fn assert_nothing_wrong(place: &Place, report: &manyfiles::tree::Report) {
    let tree = Tree::read(place.root()).unwrap();
    for (path, entry) in &tree.entries {
        if let Kind::File { .. } = entry.kind {
            let expected = tar().1.entries.get(path).map(|entry| &entry.kind);
            let named = report.failures.iter().any(|failure| failure.path() == Some(path));
            assert!(expected == Some(&entry.kind) || named, "{path:?} is wrong, and no error names it");
        }
    }
}

#[test]
fn cut_short_anywhere_what_came_before_stays_and_it_is_an_error() {
    skip_unless!(Need::Program("tar"));
    each(|compressor, _, archive| {
        let len = archive.len();
        for end in [1, 5, 17, 100, len / 10, len / 3, len / 2, len - len / 10, len - 5, len - 1] {
            let place = Place::new();
            let (result, report) = place.unpack(stream_of(&archive[..end]));
            // These have no end of their own, so that in the tar's padding nothing tells.
            let has_no_end = compressor.args.contains(&"-l") || compressor.ending == "tar.Z";
            match result {
                Ok(_) => assert!(has_no_end, "{end} of {len} bytes were taken for the whole"),
                Err(error) => {
                    println!("  {end} of {len}: {error}");
                    if end > 100 {
                        assert_damaged(&Err(error));
                    }
                }
            }
            assert_nothing_wrong(&place, &report);
            // Some compressors use blocks that are larger than this tar: without the end of the block, nothing can be
            // decoded.
            let has_small_blocks =
                compressor.name != "bzip2" && (compressor.name != "lz4" || compressor.args.contains(&"-B4"));
            if end > len - len / 5 && has_small_blocks {
                assert!(report.files > 20, "only {} files of half the archive", report.files);
            }
        }
    });
}

#[test]
fn a_flipped_bit_is_noticed_or_of_no_consequence() {
    skip_unless!(Need::Program("tar"));
    let seed = seeds(1, 1).start;
    println!("MANYFILES_SEED={seed}");
    each(|compressor, _, archive| {
        let mut state = seed;
        for _ in 0..6 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // The first bytes of some formats hold what does not matter: a time, a level.
            let at = 20 + (state >> 33) as usize % (archive.len() - 20);
            let mut damaged = archive.clone();
            damaged[at] ^= 1 << (state >> 29 & 7);
            let place = Place::new();
            let (result, report) = place.unpack(stream_of(damaged));
            println!("  byte {at} of {}: {:?}", archive.len(), result.as_ref().map_err(ToString::to_string));
            // Some have no checksum. The others have one at the end of a block or of all: when it is
            // looked at, files may have been written that are wrong, so that the whole archive must be said to be
            // damaged. But a bit may be of no consequence: one that leads to other bytes, which are the same.
            if result.is_ok() && compressor.has_checksum() {
                tar().1.assert_same(&Tree::read(place.root()).unwrap(), Compare::ALL);
            }
            assert!(
                report.failures.len() <= 1,
                "only the entry at the damage can be incomplete: {:?}",
                report.failures
            );
        }
    });
}

#[test]
fn what_is_compressed_and_no_tar_is_called_by_its_name() {
    for compressor in ALL.iter().filter(|compressor| Need::Program(compressor.name).check().is_ok()) {
        let (_temp, path) = file_of(&compressor.compress(b"These are only words.\n"));
        let (result, _) = Place::new().unpack(Input::File(path));
        let error = result.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NotAnArchive { compression: Some(_), looks_like: Some("text") }),
            "{error}"
        );
        assert!(
            error.to_string().contains(&format!("a {}-compressed file, but not a tar inside", compressor.called()))
        );
        let (_temp, path) = file_of(&compressor.compress(b""));
        let (result, _) = Place::new().unpack(Input::File(path));
        assert!(matches!(result.unwrap_err().kind(), ErrorKind::Empty));
    }
}

#[test]
fn an_error_of_the_stream_is_not_called_damage() {
    struct Failing(usize);
    impl std::io::Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let rest = &tar().0[self.0.min(1 << 20)..1 << 20];
            if rest.is_empty() {
                return Err(std::io::Error::from_raw_os_error(5));
            }
            let len = rest.len().min(into.len());
            into[..len].copy_from_slice(&rest[..len]);
            self.0 += len;
            Ok(len)
        }
    }
    skip_unless!(Need::Program("tar"));
    let place = Place::new();
    let (result, report) = place.unpack(Input::Stream(Box::new(Failing(0))));
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Read(_)), "{error}");
    assert_eq!(error.raw_os_error(), Some(5));
    assert_eq!(error.archive(), Path::new("-"));
    assert!(report.files > 0, "what came before stays");
    assert_nothing_wrong(&place, &report);
}
