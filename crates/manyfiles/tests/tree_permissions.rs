//! The rights to a file that a tree wrote: mode and owner, by whatever way the file came.
#![cfg(feature = "full")]
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use manyfiles::tree::{Content, Metadata, Node, OnConflict, TreeWriter};
use manyfiles_testkit::{Disk, Need, skip_unless};

mod support;
use support::in_parent;

const OVER: [OnConflict; 4] =
    [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical, OnConflict::Newer];

/// The ways in which a file comes into a tree.
const WAYS: [&str; 5] = ["whole", "short stream", "long stream", "with holes", "copy"];

fn write(tree: &TreeWriter, way: &str, name: &str, metadata: Metadata) {
    // Newer than whatever is there.
    let metadata = metadata.modified(UNIX_EPOCH + Duration::from_secs(1 << 33));
    let stream = |len: usize| {
        let mut file = tree.create(name, metadata.clone()).unwrap();
        file.write_all(&vec![b'n'; len]).unwrap();
        drop(file.close()); // It is in the report.
    };
    match way {
        "whole" => tree.file_with(name, "new", metadata).unwrap(),
        "short stream" => stream(10),
        "long stream" => stream(300 << 10),
        "with holes" => {
            tree.file_with(name, Content::sparse(1 << 20, [(70_000, Content::from("new"))]), metadata).unwrap();
        }
        // Its own mode is the one that is given, unless another is.
        "copy" => tree.file_with(name, Content::copy_of("/proc/version"), metadata).unwrap(),
        way => panic!("{way}"),
    }
}

fn mode(path: impl AsRef<Path>) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn umask() -> u32 {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("f"), "").unwrap();
    0o666 & !mode(temp.path().join("f"))
}

/// The test below also runs this one as a user that is not root.
fn what_is_written_over_keeps_its_mode(owner: Option<(u32, u32)>) {
    for policy in OVER {
        for way in WAYS.into_iter().filter(|way| *way != "copy") {
            for old_mode in [0o600, 0o400, 0o640, 0o755, 0o666, 0o606] {
                let temp = tempfile::tempdir().unwrap();
                let path = temp.path().join("f");
                std::fs::write(&path, "the old one").unwrap();
                if let Some((user, group)) = owner {
                    chown(&path, Some(user), Some(group)).unwrap();
                }
                set_mode(&path, old_mode);
                let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
                write(&tree, way, "f", Metadata::default());
                assert_eq!(tree.finish().unwrap().files, 1);
                let stat = path.metadata().unwrap();
                assert_ne!(stat.len(), 11, "it is the new one");
                assert_eq!(mode(&path), old_mode, "{policy:?} {way}");
                if let Some(owner) = owner {
                    assert_eq!((stat.uid(), stat.gid()), owner, "{policy:?} {way}");
                }
            }
        }
    }
}

#[test]
fn what_is_written_over_or_replaced_keeps_its_mode_by_whatever_way_it_comes() {
    what_is_written_over_keeps_its_mode(None);
}

#[test]
fn it_keeps_its_owner_too_where_that_can_be() {
    skip_unless!(Need::Root);
    what_is_written_over_keeps_its_mode(Some((1234, 5678)));
}

#[test]
fn a_user_who_may_not_write_a_file_or_keep_its_group_replaces_it_and_lets_nobody_new_read_it() {
    if nobody_writes_over() {
        return;
    }
    skip_unless!(Need::Root);
    const NOBODY: u32 = 65_534;
    let shared = tempfile::tempdir().unwrap();
    chown(shared.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    set_mode(shared.path(), 0o755);
    for (name, mode) in [("group", 0o640), ("all", 0o644), ("set-id", 0o4755)] {
        std::fs::write(shared.path().join(name), "the old one").unwrap();
        set_mode(shared.path().join(name), mode);
    }
    // Where the test program is may not be open to every user.
    let program = shared.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let mut command = Command::new(&program);
    let name = "a_user_who_may_not_write_a_file_or_keep_its_group_replaces_it_and_lets_nobody_new_read_it";
    command.args([name, "--exact", "--nocapture"]);
    command.env("SHARED_FOLDER", shared.path()).env("TMPDIR", shared.path()).uid(NOBODY).gid(NOBODY);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&output.stderr));
    for (name, expected) in [("group", 0o600), ("all", 0o644), ("set-id", 0o755)] {
        let stat = shared.path().join(name).metadata().unwrap();
        assert_eq!((stat.uid(), stat.gid(), mode(shared.path().join(name))), (NOBODY, NOBODY, expected), "{name}");
    }
}

