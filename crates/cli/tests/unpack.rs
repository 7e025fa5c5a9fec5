//! `manyfiles unpack`: its options, and its archives as a user gives them.
#![cfg(unix)] // needs a shell; tests/windows.rs has what differs there

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::{Command, Stdio};

use common::{Tar, manyfiles, manyfiles_reading, names, read, shell, write};
use manyfiles_testkit::{Need, Op, SlowMount, skip_unless};
use tempfile::tempdir;

fn site() -> Tar {
    Tar::new()
        .folder("site/", 0o750)
        .file("site/index.html", "<p>")
        .file_with("site/run.sh", "#!/bin/sh\n", 0o755, 1_000_000_000)
        .file("site/img/a.jpg", "jpg")
        .file("site/img/raw/a.jpg", "raw")
        .symlink("site/home", "index.html")
        .hard_link("site/same.html", "site/index.html")
}

#[test]
fn an_archive_comes_out_as_it_went_in() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    manyfiles(temp.path(), &["unpack", "site.tar", "-C", "new/deep"])
        .code(0)
        .says("unpacked 7 entries")
        .says("into new/deep");
    let at = |name: &str| temp.path().join("new/deep/site").join(name);
    assert_eq!(read(at("index.html")), "<p>");
    assert_eq!(fs::read_link(at("home")).unwrap().to_str(), Some("index.html"));
    assert_eq!(fs::metadata(at("same.html")).unwrap().ino(), fs::metadata(at("index.html")).unwrap().ino());
    let run = fs::metadata(at("run.sh")).unwrap();
    assert_eq!((run.mode() & 0o7777, run.mtime()), (0o755, 1_000_000_000));
    assert_eq!(fs::metadata(at("")).unwrap().mtime(), 1_500_000_000);
}

#[test]
fn the_current_folder_is_the_default() {
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").save(temp.path().join("a.tar"));
    manyfiles(temp.path(), &["unpack", "a.tar"]).code(0).says("into the current folder");
    assert_eq!(read(temp.path().join("a")), "1");
}

#[test]
fn several_archives_go_into_one_folder() {
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").save(temp.path().join("a.tar"));
    Tar::new().file("b", "2").save(temp.path().join("b.tar"));
    let json = manyfiles(temp.path(), &["unpack", "a.tar", "b.tar", "-C", "out", "--json"]).code(0).json();
    assert_eq!(names(&temp.path().join("out")), ["a", "b"]);
    assert_eq!(json["files"], 2);
    assert_eq!(json["archives"][1]["path"], "b.tar");
}

#[test]
fn a_tar_comes_from_standard_input_and_from_a_pipe_with_a_name() {
    let temp = tempdir().unwrap();
    let tar = Tar::new().file("a", "1").bytes();
    manyfiles_reading(temp.path(), &["unpack", "-", "-C", "out"], &tar).code(0);
    assert_eq!(read(temp.path().join("out/a")), "1");
    fs::write(temp.path().join("a.tar"), tar).unwrap();
    shell(temp.path(), "gzip < a.tar | $M unpack - -C zipped").code(0);
    assert_eq!(read(temp.path().join("zipped/a")), "1");
    shell(temp.path(), "mkfifo pipe && { cat a.tar > pipe & } && $M unpack pipe -C named").code(0);
    assert_eq!(read(temp.path().join("named/a")), "1");
    manyfiles(temp.path(), &["unpack", "-", "-"]).code(2).says("once only");
}

