//! `manyfiles worktree` against `git worktree add`.
#![cfg(unix)]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::{BINARY, assert_same_tree, manyfiles, write};
use manyfiles_testkit::{Disk, Need, Random, skip_unless};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::{TempDir, tempdir};

fn command(at: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(at).args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always"]);
    // What the machine has configured is not part of a test.
    command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

#[track_caller]
fn git(at: &Path, arguments: &[&str]) -> String {
    let output = command(at, arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Gives all files an old time and refreshes the index, so that git can trust it: files of the second in which the index
/// was written are looked into.
fn settle(repository: &Path) {
    static SECOND: AtomicU64 = AtomicU64::new(1_500_000_000);
    // Another one each time: git compares whole seconds, and would not notice a second change of ctime in one second.
    let time = format!("@{}", SECOND.fetch_add(1, Ordering::Relaxed));
    let all = format!("find . -path ./.git -prune -o ! -type d -exec touch -h -d {time} {{}} +");
    assert!(Command::new("sh").args(["-c", &all]).current_dir(repository).status().unwrap().success());
    let refreshed = command(repository, &["update-index", "-q", "--refresh"]).output().unwrap();
    // It fails where something was changed, which tests do.
    let told = String::from_utf8_lossy(&refreshed.stderr).into_owned();
    assert!(!told.contains("fatal"), "{told}");
}

/// A repository `r` of two commits with files of all kinds.
fn repository(options: &[&str]) -> (TempDir, PathBuf) {
    let temp = tempdir().unwrap();
    let path = temp.path().join("r");
    git(temp.path(), &[&["init", "-q", "-b", "main"], options, &["r"]].concat());
    for n in 0..60 {
        write(path.join(format!("src/{}/file {n}.txt", n % 7)), format!("{n}\n").repeat(n));
    }
    write(path.join("large"), "x".repeat(300_000));
    write(path.join("empty"), "");
    write(path.join("run"), "#!/bin/sh\n");
    fs::set_permissions(path.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("src/1", path.join("folder link")).unwrap();
    symlink("nowhere", path.join("src/dangling")).unwrap();
    write(path.join(OsStr::from_bytes(b"odd \xff\n-name")), "odd");
    write(path.join("-dash"), "dash");
    write(path.join(".gitignore"), "node_modules\ntarget\n");
    git(&path, &["add", "-A"]);
    git(&path, &["commit", "-q", "-m", "one"]);
    git(&path, &["tag", "one"]);
    write(path.join("src/3/file 3.txt"), "changed");
    fs::remove_file(path.join("src/4/file 4.txt")).unwrap();
    write(path.join("new/deep/er"), "new");
    git(&path, &["add", "-A"]);
    git(&path, &["commit", "-q", "-m", "two"]);
    settle(&path);
    (temp, path)
}

/// Both worktrees are the same, and git says the same of both.
#[track_caller]
fn assert_same(ours: &Path, theirs: &Path) {
    fs::rename(ours.join(".git"), ours.with_extension("git")).unwrap();
    fs::rename(theirs.join(".git"), theirs.with_extension("git")).unwrap();
    let times = "find . -exec touch -h -d 2020-01-01 {} +";
    // Only the copies are compared: their times differ.
    for (tree, copy) in [(ours, "a"), (theirs, "b")] {
        let copy = tree.with_file_name(copy);
        drop(fs::remove_dir_all(&copy));
        assert!(Command::new("cp").arg("-a").arg(tree).arg(&copy).status().unwrap().success());
        assert!(Command::new("sh").args(["-c", times]).current_dir(&copy).status().unwrap().success());
    }
    assert_same_tree(&ours.with_file_name("b"), &ours.with_file_name("a"));
    fs::rename(ours.with_extension("git"), ours.join(".git")).unwrap();
    fs::rename(theirs.with_extension("git"), theirs.join(".git")).unwrap();
    let both = |arguments: &[&str]| assert_eq!(git(ours, arguments), git(theirs, arguments), "git {arguments:?}");
    both(&["status", "--porcelain"]);
    both(&["ls-files", "-s"]);
    both(&["ls-files", "-v"]);
    both(&["rev-parse", "HEAD"]);
    for tree in [ours, theirs] {
        command(tree, &["update-index", "--really-refresh", "-q"]).output().unwrap();
    }
    both(&["diff", "--stat", "HEAD"]);
    both(&["status", "--porcelain"]);
}

/// Makes one with each, and compares them. What ours said, as JSON.
#[track_caller]
fn against_git(repository: &Path, commit: &[&str]) -> serde_json::Value {
    let (ours, theirs) = (repository.with_file_name("ours"), repository.with_file_name("theirs"));
    let arguments = [&["worktree", "--json", "--detach", "r", "ours"], commit].concat();
    let ran = manyfiles(repository.parent().unwrap(), &arguments).code(0);
    let arguments = [&["worktree", "add", "-q", "--detach", "../theirs"], commit].concat();
    git(repository, &arguments);
    assert_same(&ours, &theirs);
    for tree in ["../ours", "../theirs"] {
        git(repository, &["worktree", "remove", "--force", tree]);
    }
    ran.json()
}

#[test]
fn it_is_what_git_makes_and_its_status_reads_no_file() {
    skip_unless!(Need::Program("git"));
    let (_temp, repository) = repository(&[]);
    let told = against_git(&repository, &[]);
    assert_eq!((told["by_git"].as_u64(), told["files"].as_u64()), (Some(0), Some(68)), "{told}");
    let told = against_git(&repository, &["one"]);
    assert_eq!(told["by_git"], 2, "what differs: {told}");
    manyfiles(repository.parent().unwrap(), &["worktree", "r", "ours"]).code(0).says("branch ours");
    skip_unless!(Need::Program("strace"));
    let ours = repository.with_file_name("ours");
    let traced =
        Command::new("strace").args(["-f", "-e", "trace=open,openat", "git", "status"]).current_dir(ours).output();
    let traced = String::from_utf8_lossy(&traced.unwrap().stderr).into_owned();
    assert!(traced.contains("index") && !traced.contains(".txt\""), "{traced}");
}

#[test]
fn repositories_of_sha_256_and_every_version_of_the_index_are_understood() {
    skip_unless!(Need::Program("git"));
    let (_temp, sha256) = repository(&["--object-format=sha256"]);
    assert_eq!(against_git(&sha256, &[])["by_git"], 0);
    let (_temp, repository) = repository(&[]);
    for version in ["2", "3", "4"] {
        git(&repository, &["config", "index.version", version]);
        git(&repository, &["update-index", "--index-version", version]);
        git(&repository, &["config", "core.untrackedCache", "true"]);
        git(&repository, &["status"]);
        assert_eq!(against_git(&repository, &[])["by_git"], 0, "version {version}");
    }
    // It has entries of version 3.
    write(repository.join("meant"), "meant");
    git(&repository, &["add", "-N", "meant"]);
    assert_eq!(against_git(&repository, &[])["by_git"], 0);
    git(&repository, &["update-index", "--split-index"]);
    let told = against_git(&repository, &[]);
    assert!(told["files"] == 0 && told["notes"].to_string().contains("split"), "{told}");
}

#[test]
fn what_was_changed_in_the_source_is_never_taken() {
    skip_unless!(Need::Program("git"));
    let (_temp, repository) = repository(&[]);
    let path = |name: &str| repository.join(name);
    // Of the same length, and given its old time.
    let old = fs::metadata(path("src/5/file 5.txt")).unwrap().modified().unwrap();
    write(path("src/5/file 5.txt"), "6\n".repeat(5));
    fs::File::options().write(true).open(path("src/5/file 5.txt")).unwrap().set_modified(old).unwrap();
    fs::remove_file(path("src/6/file 6.txt")).unwrap();
    fs::set_permissions(path("src/1/file 8.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(path("run")).unwrap();
    symlink("/etc/passwd", path("run")).unwrap();
    fs::remove_file(path("folder link")).unwrap();
    fs::create_dir(path("folder link")).unwrap();
    fs::remove_file(path("empty")).unwrap();
    write(path("empty/file"), "in the way");
    git(&repository, &["update-index", "--assume-unchanged", "src/2/file 9.txt"]);
    write(path("src/2/file 9.txt"), "not to be seen");
    git(&repository, &["update-index", "--skip-worktree", "src/3/file 10.txt"]);
    write(path("src/3/file 10.txt"), "nor this");
    write(path("large"), "staged");
    git(&repository, &["add", "large"]);
    write(path("untracked"), "untracked");
    let told = against_git(&repository, &[]);
    assert_eq!(told["by_git"], 9, "{told}");
    assert_eq!(fs::read_to_string(path("src/5/file 5.txt")).unwrap(), "6\n".repeat(5), "the source is as it was");
}

#[test]
fn files_of_the_second_in_which_the_index_was_written_are_not_trusted() {
    skip_unless!(Need::Program("git"));
    let (_temp, repository) = repository(&[]);
    let index = fs::metadata(repository.join(".git/index")).unwrap().modified().unwrap();
    let file = repository.join("large");
    fs::File::options().write(true).open(&file).unwrap().set_modified(index).unwrap();
    // git notes the time, and that it is as young as the index: it looks into the file each time.
    let told = against_git(&repository, &[]);
    assert_eq!(told["by_git"], 1, "{told}");
}

#[test]
fn what_git_changes_on_the_way_git_checks_out() {
    skip_unless!(Need::Program("git"));
    let (_temp, repository) = repository(&[]);
    git(&repository, &["config", "filter.upper.clean", "tr A-Z a-z"]);
    git(&repository, &["config", "filter.upper.smudge", "tr a-z A-Z"]);
    write(repository.join("a.up"), "words");
    write(repository.join("b.crlf"), "one\ntwo\n");
    write(repository.join("c.id"), "$Id$\n");
    write(repository.join("d.wide"), "\u{feff}wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    write(repository.join("e.sh"), "#!/bin/sh\n");
    let attributes = "* text=auto\n*.up filter=upper\n*.crlf eol=crlf\n*.id ident\n*.wide working-tree-encoding=UTF-16LE-BOM\n*.sh eol=lf\n";
    write(repository.join(".gitattributes"), attributes);
    git(&repository, &["add", "-A"]);
    git(&repository, &["commit", "-q", "-m", "attributes"]);
    git(&repository, &["rm", "-q", "-r", "--cached", "."]);
    git(&repository, &["reset", "-q", "--hard"]);
    settle(&repository);
    let told = against_git(&repository, &[]);
    assert_eq!(told["by_git"], 4, "{told}");
    // Of a commit without attributes: what is in the checkout was made with them.
    git(&repository, &["rm", "-q", "--cached", ".gitattributes"]);
    git(&repository, &["commit", "-q", "-m", "none"]);
    assert_eq!(against_git(&repository, &[])["by_git"], 4);
    git(&repository, &["reset", "-q", "--hard", "HEAD~1"]);
    settle(&repository);
    write(repository.join("src/.gitattributes"), "*.txt eol=crlf");
    assert_eq!(against_git(&repository, &["HEAD"])["by_git"], 4 + 59, "they may have been checked out with them");
    fs::remove_file(repository.join("src/.gitattributes")).unwrap();
    write(repository.join(".git/info/attributes"), "large -text ident\n");
    assert_eq!(against_git(&repository, &["HEAD"])["by_git"], 5);
    git(&repository, &["config", "core.autocrlf", "true"]);
    assert_eq!(against_git(&repository, &["HEAD"])["files"], 0);
}

#[test]
fn submodules_are_empty_folders_and_sparse_checkouts_are_left_to_git() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    git(temp.path(), &["init", "-q", "sub"]);
    write(temp.path().join("sub/f"), "f");
    git(&temp.path().join("sub"), &["add", "f"]);
    git(&temp.path().join("sub"), &["commit", "-q", "-m", "sub"]);
    git(&repository, &["submodule", "add", "-q", "../sub", "lib/sub"]);
    git(&repository, &["commit", "-q", "-m", "submodule"]);
    settle(&repository);
    let told = against_git(&repository, &[]);
    assert_eq!(told["by_git"], 1, "{told}");
    git(&repository, &["sparse-checkout", "set", "src"]);
    let told = against_git(&repository, &[]);
    assert!(told["files"] == 0 && told["notes"].to_string().contains("sparse"), "{told}");
}

#[test]
fn a_bare_repository_and_one_with_another_worktree_serve_too() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    git(temp.path(), &["clone", "-q", "--bare", "r", "bare"]);
    let ran = manyfiles(temp.path(), &["worktree", "bare", "first", "--detach"]).code(0).says("is bare");
    assert!(ran.err.contains("68 checked out by git"), "{ran:?}");
    settle(&temp.path().join("first"));
    manyfiles(temp.path(), &["worktree", "bare", "second", "--detach"]).code(0).says("68 files from");
    assert_same(&temp.path().join("second"), &temp.path().join("first"));
    // Out of a worktree that is not the main one, and from a folder in it.
    git(&repository, &["worktree", "add", "-q", "../third"]);
    settle(&temp.path().join("third"));
    manyfiles(&temp.path().join("third/src"), &["worktree", ".", "../../fourth", "--detach"]).code(0).says("third");
    assert_same(&temp.path().join("fourth"), &temp.path().join("third"));
}

#[test]
fn branches_are_made_as_git_makes_them() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    let run = |arguments: &[&str]| manyfiles(temp.path(), &[&["worktree", "r"], arguments].concat());
    let branch = |at: &str| git(&temp.path().join(at), &["rev-parse", "--abbrev-ref", "HEAD"]).trim().to_owned();
    run(&["topic"]).code(0);
    assert_eq!(branch("topic"), "topic");
    run(&["at-tag", "one", "-b", "fix"]).code(0);
    assert_eq!(branch("at-tag"), "fix");
    run(&["loose", "one"]).code(0);
    assert_eq!(branch("loose"), "HEAD");
    git(&repository, &["branch", "there"]);
    run(&["there"]).code(0);
    assert_eq!(branch("there"), "there");
    run(&["x", "there"]).code(2).says("there");
    run(&["x", "-b", "fix"]).code(2).says("already exists");
    run(&["x", "no-such-commit"]).code(2).says("no-such-commit");
    run(&["topic"]).code(2).says("already exists");
    assert!(!temp.path().join("x").exists());
    let branches = git(&repository, &["branch", "--format=%(refname:short)"]);
    assert_eq!(branches.lines().collect::<Vec<_>>(), ["fix", "main", "there", "topic"], "failures leave none");
    manyfiles(temp.path(), &["worktree", "/", "y", "--json"]).code(2).says("not a git repository");
}

#[test]
fn ignored_folders_that_are_named_come_along_with_their_times() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    write(repository.join("node_modules/pkg/index.js"), "js");
    write(repository.join("src/node_modules/other/x"), "x");
    write(repository.join("target/debug/program"), "program");
    fs::set_permissions(repository.join("target/debug/program"), fs::Permissions::from_mode(0o775)).unwrap();
    symlink("../pkg/index.js", repository.join("node_modules/.bin")).unwrap();
    settle(&repository);
    let ran = manyfiles(temp.path(), &["worktree", "r", "new", "--with", "node_modules"]).code(0);
    assert!(ran.err.contains("3 of --with"), "{ran:?}");
    let new = temp.path().join("new");
    for name in ["node_modules", "src/node_modules"] {
        assert_same_tree(&repository.join(name), &new.join(name));
    }
    let time = |path: &Path| path.symlink_metadata().unwrap().modified().unwrap();
    let file = "node_modules/pkg/index.js";
    assert_eq!(time(&repository.join(file)), time(&new.join(file)));
    assert!(!new.join("target").exists());
    assert_eq!(git(&new, &["status", "--porcelain"]), "");
    // In an ignored folder that comes along itself.
    manyfiles(temp.path(), &["worktree", "r", "r/target/in", "--with", "target"]).code(0);
    let within = repository.join("target/in/target/debug/program");
    assert_eq!(within.metadata().unwrap().mode() & 0o777, 0o775);
    assert!(!repository.join("target/in/target/in").exists());
    manyfiles(temp.path(), &["worktree", "r", "none", "--with", "nothing"]).code(1).says("nothing that git ignores");
}

#[test]
fn hooks_run_as_git_runs_them_and_what_fails_is_told() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    let hook = repository.join(".git/hooks/post-checkout");
    write(&hook, "#!/bin/sh\necho \"$1 $2 $3 $(pwd -P) $(ls | wc -l)\" >> ../told\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    manyfiles(temp.path(), &["worktree", "r", "same", "--detach"]).code(0);
    git(&repository, &["worktree", "remove", "--force", "../same"]);
    git(&repository, &["worktree", "add", "-q", "--detach", "../same"]);
    let told = fs::read_to_string(temp.path().join("told")).unwrap();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, lines[1]));
    write(&hook, "#!/bin/sh\necho no good >&2\nexit 3\n");
    manyfiles(temp.path(), &["worktree", "r", "other", "--detach"]).code(1).says("no good");
    assert_eq!(git(&temp.path().join("other"), &["status", "--porcelain"]), "");
}

#[test]
fn where_blocks_can_be_shared_the_files_are_clones() {
    skip_unless!(Need::Program("git"), Need::Root, Need::LoopDevices, Need::Program("mkfs.btrfs"));
    let disk = Disk::btrfs().mount().unwrap();
    let (_temp, repository) = repository(&[]);
    let there = disk.path().join("r");
    assert!(Command::new("cp").arg("-a").arg(&repository).arg(&there).status().unwrap().success());
    settle(&there);
    let told = against_git(&there, &[]);
    // Links have no blocks, and an empty file has none to share.
    assert_eq!((told["by_git"].as_u64(), told["cloned"].as_u64()), (Some(0), Some(64)), "{told}");
}

/// Whatever was done to the source: what comes of it is what git makes.
#[test]
fn random_changes_of_the_source_make_no_difference() {
    skip_unless!(Need::Program("git"));
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let (_temp, repository) = repository(if seed % 2 == 0 { &[] } else { &["--object-format=sha256"] });
        let mut known: Vec<PathBuf> = git(&repository, &["ls-files", "-z", "src", "new", "large", "run"])
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(|path| repository.join(path))
            .collect();
        for _ in 0..random.below(25) {
            let path = known.swap_remove(random.below(known.len()));
            change(&repository, &path, random.below(9));
        }
        if random.percent(50) {
            settle(&repository);
        }
        let told = against_git(&repository, &[random.pick(&["HEAD", "one"])]);
        assert!(told["files"].as_u64() >= Some(30), "seed {seed}: {told}");
    }
}

