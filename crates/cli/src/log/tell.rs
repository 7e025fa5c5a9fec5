//! What is told of a log beside its records: why it cannot be opened, and what was left out.

use std::path::Path;

use manyfiles::Error;
use manyfiles::appender::Records;

use super::printer::Printer;
use crate::human::counted;
use crate::words::CannotBegin;

/// Why a log cannot be opened, and what to do.
pub(super) fn cannot_open(log: &Path, error: &Error) -> CannotBegin {
    let mut lines = vec![error.to_string()];
    let is_of_system = error.raw_os_error().is_some();
    if log.is_dir() {
        lines = vec![format!(
            "{}: this is a folder; a log is a file in it, and those of its name with a number",
            log.display()
        )];
    } else if error.kind() == std::io::ErrorKind::InvalidData
        && !is_of_system
        && error.damage().is_none()
        && error.misfit().is_none()
    {
        lines.push(
            "if its program writes records without frames, each is there as it was appended: 'cat' shows them".into(),
        );
    }
    CannotBegin(lines)
}

/// Says what is not among the records that were read, though no error told of it.
pub(super) fn tell_left_out(printer: &Printer, records: &Records) {
    let (torn, aside) = (records.torn_bytes(), records.set_aside_bytes());
    if torn > 0 {
        let torn = counted(torn, "byte", "bytes");
        printer.say(&format!(
            "left out: {torn} behind the last record, which are no whole one: a crash leaves that, or a program writes \
             just now"
        ));
    }
    if aside > 0 {
        let aside = counted(aside, "byte", "bytes");
        printer.say(&format!("left out: {aside} that were damaged, and that a repair has set aside"));
    }
}
