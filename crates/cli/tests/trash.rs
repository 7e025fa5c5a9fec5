//! `manyfiles remove --trash`: a rename to the trash of freedesktop.org, or an error and nothing moved.
#![cfg(all(unix, not(target_vendor = "apple")))]

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use manyfiles_testkit::{Need, skip_unless};
use tempfile::{TempDir, tempdir};

use common::{Ran, shell};

/// A folder with a home and something to remove.
fn place() -> TempDir {
    let temp = tempdir().unwrap();
    shell(temp.path(), "mkdir -p home x/in; echo 1 > x/in/a; ln x/in/a x/b; chmod 700 x/in; touch -d 2001-01-01 x/b");
    temp
}

/// Runs a script in `folder` with a home of its own. `T` is the command's.
fn run(folder: &Path, script: &str) -> Ran {
    shell(folder, &format!("unset XDG_DATA_HOME; export HOME=$PWD/home; T=\"$M remove --trash\"; {script}"))
}

/// The same where it may mount: nothing is mounted when it is over. A file system is at `mnt`.
fn run_mounting(folder: &Path, script: &str) -> Ran {
    let begin = "mkdir -p mnt; mount -t tmpfs t mnt; chmod 755 mnt; chmod 755 .; \
                 N=\"setpriv --reuid=65534 --regid=65534 --clear-groups\"";
    fs::write(folder.join("script"), format!("{begin}\n{script}")).unwrap();
    run(folder, "export T; unshare -m sh ./script")
}