#[test]
fn the_formats_that_the_tools_of_this_machine_make() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    manyfiles(temp.path(), &["unpack", "site.tar", "-C", "src"]).code(0);
    for (program, make) in [
        ("gzip", "gzip < site.tar > archive"),
        ("xz", "xz < site.tar > archive"),
        ("bzip2", "bzip2 < site.tar > archive"),
        ("zstd", "zstd -q < site.tar > archive"),
        ("lz4", "lz4 -q < site.tar > archive"),
        ("bsdtar", "bsdtar --format zip -cf archive -C src site"),
    ] {
        if let Err(why) = Need::Program(program).check() {
            manyfiles_testkit::skip(format_args!("{program}: {why}"));
            continue;
        }
        shell(temp.path(), &format!("{make} && rm -rf out && $M unpack archive -C out")).code(0);
        assert_eq!(names(&temp.path().join("out")), names(&temp.path().join("src")), "{make}");
        assert_eq!(read(temp.path().join("out/site/img/a.jpg")), "jpg");
    }
}

#[test]
fn filters_match_the_archives_paths_and_stripping_comes_after_them() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    let unpack = |out: &str, args: &[&str]| {
        manyfiles(temp.path(), &[&["unpack", "site.tar", "-C", out], args].concat()).code(0);
        names(&temp.path().join(out))
    };
    assert_eq!(unpack("a", &["--include", "*.jpg", "--exclude", "raw"]), ["site", "site/img", "site/img/a.jpg"]);
    assert_eq!(unpack("b", &["--include", "site/img", "--strip-components", "2"]), ["a.jpg", "raw", "raw/a.jpg"]);
    assert_eq!(
        unpack("c", &["--exclude", "*.html", "--exclude", "img", "--strip-components", "1"]),
        ["home", "run.sh"]
    );
}

#[test]
fn conflicts_are_settled_as_asked() {
    let temp = tempdir().unwrap();
    Tar::new().file("a.txt", "new").save(temp.path().join("a.tar"));
    let old = |out: &str| common::write(temp.path().join(out).join("a.txt"), "old");
    for (how, code, content) in
        [("error", 1, "old"), ("skip", 0, "old"), ("overwrite", 0, "new"), ("replace", 0, "new"), ("newer", 0, "old")]
    {
        old(how);
        manyfiles(temp.path(), &["unpack", "a.tar", "-C", how, "--on-conflict", how]).code(code);
        assert_eq!(read(temp.path().join(how).join("a.txt")), content, "{how}");
    }
    old("rename");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "rename", "--on-conflict", "rename", "-v"])
        .code(0)
        .says("under another name")
        .says("a.txt is a (1).txt");
    assert_eq!(read(temp.path().join("rename/a (1).txt")), "new");
    old("default");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "default"])
        .code(1)
        .says("a.txt: File exists")
        .says("--on-conflict skip");
}

