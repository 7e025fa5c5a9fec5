//! Files that change under a kept handle: what this `Vfs` changes is known at once, what others change is noticed in
//! time, and nothing that was written afterwards is lost.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use manyfiles::vfs::Vfs;
use manyfiles_testkit::skip;

/// Longer than a kept handle goes without a look at its path, on every system's coarse clock.
const A_WHILE: Duration = Duration::from_millis(50);

/// How many of this process's open files are or were in `folder`.
#[cfg(target_os = "linux")]
fn handles_in(folder: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter(|fd| fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|path| path.starts_with(folder))).count()
}

/// A file with a kept handle and something in its buffer.
fn written_twice(vfs: &Vfs, path: &Path) {
    vfs.write(path, b"1").unwrap();
    vfs.write(path, b"2").unwrap();
}

/// Writes until something is in the buffer: what comes late goes straight to the file.
#[cfg(not(windows))]
fn has_bytes_buffered(vfs: &Vfs, path: &Path) {
    let mut written = 0;
    while written == 0 || fs::metadata(path).unwrap().len() == written {
        vfs.write(path, b"<n>").unwrap();
        written += 3;
    }
}

#[test]
fn a_file_that_is_written_twice_has_one_handle_and_the_second_write_is_buffered() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    assert_eq!(fs::read(&path).unwrap(), b"1", "the second is buffered");
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 1);
    assert_eq!(vfs.read(&path).unwrap(), b"12", "a read of this Vfs sees it");
    assert_eq!(fs::read(&path).unwrap(), b"12", "and so does everybody then");
    vfs.write(&path, b"3").unwrap();
    assert_eq!(vfs.size(&path).unwrap(), 3);
    vfs.write(&path, b"4").unwrap();
    assert_eq!(vfs.list(temp.path()).unwrap()[0].metadata.size, 4);
    vfs.write(&path, b"5").unwrap();
    vfs.sync(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"12345");
    vfs.write(&path, b"6").unwrap();
    vfs.append(&path, b"7").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"1234567");
    vfs.write(&path, b"8").unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 1);
    vfs.flush(&path).unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 0);
    assert_eq!(fs::read(&path).unwrap(), b"12345678");
}

#[test]
fn another_program_sees_a_file_that_is_written_on_a_moment_later() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    sleep(A_WHILE);
    vfs.write(&path, b"3").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"12", "what is old goes when something new comes");
}

#[test]
fn a_reader_that_was_open_before_goes_on_reading() {
    use std::io::Read;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    let mut reader = fs::File::open(&path).unwrap();
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "1");
    vfs.flush(&path).unwrap();
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, "12");
}

/// What somebody else may do to a file, and what is to be found at the path before the next write.
type Change = (&'static str, fn(&Path), Option<&'static [u8]>);

