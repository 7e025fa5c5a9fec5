//! Single compressed files, cpio archives and packages, by the command.
#![cfg(unix)] // the tools that make them are Unix's

mod common;

use std::fs;

use common::{manyfiles, shell};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::tempdir;

#[test]
fn a_single_compressed_file_is_listed_tested_printed_and_unpacked() {
    skip_unless!(Need::Program("gzip"), Need::Program("xz"));
    let temp = tempdir().unwrap();
    let folder = temp.path();
    fs::write(folder.join("notes.txt"), "hello\n").unwrap();
    shell(folder, "gzip -n notes.txt; gzip -dc notes.txt.gz | xz > notes.txt.xz; cp notes.txt.gz a.tar.gz").code(0);
    for (name, format) in [("notes.txt.gz", "gz"), ("notes.txt.xz", "xz")] {
        assert_eq!(manyfiles(folder, &["list", name]).code(0).out, "notes.txt\n");
        let tested = manyfiles(folder, &["test", name]).code(0).out;
        assert_eq!(tested, format!("{name}: sound: {format}, 1 entry, 6 B\n"));
        assert_eq!(manyfiles(folder, &["cat", name]).code(0).out, "hello\n");
        assert_eq!(manyfiles(folder, &["cat", name, "notes.txt"]).code(0).out, "hello\n");
        manyfiles(folder, &["cat", name, "other"]).code(1).says("the archive has no such entry");
        let planned = manyfiles(folder, &["unpack", "--dry-run", name, "-C", format]).code(0).out;
        assert_eq!(planned, "create    notes.txt\n");
        manyfiles(folder, &["unpack", name, "-C", format]).code(0);
        assert_eq!(fs::read(folder.join(format).join("notes.txt")).unwrap(), b"hello\n");
        manyfiles(folder, &["unpack", name, "-C", format]).code(1).says("notes.txt: File exists");
    }
    for command in ["list", "test", "cat", "unpack"] {
        manyfiles(folder, &[command, "a.tar.gz"])
            .code(2)
            .says("a.tar.gz: a gzip-compressed file, but not a tar inside");
        assert!(!folder.join("a.tar").exists());
    }
    shell(folder, "$M unpack - < notes.txt.xz").code(2).says("a file with the name NAME.xz is unpacked");
}

#[test]
fn cpio_archives_and_packages_are_listed_tested_printed_and_unpacked() {
    skip_unless!(Need::Program("cpio"), Need::Program("dpkg-deb"));
    let temp = tempdir().unwrap();
    let folder = temp.path();
    let made = "mkdir -p root/usr root/DEBIAN; echo one > root/usr/one; ln root/usr/one root/usr/two
        printf 'Package: a\\nVersion: 1\\nArchitecture: all\\nMaintainer: m\\nDescription: d\\n' > root/DEBIAN/control
        cd root; find usr | sort | cpio -o -H newc --quiet | gzip > ../a.img; cd ..
        dpkg-deb --root-owner-group -Zxz -b root a.deb > log";
    shell(folder, made).code(0);
    for (name, format) in [("a.img", "cpio.gz"), ("a.deb", "deb")] {
        assert!(manyfiles(folder, &["list", name]).code(0).out.contains("usr/two\n"));
        assert!(manyfiles(folder, &["test", name]).code(0).out.starts_with(&format!("{name}: sound: {format}, ")));
        assert_eq!(manyfiles(folder, &["cat", name, "usr/two"]).code(0).out, "one\n");
        shell(folder, &format!("$M unpack - -C {format} < {name}")).code(0);
        assert_eq!(fs::read(folder.join(format).join("usr/two")).unwrap(), b"one\n");
        assert!(!folder.join(format).join("DEBIAN").exists());
    }
}
