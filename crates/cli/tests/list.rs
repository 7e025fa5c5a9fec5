//! `manyfiles list`: each form, each kind of archive, and archives that are not as they should be.
#![cfg(unix)] // needs a shell; tests/windows.rs has what differs there

mod common;

use std::fs;
use std::path::Path;

use common::{BINARY, Pty, Ran, Tar, manyfiles, manyfiles_reading, shell};
use manyfiles_testkit::{Need, skip_unless};
use serde_json::Value;
use tempfile::tempdir;

fn site() -> Tar {
    Tar::new()
        .folder("site/", 0o750)
        .file("site/index.html", "<p>")
        .file_with("site/run.sh", "#!/bin/sh\n", 0o4755, 1_000_000_000)
        .file("site/img/raw/a.jpg", vec![7; 5000])
        .file("site/img/a.jpg", "jpg")
        .symlink("site/home", "index.html")
        .hard_link("site/same.html", "site/index.html")
        .fifo("site/pipe")
}

const NAMES: [&str; 8] = [
    "site/",
    "site/index.html",
    "site/run.sh",
    "site/img/raw/a.jpg",
    "site/img/a.jpg",
    "site/home",
    "site/same.html",
    "site/pipe",
];

fn list(folder: &Path, args: &[&str]) -> Ran {
    shell(folder, &format!("TZ=UTC $M list {}", args.join(" ")))
}

fn objects(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn names_come_one_a_line_in_the_archives_order_and_nothing_is_written() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    for name in ["list", "ls"] {
        let ran = manyfiles(temp.path(), &[name, "site.tar"]).code(0);
        assert_eq!(ran.out.lines().collect::<Vec<_>>(), NAMES);
        assert_eq!(ran.err, "");
    }
    let ran = manyfiles(temp.path(), &["list", "-0", "site.tar"]).code(0);
    assert_eq!(ran.out, NAMES.map(|name| format!("{name}\0")).concat());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_name_with_a_zero_byte_in_it_is_not_printed_as_two_names() {
    let temp = tempdir().unwrap();
    Tar::new()
        .file("a", "")
        .pax(&[("path", b"b\0/etc/passwd")])
        .file("b", "")
        .file("c", "")
        .save(temp.path().join("x.tar"));
    let ran = manyfiles(temp.path(), &["list", "-0", "x.tar"]).code(1);
    assert_eq!(ran.out, "a\0c\0");
    ran.says("x.tar: b\\u{0}/etc/passwd: left out, because it has a zero byte in it");
    let listed = objects(&manyfiles(temp.path(), &["list", "--json", "x.tar"]).code(0));
    assert_eq!(listed[1]["path"], "b\0/etc/passwd");
}

#[test]
fn every_format_that_is_unpacked_is_listed_from_a_file_and_all_but_zip_from_a_pipe() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    let names = manyfiles(temp.path(), &["list", "site.tar"]).code(0).out;
    for program in ["cat", "gzip", "xz", "bzip2", "zstd -q", "lz4 -q"] {
        let name = program.split(' ').next().unwrap();
        if let Err(why) = Need::Program(name).check() {
            manyfiles_testkit::skip(format_args!("{name}: {why}"));
            continue;
        }
        shell(temp.path(), &format!("{program} < site.tar > packed")).code(0);
        assert_eq!(manyfiles(temp.path(), &["list", "packed"]).code(0).out, names, "{program}");
        let packed = fs::read(temp.path().join("packed")).unwrap();
        assert_eq!(manyfiles_reading(temp.path(), &["list", "-"], &packed).code(0).out, names, "{program}");
    }
    shell(temp.path(), "mkfifo pipe && { cat site.tar > pipe & } && $M list pipe").code(0);
    skip_unless!(Need::Program("bsdtar"));
    shell(temp.path(), "$M unpack site.tar -C src --exclude pipe").code(0);
    shell(temp.path(), "bsdtar --format zip -cf site.zip -C src site").code(0);
    let mut of_zip: Vec<_> = objects(&list(temp.path(), &["--json", "site.zip"]).code(0));
    of_zip.sort_by_key(|entry| entry["path"].to_string());
    let paths: Vec<_> = of_zip.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"site/img/raw/a.jpg"), "{paths:?}");
    let home = of_zip.iter().find(|entry| entry["path"] == "site/home").unwrap();
    assert_eq!((&home["kind"], &home["target"]), (&"symlink".into(), &"index.html".into()), "read from its content");
    let zip = fs::read(temp.path().join("site.zip")).unwrap();
    manyfiles_reading(temp.path(), &["list", "-"], &zip).code(2).says("its directory is at its end");
}

