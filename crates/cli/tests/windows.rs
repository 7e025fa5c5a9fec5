//! The command on Windows: unpack, copy, pack, what is refused, and Ctrl-C.
#![cfg(windows)]

mod common;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use common::{BINARY, Tar, assert_same_tree, manyfiles, manyfiles_reading, names, read, write};
use tempfile::tempdir;

#[test]
fn an_archive_comes_from_a_file_and_from_standard_input() {
    let temp = tempdir().unwrap();
    let tar = || Tar::new().folder("site/", 0o755).file("site/a", "1").hard_link("site/b", "site/a");
    tar().save(temp.path().join("site.tar"));
    manyfiles(temp.path(), &["unpack", "site.tar", "-C", "new/deep"]).code(0).says("unpacked 3 entries");
    manyfiles_reading(temp.path(), &["unpack", "-", "-C", "piped"], &tar().bytes()).code(0);
    assert_eq!(read(temp.path().join("piped/site/b")), "1");
    assert_same_tree(&temp.path().join("new/deep"), &temp.path().join("piped"));
}

#[test]
fn what_windows_takes_for_something_else_is_refused_and_the_rest_is_written() {
    let temp = tempdir().unwrap();
    Tar::new()
        .file("NUL.txt", "1")
        .file("a:b", "2")
        .file("end.", "3")
        .file("a\\..\\..\\up", "4")
        .file("good", "5")
        .save(temp.path().join("a.tar"));
    let ran = manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--json"])
        .code(1)
        .says("NUL.txt: refused: Windows has a device of that name")
        .says("a:b: refused")
        .says("end.: refused")
        .says("4 failed or refused");
    let refusals: Vec<_> = ran.json()["failures"].as_array().unwrap().iter().map(|it| it["refusal"].clone()).collect();
    assert_eq!(refusals, ["device", "stream", "not_a_name", "parent_folder"]);
    assert_eq!(names(&temp.path().join("out")), ["good"]);
}

#[test]
fn what_is_packed_is_unpacked_again_and_paths_have_slashes() {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("a.txt"), "a");
    write(src.join("deep/er/b.txt"), "b".repeat(3_000_000));
    write(src.join("grüße"), "u");
    fs::create_dir(src.join("empty")).unwrap();
    for archive in ["a.tar", "a.tar.gz", "a.tar.zst", "a.zip"] {
        manyfiles(temp.path(), &["pack", "src", archive, "--verify"]).code(0).says("packed 7 entries");
        manyfiles(temp.path(), &["pack", "src", archive]).code(2).says("--force replaces it");
        manyfiles(temp.path(), &["pack", "src", archive, "--force", "-q"]).code(0);
        let listed = manyfiles(temp.path(), &["list", archive]).code(0).out;
        assert!(listed.contains("src/deep/er/b.txt\n"), "{listed}");
        let out = format!("{archive}-out");
        manyfiles(temp.path(), &["unpack", archive, "-C", &out, "-q"]).code(0);
        assert_eq!(names(&temp.path().join(&out).join("src")), names(&src));
        assert_eq!(read(temp.path().join(&out).join("src/deep/er/b.txt")).len(), 3_000_000);
    }
    // The archive is known by its identity, and not packed into itself.
    manyfiles(&src, &["pack", ".", "self.tar", "-q"]).code(0);
    assert!(!manyfiles(&src, &["list", "self.tar"]).code(0).out.contains("self.tar"));
}

#[test]
fn a_copy_keeps_content_times_read_only_files_and_second_names() {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("a.txt"), "a");
    write(src.join("deep/er/b.txt"), "b".repeat(300_000));
    fs::create_dir(src.join("empty")).unwrap();
    fs::hard_link(src.join("a.txt"), src.join("deep/same")).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_000_000_000_500);
    fs::File::options().write(true).open(src.join("deep/er/b.txt")).unwrap().set_modified(old).unwrap();
    let mut permissions = fs::metadata(src.join("a.txt")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(src.join("a.txt"), permissions).unwrap();
    manyfiles(temp.path(), &["copy", "src", "dst"]).code(0).says("copied");
    assert_same_tree(&src, &temp.path().join("dst"));
    manyfiles(temp.path(), &["copy", "src\\.", "dst"]).code(1).says("--on-conflict");
    manyfiles(temp.path(), &["copy", "src\\.", "dst", "--on-conflict", "overwrite"]).code(0);
    assert_same_tree(&src, &temp.path().join("dst"));
}

