//! What is promised to be on the disk is there after a power cut, on a file system that promises no more than POSIX does:
//! bytes are durable by a sync of their file, names by a sync of their folder. Each subject runs once on a mount that
//! records what it does; then the power is cut at many points of that record. What the program was told before that
//! point is to be there, also if syncs fail and lose what they were to write.
//!
//! A seed chooses the points and the chances. `MANYFILES_SEED=n` tries one alone. The threads of a subject may run in
//! another order then, so that its record is another one.
#![cfg(all(target_os = "linux", feature = "full"))]

mod logs;
mod trees;

use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use manyfiles::sync::SyncBatch;
use manyfiles::vfs::Vfs;
use manyfiles::writer::FileWriter;
use manyfiles_testkit::model::{Random, Record, Remnant};
use manyfiles_testkit::{Need, Op, SlowMount, SlowOptions, seeds, skip_unless};

/// Points of each record at which the power is cut, each in three ways.
const CUTS: usize = 40;

/// Where a subject works, and where it says what it was told.
#[derive(Debug)]
pub struct Place {
    /// The root of the mount.
    pub root: PathBuf,
    told: Mutex<File>,
}

impl Place {
    /// From here on this is to survive. It is in the record, behind all that it rests on.
    pub fn told(&self, what: impl AsRef<str>) {
        writeln!(self.told.lock().unwrap(), "{}", what.as_ref()).unwrap();
    }
}

/// How the machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All that was not synced is lost.
    AllLost,
    /// Any part of it is lost, in any order.
    PartLost,
}

/// Runs `subject` on a recording mount, cuts the power at many points, and has `check` look at what was told by then
/// and at what is left, which is in a folder as well.
pub fn cut(
    options: fn(SlowOptions) -> SlowOptions,
    subject: impl Fn(&Place, u64),
    check: impl Fn(&[String], &Remnant, &Path),
) {
    skip_unless!(Need::Fuse);
    for seed in seeds(1, 1) {
        let record = recorded(options, |place| subject(place, seed));
        let mut random = Random(seed);
        for n in 0..CUTS {
            // The last one is after everything.
            let step = if n == 0 { record.len() } else { random.below(record.len() as u64) as usize };
            let told = record.seen(step);
            let told: Vec<String> = told
                .file("told")
                .map(|bytes| String::from_utf8_lossy(bytes).lines().map(String::from).collect())
                .unwrap_or_default();
            for stop in [Stop::AllLost, Stop::PartLost, Stop::PartLost] {
                let chance = (stop == Stop::PartLost).then(|| Random(random.below(u64::MAX)));
                let left = record.cut(step, chance);
                let folder = manyfiles_testkit::scratch().unwrap();
                left.make_in(folder.path()).unwrap();
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&told, &left, folder.path()))) {
                    let paths: Vec<_> = left.0.keys().collect();
                    eprintln!("MANYFILES_SEED={seed}, cut {n} at step {step} of {}, {stop:?}", record.len());
                    eprintln!("told: {told:?}\nleft: {paths:?}");
                    resume_unwind(panic);
                }
            }
        }
    }
}

fn recorded(options: fn(SlowOptions) -> SlowOptions, subject: impl FnOnce(&Place)) -> Record {
    let mount = options(SlowMount::options().record()).mount().unwrap();
    let told = Mutex::new(File::create(mount.path().join("told")).unwrap());
    let place = Place { root: mount.path().to_path_buf(), told };
    subject(&place);
    drop(place);
    mount.record().unwrap()
}

