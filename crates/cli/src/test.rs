//! `manyfiles test ARCHIVE…`: what is wrong with archives, and what can still be had.

use std::process::ExitCode;
use std::sync::Arc;

use manyfiles_archive::{Finding, Format, InputProgress, Position, Tested, Unpacker};
use serde_json::{Map, Value};

use crate::archive::Archive;
use crate::args;
use crate::human::{bytes, counted, entries, one_line};
use crate::password::{Asker, Known};
use crate::report::{INCOMPLETE, Lines, UNREADABLE, json_path, print_json, tell_cannot_begin};
use crate::stop::Stop;
use crate::terminal::{Screen, Showing, reading};
use crate::words::{CannotBegin, Words};

const WORDS: Words = Words { command: "test", done: "tested", sources: "archives" };

pub(crate) fn run(args: &args::Test) -> ExitCode {
    test(args).unwrap_or_else(|why| tell_cannot_begin(WORDS, &why, args.json))
}

fn test(args: &args::Test) -> Result<ExitCode, CannotBegin> {
    let archives = Archive::check_all(&args.archives)?;
    let progress = InputProgress::new();
    let screen = Arc::new(Screen::default());
    let choices = Unpacker::options()
        .limits(args.reading.limits())
        .ignore_zeros(args.reading.ignore_zeros)
        .progress(progress.clone());
    let unpacker = Known::of(&args.unlock)?.give(choices, Asker::on(&screen)).build();
    let total = archives.iter().map(|archive| archive.size).sum();
    let showing = Showing::start(screen.clone(), args.progress, reading(progress, total));
    let mut out = Lines::new(screen.clone());
    let (mut code, mut objects) = (0, Vec::new());
    for archive in &archives {
        let mut findings = Vec::new();
        let mut find = |finding: &Finding| {
            if args.json {
                findings.push(object_of(finding));
            } else if !args.quiet {
                out.print(format!("{}\n", one_line(&archive.cannot(finding))));
            }
        };
        let tested = match archive.open(&Stop::default()) {
            Ok(input) => unpacker.test(input, &mut find).map_err(|error| archive.cannot(error.kind())),
            Err(error) => Err(archive.cannot(error)),
        };
        code = code.max(match &tested {
            Ok(tested) if tested.is_sound() => 0,
            Ok(_) => INCOMPLETE,
            Err(_) => UNREADABLE,
        });
        match &tested {
            Ok(tested) if !args.json && !args.quiet => {
                out.print(format!("{}\n", one_line(&archive.cannot(summary(tested)))));
            }
            Ok(_) => {}
            Err(error) => {
                out.flush();
                screen.say(error);
            }
        }
        if args.json {
            objects.push(object(archive, &tested, findings));
        }
    }
    drop(showing);
    if !args.json {
        return Ok(out.end(code));
    }
    let mut whole = Map::new();
    whole.insert("command".into(), WORDS.command.into());
    whole.insert("status".into(), ["sound", "damaged", "unreadable"][usize::from(code)].into());
    whole.insert("exit_code".into(), code.into());
    whole.insert("archives".into(), objects.into());
    Ok(print_json(&Value::from(whole), code))
}

/// `sound: tar.gz, 83,731 entries, 1.36 GB`, or what is wrong and what can still be had.
fn summary(tested: &Tested) -> String {
    let Tested { format, entries: found, bytes: decoded, intact, intact_bytes, unproven, findings, .. } = *tested;
    let all = format!("{format}, {}, {}", entries(found), bytes(decoded));
    let compression = match format {
        Format::Deb | Format::Rpm => Some("the compressed data in it".into()),
        format => format.compression().map(|compression| compression.to_string()),
    };
    let doubt = match compression {
        Some(compression) if unproven && intact > 0 => {
            let missing = if tested.is_sound() { "missing" } else { "wrong or missing" };
            format!("; nothing proves their bytes, because the checksum of {compression} is {missing}")
        }
        _ => String::new(),
    };
    if tested.is_sound() {
        return format!("sound: {all}{doubt}");
    }
    let had = match format {
        _ if intact == 0 => "'manyfiles unpack' gets no entry of it".into(),
        _ if intact == found => "'manyfiles unpack' gets them all".into(),
        Format::Tar(_) | Format::Cpio(_) | Format::Ar | Format::Deb | Format::Rpm => format!(
            "'manyfiles unpack' gets {}, {}, from before the first damage",
            entries(intact),
            bytes(intact_bytes)
        ),
        _ => format!("'manyfiles unpack' gets {} whole, {}", entries(intact), bytes(intact_bytes)),
    };
    format!("{} wrong: {all}; {had}{doubt}", counted(findings, "thing is", "things are"))
}

fn object(archive: &Archive, tested: &Result<Tested, String>, findings: Vec<Value>) -> Value {
    let mut object = Map::new();
    json_path(&mut object, "path", &archive.path);
    let status = match tested {
        Ok(tested) if tested.is_sound() => "sound",
        Ok(_) => "damaged",
        Err(_) => "unreadable",
    };
    object.insert("status".into(), status.into());
    object.insert("error".into(), tested.as_ref().err().cloned().into());
    let tested = tested.as_ref().ok();
    object.insert("format".into(), tested.map(|tested| tested.format.to_string()).into());
    for (key, count) in [
        ("entries", tested.map(|tested| tested.entries)),
        ("bytes", tested.map(|tested| tested.bytes)),
        ("intact_entries", tested.map(|tested| tested.intact)),
        ("intact_bytes", tested.map(|tested| tested.intact_bytes)),
    ] {
        object.insert(key.into(), count.into());
    }
    object.insert("unproven".into(), tested.map(|tested| tested.unproven).into());
    object.insert("findings".into(), findings.into());
    object.into()
}

fn object_of(finding: &Finding) -> Value {
    let mut object = Map::new();
    match &finding.entry {
        Some(path) => json_path(&mut object, "entry", path),
        None => drop(object.insert("entry".into(), Value::Null)),
    }
    let (byte, in_the_tar) = match finding.at {
        Some(Position::Archive(byte)) => (Some(byte), Some(false)),
        Some(Position::Unpacked(byte)) => (Some(byte), Some(true)),
        None => (None, None),
    };
    object.insert("byte".into(), byte.into());
    object.insert("in_the_tar".into(), in_the_tar.into());
    object.insert("cause".into(), finding.cause.clone().into());
    object.into()
}
