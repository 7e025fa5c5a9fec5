//! What was written through `manyfiles::fs` can be opened, renamed and removed at once, though its close is pending.

#[path = "support/again.rs"]
mod again;
#[path = "support/held.rs"]
mod held;

use std::path::Path;
use std::sync::Once;

use again::{again, is_again};
use held::every_close_stays_pending;
use manyfiles::close::{self, Closer, Policy};
#[cfg(unix)]
use manyfiles::close::{FastClose, FastCloseable};
use manyfiles::fs::{self, OpenOptions};

/// For the tests of this process itself, where closes are made by threads, and slow if the file system or what is
/// preloaded makes them so.
fn every_close_is_handed_over() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        close::set_global(Closer::options().policy(Policy::Always).build()).expect("nothing has been closed yet");
    });
}

/// No other handle may be open, where the system knows of that.
fn for_oneself_alone() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(windows)]
    options.share_mode(0);
    options
}

fn written_and_opened_at_once(folder: &Path, rounds: usize) {
    let path = folder.join("file");
    let failures: Vec<_> = (0..4 * rounds)
        .filter_map(|_| {
            fs::write(&path, "text").unwrap();
            for_oneself_alone().open(&path).err()
        })
        .collect();
    assert_eq!(failures.len(), 0, "{:?}", failures[0]);
    close::wait().unwrap();
}

fn written_and_removed_at_once(folder: &Path, rounds: usize) {
    let folder = folder.join("folder");
    for round in 0..rounds {
        fs::create_dir(&folder).unwrap_or_else(|error| panic!("create_dir, round {round}: {error}"));
        fs::write(folder.join("file"), "text").unwrap();
        fs::remove_file(folder.join("file")).unwrap_or_else(|error| panic!("remove_file, round {round}: {error}"));
        fs::remove_dir(&folder).unwrap_or_else(|error| panic!("remove_dir, round {round}: {error}"));
    }
    close::wait().unwrap();
}

fn replaced_at_once(folder: &Path, rounds: usize) {
    let (new, path) = (folder.join("new"), folder.join("target"));
    for round in 0..rounds {
        fs::write(&new, format!("{round}")).unwrap();
        fs::rename(&new, &path).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{round}"));
    }
    close::wait().unwrap();
}

fn folders_moved_and_removed_at_once(folder: &Path, rounds: usize) {
    for round in 0..rounds / 5 {
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("deep/er")).unwrap();
        for n in 0..5 {
            fs::write(from.join(format!("deep/er/{n}")), "text").unwrap();
        }
        fs::rename(&from, &to).unwrap_or_else(|error| panic!("rename, round {round}: {error}"));
        fs::write(to.join("deep/one more"), "text").unwrap();
        fs::remove_dir_all(&to).unwrap_or_else(|error| panic!("remove_dir_all, round {round}: {error}"));
    }
    close::wait().unwrap();
}

/// All of them on one file system.
fn everything_at_once(folder: &Path, rounds: usize) {
    every_close_is_handed_over();
    written_and_opened_at_once(folder, rounds);
    written_and_removed_at_once(folder, rounds);
    replaced_at_once(folder, rounds);
    folders_moved_and_removed_at_once(folder, rounds);
}