#[test]
fn the_last_of_several_entries_of_one_path_is_what_remains_as_with_tar() {
    let temp = tempdir().unwrap();
    Tar::new()
        .file("a", "old")
        .file("there", "old")
        .file("a", "new")
        .file("there", "new")
        .save(temp.path().join("a.tar"));
    for how in ["error", "skip", "skip-identical", "overwrite", "replace", "newer", "rename"] {
        let at = |name: &str| temp.path().join(how).join(name);
        common::write(at("there"), "mine");
        let args = ["unpack", "a.tar", "-C", how, "--on-conflict", how, "--json"];
        let plan = manyfiles(temp.path(), &[&args[..], &["--dry-run"]].concat()).json();
        let json = manyfiles(temp.path(), &args).json();
        assert_eq!(read(at("a")), "new", "{how}: {json:#}");
        let wins = ["skip-identical", "overwrite", "replace"].contains(&how);
        assert_eq!(read(at("there")), if wins { "new" } else { "mine" }, "{how}: {json:#}");
        if how == "rename" {
            assert_eq!((read(at("there (1)")), at("there (2)").exists()), ("new".into(), false));
        }
        let actions: Vec<_> = plan["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["action"].as_str().unwrap().to_owned())
            .collect();
        let expected = match how {
            "error" => ["create", "conflict", "replace", "conflict"],
            "skip" | "newer" => ["create", "skip", "replace", "skip"],
            "skip-identical" => ["create", "compare", "replace", "compare"],
            "rename" => ["create", "rename", "replace", "replace"],
            other => ["create", other, "replace", "replace"],
        };
        assert_eq!(actions, expected, "{how}");
    }
}

#[test]
fn a_hard_link_to_what_a_folder_kept_the_name_of_is_explained() {
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").hard_link("b", "a").save(temp.path().join("a.tar"));
    common::write(temp.path().join("out/a/inside"), "kept");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--on-conflict", "skip"])
        .code(1)
        .says("1 entry skipped: its name was taken")
        .says("cannot make the hard link b")
        .says("hard links are not made to a folder");
    let planned =
        manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--on-conflict", "skip", "--dry-run"]).code(1);
    assert!(planned.out.contains("fail      b  (what it is a link to, a, is a folder)"), "{planned:#?}");
}

#[test]
fn with_fsync_each_file_is_synced_where_all_cannot_be_and_a_failure_is_told() {
    skip_unless!(Need::Fuse);
    let temp = tempdir().unwrap();
    Tar::new().file("kept", "x").file("lost", "x").save(temp.path().join("a.tar"));
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--fsync"]).code(0);
    assert_eq!(read(temp.path().join("out/lost")), "x");
    let mount = SlowMount::options().fail(Op::Fsync, 5, "lost").mount().unwrap();
    let out = mount.path().join("out");
    let out = out.to_str().unwrap();
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", out]).code(0);
    let again = ["unpack", "a.tar", "-C", out, "--on-conflict", "overwrite", "--json"];
    let ran = manyfiles(temp.path(), &[&again[..], &["--fsync"]].concat()).code(1);
    let json = ran.json();
    let failures = json["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{json}");
    assert_eq!((&failures[0]["path"], &failures[0]["operation"]), (&"lost".into(), &"sync".into()), "{json}");
    assert!(json["seconds_by_operation"]["sync"].as_f64() > Some(0.0), "{json}");
    assert_eq!(manyfiles(temp.path(), &again).code(0).json()["seconds_by_operation"]["sync"], 0.0);
}

#[test]
fn owners_set_id_bits_and_special_files_need_to_be_asked_for() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    Tar::new().file_with("tool", "x", 0o4755, 1).fifo("pipe").save(temp.path().join("a.tar"));
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "plain"]).code(1).says("pipe: refused").says("--special-files");
    let plain = fs::metadata(temp.path().join("plain/tool")).unwrap();
    assert_eq!((plain.uid(), plain.mode() & 0o7777), (0, 0o755));
    let all = ["--same-owner", "--set-id", "--special-files"];
    manyfiles(temp.path(), &[&["unpack", "a.tar", "-C", "all"], &all[..]].concat()).code(0);
    let tool = fs::metadata(temp.path().join("all/tool")).unwrap();
    assert_eq!((tool.uid(), tool.gid(), tool.mode() & 0o7777), (1234, 5678, 0o4755));
    assert!(fs::metadata(temp.path().join("all/pipe")).unwrap().file_type().is_fifo());
}

#[test]
fn the_umask_applies_unless_permissions_are_preserved() {
    let temp = tempdir().unwrap();
    Tar::new().file_with("f", "x", 0o666, 1).save(temp.path().join("a.tar"));
    let mode = |path: &str| fs::metadata(temp.path().join(path)).unwrap().mode() & 0o7777;
    shell(temp.path(), "umask 077; $M unpack a.tar -C p -p && $M unpack a.tar -C n --no-preserve-permissions").code(0);
    assert_eq!((mode("p/f"), mode("n/f")), (0o666, 0o600));
    skip_unless!(Need::Root);
    shell(temp.path(), "umask 077; $M unpack a.tar -C default").code(0);
    assert_eq!(mode("default/f"), 0o666, "root keeps permissions");
}