fn infos(trash: &Path) -> Vec<(String, String)> {
    let mut infos: Vec<_> = fs::read_dir(trash.join("info"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect();
    infos.sort();
    infos
}

fn home_trash(temp: &TempDir) -> PathBuf {
    temp.path().join("home/.local/share/Trash")
}

#[test]
fn what_is_moved_is_the_same_files_and_an_info_tells_where_it_was() {
    let temp = place();
    let before = fs::metadata(temp.path().join("x/in/a")).unwrap();
    run(temp.path(), "$T x").code(0).says("moved 1 path to the trash in ");
    let trash = home_trash(&temp);
    let after = fs::metadata(trash.join("files/x/b")).unwrap();
    assert_eq!((before.ino(), before.mtime(), 2), (after.ino(), after.mtime(), after.nlink()));
    assert_eq!(fs::metadata(trash.join("files/x/in")).unwrap().mode() & 0o777, 0o700);
    for folder in ["", "files", "info"] {
        assert_eq!(fs::metadata(trash.join(folder)).unwrap().mode() & 0o777, 0o700);
    }
    let (name, content) = infos(&trash).remove(0);
    assert_eq!(name, "x.trashinfo");
    let lines: Vec<_> = content.lines().collect();
    let real = temp.path().canonicalize().unwrap().join("x");
    assert_eq!(lines[..2], ["[Trash Info]", &format!("Path={}", real.display())]);
    let date = lines[2].strip_prefix("DeletionDate=").unwrap();
    let form: String = date.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    assert_eq!(form, "0000-00-00T00:00:00");
}

#[test]
fn things_of_one_name_and_of_the_longest_and_strangest_names_all_get_there() {
    let temp = place();
    let long = "é".repeat(127);
    let script = format!(
        "for n in 1 2 3; do mkdir $n; for f in same {long}; do echo $n > $n/$f; $T $n/$f || exit 1; done; done; \
         n=$(printf 'a\\nb\\377 %%'); echo v > \"$n\"; $T -- \"$n\"; ln -s / link; $T link; mkfifo fifo; $T fifo"
    );
    run(temp.path(), &script).code(0);
    let trash = home_trash(&temp);
    assert_eq!(fs::read_dir(trash.join("files")).unwrap().count(), 9);
    let infos = infos_of_any_name(&trash);
    assert_eq!(infos.len(), 9);
    assert!(infos.iter().any(|content| content.contains("/a%0Ab%FF%20%25\n")));
    for file in fs::read_dir(trash.join("files")).unwrap() {
        let mut name = file.unwrap().file_name();
        name.push(".trashinfo");
        assert!(trash.join("info").join(name).exists());
    }
}

fn infos_of_any_name(trash: &Path) -> Vec<String> {
    let entries = fs::read_dir(trash.join("info")).unwrap();
    entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn a_file_without_an_info_in_the_trash_is_not_replaced() {
    let temp = place();
    run(temp.path(), "mkdir -p home/.local/share/Trash/files; echo old > home/.local/share/Trash/files/x; $T x")
        .code(0);
    let trash = home_trash(&temp);
    assert_eq!(fs::read_to_string(trash.join("files/x")).unwrap(), "old\n");
    assert!(trash.join("files/x.2/b").exists());
    assert_eq!(infos(&trash).iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["x.2.trashinfo"]);
}

#[test]
fn many_runs_at_once_that_move_things_of_one_name_lose_none() {
    let temp = place();
    let script = "for n in $(seq 40); do mkdir $n; echo $n > $n/f; done; \
                  for n in $(seq 40); do $T -q $n/f & done; wait";
    run(temp.path(), script).code(0);
    let trash = home_trash(&temp);
    let mut found: Vec<u32> = fs::read_dir(trash.join("files"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap().trim().parse().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, (1..=40).collect::<Vec<_>>());
    assert_eq!(infos(&trash).len(), 40);
}

#[test]
fn the_trash_what_is_in_it_and_what_it_is_in_stay() {
    let temp = place();
    run(temp.path(), "$T x").code(0);
    let share = "home/.local/share";
    for (path, why) in [
        ("home", "the trash is in it"),
        (share, "the trash is in it"),
        ("home/.local/share/Trash", "it is the trash"),
        ("home/.local/share/Trash/files", "it is in the trash"),
        ("home/.local/share/Trash/files/x/b", "it is in the trash"),
    ] {
        run(temp.path(), &format!("$T {path}")).code(1).says(why).says("remove it without --trash");
    }
    assert!(home_trash(&temp).join("files/x/b").exists() && home_trash(&temp).join("info/x.trashinfo").exists());
}

#[test]
fn if_the_rename_fails_nothing_is_moved_and_no_info_stays() {
    skip_unless!(Need::Program("strace"));
    let temp = place();
    for error in ["EXDEV", "EACCES", "EROFS", "EIO", "EBUSY"] {
        let script = format!("strace -f -o /dev/null -e inject=renameat2,renameat,rename:error={error} $T x");
        run(temp.path(), &script).code(1).says("by a rename").says("moved 0 paths");
    }
    // The info's bytes.
    let script =
        "strace -f -o /dev/null -P $PWD/home/.local/share/Trash/info/x.trashinfo -e inject=write:error=ENOSPC $T x";
    run(temp.path(), script).code(1).says("No space left");
    assert!(infos(&home_trash(&temp)).is_empty() && temp.path().join("x/in/a").exists());
    // Without the call that replaces nothing.
    run(temp.path(), "strace -f -o /dev/null -e inject=renameat2:error=EINVAL $T x").code(0);
    assert!(home_trash(&temp).join("files/x/in/a").exists());
}

#[test]
fn a_run_that_is_killed_has_moved_all_or_nothing() {
    skip_unless!(Need::Program("strace"));
    let temp = place();
    run(temp.path(), "strace -f -o /dev/null -e inject=renameat2:signal=KILL:when=1 $T x");
    // The kernel may rename before it kills.
    let trash = home_trash(&temp);
    assert_ne!(temp.path().join("x/in/a").exists(), trash.join("files/x/in/a").exists());
    assert_eq!(infos(&trash).len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn on_another_file_system_it_is_the_trash_at_its_top_or_an_error_and_never_a_copy() {
    skip_unless!(Need::Root);
    skip_unless!(Need::Program("setpriv"));
    let temp = place();
    let script = "mkdir -p mnt/s/x; echo v > mnt/s/x/f; chown -R 65534 mnt/s home
        $N $T mnt/s/x; echo $?; cat mnt/s/x/f; find home -name f
        chmod 1777 mnt; $N $T mnt/s/x; echo $?; grep Path mnt/.Trash-65534/info/x.trashinfo; cat mnt/.Trash-65534/files/x/f
        mkdir -m 1777 mnt/.Trash; mkdir mnt/s/x; chown 65534 mnt/s/x; $N $T mnt/s/x; echo $?
        grep Path mnt/.Trash/65534/info/x.trashinfo; $N $T mnt/.Trash-65534 mnt/.Trash-65534/files/x; echo $?";
    let ran = run_mounting(temp.path(), script);
    assert_eq!(ran.out, "1\nv\n0\nPath=s/x\nv\n0\nPath=s/x\n1\n", "{ran:#?}");
    ran.says("no trash on its file system: ").says(".Trash-65534: Permission denied").says("it is in the trash");
}

#[cfg(target_os = "linux")]
#[test]
fn a_trash_that_another_user_has_planted_is_not_used() {
    skip_unless!(Need::Root);
    skip_unless!(Need::Program("setpriv"));
    let temp = place();
    let script = "chmod 1777 mnt; mkdir -m 777 victim mnt/.Trash; mkdir -p mnt/q; echo secret > mnt/q/f
        $N ln -s $PWD/victim mnt/.Trash-0; $T mnt/q; echo $?; find victim mnt/.Trash -type f
        rm mnt/.Trash-0; $N mkdir -m 777 mnt/.Trash-0; $N mkdir mnt/.Trash-0/files mnt/.Trash-0/info; $T mnt/q; echo $?
        rm -r mnt/.Trash-0; mkdir -m 700 mnt/.Trash-0; ln -s $PWD/victim mnt/.Trash-0/files; $T mnt/q; echo $?
        rm -r mnt/.Trash; $N ln -s $PWD/victim mnt/.Trash; $T mnt/q; echo $?; find victim -type f; cat mnt/q/f";
    let ran = run_mounting(temp.path(), script);
    assert_eq!(ran.out, "1\n1\n1\n1\nsecret\n", "{ran:#?}");
    ran.says("it is a link or a file").says("another user's").says("not sticky");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_mounted_never_moves_to_the_trash() {
    skip_unless!(Need::Root);
    let temp = place();
    let script = "echo v > mnt/f; $T mnt; echo $?; mkdir -p 'a/m n'; mount -t tmpfs t 'a/m n'; echo v > 'a/m n/f'
        $T a; echo $?; $T 'a/m n'; echo $?; cat 'a/m n/f' mnt/f; touch file bound; mount --bind file bound; $T bound; echo $?
        ls -A mnt home";
    let ran = run_mounting(temp.path(), script);
    assert_eq!(ran.out.lines().take(6).collect::<Vec<_>>(), ["1", "1", "1", "v", "v", "1"], "{ran:#?}");
    assert!(!ran.out.contains(".Trash"), "{ran:#?}");
    ran.says("something is mounted there").says("unmount that first");
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_lower_layer_of_an_overlay_has_stays() {
    skip_unless!(Need::Overlay);
    let temp = place();
    let script = "mkdir -p mnt/l/d mnt/u mnt/w o; echo v > mnt/l/d/f
        mount -t overlay -o lowerdir=mnt/l,upperdir=mnt/u,workdir=mnt/w,redirect_dir=off o o || exit 9
        $T o/d; echo $?; cat o/d/f; find o/.Trash-0 home -name '*.trashinfo'";
    let ran = run_mounting(temp.path(), script);
    assert_eq!(ran.out, "1\nv\n", "{ran:#?}");
    ran.says("lower layer of an overlay");
}
