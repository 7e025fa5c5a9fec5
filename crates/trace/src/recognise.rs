//! [`recognise`]: tells by its content which format a trace has.

use memchr::memmem;

use crate::error::Error;
use crate::format::Format;
use crate::procmon::columns::Columns;
use crate::procmon::csv;
use crate::unix::{self, Spelling};

/// How much of a trace is looked at to recognise it. Programs that were traced may have said something first.
pub(crate) const HEAD: usize = 256 << 10;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Recognises a trace by its beginning. Gives the length of the byte order mark, too.
pub(crate) fn recognise(head: &[u8]) -> Result<(Format, usize), Error> {
    for (magic, why) in OTHERS {
        if head.starts_with(magic) {
            return Err(Error::WrongKind(why));
        }
    }
    let mark = if head.starts_with(MARK) { MARK.len() } else { 0 };
    let text = &head[mark..];
    let start = text.trim_ascii_start();
    if start.is_empty() {
        return Err(Error::Empty);
    }
    if text.contains(&0) {
        return Err(Error::WrongKind(
            "this is a binary file; expected text: a Process Monitor export (CSV or XML), the output of 'strace' or \
             of 'perf trace'",
        ));
    }
    if start.starts_with(b"<") && memmem::find(start, b"<procmon").is_some() {
        return Ok((Format::ProcmonXml, mark));
    }
    if csv::header(start).is_some_and(|header| Columns::of(&header).is_some()) {
        return Ok((Format::ProcmonCsv, mark));
    }
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if [b';', b'\t'].iter().any(|&separator| {
        let fields: Vec<_> = first.split(|&byte| byte == separator).map(|field| field.trim_ascii()).collect();
        Columns::of(&fields).is_some()
    }) {
        return Err(Error::WrongKind(
            "these are columns of Process Monitor, but not as it saves them: its fields are in quotes with commas between. A \
             spreadsheet has perhaps saved this again; save it in Process Monitor once more: File → Save…, \
             'Comma-Separated Values (CSV)'",
        ));
    }
    let count = |spelling: Spelling| {
        text.split(|&byte| byte == b'\n').filter(|line| spelling.recognises(line)).take(1000).count()
    };
    let (strace, perf) = (count(Spelling::Strace), count(Spelling::Perf));
    if strace.max(perf) > 0 {
        return Ok((if strace >= perf { Format::Strace } else { Format::PerfTrace }, mark));
    }
    if memmem::find(text, b"% time").is_some() && memmem::find(text, b"usecs/call").is_some() {
        return Err(Error::WrongKind(
            "this is the summary that 'strace -c' prints; what is needed is every call: strace -f -T -ttt -y -o FILE \
             COMMAND",
        ));
    }
    if unix::is_perf_summary(text) {
        return Err(Error::WrongKind(
            "this is the summary that 'perf trace -s' prints; what is needed is every call: perf trace -o FILE COMMAND",
        ));
    }
    Err(Error::Unknown)
}

const COMPRESSED: &str =
    "this is compressed; it has to be decoded first (`manyfiles explain` does that by itself, once)";

/// What people might take for a trace, and what to do.
const OTHERS: [(&[u8], &str); 10] = [
    (
        b"PML_",
        "this is Process Monitor's own log (PML); open it there and save it as CSV: File → Save…, 'Comma-Separated \
         Values (CSV)'",
    ),
    (b"PERFILE2", "this is perf's own recording; print it first: perf trace -i FILE > TRACE"),
    (b"\x1f\x8b", COMPRESSED),
    (b"\x28\xb5\x2f\xfd", COMPRESSED),
    (b"\xfd7zXZ\0", COMPRESSED),
    (b"BZh", COMPRESSED),
    (b"PK\x03\x04", "this is a zip archive; unpack it first: manyfiles unpack FILE"),
    (b"\xff\xfe", "this text is UTF-16; save it as UTF-8, as Process Monitor does"),
    (b"\xfe\xff", "this text is UTF-16; save it as UTF-8, as Process Monitor does"),
    (b"\x7fELF", "this is a program; trace it: manyfiles explain -- COMMAND"),
];
