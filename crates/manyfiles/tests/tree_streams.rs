//! Files that callers write piece by piece: they wait for no other entry, whatever else is open, and none is forgotten.
#![cfg(feature = "full")]

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use manyfiles::tree::{Incomplete, Metadata, OnConflict, Report, TreeWriter};

#[cfg(target_os = "linux")]
#[path = "support/again.rs"]
mod again;

/// More than is kept in memory.
const LARGE: usize = 300 << 10;

/// Ends the test's process if the work hangs: a test that waits for ever says nothing.
fn within<T: Send + 'static>(seconds: u64, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || send.send(work()).unwrap());
    match receive.recv_timeout(Duration::from_secs(seconds)) {
        Ok(result) => {
            thread.join().unwrap();
            result
        }
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().unwrap_err()),
        Err(_) => panic!("it hangs"),
    }
}

fn report(result: Result<Report, Incomplete>) -> Report {
    result.unwrap_or_else(Incomplete::into_report)
}

fn write(tree: &TreeWriter, path: &str, byte: u8) -> manyfiles::tree::TreeFile {
    let mut file = tree.create(path, Metadata::default()).unwrap();
    file.write_all(&vec![byte; LARGE]).unwrap();
    file
}

fn content(root: &Path, path: &str) -> Vec<u8> {
    std::fs::read(root.join(path)).unwrap()
}

#[test]
fn two_streams_of_one_thread_go_on_whatever_their_names() {
    for (one, other) in [("日本", "中国"), ("видео", "музыка"), ("x.bin", "X.bin"), ("é", "e\u{301}"), ("קול", "صوت")]
    {
        within(30, move || {
            let temp = tempfile::tempdir().unwrap();
            let tree = TreeWriter::options().on_conflict(OnConflict::Rename).open(temp.path()).unwrap();
            let (a, b) = (write(&tree, one, 1), write(&tree, other, 2));
            b.close().unwrap();
            a.close().unwrap();
            let report = tree.finish().unwrap();
            assert_eq!((report.files, report.bytes), (2, 2 * LARGE as u64));
            assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2, "{one} {other}");
        });
    }
}

#[test]
fn after_a_write_that_failed_every_later_call_returns_the_same_error() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("taken"), "old").unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let mut file = tree.create("taken", Metadata::default()).unwrap();
    let first = file.write_all(&vec![1; LARGE]).unwrap_err();
    assert_eq!(first.kind(), std::io::ErrorKind::AlreadyExists);
    // One byte would fit into the buffer.
    for _ in 0..3 {
        assert_eq!(file.write_all(b"x").unwrap_err().to_string(), first.to_string());
        assert_eq!(file.flush().unwrap_err().to_string(), first.to_string());
    }
    assert_eq!(file.skip(1).unwrap_err().to_string(), first.to_string());
    assert_eq!(file.close().unwrap_err().to_string(), first.to_string());
    let report = report(tree.finish());
    assert_eq!((report.files, report.failures.len()), (0, 1));
    assert_eq!(content(temp.path(), "taken"), b"old");
}

#[test]
fn a_stream_that_is_dropped_takes_nothing_from_a_link_that_was_handed_over_before() {
    for _ in 0..50 {
        within(30, || {
            let temp = tempfile::tempdir().unwrap();
            std::fs::write(temp.path().join("old"), "old").unwrap();
            let tree = TreeWriter::options().on_conflict(OnConflict::Replace).threads(1).open(temp.path()).unwrap();
            // Entries that keep the tree's thread busy, so that the link waits.
            for n in 0..20 {
                tree.file(format!("{n}"), vec![1; LARGE]).unwrap();
            }
            tree.hard_link("before", "old").unwrap();
            drop(write(&tree, "old", 2));
            tree.hard_link("after", "old").unwrap();
            let report = report(tree.finish());
            let failed: Vec<_> = report.failures.iter().filter_map(|error| error.path()).collect();
            assert_eq!(content(temp.path(), "before"), b"old", "{failed:?}");
            // It was to be a link to the stream's file.
            assert!(!temp.path().join("after").exists() && failed.len() == 2, "{failed:?}");
        });
    }
}

#[test]
fn a_stream_has_its_place_in_the_order_when_it_gets_its_name() {
    // The first has it when its file is opened, the others when they are closed.
    for (reversed, last) in [(false, 3), (true, 2)] {
        within(30, move || {
            let temp = tempfile::tempdir().unwrap();
            let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(temp.path()).unwrap();
            let mut files = vec![write(&tree, "d/x", 1), write(&tree, "d/x", 2), write(&tree, "d/x", 3)];
            if reversed {
                files.reverse();
            }
            for file in files {
                file.close().unwrap();
            }
            let report = tree.finish().unwrap();
            assert_eq!((report.files, report.failures.len()), (3, 0));
            assert_eq!(content(temp.path(), "d/x"), vec![last; LARGE]);
            assert_eq!(std::fs::read_dir(temp.path().join("d")).unwrap().count(), 1, "nothing is left beside it");
        });
    }
}