#[test]
fn what_a_mount_records_is_what_it_shows() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().record().mount().unwrap();
    let at = |name: &str| mount.path().join(name);
    fs::create_dir_all(at("a/b")).unwrap();
    fs::write(at("a/b/file"), vec![7; 10_000]).unwrap();
    fs::write(at("a/b/file"), b"shorter").unwrap();
    fs::hard_link(at("a/b/file"), at("link")).unwrap();
    fs::rename(at("a/b"), at("c")).unwrap();
    std::os::unix::fs::symlink("c/file", at("way")).unwrap();
    File::options().write(true).open(at("link")).unwrap().set_len(4).unwrap();
    fs::write(at("gone"), b"x").unwrap();
    fs::remove_file(at("gone")).unwrap();
    let record = mount.record().unwrap();
    let seen = record.seen(record.len());
    let folder = manyfiles_testkit::scratch().unwrap();
    seen.make_in(folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("c/file")).unwrap(), b"shor");
    assert_eq!(fs::read(folder.path().join("way")).unwrap(), b"shor");
    let names: Vec<_> = seen.0.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["a", "c", "c/file", "link", "way"]);
    assert!(record.cut(record.len(), None).0.is_empty(), "nothing was synced");
    File::open(at("link")).unwrap().sync_all().unwrap();
    let record = mount.record().unwrap();
    assert!(record.cut(record.len(), None).0.is_empty(), "no name was synced");
    File::open(mount.path()).unwrap().sync_all().unwrap();
    let record = mount.record().unwrap();
    let left = record.cut(record.len(), None);
    assert_eq!(left.file("link").unwrap(), b"shor");
    // `c` came from `a`, by one rename: `a` and all changes of its names before that came along. Its own content did
    // not: nobody synced it.
    assert_eq!(left.0.len(), 4, "{left:?}");
}

#[test]
fn a_program_that_does_not_sync_the_folder_is_found_out() {
    skip_unless!(Need::Fuse);
    let caught = catch_unwind(|| {
        cut(
            |options| options,
            |place, _| {
                let mut file = File::create(place.root.join("file")).unwrap();
                file.write_all(b"bytes").unwrap();
                file.sync_all().unwrap();
                place.told("file");
            },
            |told, left, _| assert!(told.is_empty() || left.file("file").is_some()),
        );
    });
    assert!(caught.is_err(), "the cut took nothing");
}

#[test]
fn a_failed_sync_loses_what_it_was_to_write_and_programs_see_it_still() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().record().fail_nth(Op::Fsync, libc::EIO, "file", 1).mount().unwrap();
    let path = mount.path().join("file");
    let mut file = File::create(&path).unwrap();
    file.write_all(&[7; 8192]).unwrap();
    assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(libc::EIO));
    assert_eq!(fs::read(&path).unwrap(), [7; 8192]);
    file.sync_all().unwrap();
    File::open(mount.path()).unwrap().sync_all().unwrap();
    let record = mount.record().unwrap();
    assert_eq!(record.failed_syncs(), 1);
    assert_eq!(record.cut(record.len(), None).file("file").unwrap(), [0; 8192]);
}

/// The contents of a file that is written again and again: version and file can be told from any of them.
fn version(file: u64, n: u64) -> Vec<u8> {
    format!("{file}.{n} ").repeat(1 + (file * 131 + n * 977) as usize % 2000).into_bytes()
}

/// Each file whose version was told is there, whole, in this version or a later one.
fn check_versions(told: &[String], left: &Remnant) {
    let mut newest = std::collections::BTreeMap::new();
    for line in told {
        let (file, n) = line.split_once(' ').unwrap();
        newest.insert(file.parse::<u64>().unwrap(), n.parse::<u64>().unwrap());
    }
    for (file, newest) in newest {
        let bytes = left.file(format!("new/below/{file}")).unwrap_or_else(|| panic!("{file} is not there"));
        let is_whole = (newest..newest + 40).any(|n| version(file, n) == bytes);
        assert!(
            is_whole,
            "{file}, version {newest} or later, has {:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
        );
    }
}

