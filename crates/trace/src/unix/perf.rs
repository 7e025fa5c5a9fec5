//! A line of `perf trace`.
//!
//! ```text
//!      3.143 ( 0.053 ms): sh/26041 openat(dfd: CWD, filename: "t/a", flags: CREAT|TRUNC|WRONLY) = 4
//!      4.758 (         ): sh/26041 vfork()                                       ...
//!      4.758 ( 0.350 ms): sh/26041  ... [continued]: vfork())                    = 26042
//! ```

use memchr::{memchr, memmem, memrchr};

use super::args::{Args, Style};
use super::record::{End, Event, Record, Stamp};
use crate::number::{self, Decimal, MILLISECOND};

/// The line, or `None` if it is none of `perf trace`'s.
pub(super) fn parse(line: &[u8]) -> Option<Record<'_>> {
    let text = line.trim_ascii_start();
    let note = |event| Some(Record { pid: None, program: b"", stamp: Stamp::None, event });
    if text.is_empty() {
        return note(Event::Note);
    }
    if text.starts_with(b"Summary of events:") {
        return note(Event::Summary);
    }
    let (stamp, rest) = match text.strip_prefix(b"?") {
        Some(rest) => (Stamp::None, rest),
        None => number::decimal(text, MILLISECOND).map(|(Decimal { nanos, .. }, rest)| (Stamp::Since(nanos), rest))?,
    };
    let inner = rest.trim_ascii_start().strip_prefix(b"(")?;
    let close = memchr(b')', inner)?;
    let duration = match inner[..close].trim_ascii() {
        b"" => None,
        took => match number::decimal(took, MILLISECOND)? {
            (time, b" ms") => Some(time),
            _ => return None,
        },
    };
    let rest = inner[close + 1..].strip_prefix(b":")?.trim_ascii_start();
    let (program, pid, rest) = program_and_pid(rest);
    event(rest.trim_ascii(), duration).map(|event| Record { pid, program, stamp, event })
}

/// `sh/26041 `, which is left out where there is but one thread. A program's name may hold anything.
fn program_and_pid(text: &[u8]) -> (&[u8], Option<u32>, &[u8]) {
    if name(text).is_some() {
        return (b"", None, text);
    }
    let mut from = 0;
    while let Some(slash) = memchr(b'/', &text[from..]).map(|at| from + at) {
        if let Some((pid, rest)) = number::digits(&text[slash + 1..])
            && rest.starts_with(b" ")
            && let Ok(pid) = u32::try_from(pid)
        {
            return (&text[..slash], Some(pid), rest);
        }
        from = slash + 1;
    }
    (b"", None, text)
}

fn event(text: &[u8], duration: Option<Decimal>) -> Option<Event<'_>> {
    if let Some(rest) = text.strip_prefix(b"... [continued]: ") {
        let name = name(rest)?;
        let (_, end) = end(&rest[name.len()..], duration)?;
        return Some(Event::Resumed { name, args: Args { style: Style::Perf, text: b"" }, end });
    }
    let Some(name) = name(text) else {
        // Events that were asked for beside calls: 'sched:sched_switch(...)', 'minfault [...] => ...'.
        let other = memchr(b':', text).is_some() || text.starts_with(b"minfault [") || text.starts_with(b"majfault [");
        return other.then_some(Event::Note);
    };
    let after = &text[name.len()..];
    if duration.is_none()
        && let Some(args) = after.strip_suffix(b"...")
    {
        let args = args.trim_ascii_end();
        let args = args.strip_suffix(b")").unwrap_or(args).strip_prefix(b"(")?;
        return Some(Event::Unfinished { name, args: Args { style: Style::Perf, text: args }, attached: None });
    }
    let (args, end) = end(after, duration)?;
    Some(Event::Call { name, args: Args { style: Style::Perf, text: args.strip_prefix(b"(")? }, end })
}