#[test]
fn a_stream_whose_name_another_entry_has_obeys_the_policy() {
    for (policy, expected) in [
        (OnConflict::Error, (1, 1, 0)),
        (OnConflict::Skip, (1, 0, 1)),
        (OnConflict::Rename, (2, 0, 0)),
        (OnConflict::Overwrite, (2, 0, 0)),
    ] {
        within(30, move || {
            let temp = tempfile::tempdir().unwrap();
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
            let (a, b) = (write(&tree, "x", 1), write(&tree, "x", 2));
            a.close().unwrap();
            b.close().unwrap();
            let report = report(tree.finish());
            assert_eq!((report.files, report.failures.len() as u64, report.skipped), expected, "{policy:?} {report:?}");
            let byte = if matches!(policy, OnConflict::Overwrite) { 2 } else { 1 };
            assert_eq!(content(temp.path(), "x"), vec![byte; LARGE], "{policy:?}");
            if matches!(policy, OnConflict::Rename) {
                assert_eq!(content(temp.path(), "x (1)"), vec![2; LARGE]);
            }
            let left = std::fs::read_dir(temp.path()).unwrap().count();
            assert_eq!(left, if matches!(policy, OnConflict::Rename) { 2 } else { 1 }, "{policy:?}");
        });
    }
}

#[test]
fn what_is_handed_over_beside_an_open_stream_is_written_and_its_own_name_s_entries_come_after_it() {
    within(60, || {
        let temp = tempfile::tempdir().unwrap();
        let options = TreeWriter::options().on_conflict(OnConflict::Overwrite).bytes_in_flight(64 << 10);
        let tree = options.open(temp.path()).unwrap();
        let stream = write(&tree, "видео", 1);
        // Far more than fits, most of it for the stream's own name: waiting for room would be waiting for oneself.
        for n in 0..1_000 {
            tree.file("видео", vec![b'n'; 200]).unwrap();
            tree.file(n.to_string(), "x").unwrap();
        }
        tree.hard_link("link", "видео").unwrap();
        stream.close().unwrap();
        let report = tree.finish().unwrap();
        assert_eq!((report.files, report.hard_links), (2_001, 1));
        assert_eq!(content(temp.path(), "видео"), vec![b'n'; 200], "the last of the name");
        assert_eq!(content(temp.path(), "link"), vec![b'n'; 200]);
    });
}

#[test]
fn what_is_handed_over_below_the_name_of_an_open_stream_fails_by_its_own_path_and_hangs_nobody() {
    within(60, || {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::options().bytes_in_flight(64 << 10).open(temp.path()).unwrap();
        let stream = write(&tree, "a", 1);
        for n in 0..1_000 {
            tree.file(format!("a/{}/{n}", n % 3), vec![1; 200]).unwrap();
        }
        let mut below = tree.create("a/stream", Metadata::default()).unwrap();
        below.write_all(&vec![1; LARGE]).unwrap_err();
        stream.close().unwrap();
        let report = report(tree.finish());
        assert_eq!((report.files, report.failures.len()), (1, 1_001));
        assert_eq!(content(temp.path(), "a"), vec![1; LARGE]);
    });
}

#[test]
fn a_callback_may_hand_entries_over_even_where_there_is_no_room() {
    within(60, || {
        let temp = tempfile::tempdir().unwrap();
        let streams = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let to_close = streams.clone();
        let told = move |entry: &manyfiles::tree::Entry<'_>| {
            if entry.path.starts_with("files")
                && let Some(stream) = to_close.lock().unwrap().pop()
            {
                let stream: manyfiles::tree::TreeFile = stream;
                stream.close().unwrap();
            }
        };
        let tree = TreeWriter::options().threads(1).bytes_in_flight(1000).on_entry(told).open(temp.path()).unwrap();
        for n in 0..50 {
            let mut stream = tree.create(format!("streams/{n}"), Metadata::default()).unwrap();
            stream.write_all(&vec![1; 5000]).unwrap();
            streams.lock().unwrap().push(stream);
        }
        (0..50).for_each(|n| tree.file(format!("files/{n}"), vec![1; 900]).unwrap());
        while tree.observer().progress().entries_done < 100 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(tree.finish().unwrap().files, 100);
    });
}

#[test]
fn a_forgotten_stream_is_told_and_not_waited_for() {
    within(30, || {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::open(temp.path()).unwrap();
        std::mem::forget(write(&tree, "large", 1));
        let mut small = tree.create("small", Metadata::default()).unwrap();
        small.write_all(b"x").unwrap();
        std::mem::forget(small);
        tree.file("large", "what comes after it").unwrap();
        let report = report(tree.finish());
        let mut named: Vec<_> = report.failures.iter().map(|failure| failure.path().unwrap().to_path_buf()).collect();
        named.sort();
        assert_eq!(named, [Path::new("large"), Path::new("small")]);
        assert!(report.failures[0].to_string().contains("not closed"), "{}", report.failures[0]);
        assert_eq!(content(temp.path(), "large"), b"what comes after it");
        assert!(!temp.path().join("small").exists());
    });
}