fn change(repository: &Path, path: &Path, how: usize) {
    let name = path.strip_prefix(repository).unwrap().to_str().unwrap();
    match how {
        0 => write(path, "other"),
        1 => fs::remove_file(path).unwrap(),
        2 => {
            fs::remove_file(path).unwrap();
            symlink("run", path).unwrap();
        }
        3 => fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap(),
        4 => drop(git(repository, &["rm", "-q", "--cached", "--", name])),
        5 => drop(git(repository, &["update-index", "--assume-unchanged", "--", name])),
        6 => {
            fs::rename(path, path.with_extension("moved")).unwrap();
            fs::create_dir(path).unwrap();
        }
        7 => {
            write(path, "staged");
            git(repository, &["add", "--", name]);
        }
        _ => {
            // The same bytes in another file.
            let bytes = fs::read(path).unwrap();
            fs::remove_file(path).unwrap();
            write(path, bytes);
        }
    }
}

/// A run that waits: its hook-like filter does, for the one file that it is asked for.
fn waiting(temp: &Path, repository: &Path) -> std::process::Child {
    git(repository, &["config", "filter.wait.smudge", "touch ../waits; sleep 60; cat"]);
    write(repository.join("wait"), "wait");
    write(repository.join(".gitattributes"), "wait filter=wait\n");
    git(repository, &["add", "-A"]);
    git(repository, &["commit", "-q", "-m", "wait"]);
    settle(repository);
    let child = Command::new(BINARY)
        .args(["worktree", "r", "new", "-b", "new-branch"])
        .current_dir(temp)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !temp.join("waits").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    child
}