const CHANGES: [Change; 4] = [
    ("removed", |path| fs::remove_file(path).unwrap(), None),
    ("renamed away", |path| fs::rename(path, path.with_extension("1")).unwrap(), None),
    (
        "replaced",
        |path| {
            fs::write(path.with_extension("new"), b"new ").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
        Some(b"new "),
    ),
    (
        "removed and made anew",
        |path| {
            // The old number is not free while a handle is kept, so it cannot be taken for the old file.
            fs::remove_file(path).unwrap();
            fs::write(path, b"new ").unwrap();
        },
        Some(b"new "),
    ),
];

/// Whether an open file that is removed has no name any more: not on Windows before 10, nor under wine, where it goes
/// on being found until its last handle is closed, by whoever asks.
fn removed_files_are_gone_at_once(folder: &Path) -> bool {
    let path = folder.join("removed while open");
    let open = fs::File::create(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let gone = fs::File::open(&path).is_err();
    drop(open);
    gone
}

#[test]
fn what_is_written_after_a_change_by_others_is_in_the_file_that_has_the_path_then() {
    for (change, make, there) in CHANGES {
        if change != "renamed away" && !removed_files_are_gone_at_once(tempfile::tempdir().unwrap().path()) {
            skip(format!("{change}: this system keeps the names of open files"));
            continue;
        }
        for (when, waits) in [("at once", false), ("later", true)] {
            for buffered in [false, true] {
                let temp = tempfile::tempdir().unwrap();
                let path = temp.path().join("file");
                let vfs = Vfs::new();
                vfs.write(&path, b"1").unwrap();
                if buffered {
                    vfs.write(&path, b"2").unwrap();
                }
                make(&path);
                if waits {
                    sleep(A_WHILE);
                }
                vfs.write(&path, b"3").unwrap();
                vfs.write(&path, b"4").unwrap();
                vfs.flush(&path).unwrap();
                // What was still in the buffer when the file changed goes with what came after.
                let mut expected = there.unwrap_or_default().to_owned();
                expected.extend(if buffered { &b"234"[..] } else { b"34" });
                let found = fs::read(&path).map_err(|error| error.kind());
                assert_eq!(found, Ok(expected), "{change}, {when}, buffered: {buffered}");
                if change == "renamed away" {
                    assert_eq!(fs::read(path.with_extension("1")).unwrap(), b"1");
                }
                #[cfg(target_os = "linux")]
                assert_eq!(handles_in(temp.path()), 0, "{change}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_handle_of_a_removed_file_is_let_go_by_the_write_that_notices() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let vfs = Vfs::new();
    written_twice(&vfs, &path);
    fs::remove_file(&path).unwrap();
    sleep(A_WHILE);
    vfs.write(&path, b"3").unwrap();
    let open: Vec<_> =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok()).collect();
    let ours: Vec<_> = open.iter().filter(|file| file.starts_with(temp.path())).collect();
    assert_eq!(ours, [&path], "and not one that is (deleted)");
}

#[test]
fn a_file_that_others_cut_short_has_no_hole_afterwards() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let vfs = Vfs::new();
    vfs.write(&path, &[b'x'; 10_000]).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    vfs.write(&path, b"after").unwrap();
    vfs.flush(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"after");
}

#[test]
fn what_others_append_meanwhile_is_not_overwritten() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let (one, two) = (Vfs::new(), Vfs::new());
    for n in 0..100 {
        one.write(&path, b"a").unwrap();
        two.append(&path, b"b").unwrap();
        if n % 10 == 0 {
            let writer = fs::File::options().append(true).open(&path).unwrap();
            std::io::Write::write_all(&mut &writer, b"c").unwrap();
        }
    }
    one.wait().unwrap();
    two.wait().unwrap();
    let text = fs::read(&path).unwrap();
    let count = |wanted| text.iter().filter(|&&byte| byte == wanted).count();
    assert_eq!((count(b'a'), count(b'b'), count(b'c'), text.len()), (100, 100, 10, 210));
}

#[test]
fn a_folder_that_is_renamed_away_takes_its_files_along_and_no_later_write() {
    let temp = tempfile::tempdir().unwrap();
    let (folder, away) = (temp.path().join("folder"), temp.path().join("away"));
    let path = folder.join("file");
    fs::create_dir(&folder).unwrap();
    let vfs = Vfs::new();
    vfs.write(&path, b"1").unwrap();
    if fs::rename(&folder, &away).is_err() && cfg!(windows) {
        return skip("Windows moves no folder that has an open file");
    }
    fs::create_dir(&folder).unwrap();
    vfs.write(&path, b"2").unwrap();
    vfs.flush(&path).unwrap();
    assert_eq!((fs::read(away.join("file")).unwrap(), fs::read(&path).unwrap()), (b"1".into(), b"2".into()));
}

#[test]
fn a_folder_removed_by_others_makes_errors_with_the_path_until_it_is_there_again() {
    for buffered in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("folder");
        let path = folder.join("file");
        fs::create_dir(&folder).unwrap();
        let vfs = Vfs::new();
        vfs.write(&path, b"1").unwrap();
        if buffered {
            vfs.write(&path, b"2").unwrap();
        }
        if fs::remove_dir_all(&folder).is_err() && cfg!(windows) {
            return skip("this Windows keeps the names of open files");
        }
        sleep(A_WHILE);
        let error = vfs.write(&path, b"3").unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::NotFound, Some(&*path)), "{error}");
        fs::create_dir(&folder).unwrap();
        if buffered {
            // The 2 is lost: no success comes after that, until somebody has taken note.
            assert_eq!(vfs.write(&path, b"4").unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(vfs.flush(&path).unwrap_err().kind(), ErrorKind::NotFound);
        }
        vfs.write(&path, b"5").unwrap();
        vfs.wait().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"5");
    }
}

