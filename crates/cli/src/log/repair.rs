//! `manyfiles log repair`: sets damage aside, and mends the end of a log that no program can go on with.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyfiles::appender::{self, Damage, FileReport, Misfit, Report};
use serde_json::{Map, Value};

use super::findings::{self, damaged, name, stretches};
use super::place::log_at;
use crate::args::Repair;
use crate::report::{INCOMPLETE, json_path, print_json, tell_cannot_begin};
use crate::terminal::Screen;
use crate::words::{CannotBegin, Words};

const WORDS: Words = Words { command: "log repair", done: "repaired", sources: "log" };

/// A file in which something was wrong.
struct Mended {
    file: PathBuf,
    /// Where its old bytes are; `None` before that is done.
    kept: Option<PathBuf>,
    damage: Vec<Damage>,
    misfit: Option<Misfit>,
}

pub(super) fn run(args: &Repair) -> ExitCode {
    match repair(args) {
        Ok((mended, report)) => tell(args, &mended, &report),
        Err(why) => tell_cannot_begin(WORDS, &why, args.json),
    }
}

/// What was mended, or would be, and how the log is then; of a dry run, how it is before.
fn repair(args: &Repair) -> Result<(Vec<Mended>, Report), CannotBegin> {
    let before = findings::find(&args.log, args.progress)?;
    if args.dry_run {
        let wrong = before.files.iter().filter(|file| !file.damage.is_empty() || file.misfit.is_some());
        let would_be = |file: &FileReport| {
            let (file, damage, misfit) = (file.path.clone(), file.damage.clone(), file.misfit);
            Mended { file, kept: None, damage, misfit }
        };
        let mended = wrong.map(would_be).collect();
        return Ok((mended, before));
    }
    let repaired = appender::repair(log_at(&args.log)).map_err(|error| cannot_repair(&error))?;
    let mended: Vec<Mended> = repaired
        .into_iter()
        .map(|repaired| Mended {
            file: repaired.path,
            kept: Some(repaired.kept),
            damage: repaired.damage,
            misfit: repaired.misfit,
        })
        .collect();
    let after = if mended.is_empty() { before } else { findings::find(&args.log, args.progress)? };
    Ok((mended, after))
}

fn cannot_repair(error: &manyfiles::Error) -> CannotBegin {
    let next = match error.kind() {
        ErrorKind::ResourceBusy => "a program has the log open, and nothing was changed; end it first",
        _ => "what was mended before this stays so; files ending in .damaged have all that was there",
    };
    CannotBegin(vec![error.to_string(), next.to_owned()])
}

fn tell(args: &Repair, mended: &[Mended], report: &Report) -> ExitCode {
    // Errors that no repair mends: after a repair all that are left, before it all but damage.
    let mut left: Vec<String> = Vec::new();
    for file in &report.files {
        left.extend(file.errors.iter().map(|error| error.to_string()));
        if !args.dry_run {
            left.extend(file.misfit.iter().map(|misfit| format!("{}: {misfit}", file.path.display())));
            left.extend(file.damage.iter().map(|damage| format!("{}: {}", file.path.display(), damaged(damage))));
        }
    }
    let code = if left.is_empty() { 0 } else { INCOMPLETE };
    let screen = Screen::default();
    if !args.quiet {
        screen.say_all(mended.iter().map(sentence));
    }
    screen.say_all(left.iter().map(|what| format!("cannot be mended: {what}")));
    if !args.quiet {
        screen.say(summary(args, mended, code));
    }
    match args.json {
        true => print_json(&object(args, mended, &left, code), code),
        false => code.into(),
    }
}

fn sentence(mended: &Mended) -> String {
    let file = name(&mended.file);
    let mut done = Vec::new();
    let what = match mended.misfit {
        Some(Misfit::Older) => Some("taken out of the log: it is an older file under a new number"),
        Some(Misfit::Empty) => Some("taken out of the log: it is empty"),
        Some(Misfit::Compressed) => Some("unpacked: the log ends with it, and the files behind it are gone"),
        _ => None,
    };
    done.extend(what.map(str::to_owned));
    if !mended.damage.is_empty() {
        let places: Vec<String> = mended.damage.iter().map(damaged).collect();
        done.push(format!("set aside: {}", places.join(", ")));
    }
    let done = done.join("; ");
    match &mended.kept {
        Some(kept) => format!("{file}: {done}; all that was there is kept as {}", kept_as(&mended.file, kept)),
        None => format!("{file}: would be {done}; all that is there would be kept beside it"),
    }
}

/// The name, or the path if it is in another folder.
fn kept_as(file: &Path, kept: &Path) -> String {
    if file.parent() == kept.parent() { name(kept) } else { kept.display().to_string() }
}

fn summary(args: &Repair, mended: &[Mended], code: u8) -> &'static str {
    match (mended.is_empty(), code, args.dry_run) {
        (true, 0, _) => "nothing is damaged, the log can be opened, and nothing was changed",
        (true, _, _) => "nothing was changed",
        (false, 0, false) => "the log can be opened and read",
        (false, _, false) => "what could be mended is; the rest is named above",
        (false, _, true) => "nothing was changed: this was a dry run",
    }
}

fn object(args: &Repair, mended: &[Mended], left: &[String], code: u8) -> Value {
    let mut object = Map::new();
    object.insert("command".into(), WORDS.command.into());
    let status = match code {
        _ if args.dry_run => "dry_run",
        0 => "sound",
        _ => "damaged",
    };
    object.insert("status".into(), status.into());
    object.insert("exit_code".into(), code.into());
    json_path(&mut object, "log", &args.log);
    let repaired = mended.iter().map(|mended| {
        let mut object = Map::new();
        json_path(&mut object, "file", &mended.file);
        if let Some(kept) = &mended.kept {
            json_path(&mut object, "kept", kept);
        }
        object.insert("damage".into(), stretches(&mended.damage));
        if let Some(misfit) = mended.misfit {
            object.insert("misfit".into(), misfit.to_string().into());
        }
        Value::from(object)
    });
    object.insert("repaired".into(), repaired.collect());
    object.insert("errors".into(), left.into());
    object.into()
}
