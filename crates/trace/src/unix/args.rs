//! [`Args`]: a call's arguments as text, and what can be found in them.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};

use crate::number;

/// How arguments are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `3</tmp/a>, "b", O_RDONLY`
    Strace,
    /// `dfd: 3</tmp/a>, filename: "b", flags: RDONLY`; what is zero may be left out.
    Perf,
}

/// How a file was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub writes: bool,
    pub appends: bool,
    pub truncates: bool,
    pub creates: bool,
    pub exclusive: bool,
    pub folder: bool,
    pub close_on_exec: bool,
    /// Each write waits until its bytes are on the disk.
    pub durable: bool,
}

/// What stands between a call's parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Args<'a> {
    pub style: Style,
    pub text: &'a [u8],
}

/// A descriptor, with the path that `-y` or perf adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fd<'a> {
    /// `None`: the working folder.
    pub number: Option<i32>,
    pub annotation: Option<&'a [u8]>,
}

impl<'a> Args<'a> {
    /// The argument at a place, or with a name.
    fn argument(&self, place: usize, names: &[&str]) -> Option<&'a [u8]> {
        match self.style {
            Style::Strace => split(self.text).nth(place),
            Style::Perf => names.iter().find_map(|name| {
                let mut from = 0;
                loop {
                    let at = from + memmem::find(&self.text[from..], name.as_bytes())?;
                    let value = &self.text[at + name.len()..];
                    if (at == 0 || self.text[..at].ends_with(b", ")) && value.starts_with(b": ") {
                        return Some(&value[2..]);
                    }
                    from = at + name.len();
                }
            }),
        }
    }

    /// The descriptor that most calls have first.
    pub(super) fn fd(&self) -> Option<Fd<'a>> {
        match self.style {
            Style::Strace => fd(self.text),
            Style::Perf => {
                fd(self.argument(0, &["fd", "fildes", "oldfd", "out_fd", "fd_in", "dfd", "dirfd"]).unwrap_or(b"0"))
            }
        }
    }

    /// A descriptor at another place, or with one of these names.
    pub(super) fn fd_at(&self, place: usize, names: &[&str]) -> Option<Fd<'a>> {
        fd(self.argument(place, names)?)
    }

    /// The folder that a path is relative to.
    pub(super) fn folder(&self) -> Option<Fd<'a>> {
        match self.style {
            Style::Strace => fd(self.text),
            Style::Perf => fd(self.argument(0, &["dfd", "dirfd", "olddfd"])?),
        }
    }

    /// The first text in quotes, or perf's name of a file without any.
    pub(super) fn path(&self) -> Option<Cow<'a, [u8]>> {
        match self.style {
            Style::Strace => quoted(&self.text[memchr(b'"', self.text)?..]),
            Style::Perf => {
                let value = self.argument(0, &["filename", "pathname", "oldname", "path"])?;
                if value.starts_with(b"\"") {
                    return quoted(value);
                }
                let name = &value[..memmem::find(value, b", ").unwrap_or(value.len())];
                // An address: perf did not look at the name.
                (!name.starts_with(b"0x") && !name.is_empty()).then_some(Cow::Borrowed(name))
            }
        }
    }

    /// The flags that stand behind the name of a file: `O_WRONLY|O_CREAT`, or perf's `WRONLY|CREAT`.
    pub(super) fn flags(&self) -> Flags {
        let text = match self.style {
            Style::Strace => after_quotes(self.text),
            Style::Perf => self.argument(0, &["flags"]).unwrap_or(b""),
        };
        let mut flags = Flags::default();
        // What is no flag, such as the numbers around, has no name that is one.
        for word in text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_') {
            match word.strip_prefix(b"O_").unwrap_or(word) {
                b"WRONLY" | b"RDWR" => flags.writes = true,
                b"APPEND" => flags.appends = true,
                b"TRUNC" => flags.truncates = true,
                b"CREAT" => flags.creates = true,
                b"EXCL" => flags.exclusive = true,
                b"DIRECTORY" => flags.folder = true,
                b"CLOEXEC" => flags.close_on_exec = true,
                b"SYNC" | b"DSYNC" => flags.durable = true,
                _ => {}
            }
        }
        flags
    }

    /// The two descriptors in the first brackets: `[3, 4], O_CLOEXEC`, also with what `-y` adds.
    pub(super) fn pair(&self) -> [Option<i32>; 2] {
        let Some(open) = memchr(b'[', self.text) else { return [None; 2] };
        let mut parts = split(&self.text[open + 1..]).map(|part| fd(part).and_then(|fd| fd.number));
        [parts.next().flatten(), parts.next().flatten()]
    }

    /// The last argument, as a number.
    pub(super) fn last_number(&self) -> Option<u64> {
        let last = memmem::rfind(self.text, b", ").map_or(self.text, |at| &self.text[at + 2..]);
        let value = memmem::rfind(last, b": ").map_or(last, |at| &last[at + 2..]);
        number::whole(value)
    }

    /// A number at a place, or with a name.
    pub(super) fn number(&self, place: usize, names: &[&str]) -> Option<u64> {
        number::digits(self.argument(place, names)?).map(|(value, _)| value)
    }

    /// Whether the argument at a place, or with a name, has a flag.
    pub(super) fn has_flag(&self, place: usize, name: &str, flag: &str) -> bool {
        let value = self.argument(place, &[name]).unwrap_or_default();
        // perf's values go on to the end of all.
        let value = &value[..memmem::find(value, b", ").unwrap_or(value.len())];
        memmem::find(value, flag.as_bytes()).is_some()
    }

    /// Whether the text occurs anywhere.
    pub(super) fn mention(&self, text: &str) -> bool {
        memmem::find(self.text, text.as_bytes()).is_some()
    }
}