fn end_sleeps(temp: &Path) {
    // The filter's own shell waits in the new worktree.
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Some(number) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(temp.join("new"))) {
            // It may be gone by now.
            kill_process(Pid::from_raw(number).unwrap(), Signal::KILL).unwrap_or(());
        }
    }
}

#[test]
fn interrupted_nothing_of_it_stays() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    let child = waiting(temp.path(), &repository);
    assert!(git(&repository, &["worktree", "list", "--porcelain"]).contains("being filled"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    end_sleeps(temp.path());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(!temp.path().join("new").exists() && told.contains("nothing of"), "{told}");
    assert_eq!(git(&repository, &["worktree", "list"]).lines().count(), 1);
    assert!(!git(&repository, &["branch"]).contains("new-branch"));
}

#[test]
fn killed_the_next_run_begins_anew_and_two_at_once_are_told() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    let mut child = waiting(temp.path(), &repository);
    git(&repository, &["config", "filter.wait.smudge", "cat"]);
    let again = ["worktree", "r", "new", "-b", "new-branch"];
    manyfiles(temp.path(), &again).code(2).says("is making");
    // Its number says nothing where it is another container's.
    let locked = repository.join(".git/worktrees/new/locked");
    let reason = fs::read_to_string(&locked).unwrap();
    fs::write(&locked, reason.replace(&child.id().to_string(), "4999999")).unwrap();
    manyfiles(temp.path(), &again).code(2).says("is making");
    fs::write(&locked, reason).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    end_sleeps(temp.path());
    assert!(temp.path().join("new").exists());
    // By now another process has that number: this one.
    let locked = repository.join(".git/worktrees/new/locked");
    let reason = fs::read_to_string(&locked).unwrap();
    fs::write(&locked, reason.replace(&child.id().to_string(), &std::process::id().to_string())).unwrap();
    manyfiles(temp.path(), &again).code(0).says("new-branch");
    assert_eq!(git(&temp.path().join("new"), &["status", "--porcelain"]), "");
    assert!(!git(&repository, &["worktree", "list", "--porcelain"]).contains("locked"));
}