#[test]
fn what_this_vfs_removes_renames_or_creates_is_known_to_the_next_write() {
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    for base in [temp.path().to_str().unwrap(), "mem://"] {
        let uri = |name: &str| format!("{}/{name}", base.trim_end_matches('/')).replace("mem:/", "mem://");
        let (a, b) = (uri("a"), uri("b"));
        let twice = |uri: &str| {
            vfs.write(uri, b"1").unwrap();
            vfs.write(uri, b"2").unwrap();
        };
        twice(&a);
        vfs.remove(&a).unwrap();
        assert!(!vfs.exists(&a).unwrap());
        vfs.write(&a, b"3").unwrap();
        assert_eq!(vfs.read(&a).unwrap(), b"3");

        twice(&a);
        twice(&b);
        vfs.rename(&a, &b).unwrap();
        assert_eq!(vfs.read(&b).unwrap(), b"312");
        vfs.write(&a, b"4").unwrap();
        vfs.write(&b, b"5").unwrap();
        assert_eq!((vfs.read(&a).unwrap(), vfs.read(&b).unwrap()), (b"4".into(), b"3125".into()));

        twice(&a);
        let mut writer = vfs.create_writer(&a).unwrap();
        assert_eq!(vfs.size(&a).unwrap(), 0);
        writer.write_all(b"writer").unwrap();
        vfs.write(&a, b"other ").unwrap();
        assert_eq!(writer.close().unwrap().bytes, 6);
        assert_eq!(vfs.read(&a).unwrap(), b"other writer", "neither overwrites the other");
    }
}

#[test]
fn a_folder_with_files_whose_handles_are_kept_can_be_renamed_and_they_follow_their_names() {
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    for base in [temp.path().to_str().unwrap(), "mem://base"] {
        let uri = |name: &str| format!("{base}/{name}");
        vfs.create_folder(uri("from/deep")).unwrap();
        for name in ["from/a", "from/deep/b"] {
            vfs.write(uri(name), b"1").unwrap();
            vfs.write(uri(name), b"2").unwrap();
        }
        vfs.rename(uri("from"), uri("to")).unwrap();
        assert_eq!(vfs.write(uri("from/a"), b"x").unwrap_err().kind(), ErrorKind::NotFound);
        vfs.write(uri("to/deep/b"), b"3").unwrap();
        assert_eq!(vfs.read(uri("to/a")).unwrap(), b"12");
        assert_eq!(vfs.read(uri("to/deep/b")).unwrap(), b"123");
    }
}

#[test]
fn removing_a_folder_says_what_the_system_says_and_kept_handles_make_no_difference() {
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    for base in [temp.path().to_str().unwrap(), "mem://base"] {
        let (folder, file) = (format!("{base}/folder"), format!("{base}/folder/file"));
        vfs.create_folder(&folder).unwrap();
        vfs.write(&file, b"1").unwrap();
        vfs.write(&file, b"2").unwrap();
        // A file is in it, handle or none.
        let error = vfs.remove(&folder).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty, "{error}");
        assert_eq!(vfs.read(&file).unwrap(), b"12", "and it has lost nothing");
        vfs.write(&file, b"3").unwrap();
        vfs.remove(&file).unwrap();
        // No file is in it, and no handle of one either: on some systems that would keep it.
        vfs.remove(&folder).unwrap();
        assert!(!vfs.exists(&folder).unwrap());
    }
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 0);
}

