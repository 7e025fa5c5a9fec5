//! A repair that is stopped at any step, or fails at any call: no record is gone that was whole before, and nothing is
//! thrown away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Call, Disk, Fault, Random, Remains, Stop, base};
use crate::appender::care::check::check_in;
use crate::appender::care::repair::repair_in;
use crate::appender::{Appender, OnDamage, Options, Records};

fn options() -> Options {
    Appender::options().framed(true).rotate_bytes(1_000)
}

/// Three files of records; a byte of the second or the last one is wrong. Returns the path of that one too.
fn damaged(of_last: bool, is_closed: bool) -> (Remains, PathBuf) {
    let disk = Disk::default();
    let appender = Appender::new(&base(), options(), Arc::new(disk.clone())).unwrap();
    for n in 0..20_u8 {
        appender.append_durable(&[n; 80]).unwrap();
    }
    if is_closed {
        appender.close().unwrap();
    } else {
        std::mem::forget(appender);
    }
    let mut files = disk.cut(Random(1));
    files.retain(|path, _| path.to_string_lossy().contains("records.0"));
    assert_eq!(files.len(), 3);
    let path = base().with_extension(if of_last { "000003" } else { "000002" });
    // The content of the file's second record.
    files.get_mut(&path).unwrap()[96 + 2 * 16 + 88 + 30] ^= 1;
    (files, path)
}

/// The records that can be read, and how many errors.
fn read(disk: &Disk) -> (Vec<u8>, usize) {
    let records = Records::open_in(Arc::new(disk.clone()), &base(), None).unwrap();
    let (mut whole, mut errors) = (Vec::new(), 0);
    for record in records {
        match record {
            Ok(record) => whole.push(record[0]),
            Err(_) => errors += 1,
        }
    }
    (whole, errors)
}

fn kept(disk: &Disk) -> Vec<PathBuf> {
    let is_kept = |path: &PathBuf| path.to_string_lossy().contains(".damaged");
    disk.names().into_iter().filter(is_kept).collect()
}

/// Each way to set damage aside.
fn set_aside(disk: &Disk, by_opening: bool) -> crate::Result<()> {
    if !by_opening {
        return repair_in(Arc::new(disk.clone()), &base()).map(drop);
    }
    let options = options().on_damage(OnDamage::SetAside);
    Appender::new(&base(), options, Arc::new(disk.clone())).map(std::mem::forget)
}

/// Damaged, and then whole.
fn is_set_aside(disk: &Disk, path: &Path, damaged: &Remains, whole: &[u8], story: &str) {
    assert_eq!(read(disk), (whole.to_vec(), 0), "{story}");
    let kept = kept(disk);
    assert_eq!(kept.len(), 1, "{story}: {kept:?}");
    assert!(disk.file(&kept[0]).unwrap().1 == damaged[path], "{story}: not all of it is kept");
    let report = check_in(Arc::new(disk.clone()), &base(), &mut |_| {}).unwrap();
    assert!(report.is_sound() && report.files.iter().any(|file| file.set_aside_bytes > 0), "{story}: {report:?}");
    assert_eq!(report.records(), whole.len() as u64, "{story}");
}

#[test]
fn a_repair_that_is_stopped_at_any_step_leaves_the_log_as_it_was_or_repaired() {
    for (of_last, is_closed, by_opening) in
        [(false, true, false), (true, true, false), (true, false, false), (true, true, true), (true, false, true)]
    {
        let (files, path) = damaged(of_last, is_closed);
        let (whole, errors) = read(&Disk::holding(&files));
        assert!(errors == 1 && whole.len() == 19, "{whole:?} {errors}");
        for step in 1.. {
            let mut is_done = false;
            for stop in [Stop::Kill, Stop::Cut] {
                let story = format!("last {of_last}, closed {is_closed}, opening {by_opening}, {stop:?} at {step}");
                let mut disk = Disk::holding(&files);
                disk.seed(Random(step));
                disk.stop_at(step, stop);
                let told = set_aside(&disk, by_opening);
                is_done = !disk.is_over();
                assert_eq!(told.is_ok(), is_done, "{story}");
                if let Some(remains) = disk.remains() {
                    disk = Disk::holding(&remains);
                }
                disk.next_process();
                let (left, errors) = read(&disk);
                assert!(left == whole && errors <= 1, "{story}: {left:?}");
                set_aside(&disk, by_opening).unwrap_or_else(|error| panic!("{story}: {error}"));
                is_set_aside(&disk, &path, &files, &whole, &story);
                // It is opened with the default now, and goes on.
                let appender = Appender::new(&base(), options(), Arc::new(disk.clone())).unwrap();
                appender.append_durable(b"and on").unwrap();
                appender.close().unwrap();
                assert_eq!(read(&disk), ([&whole[..], b"a"].concat(), 0), "{story}");
            }
            if is_done {
                assert!(step > 10);
                break;
            }
        }
    }
}