#[test]
fn a_branch_that_somebody_works_on_stays_when_a_killed_run_is_taken_away() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    let mut child = waiting(temp.path(), &repository);
    git(&repository, &["config", "filter.wait.smudge", "cat"]);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    end_sleeps(temp.path());
    let commit = git(&repository, &["commit-tree", "-p", "new-branch", "-m", "mine", "new-branch^{tree}"]);
    git(&repository, &["update-ref", "refs/heads/new-branch", commit.trim()]);
    let again = ["worktree", "r", "new", "-b", "new-branch"];
    manyfiles(temp.path(), &again).code(2).says("already exists");
    assert_eq!(git(&repository, &["rev-parse", "new-branch"]), commit);
    manyfiles(temp.path(), &["worktree", "r", "new", "new-branch"]).code(0).says("new-branch");
    assert_eq!(git(&temp.path().join("new"), &["log", "-1", "--format=%s"]), "mine\n");
}

#[test]
fn of_two_runs_that_begin_at_once_one_makes_the_worktree_and_the_other_takes_nothing_away() {
    skip_unless!(Need::Program("git"));
    let (temp, repository) = repository(&[]);
    for round in 0..20 {
        let begin = || {
            let mut command = Command::new(BINARY);
            command.args(["worktree", "r", "new", "-b", "topic"]).current_dir(temp.path());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let ended = [begin(), begin()].map(|child| child.wait_with_output().unwrap());
        let mut codes = ended.each_ref().map(|output| output.status.code().unwrap());
        codes.sort();
        assert_eq!(codes, [0, 2], "round {round}: {ended:?}");
        assert_eq!(git(&temp.path().join("new"), &["status", "--porcelain"]), "");
        git(&repository, &["worktree", "remove", "../new"]);
        git(&repository, &["branch", "-D", "topic"]);
    }
}
