//! Archives and folders that are not as they should be: a clear message, the right exit status, nothing lost.
#![cfg(unix)] // needs a shell; tests/windows.rs has what differs there

mod common;

use std::fs;

use common::{Tar, manyfiles, manyfiles_reading, names, read, shell, write};
use manyfiles_testkit::{Disk, Need, Tree, skip_unless};
use tempfile::tempdir;

#[test]
fn an_archive_that_is_missing_empty_a_folder_or_something_else_is_said_to_be_so() {
    let temp = tempdir().unwrap();
    fs::create_dir(temp.path().join("folder")).unwrap();
    write(temp.path().join("empty"), "");
    write(temp.path().join("text"), "this is no archive\n".repeat(100));
    for (archive, why) in [
        ("missing", "missing: cannot read it: No such file"),
        ("folder", "folder: this is a folder, not an archive; 'manyfiles copy'"),
        ("empty", "empty: the file is empty"),
        ("text", "text: not an archive"),
    ] {
        let ran = manyfiles(temp.path(), &["unpack", archive, "-C", "out", "--json"]).code(2).says(why);
        assert_eq!(ran.json()["exit_code"], 2);
        assert!(ran.err.lines().all(|line| line.starts_with("manyfiles: ")), "{ran:#?}");
    }
    manyfiles_reading(temp.path(), &["unpack", "-"], b"").code(2).says("standard input: there is nothing in it");
    assert!(names(temp.path()).iter().all(|name| !name.starts_with("out/")));
}

#[test]
fn arguments_are_checked_before_the_first_archive_is_unpacked() {
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").save(temp.path().join("a.tar"));
    manyfiles(temp.path(), &["unpack", "a.tar", "missing.tar", "-C", "out"]).code(2).says("missing.tar");
    assert!(!temp.path().join("out").exists());
}

#[test]
fn what_came_before_the_damage_stays_and_is_counted_and_the_next_archive_is_unpacked() {
    let temp = tempdir().unwrap();
    let bytes = Tar::new().file("a", "1").file("b", "2").file("cut", vec![7; 100_000]).bytes();
    fs::write(temp.path().join("cut.tar"), &bytes[..50_000]).unwrap();
    Tar::new().file("next", "3").save(temp.path().join("next.tar"));
    let ran = manyfiles(temp.path(), &["unpack", "cut.tar", "next.tar", "-C", "out", "--json"])
        .code(2)
        .says("cut.tar: ")
        .says("damaged")
        .says("unpacked 3 entries")
        .says("1 of 2 archives could not be read to the end");
    assert_eq!(names(&temp.path().join("out")), ["a", "b", "next"], "no half file");
    let json = ran.json();
    assert_eq!(json["status"], "unreadable");
    assert!(json["archives"][0]["error"].as_str().unwrap().contains("damaged"));
    assert!(json["archives"][1]["error"].is_null());
}

#[test]
fn hostile_names_are_refused_each_by_name_and_the_rest_is_written() {
    let temp = tempdir().unwrap();
    write(temp.path().join("outside/secret"), "untouched");
    Tar::new()
        .file("../escaped", "1")
        .file("a/../../escaped", "2")
        .file("/escaped-absolute", "3")
        .file("C:\\escaped", "4")
        .symlink("out", "../outside")
        .file("out/secret", "5")
        .hard_link("stolen", "../outside/secret")
        .file("good", "6")
        .save(temp.path().join("evil.tar"));
    let ran = manyfiles(temp.path(), &["unpack", "evil.tar", "-C", "box/in", "--json"])
        .code(1)
        .says("../escaped: refused")
        .says("a/../../escaped: refused")
        .says("/escaped-absolute: refused")
        .says("C:\\escaped: refused")
        .says("out/secret: ")
        .says("stolen: ");
    assert_eq!(ran.json()["failures"].as_array().unwrap().len(), 6);
    assert_eq!(read(temp.path().join("outside/secret")), "untouched");
    assert_eq!(names(&temp.path().join("box")), ["in", "in/good", "in/out"]);
    assert!(!std::path::Path::new("/escaped-absolute").exists());
}

#[test]
fn a_file_where_a_folder_is_needed_and_the_reverse() {
    let temp = tempdir().unwrap();
    write(temp.path().join("out/file"), "kept");
    write(temp.path().join("out/folder/inside"), "kept");
    Tar::new().file("file/below", "1").file("folder", "2").file("good", "3").save(temp.path().join("a.tar"));
    for how in ["error", "overwrite", "replace"] {
        let ran = manyfiles(temp.path(), &["unpack", "a.tar", "-C", "out", "--on-conflict", how, "--json"]).code(1);
        let failures = ran.json()["failures"].as_array().unwrap().len();
        assert_eq!(failures, 2 + usize::from(how == "error" && ran.err.contains("good")), "{ran:#?}");
        assert_eq!(
            (read(temp.path().join("out/file")), read(temp.path().join("out/folder/inside"))),
            ("kept".into(), "kept".into())
        );
    }
}