/// What that user does. False in all other processes.
fn nobody_writes_over() -> bool {
    let Some(shared) = std::env::var_os("SHARED_FOLDER") else { return false };
    what_is_written_over_keeps_its_mode(None);
    let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).open(shared).unwrap();
    for name in ["group", "all", "set-id"] {
        tree.file(name, "new").unwrap();
    }
    assert_eq!(tree.finish().unwrap().files, 3);
    true
}

#[test]
fn a_mode_that_is_given_comes_out_the_same_for_new_and_old_files_by_every_way() {
    let umask = umask();
    for exact in [false, true] {
        for given in [0o777, 0o666, 0o640, 0o400, 0o4755, 0o2755, 0o1644, 0o6711] {
            let expected = if exact { given } else { given & !umask };
            for policy in OVER {
                for way in WAYS {
                    for old_mode in [None, Some(0o644), Some(0o4777), Some(0o600)] {
                        let temp = tempfile::tempdir().unwrap();
                        let path = temp.path().join("f");
                        if let Some(old_mode) = old_mode {
                            std::fs::write(&path, "the old one").unwrap();
                            set_mode(&path, old_mode);
                        }
                        let tree = TreeWriter::options().on_conflict(policy.clone()).exact_permissions(exact);
                        let tree = tree.open(temp.path()).unwrap();
                        write(&tree, way, "f", Metadata::default().mode(given));
                        assert_eq!(tree.finish().unwrap().files, 1);
                        let told = format!("{given:o} over {old_mode:?}, {policy:?} {way} exact {exact}");
                        assert_eq!(format!("{:o}", mode(&path)), format!("{expected:o}"), "{told}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_owner_that_is_given_is_set_before_the_permissions() {
    skip_unless!(Need::Root);
    for policy in OVER {
        for way in WAYS {
            for there in [false, true] {
                let temp = tempfile::tempdir().unwrap();
                let path = temp.path().join("f");
                if there {
                    std::fs::write(&path, "the old one").unwrap();
                }
                let tree = TreeWriter::options().on_conflict(policy.clone()).exact_permissions(true);
                let tree = tree.open(temp.path()).unwrap();
                write(&tree, way, "f", Metadata::default().mode(0o6751).owner(12, 34));
                tree.finish().unwrap();
                let stat = path.metadata().unwrap();
                assert_eq!((stat.uid(), stat.gid(), mode(&path)), (12, 34, 0o6751), "{policy:?} {way} {there}");
            }
        }
    }
}

#[test]
fn the_default_list_of_a_folder_decides_in_place_of_the_umask_as_with_the_standard_library() {
    skip_unless!(Need::Program("setfacl"));
    let temp = tempfile::tempdir().unwrap();
    let set = |list: &str, folder: &Path| {
        Command::new("setfacl").args(["-d", "-m", list]).arg(folder).status().unwrap().success()
    };
    for (n, list) in ["u::rwx,g::rwx,o::r-x", "u::rwx,g::r-x,o::---"].into_iter().enumerate() {
        let root = temp.path().join(n.to_string());
        std::fs::create_dir(&root).unwrap();
        if !set(list, &root) {
            return manyfiles_testkit::skip("needs a file system with access control lists");
        }
        std::fs::write(root.join("std"), "x").unwrap();
        std::fs::create_dir(root.join("folder")).unwrap();
        std::fs::write(root.join("folder/std"), "x").unwrap();
        let expected = mode(root.join("std"));
        assert_ne!(expected, 0o666 & !umask(), "the list says otherwise");
        for round in 0..2 {
            // In the second round everything is there, and the same.
            let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(&root).unwrap();
            for way in WAYS {
                write(&tree, way, &format!("folder/{way}"), Metadata::default().mode(0o666));
                if way != "copy" {
                    write(&tree, way, way, Metadata::default());
                    write(&tree, way, &format!("made/deeper/{way}"), Metadata::default());
                }
            }
            tree.finish().unwrap();
            for way in WAYS {
                for folder in [".", "folder", "made/deeper"] {
                    if way != "copy" || folder == "folder" {
                        assert_eq!(mode(root.join(folder).join(way)), expected, "{list} {folder} {way} {round}");
                    }
                }
            }
        }
        let exact = TreeWriter::options().exact_permissions(true).open(&root).unwrap();
        for path in ["exact", "folder/exact", "new/one/exact"] {
            for way in WAYS {
                write(&exact, way, &format!("{path} {way}"), Metadata::default().mode(0o755));
            }
        }
        exact.finish().unwrap();
        for path in ["exact", "folder/exact", "new/one/exact"] {
            for way in WAYS {
                assert_eq!(mode(root.join(format!("{path} {way}"))), 0o755, "{list} {path} {way}");
            }
        }
    }
}

#[test]
fn rights_are_taken_away_before_the_content_comes() {
    skip_unless!(Need::Root);
    let disk = Disk::tmpfs().megabytes(1).mount().unwrap();
    let path = disk.path().join("f");
    std::fs::write(&path, "the old one").unwrap();
    chown(&path, Some(1234), Some(1234)).unwrap();
    set_mode(&path, 0o4666);
    // More than fits: it stays half written, and only its own user may read what there is of it.
    let tree = TreeWriter::options().on_conflict(OnConflict::Overwrite).exact_permissions(true);
    let tree = tree.open(disk.path()).unwrap();
    tree.file_with("f", vec![b's'; 4 << 20], Metadata::default().mode(0o4600).owner(0, 0)).unwrap();
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!(report.failures[0].raw_os_error(), Some(libc::ENOSPC));
    let stat = path.metadata().unwrap();
    assert!(stat.len() > 11, "some of it was written");
    assert_eq!((stat.uid(), mode(&path)), (0, 0o600), "and set-id bits come last");
}

#[test]
fn nodes_and_links_get_their_mode_and_owner_through_a_handle() {
    skip_unless!(Need::Root);
    let temp = tempfile::tempdir().unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(5);
    for there in [false, true] {
        let tree = TreeWriter::options().on_conflict(OnConflict::Replace).exact_permissions(true);
        let tree = tree.open(temp.path()).unwrap();
        let metadata = Metadata::default().mode(0o666).owner(12, 34).modified(time);
        tree.node("pipe", Node::Fifo, metadata.clone()).unwrap();
        tree.symlink("link", "nowhere", metadata).unwrap();
        let report = tree.finish().unwrap();
        assert_eq!((report.nodes, report.symlinks), (1, 1));
        for name in ["pipe", "link"] {
            let stat = std::fs::symlink_metadata(temp.path().join(name)).unwrap();
            assert_eq!((stat.uid(), stat.gid(), stat.modified().unwrap()), (12, 34, time), "{name} {there}");
        }
        assert_eq!(mode(temp.path().join("pipe")), 0o666);
    }
}

/// What has other names is not touched: a file that has the bytes already, and not the mode, is written again.
#[test]
fn a_file_with_other_names_that_has_the_content_and_not_the_mode_is_replaced_whole_by_every_way() {
    for way in WAYS {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::open(temp.path()).unwrap();
        write(&tree, way, "f", Metadata::default().mode(0o640));
        tree.finish().unwrap();
        std::fs::hard_link(temp.path().join("f"), temp.path().join("other")).unwrap();
        let before = std::fs::read(temp.path().join("f")).unwrap();
        for new in [0o600, 0o644] {
            let tree = TreeWriter::options().on_conflict(OnConflict::SkipIdentical).open(temp.path()).unwrap();
            write(&tree, way, "f", Metadata::default().mode(new));
            tree.finish().unwrap();
            assert_eq!(mode(temp.path().join("f")), new & !umask(), "{way}");
            assert!(std::fs::read(temp.path().join("f")).unwrap() == before, "{way} {new:o}: its content is lost");
            assert!(std::fs::read(temp.path().join("other")).unwrap() == before, "{way} {new:o}");
        }
        assert_eq!(mode(temp.path().join("other")), 0o640 & !umask(), "{way}");
    }
}

#[test]
fn a_root_that_is_to_be_closed_is_closed_before_anything_is_in_it() {
    let temp = tempfile::tempdir().unwrap();
    let write = |tree: &TreeWriter| {
        tree.folder(".", Metadata::default().mode(0o700)).unwrap();
        // Too long to be kept in memory: it is on the disk now.
        let mut file = tree.create("secret", Metadata::default()).unwrap();
        file.write_all(&vec![b'n'; 300 << 10]).unwrap();
        file
    };
    let new = temp.path().join("above/new");
    let tree = TreeWriter::open(&new).unwrap();
    let file = write(&tree);
    assert_eq!((mode(&new), new.join("secret").exists()), (0o700, true));
    file.close().unwrap();
    tree.finish().unwrap();
    assert_eq!(mode(&new), 0o700);

    let tree = TreeWriter::options().publish(true).open(temp.path().join("public")).unwrap();
    let file = write(&tree);
    assert_eq!(mode(tree.root()), 0o700);
    file.close().unwrap();
    tree.finish().unwrap();
    assert_eq!(mode(temp.path().join("public")), 0o700);

    // One that was there is others' until the tree is whole.
    set_mode(&new, 0o755);
    let tree = TreeWriter::options().on_conflict(OnConflict::Replace).open(&new).unwrap();
    let file = write(&tree);
    assert_eq!(mode(&new), 0o755);
    file.close().unwrap();
    tree.finish().unwrap();
    assert_eq!(mode(&new), 0o700);
}

#[test]
fn a_folder_gets_its_mode_whatever_was_made_of_it_before_its_entry_came() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    std::fs::create_dir(path("was there")).unwrap();
    set_mode(path("was there"), 0o711);
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.folder("given twice", Metadata::default().mode(0o700)).unwrap();
    for folder in ["was there", "made for a file", "given twice"] {
        // Too long to be kept in memory: its folder is made now.
        let mut file = tree.create(format!("{folder}/f"), Metadata::default()).unwrap();
        file.write_all(&vec![b'n'; 300 << 10]).unwrap();
        assert!(path(folder).is_dir());
        file.close().unwrap();
        tree.folder(folder, Metadata::default().mode(0o750)).unwrap();
    }
    tree.finish().unwrap();
    for folder in ["was there", "made for a file", "given twice"] {
        assert_eq!(mode(path(folder)), 0o750 & !umask(), "{folder}");
    }
}

#[test]
fn what_has_no_mode_gets_what_the_umask_leaves_by_every_way_and_for_root_too() {
    let name = "what_has_no_mode_gets_what_the_umask_leaves_by_every_way_and_for_root_too";
    if in_parent(name, |command| {
        // SAFETY: it only sets a number of the child's.
        unsafe {
            command.pre_exec(|| {
                libc::umask(0o027);
                Ok(())
            });
        }
    }) {
        return;
    }
    for exact in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let tree = TreeWriter::options().exact_permissions(exact).open(temp.path()).unwrap();
        for way in WAYS.into_iter().filter(|way| *way != "copy") {
            write(&tree, way, way, Metadata::default());
        }
        tree.node("pipe", Node::Fifo, Metadata::default()).unwrap();
        tree.finish().unwrap();
        for name in WAYS.into_iter().filter(|way| *way != "copy").chain(["pipe"]) {
            assert_eq!(mode(temp.path().join(name)), 0o640, "{name} exact {exact}");
        }
    }
}