/// Whole files behind which there are ones that do not belong there.
fn misfits() -> Remains {
    let disk = Disk::default();
    let appender = Appender::new(&base(), options(), Arc::new(disk.clone())).unwrap();
    for n in 0..20_u8 {
        appender.append_durable(&[n; 80]).unwrap();
    }
    appender.close().unwrap();
    let mut files = disk.cut(Random(1));
    files.retain(|path, _| path.to_string_lossy().contains("records.0"));
    let older = files[&base().with_extension("000002")].clone();
    files.insert(base().with_extension("000004"), Vec::new());
    files.insert(base().with_extension("000005"), older);
    files
}

/// A log of which the files behind a compressed one are gone.
#[cfg(feature = "zstd")]
fn compressed() -> Remains {
    let mut files = misfits();
    files.retain(|path, _| path.to_string_lossy().ends_with("1") || path.to_string_lossy().ends_with("2"));
    let last = files.remove(&base().with_extension("000002")).unwrap();
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.set_pledged_src_size(Some(last.len() as u64)).unwrap();
    std::io::Write::write_all(&mut encoder, &last).unwrap();
    files.insert(base().with_extension("000002.zst"), encoder.finish().unwrap());
    files
}

#[test]
fn mending_the_end_that_is_stopped_at_any_step_or_fails_throws_nothing_away() {
    let logs = [
        misfits(),
        #[cfg(feature = "zstd")]
        compressed(),
    ];
    for (log, files) in logs.into_iter().enumerate() {
        // The older file has records once more.
        let mut whole = read(&Disk::holding(&files)).0;
        whole.sort_unstable();
        whole.dedup();
        let all_are_there = |disk: &Disk, story: &str| {
            for (path, bytes) in &files {
                let is_it = |name: &PathBuf| disk.file(name).unwrap().0 == *bytes;
                assert!(disk.names().iter().any(is_it), "{story}: {path:?} is gone, there are {:?}", disk.names());
            }
        };
        let is_mended = |disk: &Disk, by_opening: bool, story: &str| {
            set_aside(disk, by_opening).unwrap_or_else(|error| panic!("{story}: {error}"));
            all_are_there(disk, story);
            assert_eq!(read(disk), (whole.clone(), 0), "{story}");
            let report = check_in(Arc::new(disk.clone()), &base(), &mut |_| {}).unwrap();
            assert!(report.is_sound(), "{story}: {report:?}");
            let appender = Appender::new(&base(), options(), Arc::new(disk.clone())).unwrap();
            appender.append_durable(b"and on").unwrap();
            appender.close().unwrap();
            assert_eq!(read(disk), ([&whole[..], b"a"].concat(), 0), "{story}");
        };
        for by_opening in [false, true] {
            for step in 1.. {
                let mut is_done = false;
                for stop in [Stop::Kill, Stop::Cut] {
                    let story = format!("log {log}, opening {by_opening}, {stop:?} at {step}");
                    let mut disk = Disk::holding(&files);
                    disk.seed(Random(step));
                    disk.stop_at(step, stop);
                    let told = set_aside(&disk, by_opening);
                    is_done = !disk.is_over();
                    assert_eq!(told.is_ok(), is_done, "{story}");
                    if let Some(remains) = disk.remains() {
                        disk = Disk::holding(&remains);
                    }
                    disk.next_process();
                    all_are_there(&disk, &story);
                    is_mended(&disk, by_opening, &story);
                }
                if is_done {
                    assert!(step > 4);
                    break;
                }
            }
        }
        for call in [Call::Create, Call::Write, Call::Sync, Call::SetLen, Call::Rename, Call::SyncFolder, Call::Remove]
        {
            for nth in 1..=3 {
                let story = format!("log {log}, {call:?} {nth} fails");
                let disk = Disk::holding(&files);
                disk.inject(call, nth, Fault::Fail { errno: 28, for_good: true });
                match set_aside(&disk, false) {
                    Ok(()) => assert_eq!(disk.failed(), 0, "{story}: and no caller is told"),
                    Err(error) => assert_eq!(error.raw_os_error(), Some(28), "{story}: {error}"),
                }
                all_are_there(&disk, &story);
                disk.next_process();
                is_mended(&disk, false, &story);
            }
        }
    }
}

#[test]
fn a_repair_whose_calls_fail_says_so_and_changes_nothing() {
    for call in [Call::Create, Call::Write, Call::Sync, Call::SetLen, Call::Rename, Call::SyncFolder] {
        for nth in 1..=2 {
            let story = format!("{call:?} {nth}");
            let (files, path) = damaged(false, true);
            let (whole, _) = read(&Disk::holding(&files));
            let disk = Disk::holding(&files);
            disk.inject(call, nth, Fault::Fail { errno: 28, for_good: true });
            match repair_in(Arc::new(disk.clone()), &base()) {
                Ok(_) => assert!(call == Call::SetLen && nth == 2, "{story}"),
                Err(error) => assert_eq!(error.raw_os_error(), Some(28), "{story}: {error}"),
            }
            let (left, errors) = read(&disk);
            assert!(left == whole && errors <= 1, "{story}");
            disk.next_process();
            repair_in(Arc::new(disk.clone()), &base()).unwrap();
            is_set_aside(&disk, &path, &files, &whole, &story);
        }
    }
}
