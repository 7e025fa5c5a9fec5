//! `copy -a`, `--xattrs`, `--acls`: what is kept, what is counted, and what is a failure. What of each kind of entry is
//! kept is in `kept`.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use common::{BINARY, Ran, manyfiles, shell};
use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, SlowMount, skip_unless};

/// Runs a script in which `nobody` begins a command as a user without privileges.
fn script(folder: &Path, script: &str) -> Ran {
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    shell(folder, &format!("set -e; umask 022; nobody='{nobody}'; {script}"))
}

fn attribute(path: impl AsRef<Path>, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 1 << 16];
    let len = rustix::fs::lgetxattr(path.as_ref(), name, &mut value).ok()?;
    Some(value[..len].to_vec())
}

/// With the command in it, which all users may run there.
fn disk() -> Disk {
    let disk = Disk::ext4().megabytes(512).mount().unwrap();
    fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::copy(BINARY, disk.path().join("manyfiles")).unwrap();
    disk
}

#[test]
fn a_user_without_privileges_keeps_what_may_be_kept_and_is_told_how_much_was_not() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("setpriv"), Need::Program("setcap"));
    let disk = disk();
    let ran = script(
        disk.path(),
        "mkdir s; echo a > s/theirs; chown 12:34 s/theirs; chmod 4755 s/theirs
         cp /bin/true s/cap; setcap cap_net_raw+ep s/cap; echo b > s/note; setfattr -n user.a -v b s/note
         echo c > s/fixed; chattr +i s/fixed
         $nobody ./manyfiles copy -a --json s t > report; $nobody ./manyfiles copy -a s u; chattr -i s/fixed",
    )
    .code(0)
    .says("lost what this user or this file system cannot keep: owners (5), extended attributes (1), file flags (1)");
    ran.does_not_say("--same-owner");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(disk.path().join("report")).unwrap()).unwrap();
    assert_eq!(report["status"], "complete");
    let expected = serde_json::json!({"entries": 5, "xattrs": 1, "acls": 0, "owners": 5, "flags": 1, "space": 0});
    assert_eq!(report["not_kept"], expected);
    let theirs = fs::metadata(disk.path().join("t/theirs")).unwrap();
    assert_eq!((theirs.mode() & 0o7777, theirs.uid()), (0o755, 65534), "another owner's set-id bit is dropped");
    assert_eq!(attribute(disk.path().join("t/note"), "user.a"), Some(b"b".to_vec()));
}

/// As in many containers: the system drops the bit, and calls that no failure.
#[test]
fn without_the_right_to_give_a_set_gid_bit_its_loss_is_counted() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("setpriv"));
    let disk = disk();
    script(
        disk.path(),
        "mkdir s; echo a > s/theirs; chown 0:34 s/theirs; chmod 2755 s/theirs; echo b > s/ours; chmod 2755 s/ours
         setpriv --bounding-set=-fsetid --inh-caps=-fsetid ./manyfiles copy -a s t",
    )
    .code(0)
    .says("1 entry lost what this user or this file system cannot keep: owners (1)");
    let modes = ["t/theirs", "t/ours"].map(|path| fs::metadata(disk.path().join(path)).unwrap().mode() & 0o7777);
    assert_eq!(modes, [0o755, 0o2755]);
}

#[test]
fn what_is_asked_for_by_name_and_cannot_be_kept_is_a_failure_of_its_entry() {
    skip_unless!(Need::Root, Need::Fuse, Need::LoopDevices, Need::Program("setfacl"));
    let (disk, mount) = (disk(), SlowMount::options().mount().unwrap());
    script(
        disk.path(),
        "mkdir s; echo a > s/plain; echo b > s/note; setfattr -n user.a -v b s/note; echo c > s/list
         setfacl -m u:12:rw s/list; chmod g+w s/list",
    )
    .code(0);
    let to = |name: &str| mount.path().join(name).display().to_string();
    let lost = manyfiles(disk.path(), &["copy", "-a", "s", &to("a")]).code(0);
    lost.says("2 entries lost what this user or this file system cannot keep: extended attributes (1), access control lists (1)");
    let mode = fs::metadata(mount.path().join("a/list")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o644, "without its list the group has no more rights than it had");
    let failed = manyfiles(disk.path(), &["copy", "--xattrs", "s", &to("b")]).code(1);
    failed.says("note").says("\"user.a\" cannot be set");
    assert!(mount.path().join("b/list").exists() && !mount.path().join("b/note").exists());
    let failed = manyfiles(disk.path(), &["copy", "-a", "--acls", "s", &to("c")]).code(1);
    failed.says("list").says("posix_acl_access");
    assert!(mount.path().join("c/note").exists() && !mount.path().join("c/list").exists());
}

