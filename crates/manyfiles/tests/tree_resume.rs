//! Copies of large files that were interrupted are gone on with, and nothing that is there is trusted.
#![cfg(feature = "full")]
#![cfg(unix)] // nothing is resumed elsewhere

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use manyfiles::tree::{
    Canceller, Content, Digest, Durability, Mirror, OnConflict, Options, RESUME_FROM, Report, TreeWriter,
};
use tempfile::{TempDir, tempdir};

const MIB: usize = 1 << 20;
const LEN: usize = 12 * MIB;

/// Calls `at` with how many bytes of a file have passed.
struct Passing {
    passed: u64,
    at: Arc<dyn Fn(u64) + Send + Sync>,
}

impl Digest for Passing {
    fn update(&mut self, bytes: &[u8]) {
        self.passed += bytes.len() as u64;
        (self.at)(self.passed);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.passed.to_le_bytes().to_vec()
    }
}

fn passing(options: Options, at: impl Fn(u64) + Send + Sync + 'static) -> Options {
    let at: Arc<dyn Fn(u64) + Send + Sync> = Arc::new(at);
    options.digest(move || Box::new(Passing { passed: 0, at: at.clone() }))
}

/// Bytes of which no two blocks are the same.
fn bytes() -> Vec<u8> {
    (0..LEN as u32 / 4).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

struct Case {
    temp: TempDir,
    source: PathBuf,
    target: PathBuf,
}

impl Case {
    fn new() -> Case {
        let temp = tempdir().unwrap();
        let (source, target) = (temp.path().join("source"), temp.path().join("target"));
        fs::write(&source, bytes()).unwrap();
        fs::create_dir(&target).unwrap();
        Case { temp, source, target }
    }

    fn copy(&self, options: Options) -> Report {
        let tree = options.open(&self.target).unwrap();
        tree.file("file", Content::copy_of(&self.source)).unwrap();
        finish(tree)
    }

    /// A copy that is cancelled when this much has passed.
    fn interrupt(&self, options: Options, after: u64) -> Report {
        let canceller = Arc::new(OnceLock::<Canceller>::new());
        let cancels = canceller.clone();
        let options = passing(options, move |passed| {
            if passed >= after {
                cancels.wait().cancel();
            }
        });
        let tree = options.open(&self.target).unwrap();
        canceller.set(tree.canceller()).ok().unwrap();
        tree.file("file", Content::copy_of(&self.source)).unwrap();
        finish(tree)
    }

    /// What an interrupted copy left.
    fn left(&self) -> PathBuf {
        let report = self.interrupt(resume(), 9 * MIB as u64);
        assert!(report.cancelled && report.partial == 1, "{report:?}");
        let [left] = names(&self.target).try_into().unwrap();
        assert!(left.starts_with(".manyfiles-resume-"), "{left}");
        self.target.join(left)
    }

    fn assert_equal(&self) {
        assert!(fs::read(self.target.join("file")).unwrap() == fs::read(&self.source).unwrap());
        let of = |path: &Path| fs::metadata(path).map(|is| (is.mode(), is.modified().unwrap())).unwrap();
        assert_eq!(of(&self.target.join("file")), of(&self.source));
    }

    fn assert_alone(&self) {
        self.assert_equal();
        assert_eq!(names(&self.target), ["file"]);
    }
}

fn resume() -> Options {
    TreeWriter::options().resume(true).exact_permissions(true)
}

fn finish(tree: TreeWriter) -> Report {
    tree.finish().unwrap_or_else(|incomplete| incomplete.into_report())
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_has_arrived_stays_and_the_next_run_goes_on_from_there() {
    for mode in [0o640, 0o444, 0o200] {
        for durability in [Durability::None, Durability::EachFile, Durability::AtFinish] {
            let case = Case::new();
            fs::set_permissions(&case.source, fs::Permissions::from_mode(mode)).unwrap();
            if fs::File::open(&case.source).is_err() {
                continue; // Only root can copy what is not to be read.
            }
            let left = case.left();
            let number = fs::metadata(&left).unwrap().ino();
            assert_eq!(fs::metadata(&left).unwrap().mode() & 0o7777, 0o600, "nobody else looks into it");
            let report = case.copy(resume().durability(durability));
            assert!(report.is_complete(), "{report:?}");
            assert_eq!((report.files, report.resumed, report.partial), (1, 1, 0));
            assert!(report.resumed_bytes >= 8 * MIB as u64 && report.bytes == LEN as u64, "{report:?}");
            case.assert_alone();
            assert_eq!(fs::metadata(case.target.join("file")).unwrap().ino(), number, "it is that file");
        }
    }
}

#[test]
fn several_interruptions_add_up_and_what_is_compared_counts_in_the_digest() {
    let case = Case::new();
    for after in [3, 6, 9] {
        assert_eq!(case.interrupt(resume(), after * MIB as u64).partial, 1);
    }
    let passed = Arc::new(Mutex::new(0));
    let noted = passed.clone();
    let report = case.copy(passing(resume(), move |passed| *noted.lock().unwrap() = passed));
    assert!(report.resumed_bytes >= 8 * MIB as u64, "{report:?}");
    assert_eq!(*passed.lock().unwrap(), LEN as u64);
    case.assert_alone();
}

#[test]
fn without_resume_nothing_stays_and_what_another_run_left_is_not_touched() {
    let case = Case::new();
    let report = case.interrupt(resume().resume(false), 9 * MIB as u64);
    assert_eq!((report.partial, names(&case.target).len()), (0, 0));
    let left = case.left();
    let was = fs::read(&left).unwrap();
    assert!(case.copy(resume().resume(false)).is_complete());
    assert!(fs::read(&left).unwrap() == was);
    case.assert_equal();
}

#[test]
fn small_files_and_published_trees_leave_nothing() {
    let case = Case::new();
    fs::OpenOptions::new().write(true).open(&case.source).unwrap().set_len(RESUME_FROM - 1).unwrap();
    let report = case.interrupt(resume(), MIB as u64);
    assert!(report.cancelled && report.partial == 0 && names(&case.target).is_empty(), "{report:?}");
    let case = Case::new();
    let report = case.interrupt(resume().publish(true), MIB as u64);
    assert!(report.cancelled && report.partial == 0, "{report:?}");
    assert_eq!(names(case.temp.path()), ["source", "target"]);
}

#[test]
fn bytes_that_are_not_those_of_the_source_are_written_again_wherever_they_are() {
    for at in [0, 5, MIB * 4, MIB * 8 - 1] {
        let case = Case::new();
        let left = case.left();
        let mut file = fs::OpenOptions::new().write(true).open(&left).unwrap();
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(b"damaged by a power cut").unwrap();
        let report = case.copy(resume());
        assert!(report.is_complete() && report.resumed_bytes <= at as u64, "{report:?}");
        case.assert_alone();
    }
}

#[test]
fn a_source_that_changed_is_copied_from_the_beginning() {
    let changes: [fn(&Path); 3] = [
        |source| fs::OpenOptions::new().append(true).open(source).unwrap().write_all(b"more").unwrap(),
        |source| fs::File::open(source).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap(),
        |source| {
            let modified = fs::metadata(source).unwrap().modified().unwrap();
            fs::rename(source, source.with_file_name("old")).unwrap();
            fs::write(source, bytes()).unwrap();
            fs::File::open(source).unwrap().set_modified(modified).unwrap();
        },
    ];
    for change in changes {
        let case = Case::new();
        case.left();
        change(&case.source);
        let report = case.copy(resume());
        assert!(report.is_complete() && report.resumed == 0, "{report:?}");
        case.assert_alone();
    }
}

/// Makes what is in the name's way.
type Make = fn(&Path);

#[test]
fn what_has_that_name_and_is_no_run_s_own_is_neither_written_nor_removed() {
    let in_the_way: [(&str, Make); 8] = [
        ("an empty file", |at| fs::write(at, "").unwrap()),
        ("a file of another program", |at| fs::write(at, bytes()).unwrap()),
        ("a copy of what a run left", |at| {
            fs::copy(at.with_file_name("kept"), at).unwrap();
        }),
        ("a link to what a run left", |at| symlink("kept", at).unwrap()),
        ("another name of what a run left", |at| fs::hard_link(at.with_file_name("kept"), at).unwrap()),
        ("a link that leads nowhere", |at| symlink("nowhere", at).unwrap()),
        ("a folder", |at| fs::create_dir(at).unwrap()),
        ("a FIFO", |at| rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap()),
    ];
    for (what, make) in in_the_way {
        let case = Case::new();
        let left = case.left();
        let kept = left.with_file_name("kept");
        fs::rename(&left, &kept).unwrap();
        make(&left);
        let is = |path: &Path| {
            let is = fs::symlink_metadata(path).unwrap();
            (is.ino(), is.mode(), is.len(), is.modified().unwrap())
        };
        let (was, kept_was) = (is(&left), (is(&kept), fs::read(&kept).unwrap()));
        let report = case.copy(resume());
        assert!(report.is_complete() && report.resumed == 0, "{what}: {report:?}");
        case.assert_equal();
        assert_eq!(is(&left), was, "{what}");
        assert!((is(&kept), fs::read(&kept).unwrap()) == kept_was, "{what}");
        // Interrupted, it leaves nothing then.
        fs::remove_file(case.target.join("file")).unwrap();
        let report = case.interrupt(resume(), 9 * MIB as u64);
        assert!(report.cancelled && report.partial == 0, "{what}: {report:?}");
        assert_eq!(names(&case.target).len(), 2, "{what}");
        assert_eq!(is(&left), was, "{what}");
    }
}

#[test]
fn a_seal_of_another_file_or_with_a_lie_in_it_is_none() {
    for at in [0, 16, 20, 32, 48, 60, 70, 83] {
        let case = Case::new();
        let left = case.left();
        let file = fs::OpenOptions::new().read(true).write(true).open(&left).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, (LEN + at) as u64).unwrap();
        file.write_all_at(&[byte[0] ^ 1], (LEN + at) as u64).unwrap();
        let was = fs::read(&left).unwrap();
        let report = case.copy(resume());
        assert!(report.is_complete() && report.resumed == 0, "{at}: {report:?}");
        case.assert_equal();
        assert!(fs::read(&left).unwrap() == was, "{at}: it is left alone");
    }
}

#[test]
fn holes_stay_holes_and_nothing_shows_through_them() {
    let case = Case::new();
    let file = fs::File::create(&case.source).unwrap();
    file.set_len(64 * MIB as u64).unwrap();
    for at in [0, 20, 40] {
        file.write_all_at(&bytes()[..6 * MIB], (at * MIB) as u64).unwrap();
    }
    if file.metadata().unwrap().blocks() * 512 > 60 * MIB as u64 {
        return eprintln!("skipped: holes_stay_holes…: this file system has none");
    }
    let left = case.interrupt(resume(), 22 * MIB as u64);
    assert_eq!(left.partial, 1);
    let left = case.target.join(&names(&case.target)[0]);
    let file = fs::OpenOptions::new().write(true).open(&left).unwrap();
    for at in [12, 30, 60] {
        file.write_all_at(b"what is no part of it", (at * MIB) as u64 + 5).unwrap();
    }
    let report = case.copy(resume());
    assert!(report.is_complete() && report.resumed_bytes >= 6 * MIB as u64, "{report:?}");
    case.assert_alone();
    assert!(fs::metadata(case.target.join("file")).unwrap().blocks() * 512 < 24 * MIB as u64);
}

#[test]
fn two_runs_at_once_do_not_write_the_same_file() {
    let case = Case::new();
    let (reached, is_there) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (waited, may_go_on) = (AtomicBool::new(false), Mutex::new(may_go_on));
    let options = passing(resume().on_conflict(OnConflict::Replace), move |passed| {
        if passed >= 9 * MIB as u64 && !waited.swap(true, Relaxed) {
            reached.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    });
    let tree = options.open(&case.target).unwrap();
    tree.file("file", Content::copy_of(&case.source)).unwrap();
    is_there.recv_timeout(Duration::from_secs(60)).unwrap();
    let other = case.copy(resume());
    assert!(other.is_complete() && other.resumed == 0, "{other:?}");
    case.assert_equal();
    assert_eq!(names(&case.target).len(), 2, "the first run's is there");
    go_on.send(()).unwrap();
    assert!(finish(tree).is_complete());
    case.assert_alone();
}

#[test]
fn a_name_that_is_taken_meanwhile_is_taken_from_nobody() {
    let case = Case::new();
    let taken = case.target.join("file");
    let options = passing(resume(), move |passed| {
        if passed == LEN as u64 {
            fs::write(&taken, "of another program").unwrap();
        }
    });
    let report = case.copy(options);
    assert_eq!(report.failures[0].kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(case.target.join("file")).unwrap(), b"of another program");
}

#[test]
fn a_source_that_changes_while_it_is_copied_leaves_nothing() {
    let changes: [fn(&Path); 2] = [
        |source| fs::OpenOptions::new().append(true).open(source).unwrap().write_all(b"more").unwrap(),
        |source| fs::OpenOptions::new().write(true).open(source).unwrap().set_len(10 * MIB as u64).unwrap(),
    ];
    for change in changes {
        let case = Case::new();
        let (source, changed) = (case.source.clone(), AtomicBool::new(false));
        let report = case.copy(passing(resume(), move |passed| {
            if passed >= 9 * MIB as u64 && !changed.swap(true, Relaxed) {
                change(&source);
            }
        }));
        assert!(report.failures[0].to_string().contains("changed while it was being copied"), "{report:?}");
        assert!(names(&case.target).is_empty(), "{:?}", names(&case.target));
    }
}

#[test]
fn a_replaced_file_stays_as_it_was_until_the_copy_is_complete() {
    for policy in [OnConflict::Replace, OnConflict::Overwrite, OnConflict::SkipIdentical] {
        let case = Case::new();
        fs::write(case.target.join("file"), "old").unwrap();
        let options = || resume().on_conflict(policy.clone());
        assert_eq!(case.interrupt(options(), 9 * MIB as u64).partial, 1);
        assert_eq!(fs::read(case.target.join("file")).unwrap(), b"old");
        let report = case.copy(options());
        assert!(report.is_complete() && report.resumed == 1, "{report:?}");
        case.assert_alone();
    }
}

#[test]
fn a_mirror_goes_on_too_and_what_it_left_is_no_name_too_many() {
    let case = Case::new();
    let folder = case.temp.path().join("folder");
    fs::create_dir(&folder).unwrap();
    fs::rename(&case.source, folder.join("file")).unwrap();
    let case = Case { source: folder.join("file"), ..case };
    case.left();
    let mirror = Mirror::new().resume(true).max_delete(0);
    let mirrored = mirror.mirror(&folder, &case.target).unwrap();
    assert_eq!((mirrored.written.resumed, mirrored.removed.files), (1, 0));
    case.assert_alone();
    // Of a file that is there, it is one too many.
    let copied = fs::read(&case.source).unwrap();
    fs::remove_file(case.target.join("file")).unwrap();
    let left = case.left();
    fs::write(case.target.join("file"), copied).unwrap();
    let modified = fs::metadata(&case.source).unwrap().modified().unwrap();
    fs::File::open(case.target.join("file")).unwrap().set_modified(modified).unwrap();
    let mirrored = Mirror::new().resume(true).mirror(&folder, &case.target).unwrap();
    assert_eq!(mirrored.removed.files, 1);
    assert!(!left.exists());
    case.assert_alone();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_what_fits_and_the_failure_says_so() {
    use manyfiles_testkit::{Disk, Need, skip_unless};
    skip_unless!(Need::Root);
    let case = Case::new();
    let disk = Disk::tmpfs().megabytes(20).mount().unwrap();
    let case = Case { target: disk.path().join("target"), ..case };
    fs::create_dir(&case.target).unwrap();
    fs::write(disk.path().join("ballast"), vec![1; 12 * MIB]).unwrap();
    let report = case.copy(resume());
    assert_eq!((report.failures[0].raw_os_error(), report.partial), (Some(libc::ENOSPC), 1));
    assert!(report.failures[0].to_string().contains("goes on from there"), "{}", report.failures[0]);
    fs::remove_file(disk.path().join("ballast")).unwrap();
    let report = case.copy(resume());
    assert!(report.is_complete() && report.resumed_bytes >= 6 * MIB as u64, "{report:?}");
    case.assert_alone();
}