/// What follows the first text in quotes, or everything.
fn after_quotes(text: &[u8]) -> &[u8] {
    let Some(open) = memchr(b'"', text) else { return text };
    match closing(&text[open + 1..]) {
        Some(close) => &text[open + close + 2..],
        None => b"",
    }
}

/// Where the quotes end that the text is in.
fn closing(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', &text[from..])?;
        match text[at] {
            b'"' => return Some(at),
            _ => from = (at + 2).min(text.len()),
        }
    }
}

/// `3</tmp/a>`, `AT_FDCWD</tmp>`, `CWD`.
fn fd(text: &[u8]) -> Option<Fd<'_>> {
    if let Some(rest) = text.strip_prefix(b"AT_FDCWD").or_else(|| text.strip_prefix(b"CWD")) {
        return Some(Fd { number: None, annotation: annotation(rest) });
    }
    let (value, rest) = number::digits(text)?;
    Some(Fd { number: Some(i32::try_from(value).ok()?), annotation: annotation(rest) })
}

/// `</tmp/a>`, `<pipe:[382854]>`, `</dev/null<char 1:3>>`, `</tmp/a>(deleted)`: the name in it.
pub(super) fn annotation(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"<")?;
    let name = &inner[..memchr2(b'<', b'>', inner)?];
    Some(name.strip_suffix(b" (deleted)").unwrap_or(name))
}

/// The text that begins with quotes, with escapes resolved. What was cut short is no name.
fn quoted(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = &text[1..];
    let close = closing(inner)?;
    if inner[close + 1..].starts_with(b"...") {
        return None;
    }
    Some(unescaped(&inner[..close]))
}

/// `\n`, `\"`, `\76`, `\x3e` are one byte each.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', text) else { return Cow::Borrowed(text) };
    let mut plain = Vec::with_capacity(text.len());
    plain.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else { break };
        rest = after;
        let value = match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'x' => {
                let digits = rest.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                let value = rest[..digits]
                    .iter()
                    .fold(0, |n: u8, &byte| n << 4 | (byte as char).to_digit(16).unwrap_or(0) as u8);
                rest = &rest[digits..];
                value
            }
            b'0'..=b'7' => {
                let digits = rest.iter().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let value =
                    rest[..digits].iter().fold(escape - b'0', |n: u8, &byte| (n << 3).wrapping_add(byte - b'0'));
                rest = &rest[digits..];
                value
            }
            other => other,
        };
        plain.push(value);
    }
    Cow::Owned(plain)
}

