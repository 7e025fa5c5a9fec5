//! `manyfiles log cat`.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::common::{Ran, manyfiles, write};
use crate::made::{FRAME, Made, framed, lines, output, record, rotated};

fn cat(folder: &Path, args: &[&str]) -> Ran {
    manyfiles(folder, &[&["log", "cat"], args].concat())
}

/// The objects, one a line.
fn objects(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_record_is_a_line_in_whatever_file_it_is() {
    for options in [framed(), rotated()] {
        let made = Made::of(options, 40);
        let ran = cat(made.folder(), &["events"]).code(0);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), (lines(0..40).as_str(), ""));
        // Any of its files means all of the log.
        for file in made.files() {
            assert_eq!(cat(made.folder(), &[&file]).code(0).out, lines(0..40), "{file}");
        }
    }
    assert!(Made::of(rotated(), 40).files().len() > 3);
}

#[test]
fn a_record_is_printed_as_it_is_and_has_one_newline_at_its_end() {
    let records: [&[u8]; 5] = [b"plain", b"ends in one\n", b"", b"two\nlines", b"\xff\xfe no text"];
    let made = Made::with(framed(), records);
    let out = output(made.folder(), &["log", "cat", "events"]);
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(out.stdout, b"plain\nends in one\n\ntwo\nlines\n\xff\xfe no text\n");
}

#[test]
fn other_forms_tell_records_apart_whatever_they_hold() {
    let records: [&[u8]; 4] = [b"a \"quoted\" line\n", b"", b"\xff\0\x01", "gr\u{fc}n".as_bytes()];
    let made = Made::with(framed(), records);
    let at = |n: usize| made.positions[n].0;
    let next = |n: usize| at(n) + FRAME + records[n].len() as u64;
    let all = objects(&cat(made.folder(), &["events", "--json"]).code(0));
    assert_eq!(
        all,
        [
            json!({"position": at(0), "next": next(0), "text": "a \"quoted\" line\n"}),
            json!({"position": at(1), "next": next(1), "text": ""}),
            json!({"position": at(2), "next": next(2), "base64": "/wAB"}),
            json!({"position": at(3), "next": next(3), "text": "gr\u{fc}n"}),
        ]
    );
    // After a record has been read, reading goes on behind it.
    let behind = next(1).to_string();
    assert_eq!(objects(&cat(made.folder(), &["events", "--json", "--from", &behind]).code(0)), all[2..]);
    let hex = cat(made.folder(), &["events", "--hex"]).code(0).out;
    assert_eq!(hex, "61202271756f74656422206c696e650a\n\nff0001\n6772c3bc6e\n");
    let null = output(made.folder(), &["log", "cat", "events", "-z"]).stdout;
    assert_eq!(null, b"a \"quoted\" line\n\0\0\xff\0\x01\0gr\xc3\xbcn\0");
    assert_eq!(cat(made.folder(), &["events", "--count"]).code(0).out, "4\n");
    cat(made.folder(), &["events", "--json", "--hex"]).code(2).says("cannot be used with");
    cat(made.folder(), &["events", "--json", "--count"]).code(2).says("cannot be used with");
}

#[test]
fn a_long_record_is_whole_in_every_form() {
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let made = Made::with(framed(), [&long]);
    let hex = cat(made.folder(), &["events", "--hex"]).code(0).out;
    let bytes: Vec<u8> = hex
        .trim_end()
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    assert!(bytes == long);
    assert!(output(made.folder(), &["log", "cat", "events", "-z"]).stdout == [&long[..], &[0]].concat());
}

#[test]
fn from_and_to_are_positions_and_the_end_is_left_out() {
    for options in [framed(), rotated()] {
        let made = Made::of(options, 40);
        let at = |n: usize| made.positions[n].0.to_string();
        for (from, to) in [(0, 40), (0, 7), (7, 7), (7, 8), (13, 31), (39, 40)] {
            let (first, end) = (at(from), made.positions.get(to).map_or(u64::MAX, |position| position.0).to_string());
            let ran = cat(made.folder(), &["events", "--from", &first, "--to", &end]).code(0);
            assert_eq!((ran.out, ran.err), (lines(from..to), String::new()), "{from}..{to}");
        }
        assert_eq!(cat(made.folder(), &["events", "--to", "0"]).code(0).out, "");
        assert_eq!(cat(made.folder(), &["events", "--count", "--from", &at(30)]).code(0).out, "10\n");
        // A wrong number is a mistake, and no damage.
        let inside = (made.positions[12].0 + 3).to_string();
        let ran = cat(made.folder(), &["events", "--from", &inside])
            .code(1)
            .says(&format!("no record begins at position {inside}"))
            .says("reading goes on at position")
            .does_not_say("damaged");
        assert_eq!(ran.out, lines(13..40));
    }
    let made = Made::of(rotated(), 40);
    fs::remove_file(made.folder().join("events.000001")).unwrap();
    cat(made.folder(), &["events", "--from", "0"]).code(2).says("are missing: their file is gone");
    assert!(lines(0..40).ends_with(&cat(made.folder(), &["events"]).code(0).out));
}