#[test]
fn what_was_just_written_can_be_opened_replaced_and_removed() {
    let temp = tempfile::tempdir().unwrap();
    everything_at_once(temp.path(), 500);
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_just_written_can_be_opened_replaced_and_removed_where_closes_take_two_milliseconds() {
    use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().delay(Op::Close, std::time::Duration::from_millis(2)).mount().unwrap();
    everything_at_once(mount.path(), 50);
}

/// Something that is done, late, when a handle is closed: as file systems do that keep a removed file until then.
#[cfg(unix)]
struct AtClose<F: FnMut() + Send + 'static>(F);

#[cfg(unix)]
impl<F: FnMut() + Send + 'static> FastCloseable for AtClose<F> {}

#[cfg(unix)]
impl<F: FnMut() + Send + 'static> Drop for AtClose<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(unix)]
fn at_close(what: impl FnMut() + Send + 'static) {
    drop(FastClose::new(AtClose(what)));
}

/// A removed file that is open lives on under another name on NFS and most FUSE mounts, until it is closed.
#[cfg(unix)]
fn stands_in(path: &Path) {
    std::fs::write(path, "removed, but open").unwrap();
    let path = path.to_owned();
    at_close(move || std::fs::remove_file(&path).unwrap());
}

#[cfg(unix)]
#[test]
fn a_folder_that_only_pending_closes_keep_from_being_empty_can_be_removed() {
    if !is_again() {
        again("a_folder_that_only_pending_closes_keep_from_being_empty_can_be_removed", |_| {});
        return;
    }
    every_close_stays_pending();
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("folder");

    fs::create_dir(&folder).unwrap();
    stands_in(&folder.join(".nfs0001"));
    fs::remove_dir(&folder).unwrap();
    assert!(!fs::exists(&folder).unwrap());

    // Replacing a folder needs an empty one.
    fs::create_dir(&folder).unwrap();
    stands_in(&folder.join(".nfs0002"));
    fs::create_dir(temp.path().join("new")).unwrap();
    fs::rename(temp.path().join("new"), &folder).unwrap();
}

#[test]
fn what_fails_for_another_reason_fails_as_in_std_though_closes_are_pending() {
    if !is_again() {
        again("what_fails_for_another_reason_fails_as_in_std_though_closes_are_pending", |_| {});
        return;
    }
    every_close_stays_pending();
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("folder")).unwrap();
    std::fs::write(temp.path().join("folder/stays"), "").unwrap();
    fs::write(temp.path().join("pending"), "").unwrap();
    let (error, expected) = (
        fs::remove_dir(temp.path().join("folder")).unwrap_err(),
        std::fs::remove_dir(temp.path().join("folder")).unwrap_err(),
    );
    assert_eq!(error.raw_os_error(), expected.raw_os_error());
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;

    fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn nothing_waits_for_a_close_that_is_in_no_way() {
        if !is_again() {
            again("linux::nothing_waits_for_a_close_that_is_in_no_way", |_| {});
            return;
        }
        every_close_stays_pending();
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        std::fs::create_dir(path("elsewhere")).unwrap();
        let before = open_descriptors();
        for n in 0..5 {
            fs::write(path(&format!("elsewhere/{n}")), "text").unwrap();
        }
        std::fs::create_dir(path("folder")).unwrap();
        std::fs::write(path("folder/file"), "text").unwrap();
        std::fs::copy(path("folder/file"), path("copy")).unwrap();
        fs::hard_link(path("copy"), path("folder/link")).unwrap();
        fs::rename(path("folder"), path("renamed")).unwrap();
        fs::set_permissions(path("copy"), fs::metadata(path("copy")).unwrap().permissions()).unwrap();
        assert_eq!(fs::symlink_metadata(path("copy")).unwrap().len(), 4);
        assert_eq!(fs::read_dir(path("renamed")).unwrap().count(), 2);
        fs::remove_file(path("renamed/file")).unwrap();
        fs::remove_dir(path("renamed")).unwrap_err();
        fs::remove_dir_all(path("renamed")).unwrap();
        fs::File::open(path("missing")).unwrap_err();
        fs::metadata(path("missing")).unwrap_err();
        assert_eq!(open_descriptors() - before, 5, "some closes were waited for");
        // By another name of one of them, that one alone.
        std::os::unix::fs::symlink(path("elsewhere/3"), path("link")).unwrap();
        assert_eq!(fs::metadata(path("link")).unwrap().len(), 4);
        assert_eq!(open_descriptors() - before, 4, "one is in the way, and no other");
        close::wait().unwrap();
        assert_eq!(open_descriptors(), before);
    }

    #[test]
    fn a_folder_above_is_what_it_is_by_any_name() {
        if !is_again() {
            again("linux::a_folder_above_is_what_it_is_by_any_name", |_| {});
            return;
        }
        every_close_stays_pending();
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        std::fs::create_dir_all(path("real/deep")).unwrap();
        std::os::unix::fs::symlink("real", path("link")).unwrap();
        let before = open_descriptors();
        let write = || fs::write(path("link/deep/file"), "text").unwrap();
        write();
        assert_eq!(fs::read_dir(path("real/./deep/../deep")).unwrap().count(), 1);
        assert_eq!(open_descriptors(), before, "read_dir");
        write();
        fs::rename(path("real"), path("moved")).unwrap();
        assert_eq!(open_descriptors(), before, "rename");
        std::fs::rename(path("moved"), path("real")).unwrap();
        write();
        std::fs::hard_link(path("real/deep/file"), path("second")).unwrap();
        fs::rename(path("second"), path("third")).unwrap();
        assert_eq!(open_descriptors(), before, "rename of another name");
        write();
        fs::remove_dir_all(path("real")).unwrap();
        assert_eq!(open_descriptors(), before, "remove_dir_all");
        close::wait().unwrap();
    }

    #[test]
    fn descriptors_that_only_wait_to_be_closed_do_not_count_against_the_limit() {
        use rustix::process::{Resource, Rlimit, setrlimit};
        if !is_again() {
            again("linux::descriptors_that_only_wait_to_be_closed_do_not_count_against_the_limit", |_| {});
            return;
        }
        every_close_stays_pending();
        let temp = tempfile::tempdir().unwrap();
        setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
        for n in 0..1_000 {
            fs::write(temp.path().join(n.to_string()), "text").unwrap();
            fs::File::open(temp.path().join(n.to_string())).unwrap();
        }
        close::wait().unwrap();
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1_000);
    }

    #[test]
    fn the_space_of_a_removed_file_is_free() {
        use manyfiles_testkit::{Disk, Need, skip_unless};
        skip_unless!(Need::Root);
        if !is_again() {
            again("linux::the_space_of_a_removed_file_is_free", |_| {});
            return;
        }
        every_close_stays_pending();
        let disk = Disk::tmpfs().megabytes(8).mount().unwrap();
        // More than half of it, so that only one has room.
        let bytes = vec![1; 5 << 20];
        let path = |name: &str| disk.path().join(name);
        fs::write(path("first"), &bytes).unwrap();
        fs::remove_file(path("first")).unwrap();
        std::fs::write(path("second"), &bytes).unwrap();
        assert_eq!(fs::metadata(path("second")).unwrap().len(), bytes.len() as u64);
        close::wait().unwrap();
    }
}
