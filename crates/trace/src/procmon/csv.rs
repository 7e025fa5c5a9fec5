//! The CSV export: every field in quotes, records that may span lines, `""` for a quote.

use std::io;

use memchr::memchr;

use super::Row;
use super::columns::Columns;
use crate::analysis::Analysis;
use crate::buffer::Buffer;

/// No record is longer: the longest have a process's environment in them, which Windows limits to 32,767 characters.
const LONGEST: usize = 256 << 10;

/// The result of reading a record.
enum Parsed {
    /// It ends here, line end included.
    Record(usize),
    /// It may go on behind the end of the text.
    Incomplete,
    Damaged,
}

/// The fields of the first record, without quotes, if that is one.
pub(crate) fn header(text: &[u8]) -> Option<Vec<&[u8]>> {
    let mut fields = Vec::new();
    matches!(parse(text, true, &mut fields), Parsed::Record(_))
        .then(|| fields.into_iter().map(|(from, to)| &text[from..to]).collect())
}

/// Hands each record over as a row, which says whether it made sense.
pub(super) fn read(
    buffer: &mut Buffer<'_>,
    analysis: &mut Analysis,
    row: &mut dyn FnMut(Row<'_>, &mut Analysis) -> bool,
) -> io::Result<()> {
    let mut fields = Vec::with_capacity(32);
    let mut columns: Option<Columns> = None;
    loop {
        let text = buffer.rest();
        let mut from = 0;
        while from < text.len() {
            let rest = &text[from..];
            let parsed = match parse(rest, buffer.at_end(), &mut fields) {
                Parsed::Incomplete if rest.len() < LONGEST && !buffer.at_end() => break,
                Parsed::Incomplete => Parsed::Damaged,
                parsed => parsed,
            };
            let (len, good) = match parsed {
                Parsed::Record(len) => (len, true),
                // After damage the next line may be a whole record.
                _ => match memchr(b'\n', rest) {
                    Some(end) => (end + 1, false),
                    None if buffer.at_end() || rest.len() >= LONGEST => (rest.len(), false),
                    None => break,
                },
            };
            let record = &rest[..len];
            analysis.count_lines(lines(record, &fields, good));
            let blank = record.trim_ascii().is_empty();
            match &columns {
                _ if blank => {}
                None => columns = good.then(|| Columns::of(&values(rest, &fields))).flatten(),
                Some(columns) => {
                    let understood =
                        good && fields.len() == columns.len() && row(pick(columns, rest, &fields), analysis);
                    if !understood {
                        analysis.damaged(record.trim_ascii_end());
                    }
                }
            }
            from += len;
        }
        buffer.take(from);
        if !buffer.fill()? && buffer.rest().is_empty() {
            return Ok(());
        }
    }
}

fn lines(record: &[u8], fields: &[(usize, usize)], good: bool) -> u64 {
    // Only the detail and a process's start have line breaks within; most records have one line.
    match good
        && fields.last().is_some_and(|&(_, end)| record.len() - end <= 3)
        && memchr(b'\n', record) == Some(record.len() - 1)
    {
        true => 1,
        false => memchr::memchr_iter(b'\n', record).count().max(1) as u64,
    }
}

fn values<'a>(text: &'a [u8], fields: &[(usize, usize)]) -> Vec<&'a [u8]> {
    fields.iter().map(|&(from, to)| &text[from..to]).collect()
}

fn pick<'a>(columns: &Columns, text: &'a [u8], fields: &[(usize, usize)]) -> Row<'a> {
    let mut row = Row::default();
    for (at, &(from, to)) in fields.iter().enumerate() {
        if let Some(column) = columns.at(at) {
            row.set(column, &text[from..to]);
        }
    }
    row
}

/// Finds the fields of the record that the text begins with: where they are, without their quotes.
fn parse(text: &[u8], at_end: bool, fields: &mut Vec<(usize, usize)>) -> Parsed {
    fields.clear();
    let mut at = 0;
    loop {
        let from;
        let to;
        if text.get(at) == Some(&b'"') {
            from = at + 1;
            let mut search = from;
            to = loop {
                let Some(quote) = memchr(b'"', &text[search..]).map(|found| search + found) else {
                    return if at_end { Parsed::Damaged } else { Parsed::Incomplete };
                };
                match text.get(quote + 1) {
                    Some(b'"') => search = quote + 2,
                    None if !at_end => return Parsed::Incomplete,
                    _ => break quote,
                }
            };
            at = to + 1;
        } else {
            // Numbers may come without quotes from programs that went over the export.
            from = at;
            let len = text[at..].iter().position(|byte| matches!(byte, b',' | b'\n' | b'\r' | b'"'));
            to = match len {
                Some(len) => at + len,
                None if at_end => text.len(),
                None => return Parsed::Incomplete,
            };
            at = to;
        }
        fields.push((from, to));
        match &text[at..] {
            [b',', ..] => at += 1,
            [b'\n', ..] => return Parsed::Record(at + 1),
            [b'\r', b'\n', ..] => return Parsed::Record(at + 2),
            [] | [b'\r'] if at_end => return Parsed::Record(text.len()),
            [] | [b'\r'] => return Parsed::Incomplete,
            _ => return Parsed::Damaged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Option<Vec<String>> {
        header(text.as_bytes())
            .map(|fields| fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect())
    }

    #[test]
    fn quotes_commas_and_line_breaks_within_fields_are_kept() {
        assert_eq!(fields("\"a\",\"b, c\",\"d\"\r\nrest").unwrap(), ["a", "b, c", "d"]);
        assert_eq!(fields("\"a \"\"b\"\"\",\"\"\n").unwrap(), ["a \"\"b\"\"", ""]);
        assert_eq!(fields("\"a\nb\",1234,\"c\"").unwrap(), ["a\nb", "1234", "c"]);
        assert_eq!(fields("\"a\"b,\"c\"\n"), None);
        assert_eq!(fields("\"a\",\"b\n"), None);
    }
}