#[test]
fn what_a_crash_tore_off_is_told_and_is_no_damage() {
    let made = Made::torn(5);
    let ran = cat(made.folder(), &["events"])
        .code(0)
        .says("left out: 12 bytes behind the last record")
        .does_not_say("damage");
    assert_eq!(ran.out, lines(0..5));
}

#[test]
fn damage_is_told_and_all_else_is_printed() {
    let made = Made::of(framed(), 20);
    made.damage(3);
    made.damage(11);
    let expected: String = (0..20).filter(|n| ![3, 11].contains(n)).map(|n| record(n) + "\n").collect();
    let ran = cat(made.folder(), &["events"]).code(1).says("events").says("damaged");
    assert_eq!(ran.out, expected);
    assert_eq!(ran.err.lines().count(), 2, "{ran:#?}");
    assert_eq!(cat(made.folder(), &["events", "--count"]).code(1).says("damaged").out, "18\n");
    // Programs find it in its place.
    let objects = objects(&cat(made.folder(), &["events", "--json"]).code(1).says("damaged"));
    assert_eq!(objects.len(), 20);
    assert!(objects[3]["error"].as_str().unwrap().contains("damaged"), "{}", objects[3]);
    assert!(objects[3]["file"].as_str().unwrap().ends_with("events"));
    assert_eq!(objects[3]["offset"], made.positions[3].0 + 96);
    assert_eq!(objects[3]["bytes"], 8 + record(3).len());
    assert_eq!(objects[4]["text"], record(4));
    // Damage outside of the range that was asked for does not matter.
    let (from, to) = (made.positions[4].0.to_string(), made.positions[11].0.to_string());
    assert_eq!(cat(made.folder(), &["events", "--from", &from, "--to", &to]).code(0).out, lines(4..11));
}

#[test]
fn a_file_that_is_missing_between_others_is_told() {
    let made = Made::of(rotated(), 40);
    fs::remove_file(made.folder().join("events.000002")).unwrap();
    let ran = cat(made.folder(), &["events"]).code(1).says("events.000002").says("missing");
    assert!(ran.out.starts_with(&lines(0..1)) && ran.out.ends_with(&lines(39..40)));
    let objects = objects(&cat(made.folder(), &["events", "--json"]).code(1));
    let gap = objects.iter().position(|object| object.get("error").is_some()).unwrap();
    assert_eq!(objects[gap]["missing_from"], objects[gap - 1]["next"]);
    assert!(objects[gap]["missing_to"].as_u64() <= objects[gap + 1]["position"].as_u64(), "{objects:?}");
}

#[test]
fn what_is_no_log_is_refused_with_what_to_do() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path().join("folder/x"), "");
    write(temp.path().join("lines"), "a\nb\n");
    write(temp.path().join("short"), "a");
    cat(temp.path(), &["missing"]).code(2).says("missing");
    cat(temp.path(), &["folder"]).code(2).says("this is a folder");
    cat(temp.path(), &["lines"])
        .code(2)
        .says("does not begin as a file of framed records does")
        .says("'cat' shows them");
    cat(temp.path(), &["short"]).code(2).says("does not begin as a file of framed records does");
    cat(temp.path(), &["lines", "--from", "x"]).code(2).says("--from");
    cat(temp.path(), &[]).code(2).says("Usage:");
    manyfiles(temp.path(), &["log"]).code(2).says("Usage:");
}

#[test]
fn a_log_that_is_being_written_gives_its_first_records_and_no_halves() {
    let made = Made::of(rotated(), 0);
    let appender = rotated().rotate_bytes(20_000).open(made.path()).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // So many that reading them takes no minute where processes are slow.
            for n in (0..20_000).take_while(|_| !stop.load(Ordering::Relaxed)) {
                appender.append(record(n).as_bytes()).unwrap().wait_written().unwrap();
            }
        });
        let mut most = 0;
        for _ in 0..10 {
            let ran = cat(made.folder(), &["events"]).code(0);
            let count = ran.out.lines().count();
            assert!(ran.out == lines(0..count), "not the first {count} records");
            assert!(count >= most, "it was longer already");
            most = count;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
mod shell {
    use super::*;
    use crate::common::shell;

    #[test]
    fn whoever_has_seen_enough_ends_it_without_a_word() {
        let made = Made::with(
            framed(),
            (0..4000).map(|n| format!("{n:0>500}")).collect::<Vec<_>>().chunks(400).map(|some| some.join("\n")),
        );
        let script = "{ $M log cat events; echo $? >&2; } | head -n 1";
        let ran = shell(made.folder(), script).code(0);
        assert_eq!((ran.out.trim_start_matches('0'), ran.err.as_str()), ("\n", "0\n"));
    }

    #[test]
    fn what_cannot_be_printed_is_a_failure() {
        let made = Made::of(framed(), 10);
        shell(made.folder(), "$M log cat events > /dev/full").code(1).says("cannot write to standard output");
        shell(made.folder(), "$M log cat events --json > /dev/full").code(1).says("cannot write to standard output");
    }
}