/// The arguments, split at commas that stand outside of quotes and brackets.
fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut depth, mut at) = (0usize, 0);
        while at < text.len() {
            match text[at] {
                b'"' => at += closing(&text[at + 1..]).map_or(text.len(), |close| close + 1),
                b'[' | b'{' | b'(' | b'<' => depth += 1,
                b']' | b'}' | b')' | b'>' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    rest = Some(text[at + 1..].trim_ascii_start());
                    return Some(&text[..at]);
                }
                _ => {}
            }
            at += 1;
        }
        rest = None;
        Some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strace(text: &str) -> Args<'_> {
        Args { style: Style::Strace, text: text.as_bytes() }
    }

    fn perf(text: &str) -> Args<'_> {
        Args { style: Style::Perf, text: text.as_bytes() }
    }

    #[test]
    fn descriptors_and_their_paths() {
        let fd = |text| {
            strace(text)
                .fd()
                .map(|fd| (fd.number, fd.annotation.map(|name| String::from_utf8_lossy(name).into_owned())))
        };
        let path = |text: &str| Some(text.to_string());
        assert_eq!(fd("3, \"x\""), Some((Some(3), None)));
        assert_eq!(fd("3</tmp/a b>, \"x\""), Some((Some(3), path("/tmp/a b"))));
        assert_eq!(fd("AT_FDCWD</tmp>, \"x\""), Some((None, path("/tmp"))));
        assert_eq!(fd("1</dev/null<char 1:3>>, \"x\""), Some((Some(1), path("/dev/null"))));
        assert_eq!(fd("2<pipe:[382854]>"), Some((Some(2), path("pipe:[382854]"))));
        assert_eq!(fd("3</tmp/a (deleted)>"), Some((Some(3), path("/tmp/a"))));
        assert_eq!(fd("[3]"), None);
        assert_eq!(perf("fd: 4</usr/lib/x>, buf: 0x1, count: 832").fd().unwrap().number, Some(4));
        assert_eq!(strace("[3<pipe:[7]>, 4<pipe:[7]>], O_CLOEXEC").pair(), [Some(3), Some(4)]);
        assert_eq!(strace("AF_UNIX, SOCK_STREAM, 0, [5, 6]").pair(), [Some(5), Some(6)]);
        assert_eq!(strace("0x7ffd").pair(), [None, None]);
        assert_eq!(perf("buf: 0x1, count: 832").fd().unwrap().number, Some(0), "perf leaves zeros out");
    }

    #[test]
    fn paths_are_unescaped_and_those_cut_short_are_none() {
        for (text, path) in [
            (r#"AT_FDCWD, "t/a", O_RDONLY"#, Some("t/a")),
            (r#"AT_FDCWD, "a \"b\"\n\76\x41", O_RDONLY"#, Some("a \"b\"\n>A")),
            (r#""x"..., 5"#, None),
            ("0x7fff, 3", None),
            (r#"AT_FDCWD, "t/a"#, None),
        ] {
            assert_eq!(strace(text).path().as_deref(), path.map(str::as_bytes), "{text}");
        }
        assert_eq!(perf("dfd: CWD, filename: \"/etc/x\", flags: RDONLY").path().as_deref(), Some(&b"/etc/x"[..]));
        assert_eq!(perf("dfd: CWD, filename: /etc/x, flags: CLOEXEC").path().as_deref(), Some(&b"/etc/x"[..]));
        assert_eq!(perf("dfd: CWD, filename: 0xdfc0bb10, flags: CLOEXEC").path(), None);
    }

    #[test]
    fn flags_are_looked_for_behind_the_name() {
        let flags = strace(r#"AT_FDCWD, "O_TRUNC", O_WRONLY|O_CREAT|O_CLOEXEC, 0666"#).flags();
        assert_eq!(flags, Flags { writes: true, creates: true, close_on_exec: true, ..Flags::default() });
        let flags = strace(r#"3, "x", {flags=O_RDWR|O_APPEND|O_EXCL, mode=0, resolve=0}, 24"#).flags();
        assert_eq!(flags, Flags { writes: true, appends: true, exclusive: true, ..Flags::default() });
        let flags = perf("dfd: CWD, filename: \"x\", flags: CREAT|TRUNC|WRONLY, mode: IRUGO").flags();
        assert_eq!(flags, Flags { writes: true, creates: true, truncates: true, ..Flags::default() });
    }

    #[test]
    fn arguments_are_split_outside_of_quotes_and_brackets() {
        let args = strace(r#"3</a,b>, [{x=1, y="a, b"}], "c, \"d", 7"#);
        let parts: Vec<_> = split(args.text).map(|part| String::from_utf8_lossy(part)).collect();
        assert_eq!(parts, ["3</a,b>", r#"[{x=1, y="a, b"}]"#, r#""c, \"d""#, "7"]);
        assert_eq!(args.last_number(), Some(7));
        assert_eq!(strace("3</a>, NULL, 4</b>, NULL, 9, 0").fd_at(2, &[]).unwrap().number, Some(4));
        assert_eq!(perf("fd_in: 3, fd_out: 4, len: 9").fd_at(2, &["fd_out"]).unwrap().number, Some(4));
    }
}