#[test]
fn put_keeps_its_promise() {
    for options in [|options| options, |options: SlowOptions| options.fail_nth(Op::Fsync, libc::EIO, "", 7)] {
        cut(
            options,
            |place, _| {
                let vfs = Vfs::new();
                fs::create_dir_all(place.root.join("new/below")).unwrap();
                manyfiles::sync::sync_folder(place.root.join("new")).unwrap();
                manyfiles::sync::sync_folder(&place.root).unwrap();
                for n in 0..12 {
                    for file in 0..3 {
                        if vfs.put(place.root.join(format!("new/below/{file}")), version(file, n)).is_ok() {
                            place.told(format!("{file} {n}"));
                        }
                    }
                }
            },
            |told, left, _| check_versions(told, left),
        );
    }
}

#[test]
fn what_a_vfs_has_synced_is_there() {
    cut(
        |options| options.fail_nth(Op::Fsync, libc::EIO, "", 5),
        |place, _| {
            let vfs = Vfs::new();
            let mut lens = [0; 4];
            for n in 0..60_usize {
                let path = place.root.join(format!("{}", n % 4));
                let _ = vfs.append(&path, &[b'a' + (n % 26) as u8; 700]);
                lens[n % 4] += 700;
                if n % 3 == 2 {
                    match vfs.sync(&path) {
                        Ok(()) => place.told(format!("{} {}", n % 4, lens[n % 4])),
                        // What the failure took is given up: the file begins anew.
                        Err(_) => {
                            let _ = vfs.flush(&path);
                            place.told(format!("{} 0", n % 4));
                            fs::remove_file(&path).unwrap();
                            lens[n % 4] = 0;
                        }
                    }
                }
            }
            vfs.finish().unwrap();
        },
        |told, left, _| {
            let mut durable = std::collections::BTreeMap::new();
            for line in told {
                let (file, len) = line.split_once(' ').unwrap();
                durable.insert(file, len.parse::<usize>().unwrap());
            }
            for (file, len) in durable {
                let bytes = left.file(file).unwrap_or_default();
                assert!(bytes.len() >= len, "{file}: {} of {len}", bytes.len());
                assert!(!bytes[..len].contains(&0), "{file} has zeros below {len}");
            }
        },
    );
}

#[test]
fn what_a_writer_says_is_durable_is_there() {
    for options in [|options| options, |options: SlowOptions| options.fail_nth(Op::Fsync, libc::EIO, "records", 3)] {
        cut(
            options,
            |place, seed| {
                let mut random = Random(seed);
                let mut writer = FileWriter::create(place.root.join("records")).unwrap();
                for n in 0..400_u64 {
                    if writer.write_all(&vec![b'a' + (n % 26) as u8; random.below(3000) as usize]).is_err() {
                        break;
                    }
                    if random.one_in(12) && writer.sync().is_ok() {
                        place.told(writer.durable().to_string());
                    }
                }
                if writer.sync().is_ok() {
                    place.told(writer.durable().to_string());
                }
                let _ = writer.close();
            },
            |told, left, _| {
                let Some(durable) = told.last().map(|line| line.parse::<usize>().unwrap()) else { return };
                let bytes = left.file("records").expect("its name was promised");
                assert!(bytes.len() >= durable, "{} of {durable}", bytes.len());
                assert!(!bytes[..durable].contains(&0), "zeros below {durable}");
            },
        );
    }
}

#[test]
fn a_batch_keeps_its_promise() {
    for options in [|options| options, |options: SlowOptions| options.fail_nth(Op::Fsync, libc::EIO, "", 9)] {
        cut(
            options,
            |place, _| {
                fs::create_dir_all(place.root.join("new/below")).unwrap();
                manyfiles::sync::sync_folder(place.root.join("new")).unwrap();
                manyfiles::sync::sync_folder(&place.root).unwrap();
                for n in 0..6 {
                    let batch = SyncBatch::options().atomic(true).build();
                    for file in 0..8 {
                        batch.write(place.root.join(format!("new/below/{file}")), version(file, n)).unwrap();
                    }
                    if batch.finish().is_ok() {
                        (0..8).for_each(|file| place.told(format!("{file} {n}")));
                    }
                }
            },
            |told, left, _| check_versions(told, left),
        );
    }
}