#[test]
fn one_job_is_as_good_as_many() {
    let temp = tempdir().unwrap();
    // With all its folders: one that has no entry has the time of the unpacking.
    site().folder("site/img", 0o755).folder("site/img/raw", 0o700).save(temp.path().join("site.tar"));
    for jobs in ["1", "2", "16"] {
        let json = manyfiles(temp.path(), &["unpack", "site.tar", "-C", jobs, "-j", jobs, "--json"]).code(0).json();
        assert!(json["peak_threads"].as_u64().unwrap() <= jobs.parse().unwrap());
        common::assert_same_tree(&temp.path().join("1"), &temp.path().join(jobs));
    }
}

#[test]
fn a_slow_pipe_is_unpacked_as_it_comes() {
    let temp = tempdir().unwrap();
    let bytes = site().bytes();
    let mut child = Command::new(common::BINARY)
        .args(["unpack", "-", "-C", "out"])
        .current_dir(temp.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in bytes.chunks(700) {
        stdin.write_all(piece).unwrap();
        stdin.flush().unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(read(temp.path().join("out/site/img/raw/a.jpg")), "raw");
}

#[test]
fn tars_that_were_joined_are_named_and_read_on_request() {
    let temp = tempdir().unwrap();
    let joined = [Tar::new().file("one", "1").bytes(), Tar::new().file("two", "2").bytes()].concat();
    write(temp.path().join("joined.tar"), joined);
    let ran = manyfiles(temp.path(), &["unpack", "joined.tar", "-C", "first", "--json"])
        .code(0)
        .says("joined.tar: warning: another tar follows")
        .says("--ignore-zeros");
    assert!(ran.json()["archives"][0]["warning"].as_str().unwrap().contains("another tar follows"));
    assert_eq!(names(&temp.path().join("first")), ["one"]);
    manyfiles(temp.path(), &["unpack", "joined.tar", "--dry-run"]).code(0).says("warning: another tar follows");
    manyfiles(temp.path(), &["unpack", "joined.tar", "-C", "both", "--ignore-zeros"]).code(0).does_not_say("warning");
    assert_eq!(names(&temp.path().join("both")), ["one", "two"]);
}

#[test]
fn attributes_that_are_not_kept_are_counted() {
    let temp = tempdir().unwrap();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("SCHILY.xattr.user.note", &b"x"[..])]).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_size(1);
    header.set_mode(0o644);
    builder.append_data(&mut header, "noted", &b"1"[..]).unwrap();
    write(temp.path().join("a.tar"), builder.into_inner().unwrap());
    let ran = manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--json"])
        .code(0)
        .says("1 entry has extended attributes or access control lists in the source, which were not kept");
    assert_eq!(ran.json()["with_attributes"], 1);
}

/// A file with these pax records.
#[cfg(target_os = "linux")]
fn with_records(tar: &mut tar::Builder<Vec<u8>>, name: &str, records: &[(&str, &[u8])]) {
    tar.append_pax_extensions(records.iter().copied()).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_size(1);
    header.set_mode(0o444);
    tar.append_data(&mut header, name, &b"1"[..]).unwrap();
}

#[cfg(target_os = "linux")]
fn xattrs(path: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut list = vec![0; 1 << 16];
    let len = rustix::fs::llistxattr(path, &mut list).unwrap();
    let names = list[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut all: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 1 << 16];
            let len = rustix::fs::lgetxattr(path, name, &mut value).unwrap();
            (String::from_utf8(name.to_vec()).unwrap(), value[..len].to_vec())
        })
        .collect();
    all.sort();
    all
}