#[test]
fn somebody_s_own_writer_is_left_alone_by_a_removal() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("folder");
    let vfs = Vfs::new();
    vfs.create_folder(&folder).unwrap();
    let mut writer = vfs.create_writer(folder.join("file")).unwrap();
    writer.write_all(b"1").unwrap();
    assert_eq!(vfs.remove(&folder).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    writer.write_all(b"2").unwrap();
    assert_eq!(writer.close().unwrap().bytes, 2);
    assert_eq!(fs::read(folder.join("file")).unwrap(), b"12");
}

#[test]
fn the_handle_used_longest_ago_makes_room() {
    let temp = tempfile::tempdir().unwrap();
    let path = |n: usize| temp.path().join(n.to_string());
    let vfs = Vfs::options().handles(3).build();
    for n in [0, 1, 2, 0, 3] {
        vfs.write(path(n), b"x").unwrap();
    }
    #[cfg(target_os = "linux")]
    {
        let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
        let mut open: Vec<_> = open.filter(|file| file.starts_with(temp.path())).collect();
        open.sort();
        assert_eq!(open, [path(0), path(2), path(3)], "1 was used longest ago");
    }
    for n in 4..100 {
        vfs.write(path(n), b"x").unwrap();
        vfs.write(path(n), b"y").unwrap();
        #[cfg(target_os = "linux")]
        assert_eq!(handles_in(temp.path()), 3);
    }
    vfs.wait().unwrap();
    assert!((4..100).all(|n| fs::read(path(n)).unwrap() == b"xy"));
}

#[test]
fn dropping_the_vfs_writes_and_closes_everything() {
    let temp = tempfile::tempdir().unwrap();
    let path = |n: usize| temp.path().join(n.to_string());
    let vfs = Vfs::new();
    for n in 0..20 {
        written_twice(&vfs, &path(n));
    }
    let mut writer = vfs.create_writer(path(20)).unwrap();
    writer.write_all(b"12").unwrap();
    drop(vfs);
    // A writer outlives the Vfs that made it.
    writer.write_all(b"3").unwrap();
    drop(writer);
    assert!((0..20).all(|n| fs::read(path(n)).unwrap() == b"12"));
    assert_eq!(fs::read(path(20)).unwrap(), b"123");
    #[cfg(target_os = "linux")]
    assert_eq!(handles_in(temp.path()), 0);
}

// Windows moves no folder with an open file.
#[cfg(not(windows))]
#[test]
fn a_folder_that_gets_the_name_again_does_not_take_away_what_is_wrong_with_its_files() {
    // Another folder by that name, or the same one moved back: the failure has been told by no call yet.
    for moved_back in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let (folder, away, other) = (temp.path().join("d"), temp.path().join("dd"), temp.path().join("e"));
        let file = folder.join("q");
        fs::create_dir(&folder).unwrap();
        let vfs = Vfs::options().handles(1).build();
        has_bytes_buffered(&vfs, &file);
        fs::rename(&folder, &away).unwrap();
        fs::remove_file(away.join("q")).unwrap();
        // Takes the one handle: what is buffered for the file has nowhere to go now.
        vfs.write(temp.path().join("other"), b"x").unwrap();
        if moved_back {
            vfs.rename(&away, &folder).unwrap();
        } else {
            vfs.create_folder(&other).unwrap();
            vfs.rename(&other, &folder).unwrap();
        }
        let error = vfs.write(&file, b"<4>").unwrap_err();
        assert_eq!(error.path(), Some(&*file), "{error}");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let errors = vfs.wait().unwrap_err();
        assert_eq!(errors.len(), 1, "{errors}");
        vfs.finish().unwrap();
    }
}

