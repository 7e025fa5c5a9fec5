//! Folders that are moved or removed while handles of their files are kept: what is buffered goes along, and what is lost
//! is told.
#![cfg(feature = "full")]

#[path = "support/kept.rs"]
mod kept;

use std::fs;
use std::io::ErrorKind;
#[cfg(not(windows))]
use std::path::PathBuf;
use std::thread::sleep;

use kept::A_WHILE;
#[cfg(target_os = "linux")]
use kept::handles_in;
#[cfg(not(windows))]
use kept::has_bytes_buffered;
#[cfg(not(windows))]
use manyfiles::Error;
use manyfiles::vfs::Vfs;
use manyfiles_testkit::skip;
#[cfg(not(windows))]
use tempfile::TempDir;

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

/// A file whose bytes are lost, and no call has returned that.
#[cfg(not(windows))]
struct Lost {
    temp: TempDir,
    /// Where it was, and where another program has moved this folder to before it removed the file there.
    folder: PathBuf,
    away: PathBuf,
    file: PathBuf,
    vfs: Vfs,
}

// Windows moves no folder with an open file.
#[cfg(not(windows))]
impl Lost {
    fn new() -> Lost {
        let temp = tempfile::tempdir().unwrap();
        let (folder, away) = (temp.path().join("d"), temp.path().join("dd"));
        let file = folder.join("q");
        fs::create_dir(&folder).unwrap();
        let vfs = Vfs::options().handles(1).build();
        has_bytes_buffered(&vfs, &file);
        fs::rename(&folder, &away).unwrap();
        fs::remove_file(away.join("q")).unwrap();
        // Takes the one handle: what is buffered for the file has nowhere to go now.
        vfs.write(temp.path().join("other"), b"x").unwrap();
        Lost { temp, folder, away, file, vfs }
    }

    fn is_it(&self, error: &Error) {
        assert_eq!((error.kind(), error.path()), (ErrorKind::NotFound, Some(&*self.file)), "{error}");
    }

    /// The end tells it, and nothing else.
    fn ends(&self) {
        let errors = self.vfs.wait().unwrap_err();
        assert_eq!(errors.len(), 1, "{errors}");
        self.is_it(errors.iter().next().unwrap());
        self.vfs.wait().unwrap();
    }
}

#[cfg(not(windows))]
#[test]
fn a_folder_that_gets_the_name_again_does_not_take_away_what_is_wrong_with_its_files() {
    // Another folder by that name, or the same one moved back: the failure has been told by no call yet.
    for moved_back in [false, true] {
        let lost = Lost::new();
        if moved_back {
            lost.vfs.rename(&lost.away, &lost.folder).unwrap();
        } else {
            let other = lost.temp.path().join("e");
            lost.vfs.create_folder(&other).unwrap();
            lost.vfs.rename(&other, &lost.folder).unwrap();
        }
        lost.is_it(&lost.vfs.write(&lost.file, b"<4>").unwrap_err());
        lost.ends();
    }
}

#[cfg(not(windows))]
#[test]
fn a_file_of_others_that_has_the_name_now_takes_over_when_what_was_lost_is_told() {
    let lost = Lost::new();
    fs::create_dir(&lost.folder).unwrap();
    fs::write(&lost.file, "theirs").unwrap();
    lost.is_it(&lost.vfs.write(&lost.file, b"1").unwrap_err());
    // That was for the file before. This one has lost nothing.
    lost.vfs.write(&lost.file, b"2").unwrap();
    lost.ends();
    assert_eq!(fs::read(&lost.file).unwrap(), b"theirs2");
}

#[cfg(not(windows))]
#[test]
fn a_folder_with_a_file_that_has_lost_bytes_is_not_renamed_before_that_is_told() {
    // By its name or by another one of it; the file may be deeper.
    for (by, from) in [("the folder", "d"), ("one above", ""), ("a link above", "link")] {
        let lost = Lost::new();
        let root = lost.temp.path();
        fs::create_dir(&lost.folder).unwrap();
        fs::create_dir(root.join("top")).unwrap();
        std::os::unix::fs::symlink(root, root.join("top/link")).unwrap();
        let from = match from {
            "link" => root.join("top/link/d"),
            "" => root.to_path_buf(),
            name => root.join(name),
        };
        let to = root.with_extension("moved");
        lost.is_it(&lost.vfs.rename(&from, &to).expect_err(by));
        assert!(from.exists() && !to.exists(), "{by}");
        // Somebody has taken note.
        lost.is_it(&lost.vfs.flush(&lost.file).unwrap_err());
        lost.vfs.rename(&from, &to).unwrap();
        lost.vfs.rename(&to, &from).unwrap();
        lost.vfs.wait().unwrap();
    }
}

#[cfg(not(windows))]
#[test]
fn a_new_file_in_the_place_of_one_that_others_moved_away_does_not_take_away_what_is_wrong_with_that() {
    let lost = Lost::new();
    lost.vfs.create_folder(&lost.folder).unwrap();
    lost.vfs.create_writer(&lost.file).unwrap().close().unwrap();
    lost.vfs.write(&lost.file, b"new").unwrap();
    lost.ends();
    assert_eq!(fs::read(&lost.file).unwrap(), b"new");
}
