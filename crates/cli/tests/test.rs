//! `manyfiles test`: what it says, and its exit status. What it finds is tested where it is found: in
//! `manyfiles-archive`.
#![cfg(unix)] // needs a shell; tests/windows.rs has what differs there

mod common;

use std::fs;

use common::{Tar, manyfiles, manyfiles_reading, shell};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::tempdir;

fn tar() -> Vec<u8> {
    Tar::new().file("a", "1").file("b\nc", "22").file("d", "333").bytes()
}

#[test]
fn a_sound_archive_is_said_to_be_sound_and_nothing_is_written() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    let ran = manyfiles(temp.path(), &["test", "a.tar"]).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("a.tar: sound: tar, 3 entries, 6 B\n", ""));
    let ran = manyfiles(temp.path(), &["test", "-q", "a.tar"]).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = manyfiles_reading(temp.path(), &["test", "-"], &tar()).code(0);
    assert_eq!(ran.out, "standard input: sound: tar, 3 entries, 6 B\n");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn damage_is_named_with_its_byte_and_its_entry_and_what_can_be_had_is_said() {
    let temp = tempdir().unwrap();
    let mut bytes = tar();
    bytes[2048] ^= 1;
    fs::write(temp.path().join("bad.tar"), &bytes).unwrap();
    let ran = manyfiles(temp.path(), &["test", "bad.tar"]).code(1);
    let expected = "\
bad.tar: byte 2048: no valid header where an entry should begin
bad.tar: 1 thing is wrong: tar, 2 entries, 3 B; 'manyfiles unpack' gets them all
";
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (expected, ""));
    bytes[2048] ^= 1;
    bytes[0] ^= 1;
    fs::write(temp.path().join("bad.tar"), &bytes).unwrap();
    let ran = manyfiles(temp.path(), &["test", "bad.tar"]).code(1);
    assert!(ran.out.ends_with("'manyfiles unpack' gets no entry of it\n"), "{ran:#?}");
    bytes[0] ^= 1;
    bytes[1024] ^= 1;
    fs::write(temp.path().join("bad.tar"), &bytes[..2562]).unwrap();
    let ran = manyfiles(temp.path(), &["test", "bad.tar"]).code(1);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines[1], "bad.tar: byte 2562: d: it is cut short");
    assert!(lines[2].contains("gets 1 entry, 1 B, from before the first damage"), "{ran:#?}");
    fs::write(temp.path().join("bad.tar"), &bytes[..1537]).unwrap();
    assert_eq!(manyfiles(temp.path(), &["test", "-q", "bad.tar"]).code(1).out, "");
}

#[test]
fn a_name_cannot_fake_a_line() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("cut.tar"), &tar()[..1537]).unwrap();
    let ran = manyfiles(temp.path(), &["test", "cut.tar"]).code(1);
    assert!(ran.out.starts_with("cut.tar: byte 1537: b\\nc: it is cut short\n"), "{ran:#?}");
    assert_eq!(ran.out.lines().count(), 2);
}

#[test]
fn json_is_one_object_for_all_archives() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    fs::write(temp.path().join("cut.tar"), &tar()[..1537]).unwrap();
    let json = manyfiles(temp.path(), &["test", "--json", "a.tar", "cut.tar"]).code(1).json();
    let sound = serde_json::json!({
        "path": "a.tar", "status": "sound", "error": null, "format": "tar", "entries": 3, "bytes": 6,
        "intact_entries": 3, "intact_bytes": 6, "unproven": false, "findings": [],
    });
    let finding = serde_json::json!({ "entry": "b\nc", "byte": 1537, "in_the_tar": false, "cause": "it is cut short" });
    let cut = serde_json::json!({
        "path": "cut.tar", "status": "damaged", "error": null, "format": "tar", "entries": 2, "bytes": 1,
        "intact_entries": 1, "intact_bytes": 1, "unproven": false, "findings": [finding],
    });
    let expected = serde_json::json!({
        "command": "test", "status": "damaged", "exit_code": 1, "archives": [sound, cut],
    });
    assert_eq!(json, expected);
    let json = manyfiles(temp.path(), &["test", "--json", "missing"]).code(2).json();
    assert_eq!((&json["command"], &json["status"]), (&"test".into(), &"not_begun".into()));
}