#[cfg(not(windows))]
#[test]
fn a_new_file_in_the_place_of_one_that_others_moved_away_does_not_take_away_what_is_wrong_with_that() {
    let temp = tempfile::tempdir().unwrap();
    let (folder, away) = (temp.path().join("d"), temp.path().join("dd"));
    let file = folder.join("q");
    fs::create_dir(&folder).unwrap();
    let vfs = Vfs::options().handles(1).build();
    has_bytes_buffered(&vfs, &file);
    fs::rename(&folder, &away).unwrap();
    fs::remove_file(away.join("q")).unwrap();
    vfs.write(temp.path().join("other"), b"x").unwrap();
    vfs.create_folder(&folder).unwrap();
    vfs.create_writer(&file).unwrap().close().unwrap();
    vfs.write(&file, b"new").unwrap();
    let errors = vfs.wait().unwrap_err();
    assert_eq!(errors.len(), 1, "{errors}");
    assert_eq!(fs::read(&file).unwrap(), b"new");
}

// Windows moves no folder with an open file.
#[cfg(not(windows))]
#[test]
fn what_is_buffered_for_a_file_goes_with_the_folder_that_is_moved() {
    let temp = tempfile::tempdir().unwrap();
    let (folder, away) = (temp.path().join("d"), temp.path().join("dd"));
    let file = folder.join("q");
    fs::create_dir(&folder).unwrap();
    let vfs = Vfs::options().handles(1).build();
    (0..3).for_each(|n| vfs.write(&file, format!("<{n}>").as_bytes()).unwrap());
    fs::rename(&folder, &away).unwrap();
    vfs.write(temp.path().join("other"), b"x").unwrap();
    assert_eq!(fs::read(away.join("q")).unwrap(), b"<0><1><2>");
    assert_eq!(vfs.write(&file, b"<3>").unwrap_err().kind(), ErrorKind::NotFound);
    vfs.rename(&away, &folder).unwrap();
    vfs.write(&file, b"<4>").unwrap();
    vfs.wait().unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"<0><1><2><4>");
}

/// Threads that write files, and one that moves their folder away and back by the same `Vfs`: what a write has accepted is
/// in the file.
#[test]
fn no_accepted_record_is_lost_when_the_folder_is_renamed_meanwhile() {
    for scheme in ["file", "mem"] {
        let temp = tempfile::tempdir().unwrap();
        let name = |name: &str| match scheme {
            "mem" => format!("mem://{name}"),
            _ => temp.path().join(name).to_str().unwrap().to_owned(),
        };
        let vfs = Vfs::options().handles(2).build();
        vfs.create_folder(name("d")).unwrap();
        let accepted = std::thread::scope(|scope| {
            let writer = |n: usize| {
                let (vfs, file) = (&vfs, name(&format!("d/{n}")));
                scope.spawn(move || {
                    let records = (0..300u32).map(|record| format!("<{record}>"));
                    records.filter(|record| vfs.write(&file, record.as_bytes()).is_ok()).collect::<String>()
                })
            };
            let writers: Vec<_> = (0..3).map(writer).collect();
            for _ in 0..20 {
                // Windows refuses while a handle that is in use is open there.
                if vfs.rename(name("d"), name("dd")).is_ok() {
                    while vfs.rename(name("dd"), name("d")).is_err() {}
                }
            }
            writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        vfs.wait().unwrap();
        for (n, accepted) in accepted.iter().enumerate() {
            let found = if accepted.is_empty() { Vec::new() } else { vfs.read(name(&format!("d/{n}"))).unwrap() };
            assert_eq!(String::from_utf8(found).unwrap(), *accepted, "{scheme} {n}");
        }
    }
}
