//! `probe`: the table, the picture, JSON, and what it leaves behind: nothing.

mod common;

use std::fs;

use common::manyfiles;

#[test]
fn the_table_names_the_file_system_and_each_call() {
    let temp = tempfile::tempdir().unwrap();
    let ran = manyfiles(temp.path(), &["probe", "--seconds", "0.5", "--svg", "out.svg"]).code(0);
    for text in ["overwritten in place", "new files, TreeWriter", "cut to length", " is on "] {
        assert!(ran.out.contains(text), "{ran:?}");
    }
    assert_eq!(common::names(temp.path()), ["out.svg"]);
    assert!(fs::read_to_string(temp.path().join("out.svg")).unwrap().contains("How long each call takes"));
}

#[test]
fn json_has_every_series_and_nothing_else_is_printed() {
    let temp = tempfile::tempdir().unwrap();
    let ran = manyfiles(temp.path(), &["probe", "--seconds", "0.5", "--json"]).code(0);
    let json = ran.json();
    assert_eq!(json["command"], "probe");
    assert_eq!(json["series"].as_array().unwrap().len(), 11);
    assert!(json["series"][0]["operations"][0]["median"].as_f64().unwrap() > 0.0);
    assert_eq!(ran.err, "");
}

#[test]
fn what_cannot_be_measured_is_named_and_exits_with_2() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    manyfiles(temp.path(), &["probe", "missing"]).code(2).says("cannot open missing").says("a folder that is there");
    manyfiles(temp.path(), &["probe", "file"]).code(2).says("cannot open file");
    manyfiles(temp.path(), &["probe", "--seconds", "0"]).code(2).says("0.1 to 600 seconds");
    manyfiles(temp.path(), &["probe", "--svg", "no/such/folder.svg"]).code(2).says("cannot create no/such/folder.svg");
    let ran = manyfiles(temp.path(), &["probe", "missing", "--json", "--svg", "x.svg"]).code(2);
    assert_eq!(ran.json()["status"], "not_begun");
    assert_eq!(common::names(temp.path()), ["file"], "no picture of nothing");
}

#[cfg(unix)]
mod on_unix {
    use super::*;
    use common::{Pty, shell};
    use manyfiles_testkit::{Disk, Need, skip_unless};

    #[test]
    fn ctrl_c_leaves_nothing_behind() {
        let temp = tempfile::tempdir().unwrap();
        // A shell without job control starts background commands with SIGINT ignored. So the test sends SIGTERM.
        for (signal, code) in [("TERM", 143), ("HUP", 129)] {
            let script = format!(
                r#""$M" probe --seconds 30 & until ls -A | grep -c manyfiles-probe; do :; done; kill -{signal} $!; wait $!"#
            );
            let ran = shell(temp.path(), &script).code(code).says("nothing is left behind");
            assert!(ran.out.ends_with("1\n"), "it had begun: {ran:?}");
            assert!(common::names(temp.path()).is_empty());
        }
    }

    #[test]
    fn a_disk_that_cannot_be_written_to_is_blamed_on_the_folder_that_could_not_be_made() {
        skip_unless!(Need::Root);
        let disk = Disk::tmpfs().megabytes(512).mount().unwrap();
        disk.make_read_only().unwrap();
        let at = disk.path().to_str().unwrap();
        manyfiles(disk.path(), &["probe", "."])
            .code(2)
            .says("cannot create the folder ./.manyfiles-probe-XXXXXX: Read-only file system");
        manyfiles(disk.path(), &["bench", at]).code(2).says("/.manyfiles-bench-XXXXXX: Read-only file system");
    }

    #[test]
    fn too_small_a_disk_is_told_what_is_needed_in_the_same_units() {
        skip_unless!(Need::Root);
        let disk = Disk::tmpfs().megabytes(5).mount().unwrap();
        manyfiles(disk.path(), &["probe", "."]).code(2).says("measuring needs 12.6 MB");
    }

    #[test]
    fn on_a_terminal_a_bar_names_the_step() {
        let temp = tempfile::tempdir().unwrap();
        let mut pty = Pty::run(temp.path(), "probe --seconds 1");
        pty.wait_for("%  overwritten in place");
        let (code, shown) = pty.end();
        assert_eq!(code, 0, "{shown}");
        assert!(shown.contains("new files, synced as a batch: "), "{shown}");
    }
}
