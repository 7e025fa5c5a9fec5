//! `manyfiles log check`: the content of a log's files, and their damage.

use std::process::ExitCode;

use serde_json::{Map, Value};

use super::findings;
use crate::args::Check;
use crate::report::{INCOMPLETE, json_path, print_json, print_stdout, tell_cannot_begin};
use crate::words::Words;

const WORDS: Words = Words { command: "log check", done: "checked", sources: "log" };

pub(super) fn run(args: &Check) -> ExitCode {
    let report = match findings::find(&args.log, args.progress) {
        Ok(report) => report,
        Err(why) => return tell_cannot_begin(WORDS, &why, args.json),
    };
    let (code, status) = if report.is_sound() { (0, "sound") } else { (INCOMPLETE, "damaged") };
    if args.json {
        let mut object = Map::new();
        object.insert("command".into(), WORDS.command.into());
        object.insert("status".into(), status.into());
        object.insert("exit_code".into(), code.into());
        json_path(&mut object, "log", &args.log);
        object.insert("records".into(), report.records().into());
        object.insert("damaged_bytes".into(), report.damaged_bytes().into());
        object.insert("files".into(), findings::objects(&report));
        return print_json(&Value::from(object), code);
    }
    if args.quiet {
        return code.into();
    }
    let mut text = findings::text(&report);
    if report.damaged_bytes() > 0 || report.files.iter().any(|file| file.misfit.is_some()) {
        text += "to mend that, and keep all that is there: manyfiles log repair LOG\n";
    }
    print_stdout(text.as_bytes(), code)
}
