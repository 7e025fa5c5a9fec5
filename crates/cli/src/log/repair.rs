//! `manyfiles log repair`: sets damage aside, and mends the end of a log that no program can go on with.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use manyfiles::appender::{self, Damage, Misfit, PlannedRepair, Report};
use serde_json::{Map, Value};

use super::findings::{self, damaged, name, stretches};
use super::place::log_at;
use super::tell::cannot_open;
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
        Ok((mended, left)) => tell(args, &mended, &left),
        Err(why) => tell_cannot_begin(WORDS, &why, args.json),
    }
}

/// What was mended, or would be, and what is wrong with the log then.
fn repair(args: &Repair) -> Result<(Vec<Mended>, Vec<String>), CannotBegin> {
    let plan = findings::plan(&args.log, args.progress).map_err(|error| cannot_repair(&args.log, &error, false))?;
    let errors = plan.errors.iter().map(manyfiles::Error::to_string).collect();
    if args.dry_run {
        let would_be = |PlannedRepair { path, damage, misfit, .. }| Mended { file: path, kept: None, damage, misfit };
        return Ok((plan.repairs.into_iter().map(would_be).collect(), errors));
    }
    let has_plans = !plan.repairs.is_empty();
    let repaired = appender::repair(log_at(&args.log)).map_err(|error| cannot_repair(&args.log, &error, has_plans))?;
    let mended: Vec<Mended> = repaired
        .into_iter()
        .map(|repaired| Mended {
            file: repaired.path,
            kept: Some(repaired.kept),
            damage: repaired.damage,
            misfit: repaired.misfit,
        })
        .collect();
    let left = if mended.is_empty() { errors } else { wrong(&findings::find(&args.log, args.progress)?) };
    Ok((mended, left))
}

fn cannot_repair(log: &Path, error: &manyfiles::Error, may_have_mended: bool) -> CannotBegin {
    let next = match error.kind() {
        // There is no such log.
        ErrorKind::NotFound if error.path() == Some(&*log_at(log)) => return cannot_open(log, error),
        ErrorKind::ResourceBusy => "a program has the log open, and nothing was changed; end it first",
        _ if may_have_mended => {
            "what was mended before this stays so; files ending in .damaged have all that was there"
        }
        _ => "nothing was changed",
    };
    CannotBegin(vec![error.to_string(), next.to_owned()])
}

/// All that is wrong with a log.
fn wrong(report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in &report.files {
        wrong.extend(file.errors.iter().map(|error| error.to_string()));
        wrong.extend(file.misfit.iter().map(|misfit| format!("{}: {misfit}", file.path.display())));
        wrong.extend(file.damage.iter().map(|damage| format!("{}: {}", file.path.display(), damaged(damage))));
    }
    wrong
}

fn tell(args: &Repair, mended: &[Mended], left: &[String]) -> ExitCode {
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
        true => print_json(&object(args, mended, left, code), code),
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