#[test]
fn a_stream_that_another_thread_has_when_the_tree_is_finished_is_told_on_both_sides() {
    within(30, || {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::open(temp.path()).unwrap();
        let mut files = vec![write(&tree, "a", 1), tree.create("b", Metadata::default()).unwrap()];
        let other = std::thread::spawn(move || {
            assert_eq!(report(tree.finish()).failures.len(), 2);
        });
        other.join().unwrap();
        for file in &mut files {
            let written = file.write_all(&vec![1; LARGE]);
            assert!(written.unwrap_err().to_string().contains("finished before"), "a call says why it fails");
        }
        for file in files {
            file.close().unwrap_err();
        }
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    });
}

#[test]
fn cancelling_frees_a_caller_that_waits_for_room_while_a_call_takes_long() {
    within(30, || {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("a"), "").unwrap();
        let (answer, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let ask = OnConflict::Ask(std::sync::Arc::new(move |_| {
            wait.lock().unwrap().recv().unwrap_err(); // Until the test has ended its part.
            manyfiles::tree::Answer::Skip
        }));
        let tree = TreeWriter::options().on_conflict(ask).bytes_in_flight(1000).open(temp.path()).unwrap();
        tree.file("a", "x").unwrap();
        let canceller = tree.canceller();
        let waiting = std::thread::spawn(move || {
            let cancelled = tree.file("b", vec![0; 2000]).unwrap_err();
            assert!(cancelled.is_cancelled());
            tree
        });
        std::thread::sleep(Duration::from_millis(50));
        canceller.cancel();
        let tree = waiting.join().unwrap(); // The question is not answered yet.
        drop(answer);
        assert!(report(tree.finish()).cancelled);
    });
}

#[cfg(target_os = "linux")]
mod few_handles {
    use super::*;
    use crate::again::{again, is_again};
    use manyfiles_testkit::nofile_limit;

    #[test]
    fn two_hundred_open_streams_need_fewer_than_64_handles() {
        if !is_again() {
            again("few_handles::two_hundred_open_streams_need_fewer_than_64_handles", |child| {
                nofile_limit(child, 64);
            });
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::open(temp.path()).unwrap();
        let mut files: Vec<_> =
            (0..200).map(|n| tree.create(format!("d{}/{n}", n % 70), Metadata::default()).unwrap()).collect();
        for piece in 0..3_u8 {
            for (n, file) in files.iter_mut().enumerate() {
                file.write_all(&vec![n as u8 ^ piece; LARGE]).unwrap();
            }
        }
        files.into_iter().for_each(|file| assert!(file.close().unwrap().bytes > 0));
        assert_eq!(tree.finish().unwrap().files, 200);
        for n in 0..200 {
            let expected: Vec<u8> = (0..3).flat_map(|piece| vec![n as u8 ^ piece; LARGE]).collect();
            assert_eq!(content(temp.path(), &format!("d{}/{n}", n % 70)), expected, "{n}");
        }
    }

    #[test]
    fn streams_that_come_and_go_leave_no_handles() {
        let temp = tempfile::tempdir().unwrap();
        let handles = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let tree = TreeWriter::open(temp.path()).unwrap();
        let before = handles();
        for round in 0..16 {
            let files: Vec<_> = (0..20).map(|n| write(&tree, &format!("{round}/{n}/f"), 1)).collect();
            files.into_iter().for_each(|file| assert!(file.close().unwrap().bytes > 0));
        }
        // Other tests of this process have some meanwhile.
        assert!(handles() < before + 100, "{} {}", before, handles());
        tree.finish().unwrap();
    }
}

#[test]
fn every_call_after_the_end_says_so_however_little_it_writes() {
    let temp = tempfile::tempdir().unwrap();
    for large in [false, true] {
        let tree = TreeWriter::open(temp.path().join(large.to_string())).unwrap();
        let mut stream = tree.create("s", Metadata::default()).unwrap();
        stream.write_all(&vec![1; if large { LARGE } else { 1 }]).unwrap();
        tree.finish().unwrap_err();
        for _ in 0..2 {
            let told = stream.write_all(b"x").unwrap_err().to_string();
            assert!(told.contains("the tree was finished before this file was closed"), "{told}");
            assert!(stream.flush().is_err());
        }
        stream.close().unwrap_err();
        assert!(!temp.path().join(large.to_string()).join("s").exists());
    }
}

#[test]
fn every_call_after_a_cancellation_says_so() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    let mut begun = tree.create("begun", Metadata::default()).unwrap();
    let mut small = tree.create("small", Metadata::default()).unwrap();
    let mut large = tree.create("large", Metadata::default()).unwrap();
    small.write_all(b"x").unwrap();
    large.write_all(&[1; LARGE]).unwrap();
    tree.canceller().cancel();
    assert!(tree.create("new", Metadata::default()).unwrap_err().is_cancelled());
    assert!(tree.copy_from("copy", &b"x"[..], Metadata::default()).unwrap_err().is_cancelled());
    for stream in [&mut begun, &mut small, &mut large] {
        assert!(stream.write(b"x").is_err());
        assert!(stream.flush().is_err());
    }
    drop((begun, small, large));
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.not_written, report.failures.len(), report.files), (5, 0, 0), "{report:?}");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
}
