//! What copies take from their source, for programs. What of each kind of entry is kept on each file system is shown by
//! the command's tests (docs/kept.md).
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use manyfiles::tree::{Content, Keep, Metadata, TreeWriter};
use manyfiles_testkit::{Disk, Need, SlowMount, skip_unless};
use rustix::fs::{FallocateFlags, IFlags, XattrFlags, fallocate, ioctl_getflags, ioctl_setflags};

fn set(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, XattrFlags::empty()).unwrap();
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1 << 16];
    let len = rustix::fs::lgetxattr(path, name, &mut value[..]).ok()?;
    Some(value[..len].to_vec())
}

/// The owner reads and writes, user 1 reads, the mask is to read.
const LIST: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0,
    255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
];

#[test]
fn a_copy_takes_all_that_is_wanted_on_the_handle_of_its_source_and_nothing_else() {
    skip_unless!(Need::Root, Need::LoopDevices);
    let disk = Disk::ext4().megabytes(600).mount().unwrap();
    let (source, target) = (disk.path().join("source"), disk.path().join("target"));
    fs::write(&source, "content").unwrap();
    let file = File::open(&source).unwrap();
    let accessed = UNIX_EPOCH + Duration::from_secs(3_000_000_000);
    fallocate(File::options().write(true).open(&source).unwrap(), FallocateFlags::KEEP_SIZE, 0, 1 << 20).unwrap();
    set(&source, "user.note", &[b'n'; 3000]);
    set(&source, "system.posix_acl_access", &LIST);
    std::os::unix::fs::chown(&source, Some(12), Some(34)).unwrap();
    fs::set_permissions(&source, fs::Permissions::from_mode(0o4640)).unwrap();
    ioctl_setflags(&file, ioctl_getflags(&file).unwrap() | IFlags::NODUMP).unwrap();
    file.set_times(fs::FileTimes::new().set_accessed(accessed)).unwrap();

    let tree = TreeWriter::options().keep(Keep::everything()).exact_permissions(true).open(&target).unwrap();
    tree.file("all", Content::copy_of(&source)).unwrap();
    let given = Metadata::default().mode(0o600).owner(1, 2).xattr("user.note", "given");
    tree.file_with("given", Content::copy_of(&source), given).unwrap();
    assert_eq!(tree.finish().unwrap().not_kept, Default::default());
    let tree = TreeWriter::options().exact_permissions(true).open(&target).unwrap();
    tree.file("bytes", Content::copy_of(&source)).unwrap();
    tree.finish().unwrap();

    let is = |name: &str| fs::metadata(target.join(name)).unwrap();
    let all = is("all");
    assert_eq!((all.mode() & 0o7777, all.uid(), all.gid()), (0o4640, 12, 34));
    assert_eq!(all.accessed().unwrap(), accessed);
    assert_eq!(all.blocks(), fs::metadata(&source).unwrap().blocks());
    assert_eq!(get(&target.join("all"), "user.note"), Some(vec![b'n'; 3000]));
    assert_eq!(get(&target.join("all"), "system.posix_acl_access"), Some(LIST.to_vec()));
    assert!(ioctl_getflags(File::open(target.join("all")).unwrap()).unwrap().contains(IFlags::NODUMP));
    assert_eq!((is("given").mode() & 0o7777, is("given").uid()), (0o600, 1), "what is given counts");
    assert_eq!(get(&target.join("given"), "user.note"), Some(b"given".to_vec()));
    assert!(is("bytes").blocks() < 64 && is("bytes").uid() == 0);
    assert_eq!(get(&target.join("bytes"), "user.note"), None);
}

#[test]
fn what_was_read_of_a_folder_is_given_to_another_and_to_nothing_in_it() {
    skip_unless!(Need::Root, Need::LoopDevices);
    let disk = Disk::ext4().megabytes(64).mount().unwrap();
    let (source, target) = (disk.path().join("source"), disk.path().join("target"));
    fs::create_dir_all(&source).unwrap();
    fs::create_dir_all(&target).unwrap();
    set(&source, "user.note", b"n");
    set(&source, "system.posix_acl_default", &LIST);
    set(&target, "system.posix_acl_default", &LIST); // for whatever is made in it
    let keep = Keep::default().xattrs().acls();
    let read = Metadata::default().mode(0o755).attributes_of(&source, keep).unwrap();
    let names: Vec<_> = read.xattrs().map(|(name, _)| String::from_utf8(name.to_vec()).unwrap()).collect();
    assert_eq!(names, ["system.posix_acl_default", "user.note"]);
    let tree = TreeWriter::options().keep(keep).exact_permissions(true).open(&target).unwrap();
    tree.folder("folder", read).unwrap();
    tree.folder("plain", Metadata::default().mode(0o755).exactly(keep)).unwrap();
    tree.file_with("folder/file", "", Metadata::default().mode(0o640).exactly(keep)).unwrap();
    tree.file("inherits", "").unwrap();
    tree.finish().unwrap();
    let list = |name: &str, kind: &str| get(&target.join(name), &format!("system.posix_acl_{kind}")).is_some();
    assert!(list("folder", "default") && !list("folder", "access"));
    assert!(!list("plain", "default") && !list("plain", "access"));
    assert!(!list("folder/file", "access"));
    assert_eq!(fs::metadata(target.join("folder/file")).unwrap().mode() & 0o777, 0o640);
    assert!(list("inherits", "access"), "of what was not said to be exact, the folder decides");
}

#[test]
fn what_a_file_system_does_not_have_is_counted_or_a_failure_as_it_was_asked_for() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Fuse);
    let (disk, mount) = (Disk::ext4().megabytes(64).mount().unwrap(), SlowMount::options().mount().unwrap());
    let source = disk.path().join("source");
    fs::write(&source, "content").unwrap();
    set(&source, "user.note", b"n");
    set(&source, "system.posix_acl_access", &LIST);
    let copy = |name: &str, keep| {
        let tree = TreeWriter::options().keep(keep).open(mount.path()).unwrap();
        drop(tree.file(name, Content::copy_of(&source)));
        tree.finish()
    };
    let not_kept = copy("lost", Keep::everything()).unwrap().not_kept;
    assert_eq!((not_kept.entries, not_kept.xattrs, not_kept.acls, not_kept.flags), (1, 1, 1, 0));
    assert!(mount.path().join("lost").exists());
    let not_kept = copy("without", Keep::default().owners()).unwrap().not_kept;
    assert_eq!(not_kept, Default::default(), "nothing is looked at for that");
    for keep in [Keep::default().xattrs(), Keep::everything().acls()] {
        let failed = copy("failed", keep).unwrap_err();
        assert_eq!(failed.report().failures[0].path(), Some(Path::new("failed")));
        assert!(!mount.path().join("failed").exists());
    }
}