#[test]
fn the_long_form_has_all_that_the_archive_says() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    let lines = "\
drwxr-x--- 1234/5678         0 2017-07-14 02:40:00 site/
-rw-r--r-- 1234/5678         3 2017-07-14 02:40:00 site/index.html
-rwsr-xr-x 1234/5678        10 2001-09-09 01:46:40 site/run.sh
-rw-r--r-- 1234/5678      5000 2017-07-14 02:40:00 site/img/raw/a.jpg
-rw-r--r-- 1234/5678         3 2017-07-14 02:40:00 site/img/a.jpg
lrwxrwxrwx 1234/5678         0 2017-07-14 02:40:00 site/home -> index.html
hrw-r--r-- 1234/5678         0 2017-07-14 02:40:00 site/same.html link to site/index.html
prw-r--r-- 1234/5678         0 2017-07-14 02:40:00 site/pipe  (refused: only --special-files makes it)
";
    assert_eq!(list(temp.path(), &["-l", "site.tar"]).code(0).out, lines);
}

#[test]
fn what_unpack_would_refuse_is_listed_with_the_reason() {
    let temp = tempdir().unwrap();
    Tar::new().file("../escaped", "1").file("/etc/x", "2").file("good", "3").save(temp.path().join("evil.tar"));
    assert_eq!(manyfiles(temp.path(), &["list", "evil.tar"]).code(0).out, "../escaped\n/etc/x\ngood\n");
    let long = list(temp.path(), &["-l", "evil.tar"]).code(0).out;
    let refused: Vec<_> = long.lines().map(|line| line.contains("(refused: ")).collect();
    assert_eq!(refused, [true, true, false], "{long}");
    let shown = objects(&list(temp.path(), &["--json", "evil.tar"]).code(0));
    assert!(shown[0]["refused"].is_string() && shown[2].get("refused").is_none());
    // What 'unpack' makes only if asked to has a kind, and the reason.
    Tar::new().fifo("pipe").file("good", "3").save(temp.path().join("pipe.tar"));
    let long = list(temp.path(), &["-l", "pipe.tar"]).code(0).out;
    let refused: Vec<_> = long.lines().map(|line| (&line[..1], line.contains("(refused: "))).collect();
    assert_eq!(refused, [("p", true), ("-", false)], "{long}");
    let shown = objects(&list(temp.path(), &["--json", "pipe.tar"]).code(0));
    assert_eq!((&shown[0]["kind"], shown[0]["refused"].is_string()), (&"fifo".into(), true));
    manyfiles(temp.path(), &["unpack", "pipe.tar", "-C", "out"]).code(1);
}

#[test]
fn json_has_an_object_for_each_entry_and_one_for_an_archive_that_is_cut_short() {
    let temp = tempdir().unwrap();
    let tar = site().bytes();
    fs::write(temp.path().join("site.tar"), &tar).unwrap();
    let all = objects(&list(temp.path(), &["--json", "site.tar"]).code(0));
    let expected = serde_json::json!({
        "archive": "site.tar", "path": "site/run.sh", "kind": "file", "bytes": 10, "mode": "4755",
        "modified": "2001-09-09T01:46:40Z", "user": 1234, "group": 5678,
    });
    assert_eq!((all.len(), &all[2]), (8, &expected));
    assert_eq!((&all[6]["kind"], &all[6]["target"]), (&"hard_link".into(), &"site/index.html".into()));
    assert_eq!(all[7]["kind"], "fifo");

    fs::write(temp.path().join("cut.tar"), &tar[..4000]).unwrap();
    let cut = list(temp.path(), &["--json", "cut.tar"]).code(2).says("cut.tar: the archive is damaged at byte 4000");
    let cut = objects(&cut);
    assert_eq!(cut.len(), 5);
    assert!(cut[4]["error"].as_str().unwrap().contains("cut short"), "{cut:?}");
}