#[test]
fn a_copy_without_a_tells_of_the_lists_it_saw() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("setfacl"));
    let disk = disk();
    script(disk.path(), "mkdir s; echo c > s/list; setfacl -m u:12:rw s/list").code(0);
    manyfiles(disk.path(), &["copy", "s", "t"]).code(0).says(
        "1 entry has extended attributes or access control lists in the source, which were not kept; -a keeps them",
    );
    manyfiles(disk.path(), &["copy", "-a", "s", "u"]).code(0).does_not_say("kept");
}

#[test]
fn what_is_written_over_and_what_is_the_same_has_what_the_source_has_and_no_more() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("setfacl"), Need::Program("lsattr"));
    for how in ["overwrite", "replace", "skip-identical"] {
        let disk = disk();
        script(
            disk.path(),
            "mkdir s s/d; echo same > s/f; setfattr -n user.kept -v new s/f; chmod 640 s/f; setfacl -m u:12:r s/f
             echo plain > s/g; chmod 640 s/g; chattr +d s/g
             ./manyfiles copy -a s t
             setfattr -n user.kept -v old t/f; setfattr -n user.more -v x t/f; setfacl -b t/f; setfacl -m u:99:rw t/g
             setfattr -n user.more -v x t/d; setfacl -d -m u:7:rwx t/d; chattr -d t/g; chown 5:6 t/f; chattr +A t/f",
        )
        .code(0);
        manyfiles(disk.path(), &["copy", "-a", "--on-conflict", how, "s/.", "t"]).code(0);
        let look =
            "for f in f g d; do stat -c '%n %a %u:%g %Y' $f; getfattr -d -m - $f; getfacl -cnE $f; lsattr -d $f; done";
        let [source, copy] = ["s", "t"].map(|at| script(disk.path(), &format!("cd {at}; {look}")).code(0).out);
        assert_eq!(source, copy, "{how}");
    }
}

/// What fails with a number that means "not here" is counted; any other failure names the entry. Nothing is silent.
#[test]
fn every_call_for_attributes_that_fails_is_counted_or_names_its_entry() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Preload, Need::Program("setfacl"));
    let disk = disk();
    script(
        disk.path(),
        "mkdir s; echo b > s/note; setfattr -n user.a -v b s/note; setfacl -m u:12:rw s/note; chattr +d s/note
         fallocate -n -l 64K s/note; mkdir s/d; setfattr -n user.a -v b s/d; setfacl -d -m u:12:rw s/d",
    )
    .code(0);
    let look = "cd $0; for f in note d; do getfattr -d -m - $f; getfacl -cnE $f; lsattr -d $f; done; stat -c %b note";
    let seen = |at: &str| script(disk.path(), &look.replace("$0", at)).out;
    let whole = seen("s");
    let (mut counted, mut named) = (0, 0);
    for (call, errno) in [Call::Xattr, Call::Flags]
        .into_iter()
        .flat_map(|call| [libc::EIO, libc::ENOSPC, libc::EOPNOTSUPP, libc::EPERM].map(|errno| (call, errno)))
    {
        for nth in 1.. {
            assert!(nth < 100, "{call:?}");
            let (target, fired) = (format!("t{nth}"), disk.path().join("fired"));
            let mut command = Command::new(BINARY);
            command.current_dir(disk.path()).args(["copy", "-a", "s", &target]);
            let preload = Preload::new().rule(Rule::fail(call, errno).nth(nth)).record(&fired);
            let output = preload.apply(&mut command).unwrap().output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_whole = seen(&target) == whole;
            let context = format!("{call:?} {errno} {nth}: {told}");
            let lost = told.contains("lost what this user");
            match output.status.code() {
                Some(0) if lost => counted += 1,
                // A source that says it has nothing of the kind has none.
                Some(0) if errno == libc::EOPNOTSUPP => {}
                Some(0) => assert!(is_whole, "{context}"),
                Some(1) => {
                    assert!(told.contains("note") || told.contains("/d") || told.contains("s:"), "{context}");
                    named += 1;
                }
                other => panic!("{other:?} {context}"),
            }
            assert!(errno != libc::EIO || is_whole || output.status.code() == Some(1), "{context}");
            fs::remove_dir_all(disk.path().join(&target)).unwrap();
            let has_fired = fs::metadata(&fired).is_ok_and(|fired| fired.len() > 0);
            drop(fs::remove_file(&fired));
            if !has_fired {
                break;
            }
        }
    }
    assert!(counted > 20 && named > 10, "{counted} {named}");
}