/// The name of a call, which a parenthesis follows.
fn name(text: &[u8]) -> Option<&[u8]> {
    let len =
        text.iter().take_while(|&&byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_').count();
    (len > 0 && text.get(len) == Some(&b'(')).then(|| &text[..len])
}

/// Splits `arguments)   = result`, from its end.
fn end(text: &[u8], duration: Option<Decimal>) -> Option<(&[u8], End<'_>)> {
    let mut until = text.len();
    loop {
        let equals = memrchr(b'=', &text[..until])?;
        if let Some(args) = text[..equals].trim_ascii_end().strip_suffix(b")")
            && text[..equals].ends_with(b" ")
        {
            // The result of a call without a return value is empty.
            return Some((args, End { result: text[equals + 1..].trim_ascii(), duration }));
        }
        until = equals;
    }
}

/// Whether the text has the summary that `perf trace -s` prints.
pub(crate) fn is_summary(head: &[u8]) -> bool {
    memmem::find(head, b"Summary of events:").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Record<'_> {
        parse(line.as_bytes()).unwrap_or_else(|| panic!("not understood: {line}"))
    }

    #[test]
    fn calls_are_understood_with_and_without_the_threads_name() {
        for (line, program, pid, name, args, result) in [
            (
                "     3.143 ( 0.053 ms): sh/26041 openat(dfd: CWD, filename: 0xdfc0bb10, flags: CREAT|TRUNC|WRONLY, mode: IRUGO|IWUGO) = 4",
                "sh",
                Some(26041),
                "openat",
                "dfd: CWD, filename: 0xdfc0bb10, flags: CREAT|TRUNC|WRONLY, mode: IRUGO|IWUGO",
                "4",
            ),
            (
                "     0.419 ( 0.009 ms): close(fd: 3</etc/passwd>)          = 0",
                "",
                None,
                "close",
                "fd: 3</etc/passwd>",
                "0",
            ),
            ("     2.589 ( 0.018 ms): sh/26041 getppid()                 = ", "sh", Some(26041), "getppid", "", ""),
            (
                "    13.248 (         ): cat/26042 exit_group()              = ?",
                "cat",
                Some(26042),
                "exit_group",
                "",
                "?",
            ),
            (
                "     0.004 ( 0.004 ms): Web Content/9 read(fd: 3, buf: a) = b, count: 832) = 832",
                "Web Content",
                Some(9),
                "read",
                "fd: 3, buf: a) = b, count: 832",
                "832",
            ),
            ("     1.000 ( 0.001 ms): (sd/x)/77 getpid() = 77 (x)", "(sd/x)", Some(77), "getpid", "", "77 (x)"),
        ] {
            let record = read(line);
            let Event::Call { name: found, args: found_args, end } = &record.event else {
                panic!("{line}: {record:?}")
            };
            assert_eq!((record.program, record.pid), (program.as_bytes(), pid), "{line}");
            assert_eq!(
                (*found, found_args.text, end.result),
                (name.as_bytes(), args.as_bytes(), result.as_bytes()),
                "{line}"
            );
        }
    }

    #[test]
    fn interrupted_calls_come_in_two_parts() {
        let record = read(
            "     5.202 (         ): sh/26041 wait4(upid: -1, stat_addr: 0x7ffdf314462c)                         ...",
        );
        assert!(matches!(
            record.event,
            Event::Unfinished { name: b"wait4", args: Args { text: b"upid: -1, stat_addr: 0x7ffdf314462c", .. }, .. }
        ));
        let record = read(
            "     5.202 ( 8.265 ms): sh/26041  ... [continued]: wait4())                                            = 26042 (cat)",
        );
        let Event::Resumed { name, end, .. } = record.event else { panic!() };
        assert_eq!((name, end.value(), end.duration.unwrap().nanos), (&b"wait4"[..], Some(26042), 8_265_000));
        let record = read(
            "         ? (         ): sh/26042  ... [continued]: vfork())                                            = 0",
        );
        assert!(matches!(record.event, Event::Resumed { end: End { duration: None, .. }, .. }));
    }

    #[test]
    fn other_events_and_summaries_are_no_damage() {
        assert!(matches!(read("     0.016 (         ): __bpf_stdout__:Hello, world").event, Event::Note));
        assert!(matches!(
            read("     0.016 (         ): sh/7 sched:sched_switch(prev_comm: \"sh\")").event,
            Event::Note
        ));
        assert!(matches!(read(" Summary of events:").event, Event::Summary));
        for line in [
            "     3.143 ( 0.053 ms): sh/26041 openat(dfd: CW",
            "     3.143 ( 0.0",
            "hello",
            "     1.0 ( 0.053 ms): sh/7 close(fd: 3) =",
        ] {
            let found = parse(line.as_bytes());
            assert!(found.is_none() || line.ends_with('='), "{line}: {found:?}");
        }
    }
}
