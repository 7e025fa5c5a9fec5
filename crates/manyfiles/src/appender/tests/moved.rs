//! Other programs move, remove and cut a log without frames while it is open, as logrotate does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::disk::{Call, Disk, Fault, Random, Stop, base};
use crate::appender::storage::Storage;
use crate::appender::{Appender, Options};

/// After this a path is looked at again.
const A_SECOND: Duration = Duration::from_secs(1);

fn old() -> PathBuf {
    base().with_extension("1")
}

fn open(disk: &Disk) -> crate::Result<Appender> {
    Appender::new(&base(), Appender::options(), Arc::new(disk.clone()))
}

fn durable(disk: &Disk, path: &Path) -> Vec<u8> {
    disk.file(path).map_or(Vec::new(), |(_, durable)| durable)
}

#[test]
fn after_a_rename_records_go_to_the_file_of_that_name_and_those_before_are_durable_where_they_are() {
    for makes_new in [false, true] {
        let disk = Disk::default();
        let appender = open(&disk).unwrap();
        appender.append(b"one ").unwrap().wait_durable().unwrap();
        disk.rename(&base(), &old()).unwrap();
        if makes_new {
            let file = disk.create(&base()).unwrap();
            file.write_at(b"made by another: ", 0).unwrap();
        }
        // Within a second they go where the file is now.
        let two = appender.append(b"two ").unwrap();
        two.wait_written().unwrap();
        disk.advance(A_SECOND);
        let three = appender.append(b"three ").unwrap();
        three.wait_written().unwrap();
        assert_eq!(durable(&disk, &old()), b"one two ", "what was written is durable before the file is left");
        two.wait_durable().unwrap();
        three.wait_durable().unwrap();
        let begin: &[u8] = if makes_new { b"made by another: " } else { b"" };
        assert_eq!(durable(&disk, &base()), [begin, b"three "].concat());
        appender.append(&[b'x'; 100_000]).unwrap();
        appender.close().unwrap();
        assert_eq!(durable(&disk, &base()).len(), begin.len() + 6 + 100_000);
        assert_eq!(disk.names(), [base(), old()], "the note is gone");
    }
}

#[test]
fn a_removed_file_is_made_anew() {
    let disk = Disk::default();
    let appender = open(&disk).unwrap();
    appender.append_durable(b"one ").unwrap();
    disk.remove(&base()).unwrap();
    disk.advance(A_SECOND);
    appender.append_durable(b"two ").unwrap();
    assert_eq!(durable(&disk, &base()), b"two ");
    assert!(disk.durable_names().contains(&base()));
    appender.close().unwrap();
}

#[test]
fn after_a_cut_records_go_behind_what_is_left_without_a_hole() {
    let disk = Disk::default();
    let appender = open(&disk).unwrap();
    for (left, expected) in [(0, "two "), (2, "twtwo "), (0, "two ")] {
        appender.append(b"one ").unwrap().wait_written().unwrap();
        disk.open(&base()).unwrap().set_len(left).unwrap();
        appender.append_durable(b"two ").unwrap();
        assert_eq!(String::from_utf8(durable(&disk, &base())).unwrap(), expected);
    }
    appender.append_durable(b"three ").unwrap();
    appender.close().unwrap();
    assert_eq!(durable(&disk, &base()), b"two three ");
}

#[test]
fn who_rotates_or_has_frames_looks_at_nothing() {
    for options in [Appender::options().framed(true), Appender::options().rotate_bytes(1_000_000)] {
        let disk = Disk::default();
        let appender = Appender::new(&base(), Options::clone(&options), Arc::new(disk.clone())).unwrap();
        let path = disk.names().remove(0);
        disk.rename(&path, &base().with_extension("moved")).unwrap();
        disk.advance(A_SECOND * 10);
        appender.append_durable(b"one ").unwrap();
        assert!(!disk.names().contains(&path));
        std::mem::forget(appender);
    }
}

#[test]
fn a_failure_on_the_way_to_the_new_file_is_told_and_no_success_follows() {
    for (call, nth) in [(Call::Sync, 1), (Call::Sync, 2), (Call::Create, 1), (Call::SyncFolder, 1), (Call::Close, 1)] {
        let story = format!("{call:?} {nth}");
        let disk = Disk::default();
        let appender = open(&disk).unwrap();
        appender.append_durable(b"one ").unwrap();
        let two = appender.append(b"two ").unwrap();
        two.wait_written().unwrap();
        disk.rename(&base(), &old()).unwrap();
        disk.advance(A_SECOND);
        disk.inject(call, nth, Fault::Fail { errno: 5, for_good: false });
        let three = appender.append(b"three ").unwrap();
        assert_eq!(three.wait_written().unwrap_err().raw_os_error(), Some(5), "{story}");
        assert_eq!(two.wait_durable().is_ok(), durable(&disk, &old()) == b"one two " && call != Call::Sync || nth == 2);
        assert_eq!(appender.append(b"four ").unwrap_err().raw_os_error(), Some(5), "{story}");
        assert_eq!(appender.close().unwrap_err().raw_os_error(), Some(5), "{story}");
    }
}

