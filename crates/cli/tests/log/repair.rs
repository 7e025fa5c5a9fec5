//! `manyfiles log repair`.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use manyfiles::appender::Appender;
use serde_json::json;

use crate::common::{Ran, manyfiles, write};
use crate::made::{FRAME, HEADER, Made, framed, lines, record, rotated};

fn repair(folder: &Path, args: &[&str]) -> Ran {
    manyfiles(folder, &[&["log", "repair"], args].concat())
}

fn cat(folder: &Path) -> Ran {
    manyfiles(folder, &["log", "cat", "events"])
}

/// Every file, byte by byte.
fn all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    crate::common::names(folder).into_iter().map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

fn without(missing: &[usize], records: usize) -> String {
    (0..records).filter(|n| !missing.contains(n)).map(|n| record(n) + "\n").collect()
}

#[test]
fn damage_is_set_aside_so_that_the_program_opens_the_log_and_goes_on() {
    let made = Made::of(framed(), 20);
    made.damage(3);
    made.damage(11);
    let damaged = fs::read(made.path()).unwrap();
    let refused = framed().open(made.path()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidData, "{refused}");

    repair(made.folder(), &["events"])
        .code(0)
        .says("events: set aside: damaged: 16 bytes from")
        .says("all that was there is kept as events.damaged")
        .says("the log can be opened and read");
    assert_eq!(fs::read(made.folder().join("events.damaged")).unwrap(), damaged);
    let ran = cat(made.folder()).code(0).says("left out: 33 bytes that were damaged, and that a repair has set aside");
    assert_eq!(ran.out, without(&[3, 11], 20));
    let checked = manyfiles(made.folder(), &["log", "check", "events"]).code(0);
    assert!(checked.out.contains("set aside by a repair: 33 bytes"), "{checked:#?}");

    let appender = framed().open(made.path()).unwrap();
    appender.append_durable(record(20).as_bytes()).unwrap();
    appender.close().unwrap();
    assert_eq!(cat(made.folder()).code(0).out, without(&[3, 11], 21));
    // Positions have not changed.
    let at = made.positions[15].0.to_string();
    assert_eq!(manyfiles(made.folder(), &["log", "cat", "events", "--from", &at]).code(0).out, lines(15..21));
}

#[test]
fn a_dry_run_tells_the_same_and_changes_nothing() {
    let made = Made::of(framed(), 20);
    made.damage(7);
    let before = all(made.folder());
    repair(made.folder(), &["events", "--dry-run"])
        .code(0)
        .says("events: would be set aside: damaged: 16 bytes from")
        .says("this was a dry run");
    let dry = repair(made.folder(), &["events", "--dry-run", "--json"]).code(0).json();
    assert_eq!(all(made.folder()), before);
    assert_eq!(dry["status"], "dry_run");
    let damage = json!([{"offset": made.positions[7].0 + HEADER, "bytes": FRAME + record(7).len() as u64}]);
    assert_eq!(dry["repaired"][0]["damage"], damage);

    let json = repair(made.folder(), &["events", "--json"]).code(0).json();
    assert_eq!((&json["command"], &json["status"]), (&json!("log repair"), &json!("sound")));
    assert_eq!((&json["repaired"][0]["damage"], &json["errors"]), (&damage, &json!([])));
    assert!(json["repaired"][0]["kept"].as_str().unwrap().ends_with("events.damaged"), "{json:#}");
}

#[test]
fn a_log_without_damage_is_left_as_it_is() {
    for made in [Made::of(framed(), 5), Made::of(rotated(), 40), Made::torn(5)] {
        let before = all(made.folder());
        repair(made.folder(), &["events"])
            .code(0)
            .says("nothing is damaged, the log can be opened, and nothing was changed");
        assert_eq!(repair(made.folder(), &["events", "-q"]).code(0).err, "");
        assert_eq!(all(made.folder()), before);
    }
}

#[test]
fn each_damaged_file_of_a_rotated_log_is_kept_and_the_others_are_not_touched() {
    let made = Made::of(rotated(), 60);
    let files = made.files();
    assert!(files.len() > 5);
    let mut damaged = BTreeMap::new();
    for n in [1, files.len() - 1] {
        damaged.insert(files[n].clone(), made.damage_file(&files[n]));
    }
    let before = all(made.folder());
    let was = cat(made.folder()).code(1).out;
    assert_eq!(was.lines().count(), 58);
    let ran = repair(made.folder(), &[&files[0]]).code(0);
    assert_eq!(ran.err.matches("all that was there is kept as").count(), 2, "{ran:#?}");
    let after = all(made.folder());
    for (name, bytes) in &before {
        match damaged.get(name) {
            Some(damaged) => assert_eq!(&after[&format!("{name}.damaged")], damaged, "{name}"),
            None => assert_eq!(&after[name], bytes, "{name}"),
        }
    }
    assert_eq!(after.len(), before.len() + 2);
    assert_eq!(cat(made.folder()).code(0).out, was);
    rotated().open(made.path()).unwrap().close().unwrap();
}