#[cfg(target_os = "linux")]
#[test]
fn extended_attributes_are_kept_if_asked_for() {
    let temp = tempdir().unwrap();
    write(temp.path().join("probe"), "");
    let flags = rustix::fs::XattrFlags::empty();
    if let Err(why) = rustix::fs::setxattr(temp.path().join("probe"), "user.note", b"x", flags) {
        return eprintln!("skipped: this file system keeps no extended attributes: {why}");
    }
    let mut tar = tar::Builder::new(Vec::new());
    with_records(&mut tar, "noted", &[("SCHILY.xattr.user.note", b"a\0b"), ("SCHILY.xattr.user.x%3Dy", b"")]);
    let label = ("SCHILY.xattr.security.selinux", &b"label"[..]);
    let overlay = ("SCHILY.xattr.trusted.overlay.opaque", &b"y"[..]);
    with_records(&mut tar, "elsewhere", &[label, overlay, ("SCHILY.xattr.user.overlay.redirect", b"/")]);
    let list = ("SCHILY.acl.access", &b"user::rw-,group::r--,other::r--"[..]);
    with_records(&mut tar, "odd", &[("SCHILY.xattr.user.good", b"1"), ("SCHILY.xattr.without", b"x"), list]);
    with_records(&mut tar, "long", &[("SCHILY.xattr.user.long", &vec![b'v'; 70 << 10])]);
    write(temp.path().join("a.tar"), tar.into_inner().unwrap());
    let ran =
        manyfiles(temp.path(), &["unpack", "a.tar", "-C", "plain", "--json"]).code(0).says("--xattrs and --acls keep");
    assert_eq!(ran.json()["with_attributes"], 3, "what belongs to another machine is not missed");
    assert_eq!(xattrs(&temp.path().join("plain/noted")), []);
    let ran = manyfiles(temp.path(), &["unpack", "--xattrs", "a.tar", "-C", "out", "--json"]).code(0);
    let ran = ran.says("2 entries have extended attributes");
    assert_eq!(ran.json()["with_attributes"], 2, "odd, which has a list, and long");
    let has = |name: &str| xattrs(&temp.path().join("out").join(name));
    assert_eq!(has("noted"), [("user.note".into(), b"a\0b".to_vec()), ("user.x=y".into(), Vec::new())]);
    assert_eq!(has("odd"), [("user.good".into(), b"1".to_vec())]);
    assert_eq!((has("elsewhere"), has("long")), (Vec::new(), Vec::new()));
}

#[test]
fn salvage_goes_on_behind_damage_and_says_so() {
    let temp = tempdir().unwrap();
    let mut bytes = Tar::new().file("a", "1").file("b", "22").file("c", "333").bytes();
    bytes[1024] ^= 1;
    fs::write(temp.path().join("bad.tar"), &bytes).unwrap();
    let ran = manyfiles(temp.path(), &["unpack", "bad.tar", "-C", "plain"]).code(2).says("damaged at byte 1024");
    assert!(ran.err.contains("--salvage goes on behind the damage"), "{ran:#?}");
    assert_eq!(names(&temp.path().join("plain")), ["a"]);
    let ran = manyfiles(temp.path(), &["unpack", "--salvage", "--json", "bad.tar", "-C", "new"]).code(1);
    assert_eq!(names(&temp.path().join("new")), ["a", "c"]);
    let json = ran.json();
    assert_eq!((json["status"].as_str(), json["archives"][0]["damage"].as_u64()), (Some("incomplete"), Some(1)));
    assert!(ran.err.contains("bad.tar: byte 1024: no valid header where an entry should begin"), "{ran:#?}");
    assert!(ran.err.contains("1 place is damaged, as said above"), "{ran:#?}");

    // Of a file that is cut short, what there is stays.
    bytes[1024] ^= 1;
    fs::write(temp.path().join("cut.tar"), &bytes[..2562]).unwrap();
    manyfiles(temp.path(), &["unpack", "--salvage", "cut.tar", "-C", "cut"])
        .code(1)
        .says("cut.tar: byte 2562: it is cut short")
        .says("cannot read c: the archive is damaged here: it is cut short; it is kept up to byte 2");
    assert_eq!(read(temp.path().join("cut/c")), "33");
    manyfiles(temp.path(), &["unpack", "--salvage", "--dry-run", "cut.tar"]).code(2).says("cannot be used with");
    fs::write(temp.path().join("sound.tar"), &bytes).unwrap();
    manyfiles(temp.path(), &["unpack", "--salvage", "sound.tar", "-C", "sound"]).code(0).does_not_say("damaged");
}