#[test]
fn what_was_acknowledged_is_in_one_of_the_two_files_wherever_it_stops() {
    for step in 1..40 {
        for (stop, cuts) in [(Stop::Kill, false), (Stop::Cut, false), (Stop::Kill, true), (Stop::Cut, true)] {
            let story = format!("{stop:?} at {step}, cut: {cuts}");
            let mut disk = Disk::default();
            disk.seed(Random(step));
            let appender = open(&disk).unwrap();
            appender.append_durable(b"<old durable>").unwrap();
            appender.append(b"<old written>").unwrap().wait_written().unwrap();
            if cuts {
                disk.open(&base()).unwrap().set_len(0).unwrap();
            } else {
                disk.rename(&base(), &old()).unwrap();
                disk.sync_folder(old().parent().unwrap()).unwrap();
            }
            disk.advance(A_SECOND);
            disk.stop_at(step, stop);
            let mut told = Vec::new();
            for n in 0..5 {
                let record = format!("<new {n}>").into_bytes();
                let is_durable = appender.append_durable(&record).is_ok();
                if disk.is_over() {
                    break;
                }
                assert!(is_durable, "{story}");
                told.push(record);
            }
            std::mem::forget(appender);
            if let Some(remains) = disk.remains() {
                disk = Disk::holding(&remains);
            }
            disk.next_process();
            let appender = open(&disk).unwrap_or_else(|error| panic!("{story}: {error}"));
            appender.append_durable(b"<and on>").unwrap();
            appender.close().unwrap();
            // And the power goes.
            let left = disk.cut(Random(step));
            if !cuts {
                assert!(left[&old()].starts_with(b"<old durable>"), "{story}");
            }
            let new = &left[&base()];
            let has = |record: &[u8]| new.windows(record.len()).any(|window| window == record);
            for record in &told {
                assert!(has(record), "{story}: {} is gone", String::from_utf8_lossy(record));
            }
            assert!(has(b"<and on>"), "{story}");
        }
    }
}

/// An opening after a crash that does not come to its end, a move meanwhile, and what another program writes to the
/// new file.
#[test]
fn what_an_interrupted_opening_was_to_write_again_cuts_no_other_file() {
    let mut interrupted = 0;
    for step in 1..40 {
        for (stop, makes_new) in [(Stop::Kill, false), (Stop::Cut, false), (Stop::Kill, true), (Stop::Cut, true)] {
            let story = format!("{stop:?} at {step}, new: {makes_new}");
            let mut disk = Disk::default();
            disk.seed(Random(step));
            let appender = open(&disk).unwrap();
            appender.append_durable(b"<durable>").unwrap();
            appender.append(b"<written>").unwrap().wait_written().unwrap();
            std::mem::forget(appender);
            disk.next_process();
            disk.stop_at(step, stop);
            let opened = open(&disk);
            if !disk.is_over() {
                continue;
            }
            std::mem::forget(opened);
            interrupted += 1;
            if let Some(remains) = disk.remains() {
                disk = Disk::holding(&remains);
            }
            disk.next_process();
            disk.rename(&base(), &old()).unwrap();
            if makes_new {
                let file = disk.create(&base()).unwrap();
                file.write_at(b"<line of another program>", 0).unwrap();
                file.close().unwrap();
            }
            let appender = open(&disk).unwrap_or_else(|error| panic!("{story}: {error}"));
            appender.append_durable(b"<and on>").unwrap();
            appender.close().unwrap();
            let both = [disk.file(&old()).unwrap().0, durable(&disk, &base())].concat();
            let times = |what: &[u8]| both.windows(what.len()).filter(|window| *window == what).count();
            assert_eq!(times(b"<line of another program>"), usize::from(makes_new), "{story}");
            assert_eq!(times(b"<and on>"), 1, "{story}");
            // What was not cut from the old file before the move is in both.
            assert!(times(b"<durable>") >= 1, "{story}");
            assert!(stop == Stop::Cut || times(b"<written>") >= 1, "{story}");
            assert!(!disk.names().iter().any(|name| name.to_string_lossy().contains(".manyfiles-")), "{story}");
        }
    }
    assert!(interrupted > 20, "{interrupted}");
}