#[test]
fn a_log_that_a_program_has_open_is_not_repaired() {
    let made = Made::of(framed(), 10);
    made.damage(2);
    let appender: Appender = framed().on_damage(manyfiles::appender::OnDamage::GoOn).open(made.path()).unwrap();
    let before = all(made.folder());
    let ran = repair(made.folder(), &["events", "--json"])
        .code(2)
        .says("a program has the log open, and nothing was changed");
    assert_eq!(ran.json()["status"], "not_begun");
    assert_eq!(all(made.folder()), before);
    repair(made.folder(), &["events", "--dry-run"]).code(0).says("would be set aside");
    appender.close().unwrap();
    repair(made.folder(), &["events"]).code(0).says("set aside");
}

#[test]
fn what_cannot_be_mended_is_told_and_the_rest_is_mended() {
    let made = Made::of(rotated(), 60);
    made.damage_file("events.000001");
    fs::remove_file(made.folder().join("events.000003")).unwrap();
    repair(made.folder(), &["events", "--dry-run"])
        .code(1)
        .says("events.000001: would be set aside")
        .says("cannot be mended: ")
        .says("events.000003");
    let ran = repair(made.folder(), &["events", "--json"])
        .code(1)
        .says("events.000001: set aside")
        .says("cannot be mended: ")
        .says("it is missing, between files that are there");
    let json = ran.json();
    assert_eq!((&json["status"], json["repaired"].as_array().unwrap().len()), (&json!("damaged"), 1));
    assert!(json["errors"][0].as_str().unwrap().contains("events.000003"), "{json:#}");
    repair(made.folder(), &["events", "-q"]).code(1).says("cannot be mended: ").does_not_say("nothing was changed");
}

#[test]
fn what_is_no_log_is_refused_and_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path().join("lines"), "a\nb\n");
    for (log, why) in [("missing", "missing"), ("lines", "does not begin as a file of framed records does")] {
        repair(temp.path(), &[log]).code(2).says(why);
        repair(temp.path(), &[log, "--dry-run"]).code(2).says(why);
    }
    assert_eq!(all(temp.path()), BTreeMap::from([("lines".to_owned(), b"a\nb\n".to_vec())]));
}

#[test]
fn a_last_file_that_no_program_can_append_to_is_told_by_a_check_and_mended() {
    for is_empty in [false, true] {
        let made = Made::of(rotated(), 60);
        let name = format!("events.{:06}", made.files().len() + 1);
        match is_empty {
            false => drop(fs::copy(made.folder().join("events.000002"), made.folder().join(&name)).unwrap()),
            true => fs::write(made.folder().join(&name), "").unwrap(),
        }
        let what = if is_empty { "it is empty" } else { "it is an older file under a new number" };
        let checked = manyfiles(made.folder(), &["log", "check", "events"]).code(1);
        assert!(checked.out.contains("wrong: it is the last file of the log"), "{checked:#?}");
        assert!(checked.out.contains("manyfiles log repair LOG"), "{checked:#?}");
        let json = manyfiles(made.folder(), &["log", "check", "events", "--json"]).code(1).json();
        assert_eq!(json["status"], "damaged");
        let before = all(made.folder());
        repair(made.folder(), &["events", "--dry-run"])
            .code(0)
            .says(&format!("{name}: would be taken out of the log: {what}"))
            .says("this was a dry run");
        assert_eq!(all(made.folder()), before);
        repair(made.folder(), &["events"])
            .code(0)
            .says(&format!("{name}: taken out of the log: {what}; all that was there is kept as {name}.damaged"))
            .says("the log can be opened and read");
        assert_eq!(fs::read(made.folder().join(format!("{name}.damaged"))).unwrap(), before[&name]);
        assert_eq!(cat(made.folder()).code(0).out, lines(0..60));
        rotated().open(made.path()).unwrap().close().unwrap();
    }
    // A file of another program is not touched, and the report says why the log cannot be opened.
    let made = Made::of(rotated(), 60);
    write(made.folder().join(format!("events.{:06}", made.files().len() + 1)), "x".repeat(500));
    let before = all(made.folder());
    repair(made.folder(), &["events"]).code(2).says("does not begin as a file of framed records does");
    let dry_run = repair(made.folder(), &["events", "--dry-run"]).code(2);
    dry_run.says("does not begin as a file of framed records does").says("nothing was changed");
    assert_eq!(all(made.folder()), before);
}