#[test]
fn a_destination_that_is_a_file_is_a_usage_error() {
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").save(temp.path().join("a.tar"));
    write(temp.path().join("file"), "kept");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "file"]).code(2).says("file").says("has to be a folder");
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "file/below"]).code(2).says("file").says("has to be a folder");
    assert_eq!(read(temp.path().join("file")), "kept");
}

#[test]
fn a_folder_without_write_permission_fails_entry_by_entry() {
    skip_unless!(Need::Root, Need::Program("setpriv"));
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").file("b", "2").save(temp.path().join("a.tar"));
    fs::create_dir(temp.path().join("locked")).unwrap();
    fs::set_permissions(temp.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups $M unpack a.tar";
    shell(temp.path(), &format!("{nobody} -C locked"))
        .code(1)
        .says("cannot create a: Permission denied")
        .says("2 failed");
    shell(temp.path(), &format!("{nobody} -C locked/new")).code(2).says("Permission denied").says("may write to");
}

#[test]
fn a_read_only_file_system_and_a_full_one() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..10 {
        tar = tar.file(&format!("f{n}"), vec![n; 300_000]);
    }
    tar.save(temp.path().join("a.tar"));
    let disk = Disk::tmpfs().megabytes(2).mount().unwrap();
    let out = disk.path().join("out");
    let ran = manyfiles(temp.path(), &["unpack", "a.tar", "-C", out.to_str().unwrap(), "--json"])
        .code(1)
        .says("No space left");
    let whole = ran.json()["files"].as_u64().unwrap();
    assert_eq!(Tree::read(&out).unwrap().files(), (whole, whole * 300_000));
    assert_eq!(ran.json()["failures"].as_array().unwrap().len() as u64, 10 - whole);
    disk.make_read_only().unwrap();
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", disk.path().join("x").to_str().unwrap()])
        .code(2)
        .says("Read-only");
}

#[test]
fn sixty_four_descriptors_are_enough() {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..2000 {
        tar = tar.file(&format!("{}/{n}", n % 300), n.to_string());
    }
    tar.save(temp.path().join("a.tar"));
    shell(temp.path(), "ulimit -n 64; $M unpack a.tar -C out").code(0).says("2,000 entries");
    shell(temp.path(), "ulimit -n 64; gzip < a.tar | $M unpack - -C zipped").code(0).says("2,000 entries");
    assert_eq!(names(&temp.path().join("out")), names(&temp.path().join("zipped")));
}

#[test]
fn a_bomb_stops_at_each_limit_and_the_option_is_named() {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new();
    for n in 0..20 {
        tar = tar.file(&format!("{n}"), vec![0; 100_000]);
    }
    tar.save(temp.path().join("a.tar"));
    let limited = |out: &str, args: &[&str]| manyfiles(temp.path(), &[&["unpack", "a.tar", "-C", out], args].concat());
    limited("n", &["--max-entries", "5"]).code(2).says("--max-entries");
    assert_eq!(names(&temp.path().join("n")).len(), 5);
    limited("b", &["--max-bytes", "1M"]).code(2).says("--max-bytes");
    assert!(Tree::read(temp.path().join("b")).unwrap().files().1 <= 1 << 20);
    limited("all", &["--max-entries", "20", "--max-bytes", "2000KB"]).code(0);

    // No ratio counts below 64 MiB.
    shell(temp.path(), "truncate -s 66M zeros && tar -czf bomb.tgz zeros && rm zeros").code(0);
    manyfiles(temp.path(), &["unpack", "bomb.tgz", "-C", "bomb", "--max-ratio", "100"]).code(2).says("--max-ratio");
}

/// A limit on the length of files is an error of the file, not the death of the process.
#[test]
fn the_limit_for_the_length_of_files_ends_no_command() {
    let temp = tempdir().unwrap();
    let here = temp.path();
    shell(here, "mkdir src cache; seq 300000 > src/long; seq 9 > src/short; tar -cf a.tar src; bzip2 -k a.tar").code(0);
    let limited = "ulimit -f 64; XDG_CACHE_HOME=$PWD/cache";
    shell(here, &format!("{limited} $M unpack a.tar -C out")).code(1).says("cannot write src/long: File too large");
    shell(here, &format!("{limited} $M copy src copied")).code(1).says("File too large");
    shell(here, &format!("{limited} $M pack src b.tar")).code(2).says("cannot write b.tar: File too large");
    // Its content goes to an unnamed file.
    shell(here, &format!("{limited} $M cat a.tar.bz2 src/short")).code(2).says("File too large");
    shell(here, &format!("{limited} $M list a.tar.bz2 && {limited} $M test a.tar.bz2")).code(0);
    assert_eq!(fs::read(here.join("out/src/short")).unwrap(), fs::read(here.join("src/short")).unwrap());
}
