//! The XML export: a list of processes, then an `<event>` with an element for each column.

use std::borrow::Cow;
use std::io;

use memchr::{memchr, memchr_iter, memmem};

use super::Row;
use super::columns::Column;
use crate::analysis::Analysis;
use crate::buffer::Buffer;

const OPEN: &[u8] = b"<event>";
const CLOSE: &[u8] = b"</event>";

/// Hands each event over as a row, which says whether it made sense.
pub(super) fn read(
    buffer: &mut Buffer<'_>,
    analysis: &mut Analysis,
    row: &mut dyn FnMut(Row<'_>, &mut Analysis) -> bool,
) -> io::Result<()> {
    let close = memmem::Finder::new(CLOSE);
    let mut decoded = Decoded::default();
    loop {
        let text = buffer.rest();
        let mut from = 0;
        while let Some(end) = close.find(&text[from..]) {
            let block = &text[from..from + end];
            analysis.count_lines(memchr_iter(b'\n', block).count() as u64);
            let mut opened = memmem::find_iter(block, OPEN);
            match (opened.next(), memmem::rfind(block, OPEN)) {
                (Some(first), Some(last)) => {
                    // Events that have a beginning only.
                    (0..usize::from(first < last) + opened.count().saturating_sub(1))
                        .for_each(|_| analysis.damaged(&block[first..]));
                    let inner = &block[last + OPEN.len()..];
                    if !event(inner, &mut decoded, analysis, row) {
                        analysis.damaged(inner.trim_ascii());
                    }
                }
                _ => analysis.damaged(block.trim_ascii()),
            }
            from += end + CLOSE.len();
        }
        // What comes before the events is passed over, however long it is.
        let rest = &text[from..];
        let keep = match memmem::find(rest, OPEN) {
            Some(open) if !buffer.is_full() => rest.len() - open,
            _ => rest.len().min(OPEN.len()),
        };
        let skipped = &rest[..rest.len() - keep];
        analysis.count_lines(memchr_iter(b'\n', skipped).count() as u64);
        if buffer.is_full() {
            analysis.damaged(skipped);
        }
        let (skip, tail_len) = (skipped.len(), keep);
        buffer.take(from + skip);
        if !buffer.fill()? && buffer.at_end() {
            let tail = buffer.rest();
            analysis.count_lines(memchr_iter(b'\n', tail).count() as u64);
            // The text ends with </procmon>, or it was cut.
            if tail_len >= OPEN.len() && memmem::find(tail, OPEN).is_some() {
                analysis.damaged(tail.trim_ascii());
            }
            return Ok(());
        }
    }
}

/// Room for values with replaced characters (`&amp;`).
#[derive(Default)]
struct Decoded(Vec<(Column, Vec<u8>)>);

fn event(
    text: &[u8],
    decoded: &mut Decoded,
    analysis: &mut Analysis,
    row: &mut dyn FnMut(Row<'_>, &mut Analysis) -> bool,
) -> bool {
    let mut plain = Row::default();
    decoded.0.clear();
    let mut rest = text;
    while let Some(open) = memchr(b'<', rest) {
        let Some(end) = memchr(b'>', &rest[open..]).map(|end| open + end) else { return false };
        let name = &rest[open + 1..end];
        rest = &rest[end + 1..];
        if name.ends_with(b"/") {
            continue;
        }
        if name == b"stack" {
            // Frames have paths of their own.
            let Some(end) = memmem::find(rest, b"</stack>") else { return false };
            rest = &rest[end + b"</stack>".len()..];
            continue;
        }
        let Some(close) = memchr(b'<', rest) else { return false };
        let (value, after) = (&rest[..close], &rest[close..]);
        let Some(after) = after.strip_prefix(b"</").and_then(|after| after.strip_prefix(name)) else { return false };
        let Some(after) = after.strip_prefix(b">") else { return false };
        rest = after;
        if let Some(column) = Column::named(name) {
            match unescaped(value) {
                Cow::Borrowed(value) => plain.set(column, value),
                Cow::Owned(value) => decoded.0.push((column, value)),
            }
        }
    }
    for (column, value) in &decoded.0 {
        plain.set(*column, value);
    }
    row(plain, analysis)
}

/// `&amp;` and the like are one character each.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'&', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let entity = memchr(b';', &rest[..rest.len().min(12)]).map(|end| &rest[1..end]);
        let character = match entity {
            Some(b"amp") => Some('&'),
            Some(b"lt") => Some('<'),
            Some(b"gt") => Some('>'),
            Some(b"quot") => Some('"'),
            Some(b"apos") => Some('\''),
            Some(number) => std::str::from_utf8(number).ok().and_then(|number| {
                let number = number.strip_prefix('#')?;
                let value = match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                char::from_u32(value.ok()?)
            }),
            None => None,
        };
        let len = match (entity, character) {
            (Some(entity), Some(character)) => {
                plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                entity.len() + 2
            }
            _ => {
                plain.push(b'&');
                1
            }
        };
        rest = &rest[len..];
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_one_character_each() {
        for (text, plain) in [
            ("a &amp; b &lt;c&gt; &quot;&apos;", "a & b <c> \"'"),
            ("&#65;&#x42;&#xe4;", "AB\u{e4}"),
            ("&unknown; & &", "&unknown; & &"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescaped(text.as_bytes()), plain.as_bytes(), "{text}");
        }
    }
}