#[test]
fn a_tree_is_sorted_and_is_cut_at_a_depth() {
    let temp = tempdir().unwrap();
    site().file("above", "12").save(temp.path().join("site.tar"));
    let whole = "\
above
site/
├── home -> index.html
├── img/
│   ├── a.jpg
│   └── raw/
│       └── a.jpg
├── index.html
├── pipe
├── run.sh
└── same.html link to site/index.html
9 entries, 5.02 kB
";
    assert_eq!(list(temp.path(), &["--tree", "site.tar"]).code(0).out, whole);
    let cut = "above\nsite/  (8 entries, 5.02 kB)\n9 entries, 5.02 kB\n";
    assert_eq!(list(temp.path(), &["--tree", "--depth 1", "site.tar"]).code(0).out, cut);
    let two = list(temp.path(), &["--tree", "--depth 2", "site.tar"]).code(0).out;
    assert!(two.contains("├── img/  (2 entries, 5.00 kB)\n├── index.html\n"), "{two}");
    assert_eq!(list(temp.path(), &["--tree", "--depth 0", "site.tar"]).code(0).out, "9 entries, 5.02 kB\n");
}

#[test]
fn sizes_are_sums_of_all_below_the_largest_first() {
    let temp = tempdir().unwrap();
    site().file("other/b", vec![0; 100]).save(temp.path().join("site.tar"));
    let sizes = " 5.12 kB  9 entries  .
 5.02 kB  8 entries  site
 5.00 kB  2 entries  site/img
 5.00 kB    1 entry  site/img/raw
   100 B    1 entry  other
";
    assert_eq!(list(temp.path(), &["--sizes", "site.tar"]).code(0).out, sizes);
    let top = list(temp.path(), &["--sizes", "--depth 1", "site.tar"]).code(0).out;
    assert_eq!(top.lines().count(), 3, "{top}");
    let json = objects(&list(temp.path(), &["--sizes", "--json", "--include", "img", "site.tar"]).code(0));
    let folders: Vec<_> =
        json.iter().map(|folder| (folder["folder"].as_str().unwrap(), folder["bytes"].as_u64().unwrap())).collect();
    assert_eq!(folders, [(".", 5003), ("site", 5003), ("site/img", 5003), ("site/img/raw", 5000)]);
    list(temp.path(), &["--depth 1", "site.tar"]).code(2).says("--tree|--sizes");
    list(temp.path(), &["--tree", "--json", "site.tar"]).code(2).says("cannot be used with");
}

#[test]
fn entries_are_selected_as_by_unpack_and_a_pattern_that_matches_nothing_is_an_error() {
    let temp = tempdir().unwrap();
    site().save(temp.path().join("site.tar"));
    let ran = manyfiles(temp.path(), &["list", "site.tar", "--include", "*.jpg", "--exclude", "raw"]).code(0);
    assert_eq!(ran.out, "site/img/a.jpg\n");
    let ran = manyfiles(temp.path(), &["list", "site.tar", "--include", "*.jpg", "--include", "typo"]).code(1);
    assert_eq!(ran.out.lines().count(), 2);
    assert!(ran.err.contains("--include typo: nothing matches"), "{ran:#?}");
}

