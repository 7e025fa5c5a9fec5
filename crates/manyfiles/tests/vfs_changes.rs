//! Files that change under a kept handle: what this `Vfs` changes is known at once, what others change is noticed in
//! time, and nothing that was written afterwards is lost. For their folders see `vfs_moved_folders.rs`.
#![cfg(feature = "full")]

#[path = "support/kept.rs"]
mod kept;

use std::fs;
use std::path::Path;
use std::thread::sleep;

use kept::A_WHILE;
#[cfg(target_os = "linux")]
use kept::handles_in;
use manyfiles::vfs::Vfs;
use manyfiles_testkit::skip;

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
