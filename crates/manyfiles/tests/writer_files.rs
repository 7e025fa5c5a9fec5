//! What a writer does with its file beside writing: cutting, reading back, giving it away, and how it ends.
#![cfg(all(target_os = "linux", feature = "full"))]

mod support;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use manyfiles::Operation;
use manyfiles::close::Closer;
use manyfiles::sync::SyncBatch;
use manyfiles::writer::{FileWriter, SyncPolicy};
use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

#[test]
fn a_file_can_be_cut_read_back_and_taken_while_it_is_written() {
    let temp = tempfile::tempdir().unwrap();
    for second_thread in [false, true] {
        let path = temp.path().join(format!("file {second_thread}"));
        let mut writer = FileWriter::options().second_thread(second_thread).buffer_size(4096).create(&path).unwrap();
        let bytes: Vec<u8> = (0..20_000u32).map(|n| (n % 251) as u8).collect();
        writer.write_all(&bytes).unwrap();
        let mut back = [0; 1000];
        assert_eq!(writer.read_at(&mut back, 19_500).unwrap(), 500, "what was buffered is there, and no more");
        assert_eq!(back[..500], bytes[19_500..]);
        writer.set_len(10_000).unwrap();
        assert_eq!(writer.position(), 20_000, "the next write is where it was");
        writer.write_all(b"end").unwrap();
        writer.write_at(b"inside", 5).unwrap();
        assert_eq!(writer.read_at(&mut back, 0).unwrap(), 1000);
        assert_eq!(&back[5..11], b"inside");
        let file = writer.into_file().unwrap();
        assert_eq!(file.metadata().unwrap().len(), 20_003);
        let mut expected = bytes[..10_000].to_vec();
        expected[5..11].copy_from_slice(b"inside");
        expected.resize(20_000, 0);
        expected.extend(b"end");
        assert!(fs::read(&path).unwrap() == expected);
    }
    let mut appends = FileWriter::append(temp.path().join("log")).unwrap();
    for error in [appends.set_len(0).unwrap_err(), appends.read_at(&mut [0], 0).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    appends.write_all(b"as before").unwrap();
    assert_eq!(appends.close().unwrap().bytes, 9);
    let error = FileWriter::from_writer(Vec::new()).into_file().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_file_that_was_opened_to_append_is_appended_to() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    fs::write(&path, "0123456789").unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    let mut writer = FileWriter::from_file(file, &path).unwrap();
    assert_eq!(writer.write_at(b"AB", 2).unwrap_err().kind(), ErrorKind::Unsupported);
    writer.write_all(b"C").unwrap();
    writer.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0123456789C");
}

/// Takes more than it is given, or panics.
struct Strange(&'static str);

impl Write for Strange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert_ne!(self.0, "panics", "the other side is gone");
        Ok(bytes.len() + 1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn more_bytes_taken_than_were_given_are_an_error() {
    let mut writer = FileWriter::options().from_writer(Strange("takes more")).unwrap();
    writer.write_all(b"four").unwrap();
    let error = writer.flush().unwrap_err();
    assert!(error.to_string().contains("more bytes"), "{error}");
    assert_eq!((writer.written(), writer.buffered()), (0, 4));
    assert_eq!(writer.close().unwrap_err().to_string(), error.to_string());
}

#[test]
fn a_writer_that_is_dropped_after_a_panic_says_that_its_bytes_are_not_known() {
    for drops in [false, true] {
        let closer = Arc::new(Closer::new());
        let mut writer = FileWriter::options().closer(Arc::clone(&closer)).from_writer(Strange("panics")).unwrap();
        writer.write_all(b"four").unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| writer.flush())).is_err());
        if drops {
            drop(writer);
            let errors = closer.wait().unwrap_err();
            assert_eq!(errors.len(), 1);
            assert!(errors.to_string().contains("panicked"), "{errors}");
        } else {
            assert!(writer.write_all(b"x").unwrap_err().to_string().contains("panicked"));
            writer.close().unwrap_err();
            closer.wait().expect("it was told");
        }
    }
}

#[test]
fn what_was_reserved_is_given_back_after_a_failure_too() {
    skip_unless!(Need::Preload);
    if support::in_parent("what_was_reserved_is_given_back_after_a_failure_too", |child| {
        let rule = Rule::fail(Call::Write, libc::ENOSPC).path_contains("reserved").nth(3);
        Preload::new().rule(rule).apply(child).unwrap();
    }) {
        return;
    }
    let temp = manyfiles_testkit::scratch().unwrap();
    for drops in [false, true] {
        let path = temp.path().join(format!("reserved {drops}"));
        let mut writer = FileWriter::options().preallocate(8 << 20).buffer_size(4096).create(&path).unwrap();
        // The rule is for all files together: the second one has no failure, and is dropped.
        let failed = (0..10).find_map(|_| writer.write_all(&[1; 4000]).err());
        assert_eq!(failed.is_some(), !drops);
        if drops {
            drop(writer)
        } else {
            drop(writer.close().unwrap_err())
        }
        manyfiles::close::wait().unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert!(metadata.blocks() * 512 < 1 << 20, "{} bytes are held for {}", metadata.blocks() * 512, metadata.len());
    }
}