#[test]
fn a_folder_is_not_copied_into_itself_whatever_its_name_looks_like() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/a"), "a");
    for (args, why) in [
        (["src", "src\\inside"], "into itself"),
        (["src", "SRC/inside"], "into itself"),
        (["src/a", "src\\A"], "same file"),
        (["src/a", "missing\\"], "mkdir missing"),
    ] {
        manyfiles(temp.path(), &[&["copy"][..], &args].concat()).code(2).says(why);
    }
    assert_eq!(names(temp.path()), ["src", "src\\a"]);
}

/// A path whose names Windows takes as they are.
fn verbatim(path: &Path) -> PathBuf {
    let mut verbatim = OsString::from(r"\\?\");
    verbatim.push(path);
    verbatim.into()
}

#[test]
fn names_that_windows_takes_for_others_are_packed_with_their_own_content_and_refused_in_copies() {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("a"), "a");
    write(src.join("dir/x"), "x");
    fs::create_dir(verbatim(&src.join("dir."))).unwrap();
    let others = ["a.", "a ", "nul.txt", r"dir.\x", r"dir.\y"];
    for name in others {
        fs::write(verbatim(&src.join(name)), format!("content of {name}")).unwrap();
    }
    manyfiles(temp.path(), &["pack", "src", "a.tar", "--verify"]).code(0).says("packed 10 entries");
    let mut packed = tar::Archive::new(fs::File::open(temp.path().join("a.tar")).unwrap());
    let mut contents = std::collections::HashMap::new();
    for entry in packed.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        contents.insert(name, std::io::read_to_string(&mut entry).unwrap());
    }
    for name in others {
        let path = format!("src/{}", name.replace('\\', "/"));
        assert_eq!(contents[&path], format!("content of {name}"));
    }
    assert_eq!((contents["src/a"].as_str(), contents["src/dir/x"].as_str()), ("a", "x"));
    let ran = manyfiles(temp.path(), &["copy", "src", "dst"]).code(1);
    for name in others {
        assert!(ran.err.contains(&format!("{name}: refused")), "{name}: {}", ran.err);
    }
    assert_eq!(names(&temp.path().join("dst")), ["a", "dir", "dir\\x"]);
    assert_eq!(read(temp.path().join("dst/dir/x")), "x");
    manyfiles(temp.path(), &["remove", "src"]).code(0).says("removed 10 entries");
}

