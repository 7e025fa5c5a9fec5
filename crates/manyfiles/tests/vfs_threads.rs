//! Many threads, one `Vfs`: nothing is overwritten, nothing is lost, no more handles than allowed.
#![cfg(feature = "full")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use manyfiles::vfs::Vfs;
use manyfiles_testkit::{Need, skip_unless};

/// How many records a thread writes: fewer under Windows, where wine takes a hundred times as long for each handle.
const fn count(records: usize) -> usize {
    if cfg!(windows) { records / 20 } else { records }
}

/// A record that says who wrote it and when, of a length of its own.
fn record(thread: usize, n: usize) -> String {
    format!("{thread} {n} {}\n", "x".repeat(n * 7 % 300))
}

/// Every record of every thread is there, whole, and each thread's are in order.
fn check_records(text: &[u8], threads: usize, count: usize) {
    let text = std::str::from_utf8(text).expect("no record is cut");
    let mut next = BTreeMap::new();
    for line in text.lines() {
        let thread: usize = line.split(' ').next().unwrap().parse().unwrap();
        let n = next.entry(thread).or_insert(0);
        assert_eq!(line, record(thread, *n).trim_end_matches('\n'));
        *n += 1;
    }
    assert_eq!(next, (0..threads).map(|thread| (thread, count)).collect());
}

#[test]
fn records_of_eight_threads_in_one_file_are_whole_and_each_thread_s_in_order() {
    let temp = tempfile::tempdir().unwrap();
    for base in [temp.path().to_str().unwrap(), "mem://"] {
        for (handles, buffer_memory) in [(1, 0), (1, 1 << 20), (64, 16 << 20)] {
            let vfs = Vfs::options().handles(handles).buffer_memory(buffer_memory).build();
            let uri =
                format!("{}/log-{handles}-{buffer_memory}", base.trim_end_matches('/')).replace("mem:/", "mem://");
            thread::scope(|scope| {
                for thread in 0..8 {
                    let (vfs, uri) = (&vfs, &uri);
                    scope.spawn(move || {
                        for n in 0..count(500) {
                            match n % 97 {
                                13 => vfs.append(uri, record(thread, n).as_bytes()).unwrap(),
                                _ => vfs.write(uri, record(thread, n).as_bytes()).unwrap(),
                            }
                            match n % 101 {
                                50 => vfs.flush(uri).unwrap(),
                                70 => assert!(vfs.size(uri).unwrap() > 0),
                                _ => {}
                            }
                        }
                    });
                }
            });
            check_records(&vfs.read(&uri).unwrap(), 8, count(500));
        }
    }
}

#[test]
fn two_vfs_and_a_writer_of_one_file_overwrite_nothing() {
    skip_unless!(Need::NotWine);
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let (one, two) = (Vfs::new(), Vfs::new());
    let mut writer = one.create_writer(&path).unwrap();
    thread::scope(|scope| {
        for (thread, vfs) in [(0, &one), (1, &one), (2, &two)] {
            let path = &path;
            scope.spawn(move || (0..count(2_000)).for_each(|n| vfs.write(path, record(thread, n).as_bytes()).unwrap()));
        }
        scope.spawn(move || {
            for n in 0..count(2_000) {
                writer.write_all(record(3, n).as_bytes()).unwrap();
                // Its buffer is not cut at records.
                if n % 100 == 99 {
                    writer.flush().unwrap();
                }
            }
            writer.close().unwrap();
        });
    });
    one.wait().unwrap();
    two.wait().unwrap();
    check_records(&std::fs::read(&path).unwrap(), 4, count(2_000));
}

#[test]
fn more_files_than_handles_from_many_threads() {
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::options().handles(4).build();
    let done = AtomicBool::new(false);
    let uri = |file: usize| temp.path().join(file.to_string());
    thread::scope(|scope| {
        #[cfg(target_os = "linux")]
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // A listing is not one moment: a descriptor can be seen with its old file and, once used again, with
                // its new.
                let open = std::fs::read_dir("/proc/self/fd").unwrap().map(|fd| fd.unwrap().path());
                let ours = open.filter(|fd| std::fs::read_link(fd).is_ok_and(|file| file.starts_with(temp.path())));
                let ours = ours.count();
                assert!(ours <= 4, "{ours} handles");
                thread::yield_now();
            }
        });
        let writers: Vec<_> = (0..8)
            .map(|thread| {
                let (vfs, uri) = (&vfs, &uri);
                // Each file is written by two threads.
                scope.spawn(move || {
                    for n in 0..count(300) {
                        for file in 0..5 {
                            vfs.write(uri(thread / 2 * 5 + file), record(thread % 2, n).as_bytes()).unwrap();
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
    vfs.wait().unwrap();
    for file in 0..20 {
        check_records(&std::fs::read(uri(file)).unwrap(), 2, count(300));
    }
}

#[test]
fn removals_renames_and_new_writers_among_writes_lose_no_record_that_came_after() {
    let temp = tempfile::tempdir().unwrap();
    for base in [temp.path().to_str().unwrap().to_owned(), "mem://base".to_owned()] {
        let vfs = Vfs::options().handles(2).build();
        vfs.create_folder(&base).unwrap();
        let (log, old) = (format!("{base}/log"), format!("{base}/old"));
        // What was rotated away is taken to the end before the next rotation: nothing may be missing there.
        let mut kept = Vec::new();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|thread| {
                    let (vfs, log) = (&vfs, &log);
                    scope.spawn(move || {
                        (0..count(2_000)).for_each(|n| vfs.write(log, record(thread, n).as_bytes()).unwrap())
                    })
                })
                .collect();
            let (vfs, log, old, done, kept) = (&vfs, &log, &old, &done, &mut kept);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    if vfs.exists(log).unwrap() {
                        vfs.rename(log, old).unwrap();
                        kept.extend(vfs.read(old).unwrap());
                        vfs.remove(old).unwrap();
                    }
                    thread::yield_now();
                }
            });
            // Others that need handles too.
            scope.spawn(move || {
                for n in 0..200 {
                    vfs.write(format!("{base}/other-{}", n % 5), b"x").unwrap();
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        if vfs.exists(&log).unwrap() {
            kept.extend(vfs.read(&log).unwrap());
        }
        check_records(&kept, 4, count(2_000));
    }
}