#[cfg(target_os = "linux")] // where a limit on memory is one
#[test]
fn an_archive_for_which_there_is_no_memory_is_not_called_damaged() {
    let temp = tempdir().unwrap();
    // A zstd frame that may refer back by 128 MiB, with its content as it is in one last block.
    let tar = tar();
    let block = (tar.len() as u32) << 3 | 1;
    let frame = [b"\x28\xb5\x2f\xfd\0\x88", &block.to_le_bytes()[..3], &tar].concat();
    fs::write(temp.path().join("far.tar.zst"), frame).unwrap();
    manyfiles(temp.path(), &["test", "far.tar.zst"]).code(0);
    let ran = shell(temp.path(), "ulimit -v 130000; $M test far.tar.zst").code(2).says("not enough memory");
    assert_eq!(ran.out, "");
    shell(temp.path(), "ulimit -v 130000; $M list far.tar.zst").code(2).says("not enough memory");
}

#[test]
fn what_is_no_archive_is_told_and_the_next_is_tested() {
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    fs::write(temp.path().join("text"), "this is no archive\n".repeat(100)).unwrap();
    let ran = manyfiles(temp.path(), &["test", "text", "a.tar"]).code(2).says("text: not an archive");
    assert!(ran.out.contains("a.tar: sound"), "{ran:#?}");
    manyfiles(temp.path(), &["test", "-q", "text"]).code(2).says("text: not an archive");
    manyfiles(temp.path(), &["test", "--max-entries", "2", "a.tar"]).code(2).says("--max-entries");
    let joined = [tar(), tar()].concat();
    fs::write(temp.path().join("joined.tar"), joined).unwrap();
    assert!(manyfiles(temp.path(), &["test", "joined.tar"]).code(1).out.contains("--ignore-zeros"));
    let ran = manyfiles(temp.path(), &["test", "--ignore-zeros", "joined.tar"]).code(0);
    assert_eq!(ran.out, "joined.tar: sound: tar, 6 entries, 12 B\n");
}

#[test]
fn compressed_tars_and_zips_are_tested_to_their_last_checksum() {
    skip_unless!(Need::Program("gzip"), Need::Program("zip"));
    let temp = tempdir().unwrap();
    fs::write(temp.path().join("a.tar"), tar()).unwrap();
    shell(temp.path(), "gzip -n < a.tar > a.tgz && zip -q a.zip a.tar").code(0);
    assert_eq!(manyfiles(temp.path(), &["test", "a.tgz"]).code(0).out, "a.tgz: sound: tar.gz, 3 entries, 6 B\n");
    assert!(manyfiles(temp.path(), &["test", "a.zip"]).code(0).out.starts_with("a.zip: sound: zip, 1 entry, "));
    let mut gzip = fs::read(temp.path().join("a.tgz")).unwrap();
    let crc = gzip.len() - 8;
    gzip[crc] ^= 1;
    fs::write(temp.path().join("a.tgz"), gzip).unwrap();
    let ran = manyfiles(temp.path(), &["test", "a.tgz"]).code(1);
    assert!(ran.out.contains("checksum") && ran.out.contains("gets them all; nothing proves their bytes"));
    let mut zip = fs::read(temp.path().join("a.zip")).unwrap();
    zip[80] ^= 0x55;
    fs::write(temp.path().join("a.zip"), zip).unwrap();
    let ran = manyfiles(temp.path(), &["test", "a.zip"]).code(1);
    assert!(ran.out.contains("byte 0: a.tar: ") && ran.out.ends_with("gets no entry of it\n"), "{ran:#?}");
}