#[test]
fn paths_may_be_given_in_every_way_that_windows_knows() {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    write(src.join("deep/er/a.txt"), "a");
    let text = temp.path().to_str().unwrap();
    let (drive, below) = text.split_at(2);
    let ways = [
        format!(r"\\?\{text}\"),
        format!(r"\\.\{text}\"),
        format!(r"{below}\"), // from the root of the current drive
        drive.to_string(),    // from the current folder of that drive
        r".\nowhere\..\".into(),
        text.to_uppercase().replace('\\', "/") + "/",
    ];
    for (number, way) in ways.iter().enumerate() {
        let given = |name: &str| format!("{way}{name}");
        let [out, mirrored, unpacked] = ["out", "mirrored", "unpacked"].map(|name| format!("{name}{number}"));
        let archive = format!("{number}.tar");
        manyfiles(temp.path(), &["copy", &given("src"), &given(&out)]).code(0);
        assert_same_tree(&src, &temp.path().join(&out));
        manyfiles(temp.path(), &["copy", "--mirror", &given("src"), &given(&mirrored)]).code(0);
        assert_same_tree(&src, &temp.path().join(&mirrored));
        manyfiles(temp.path(), &["pack", &given("src"), &given(&archive)]).code(0);
        assert!(manyfiles(temp.path(), &["list", &archive]).code(0).out.contains("src/deep/er/a.txt\n"), "{way}");
        manyfiles(temp.path(), &["unpack", &given(&archive), "-C", &given(&unpacked)]).code(0).says("4 entries");
        manyfiles(temp.path(), &["copy", &given("src"), &given("SRC\\inside")]).code(2).says("into itself");
        manyfiles(temp.path(), &["remove", &given(&out)]).code(0).says("removed 4 entries");
        assert!(!temp.path().join(&out).exists(), "{way}");
    }
}

#[test]
fn read_only_files_are_replaced_mirrored_packed_and_removed_without_force() {
    let temp = tempdir().unwrap();
    let [src, dst] = ["src", "dst"].map(|name| temp.path().join(name));
    let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let make_read_only = |path: &Path, seconds| {
        fs::File::options().write(true).open(path).unwrap().set_modified(time(seconds)).unwrap();
        let mut permissions = fs::metadata(path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(path, permissions).unwrap();
    };
    write(src.join("a"), "new");
    make_read_only(&src.join("a"), 1_000_000_020);
    for policy in ["overwrite", "replace", "skip-identical", "newer"] {
        let here = temp.path().join(policy);
        write(here.join("a"), "old");
        make_read_only(&here.join("a"), 1_000_000_010);
        manyfiles(temp.path(), &["copy", "src\\.", policy]).code(1);
        assert_eq!(read(here.join("a")), "old");
        manyfiles(temp.path(), &["copy", "src\\.", policy, "--on-conflict", policy]).code(0);
        assert_same_tree(&src, &here);
    }
    write(dst.join("a"), "old");
    write(dst.join("extra/b"), "old");
    make_read_only(&dst.join("a"), 1_000_000_010);
    make_read_only(&dst.join("extra/b"), 1_000_000_010);
    manyfiles(temp.path(), &["copy", "--mirror", "src", "dst"]).code(0);
    assert_same_tree(&src, &dst);
    for archive in ["a.tar", "a.zip"] {
        manyfiles(temp.path(), &["pack", "src", archive]).code(0);
        make_read_only(&temp.path().join(archive), 1_000_000_010);
        manyfiles(temp.path(), &["pack", "src", archive, "--force"]).code(0);
        manyfiles(temp.path(), &["unpack", archive, "-C", &format!("{archive}-out")]).code(0);
        assert_same_tree(&src, &temp.path().join(format!("{archive}-out")).join("src"));
    }
    manyfiles(temp.path(), &["remove", "src", "dst"]).code(0).says("removed 4 entries");
}

#[test]
fn long_paths_are_copied_mirrored_packed_unpacked_and_removed() {
    let temp = tempdir().unwrap();
    let deep = ["a folder whose name is forty characters.x"; 12].join("\\");
    let long = |name: &str| format!(r"{deep}\{name}");
    write(temp.path().join(long("src")).join(long("a.txt")), "a");
    let src = long("src");
    for (number, to) in ["", &format!(r"{deep}\")].iter().enumerate() {
        let given = |name: &str| format!("{to}{number}{name}");
        let [copy, mirrored, archive, unpacked] = ["copy", "mirrored", ".tar", "unpacked"].map(given);
        manyfiles(temp.path(), &["copy", &src, &copy]).code(0);
        assert_same_tree(&temp.path().join(&src), &temp.path().join(&copy));
        manyfiles(temp.path(), &["copy", "--mirror", &src, &mirrored]).code(0);
        assert_same_tree(&temp.path().join(&src), &temp.path().join(&mirrored));
        manyfiles(temp.path(), &["pack", &src, &archive]).code(0);
        manyfiles(temp.path(), &["unpack", &archive, "-C", &unpacked]).code(0);
        assert_same_tree(&temp.path().join(&src), &temp.path().join(&unpacked).join(&src));
        // Wine does not say where a folder with a long path is, and the command asks that of its arguments.
        for gone in [&copy, &mirrored, &unpacked].into_iter().filter(|_| to.is_empty()) {
            manyfiles(temp.path(), &["remove", gone]).code(0);
            assert!(!temp.path().join(gone).exists(), "{gone}");
        }
    }
    // The current folder may be no longer than 258 units on Windows, and what is below it may.
    manyfiles(&temp.path().join("a folder whose name is forty characters.x"), &["copy", ".", "..\\whole"]).code(0);
    assert!(temp.path().join("whole").exists());
}

#[test]
fn completions_and_help_are_there() {
    let temp = tempdir().unwrap();
    for shell in ["powershell", "bash"] {
        assert!(manyfiles(temp.path(), &["completions", shell]).code(0).out.contains("max-ratio"));
    }
    assert!(manyfiles(temp.path(), &["help", "unpack"]).code(0).out.contains("--strip-components"));
    manyfiles(temp.path(), &["unpack", "none.tar", "--json"]).code(2).says("cannot read it");
}

#[test]
fn ctrl_break_removes_the_half_written_file_and_says_what_is_complete() {
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    let temp = tempdir().unwrap();
    let bytes = Tar::new().file("small", "1").file("large", vec![1; 16 << 20]).bytes();
    let mut command = Command::new(BINARY);
    command.args(["unpack", "-", "-C", "out", "--json"]).current_dir(temp.path());
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = manyfiles_testkit::started(|| command.spawn()).unwrap();
    child.stdin.as_mut().unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let small = temp.path().join("out/small");
    while !temp.path().join("out/large").exists() || !fs::read(&small).is_ok_and(|bytes| bytes == b"1") {
        assert!(std::time::Instant::now() < deadline, "the large file was never begun, or the small one not written");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    if let Err(why) = manyfiles_testkit::send_ctrl_break(&child) {
        child.kill().unwrap();
        child.wait().unwrap();
        return manyfiles_testkit::skip(format_args!("needs a console: {why}"));
    }
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["status"], &json["files"]), (&"stopped".into(), &1.into()));
    assert_eq!(names(&temp.path().join("out")), ["small"], "the half-written file is gone");
}
