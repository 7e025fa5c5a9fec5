//! `manyfiles log check`.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Ran, manyfiles, write};
use crate::made::{FRAME, HEADER, Made, framed, record, rotated};

fn check(folder: &Path, args: &[&str]) -> Ran {
    manyfiles(folder, &[&["log", "check"], args].concat())
}

#[test]
fn a_whole_log_has_a_row_for_each_file_and_nothing_is_wrong() {
    let made = Made::of(rotated(), 40);
    let ran = check(made.folder(), &["events"]).code(0);
    let files = made.files();
    assert_eq!(ran.err, "");
    assert_eq!(ran.out.lines().count(), files.len() + 2, "{ran:#?}");
    for (row, file) in ran.out.lines().skip(1).zip(&files) {
        assert!(row.contains(file.as_str()), "{file}: {row}");
        assert!(
            row.ends_with(if Some(file) == files.last() { "closed in order" } else { "the next file goes on" }),
            "{row}"
        );
    }
    assert!(ran.out.ends_with(&format!("nothing is wrong: 40 records in {} files\n", files.len())), "{ran:#?}");
    assert_eq!(check(made.folder(), &["events", "-q"]).code(0).out, "");
    // One of its files stands for the log.
    assert_eq!(check(made.folder(), &[&files[1]]).code(0).out, ran.out);

    let json = check(made.folder(), &["events", "--json"]).code(0).json();
    assert_eq!((&json["command"], &json["status"]), (&json!("log check"), &json!("sound")));
    assert_eq!((&json["records"], &json["damaged_bytes"], &json["log"]), (&json!(40), &json!(0), &json!("events")));
    let rows = json["files"].as_array().unwrap();
    assert_eq!(rows.len(), files.len());
    assert!(rows.windows(2).all(|pair| pair[0]["end_position"] == pair[1]["first_position"]));
    assert_eq!(rows[0]["first_position"], 0);
    assert_eq!(rows.iter().map(|row| row["records"].as_u64().unwrap()).sum::<u64>(), 40);
    assert!(rows.iter().all(|row| row["damage"] == json!([]) && row["errors"] == json!([]) && row["torn_bytes"] == 0));
}

#[test]
fn each_damaged_place_is_told_with_where_it_is_in_the_file() {
    let made = Made::of(framed(), 20);
    made.damage(3);
    made.damage(11);
    let ran = check(made.folder(), &["events"]).code(1);
    let offset = |n: usize| made.positions[n].0 + HEADER;
    for n in [3, 11] {
        let length = FRAME + record(n).len() as u64;
        assert!(ran.out.contains(&format!("    damaged: {length} bytes from {} on\n", offset(n))), "{ran:#?}");
    }
    assert!(ran.out.contains("18 records can be read in 1 file; 33 bytes are damaged, in 2 places\n"), "{ran:#?}");
    assert!(ran.out.contains("manyfiles log repair"), "{ran:#?}");
    assert_eq!(check(made.folder(), &["events", "--quiet"]).code(1).out, "");
    let json = check(made.folder(), &["events", "--json"]).code(1).json();
    assert_eq!(
        (&json["status"], &json["records"], &json["damaged_bytes"]),
        (&json!("damaged"), &json!(18), &json!(33))
    );
    assert_eq!(
        json["files"][0]["damage"],
        json!([{"offset": offset(3), "bytes": 16}, {"offset": offset(11), "bytes": 17}])
    );
}