/// Where a new file's name is synced: the second sync in a folder called so is the folder's own.
#[test]
fn the_folder_that_is_synced_is_the_one_that_has_the_name() {
    skip_unless!(Need::Preload);
    if support::in_parent("the_folder_that_is_synced_is_the_one_that_has_the_name", |child| {
        let rules = ["right-link", "right-current", "right-moved"];
        let preload = rules.iter().fold(Preload::new(), |preload, text| {
            preload.rule(Rule::fail(Call::Fsync, libc::EIO).path_contains(text).nth(2))
        });
        preload.apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temp.path()).unwrap();
    let folder = |name: &str| {
        fs::create_dir(root.join(name)).unwrap();
        root.join(name)
    };
    let is_told = |error: manyfiles::Error, folder: &std::path::Path| {
        assert_eq!((error.operation(), error.path()), (Operation::Sync, Some(folder)), "{error}");
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{error}");
    };
    // Through a link.
    let (right, wrong) = (folder("right-link"), folder("wrong"));
    symlink(right.join("file"), wrong.join("link")).unwrap();
    let mut writer = FileWriter::create(wrong.join("link")).unwrap();
    is_told(writer.sync().unwrap_err(), &right);
    // By a relative path, and another folder is the current one then.
    let right = folder("right-current");
    std::env::set_current_dir(&right).unwrap();
    let mut writer = FileWriter::create("file").unwrap();
    std::env::set_current_dir(&wrong).unwrap();
    is_told(writer.sync().unwrap_err(), &right);
    // In a folder that is renamed, and another takes its name.
    let before = folder("before");
    let mut writer = FileWriter::create(before.join("file")).unwrap();
    let right = root.join("right-moved");
    fs::rename(&before, &right).unwrap();
    fs::create_dir(&before).unwrap();
    is_told(writer.sync().unwrap_err(), &right);
    // A file that is removed has no name.
    let mut writer = FileWriter::options().sync(SyncPolicy::OnClose).create(before.join("gone")).unwrap();
    writer.write_all(b"x").unwrap();
    fs::remove_dir_all(&before).unwrap();
    writer.close().unwrap();
    std::env::set_current_dir(&root).unwrap();
}

#[test]
fn an_atomic_batch_finds_its_folders_again_whatever_became_of_their_paths() {
    if support::in_parent("an_atomic_batch_finds_its_folders_again_whatever_became_of_their_paths", |_| {}) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (here, there) = (temp.path().join("here"), temp.path().join("there"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&there).unwrap();
    std::env::set_current_dir(&here).unwrap();
    let batch = SyncBatch::options().atomic(true).build();
    batch.write("file", b"new").unwrap();
    batch.write(here.join("other"), b"new").unwrap();
    std::env::set_current_dir(&there).unwrap();
    let moved = temp.path().join("moved");
    fs::rename(&here, &moved).unwrap();
    fs::create_dir(&here).unwrap();
    assert_eq!(batch.finish().unwrap().files, 2);
    let names = |folder| fs::read_dir(folder).unwrap().count();
    assert_eq!((names(&moved), names(&here), names(&there)), (2, 0, 0));
    let mut text = String::new();
    File::open(moved.join("file")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "new");
}

#[test]
fn an_atomic_batch_whose_folder_cannot_be_synced_says_what_it_has_changed() {
    skip_unless!(Need::Preload);
    if support::in_parent("an_atomic_batch_whose_folder_cannot_be_synced_says_what_it_has_changed", |child| {
        // One for each file, and then the folder's.
        let rule = Rule::fail(Call::Fsync, libc::EIO).path_contains("unsynced").nth(3);
        Preload::new().rule(rule).apply(child).unwrap();
    }) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("unsynced");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a"), "old").unwrap();
    let batch = SyncBatch::options().atomic(true).method(manyfiles::sync::BatchMethod::EachFile).build();
    for name in ["a", "b"] {
        batch.write(folder.join(name), "new").unwrap();
    }
    let failed = batch.finish().unwrap_err();
    assert_eq!(failed.errors().len(), 1, "{failed}");
    let error = failed.errors().iter().next().unwrap();
    assert_eq!((error.operation(), error.path()), (Operation::Sync, Some(&*folder)), "{failed}");
    assert_eq!(failed.replaced().collect::<Vec<_>>(), [folder.join("a"), folder.join("b")]);
    assert!(failed.to_string().ends_with("2 paths have their new content all the same"), "{failed}");
    assert_eq!(fs::read(folder.join("a")).unwrap(), b"new");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_forked_child_does_not_wait_for_a_second_thread_that_it_does_not_have() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for by in ["drop", "write", "close"] {
        let mut writer = FileWriter::options().second_thread(true).create(&path).unwrap();
        (0..100).for_each(|_| writer.write_all(&[7; 100_000]).unwrap());
        let mut writer = Some(writer);
        // SAFETY: the child touches nothing but its copy of the writer, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let mut copy = writer.take().unwrap();
                let is_right = match by {
                    "drop" => true,
                    "write" => (0..100).any(|_| copy.write_all(&[8; 100_000]).is_err()) && copy.flush().is_err(),
                    _ => copy.close().is_err(),
                };
                // SAFETY: ends the child, without what the test harness has registered.
                unsafe { libc::_exit(i32::from(!is_right)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: `child` is this process's child, and `status` is there to be written to.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0, "{by}");
            }
        }
        writer.take().unwrap().close().unwrap();
        assert!(std::fs::read(&path).unwrap() == [7; 10_000_000]);
    }
}