#[test]
fn several_archives_have_headings_and_the_next_is_listed_if_one_cannot_be_read() {
    let temp = tempdir().unwrap();
    Tar::new().file("a", "1").save(temp.path().join("a.tar"));
    Tar::new().file("b", "2").save(temp.path().join("b.tar"));
    fs::write(temp.path().join("text"), "this is no archive\n".repeat(100)).unwrap();
    let ran = manyfiles(temp.path(), &["list", "a.tar", "text", "b.tar"]).code(2).says("text: not an archive");
    assert_eq!(ran.out, "a.tar:\na\n\ntext:\n\nb.tar:\nb\n");
    assert_eq!(manyfiles(temp.path(), &["list", "-0", "a.tar", "b.tar"]).code(0).out, "a\0b\0");
    manyfiles(temp.path(), &["list", "a.tar", "missing"]).code(2).says("missing: cannot read it");
    manyfiles(temp.path(), &["list", "-", "-"]).code(2).says("once only");
    let json = manyfiles(temp.path(), &["list", "--json", "missing"]).code(2).json();
    assert_eq!((&json["command"], &json["status"]), (&"list".into(), &"not_begun".into()));
}

#[test]
fn what_follows_an_archive_is_told_and_read_on_demand() {
    let temp = tempdir().unwrap();
    let joined = [Tar::new().file("a", "1").bytes(), Tar::new().file("b", "2").bytes()].concat();
    fs::write(temp.path().join("joined.tar"), joined).unwrap();
    assert_eq!(manyfiles(temp.path(), &["list", "joined.tar"]).code(0).says("--ignore-zeros").out, "a\n");
    assert_eq!(manyfiles(temp.path(), &["list", "--ignore-zeros", "joined.tar"]).code(0).out, "a\nb\n");
    manyfiles(temp.path(), &["list", "--ignore-zeros", "--max-entries", "1", "joined.tar"])
        .code(2)
        .says("--max-entries");
}

#[test]
fn a_name_with_control_characters_is_escaped_for_people_and_whole_for_programs() {
    let temp = tempdir().unwrap();
    Tar::new().file("two\nlines\x1b[2J", "1").save(temp.path().join("a.tar"));
    assert_eq!(manyfiles(temp.path(), &["list", "a.tar"]).code(0).out, "two\nlines\x1b[2J\n");
    for form in ["-l", "--tree"] {
        let out = manyfiles(temp.path(), &["list", form, "a.tar"]).code(0).out;
        assert!(out.contains("two\\nlines\\u{1b}[2J"), "{form}: {out}");
    }
    let (code, seen) = Pty::run(temp.path(), "list a.tar").end();
    assert_eq!((code, seen.trim_end()), (0, "two\\nlines\\u{1b}[2J"));
}

#[test]
fn a_path_as_deep_as_no_system_has_it_ends_neither_the_stack_nor_the_disk() {
    let temp = tempdir().unwrap();
    let path = "a/".repeat(500_000) + "b";
    // GNU's long name: a header before the entry's own.
    let mut long = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_path("long").unwrap();
    header.set_size(path.len() as u64);
    header.set_cksum();
    long.append(&header, path.as_bytes()).unwrap();
    let bytes = long.into_inner().unwrap();
    let whole = [&bytes[..bytes.len() - 1024], &Tar::new().file("x", "1").bytes()].concat();
    fs::write(temp.path().join("deep.tar"), whole).unwrap();
    for form in ["--tree", "--sizes"] {
        let out = manyfiles(temp.path(), &["list", form, "deep.tar"]).code(0).out;
        assert!((2000..3000).contains(&out.lines().count()), "{form}: {}", out.lines().count());
    }
}

#[test]
fn a_reader_that_needs_no_more_is_no_error() {
    let temp = tempdir().unwrap();
    let many = (0..20_000).fold(Tar::new(), |tar, n| tar.file(&format!("folder/{n}"), ""));
    many.save(temp.path().join("many.tar"));
    let script = format!("{{ {BINARY} list many.tar; echo $? > status; }} | head -n 1");
    let ran = shell(temp.path(), &script).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("folder/0\n", ""));
    assert_eq!(common::read(temp.path().join("status")), "0\n");
    skip_unless!(Need::Program("tar"));
    shell(temp.path(), "tar -tf many.tar > expected && $M list many.tar > list && cmp list expected").code(0);
}