#[test]
fn a_torn_tail_and_an_open_log_are_called_what_they_are() {
    let torn = Made::torn(5);
    let ran = check(torn.folder(), &["events"]).code(0);
    assert!(
        ran.out.contains("torn tail: 12 bytes behind the last record, which no sync had covered; no damage"),
        "{ran:#?}"
    );
    assert!(ran.out.contains("open, or its program ended without closing it"), "{ran:#?}");
    assert_eq!(check(torn.folder(), &["events", "--json"]).code(0).json()["files"][0]["torn_bytes"], 12);

    let made = Made::of(rotated(), 10);
    let appender = rotated().open(made.path()).unwrap();
    appender.append_durable(b"and more").unwrap();
    let ran = check(made.folder(), &["events"]).code(0);
    assert!(ran.out.contains("open, or its program") && ran.out.contains("nothing is wrong: 11 records"), "{ran:#?}");
    // What the next appender repeats of a file that was not closed is no damage there.
    drop(appender);
    let again = framed().open(torn.path()).unwrap();
    again.close().unwrap();
    let ran = check(torn.folder(), &["events"]).code(0);
    assert!(ran.out.contains("behind its end: ") && ran.out.contains("; no damage\n"), "{ran:#?}");
    assert!(ran.out.contains("nothing is wrong: 5 records in 2 files"), "{ran:#?}");
}

#[test]
fn files_that_are_missing_or_are_somebody_else_s_are_told() {
    let made = Made::of(rotated(), 60);
    let records: Vec<u64> = check(made.folder(), &["events", "--json"]).json()["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["records"].as_u64().unwrap())
        .collect();
    fs::remove_file(made.folder().join("events.000002")).unwrap();
    write(made.folder().join("events.000004"), "x".repeat(500));
    let ran = check(made.folder(), &["events"]).code(1);
    assert!(ran.out.contains("wrong: it is missing, between files that are there"), "{ran:#?}");
    assert!(ran.out.contains("wrong: it does not begin as a file of framed records does"), "{ran:#?}");
    let left = records.iter().sum::<u64>() - records[1] - records[3];
    assert!(ran.out.contains(&format!("{left} records can be read")), "{ran:#?}");
    let json = check(made.folder(), &["events", "--json"]).code(1).json();
    assert!(json["files"][1]["errors"][0].as_str().unwrap().contains("missing"), "{json:#}");
}

#[test]
fn what_is_no_log_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path().join("lines"), "a\nb\n");
    for (log, why) in
        [("missing", "missing"), (".", "folder"), ("lines", "does not begin as a file of framed records does")]
    {
        let ran = check(temp.path(), &[log, "--json"]).code(2).says(why);
        assert_eq!((&ran.json()["status"], &ran.json()["exit_code"]), (&json!("not_begun"), &json!(2)));
        assert_eq!(check(temp.path(), &[log]).code(2).says(why).out, "");
    }
}

#[test]
fn progress_is_a_line_a_second_in_a_log() {
    let made = Made::of(framed(), 3);
    // Too short for one: nothing is shown.
    check(made.folder(), &["events", "--progress", "always"]).code(0).does_not_say("read");
}

#[test]
fn compressed_files_are_files_of_the_log() {
    let made = Made::of(rotated(), 60);
    // A thread does it while the log is open.
    let appender = rotated().compress(true).open(made.path()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !made.folder().join("events.000001.zst").exists() || made.folder().join("events.000001").exists() {
        assert!(Instant::now() < deadline, "nothing was compressed: {:?}", made.files());
        thread::sleep(Duration::from_millis(5));
    }
    appender.close().unwrap();
    let mut files = made.files();
    files.retain(|file| !file.contains("manyfiles"));
    let ran = check(made.folder(), &["events"]).code(0);
    assert!(ran.out.contains("events.000001.zst") && ran.out.contains("nothing is wrong: 60 records"), "{ran:#?}");
    for file in &files {
        assert_eq!(manyfiles(made.folder(), &["log", "cat", file]).code(0).out, crate::made::lines(0..60), "{file}");
    }
    assert_eq!(
        manyfiles(made.folder(), &["log", "tail", "events", "-n", "50"]).code(0).out,
        crate::made::lines(10..60)
    );
    let from = made.positions[3].0.to_string();
    assert_eq!(
        manyfiles(made.folder(), &["log", "cat", "events", "--from", &from]).code(0).out,
        crate::made::lines(3..60)
    );
}
