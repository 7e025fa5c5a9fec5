//! A line of `strace`.
//!
//! ```text
//! 26882 1795305722.784861 openat(AT_FDCWD, "t/a", O_RDONLY) = 3</tmp/t/a> <0.000029>
//! [pid 26902] 00:02:02.957347 close(3 <unfinished ...>
//! [pid 26902]      0.000056 <... close resumed>) = 0 <0.000057>
//! ```

use memchr::{memchr, memmem, memrchr};

use super::args::{Args, Style};
use super::record::{End, Event, Record, Stamp};
use crate::number::{self, Decimal, SECOND};

/// No thread of Linux has a greater number. A greater number is a time.
const MOST_PIDS: u64 = 1 << 22;
/// A greater number of seconds is a time since 1970; a smaller one is the time since the line before.
const AN_EPOCH: u64 = 1_000_000;

/// The line, or `None` if it is none of `strace`'s.
pub(super) fn parse(line: &[u8]) -> Option<Record<'_>> {
    let (mut pid, mut program, mut stamp) = (None, &b""[..], Stamp::None);
    let mut rest = line.trim_ascii_start();
    if let Some(labelled) = rest.strip_prefix(b"[pid") {
        let (number, after) = number::digits(labelled.trim_ascii_start())?;
        let (name, after) = comm(after);
        rest = after.strip_prefix(b"]")?.trim_ascii_start();
        (pid, program) = (Some(u32::try_from(number).ok()?), name);
    } else if let Some((number, after)) = number::digits(rest).filter(|(number, _)| *number <= MOST_PIDS)
        && let Some(b' ' | b'<') = after.first()
    {
        let (name, after) = comm(after);
        rest = after.trim_ascii_start();
        (pid, program) = (Some(number as u32), name);
    }
    if rest.first().is_some_and(u8::is_ascii_digit) {
        let (at, after) = time(rest)?;
        (stamp, rest) = (at, after.trim_ascii_start());
    }
    // -r beside -t: (+ 0.000012). -i: [00007f3c5d0e1a45]. -n: [ 257].
    for (open, close) in [(b'(', b')'), (b'[', b']'), (b'[', b']')] {
        if rest.first() == Some(&open) && !rest.starts_with(b"[ Process") {
            rest = rest[memchr(close, rest)? + 1..].trim_ascii_start();
        }
    }
    if rest.is_empty() && (pid.is_some() || stamp != Stamp::None) {
        return None;
    }
    event(rest).map(|event| Record { pid, program, stamp, event })
}

/// `<cat>`, which `-Y` adds to a number.
fn comm(text: &[u8]) -> (&[u8], &[u8]) {
    match text.strip_prefix(b"<").and_then(|inner| memchr(b'>', inner).map(|end| (&inner[..end], &inner[end + 1..]))) {
        Some((name, rest)) => (name, rest),
        None => (b"", text),
    }
}

fn time(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let (seconds, after) = number::digits(text)?;
    match after.first() {
        Some(b':') => number::clock(text).map(|(nanos, rest)| (Stamp::TimeOfDay(nanos), rest)),
        _ => {
            let (Decimal { nanos, .. }, rest) = number::decimal(text, SECOND)?;
            Some((if seconds >= AN_EPOCH { Stamp::Since(nanos) } else { Stamp::SinceLast(nanos) }, rest))
        }
    }
}

fn event(text: &[u8]) -> Option<Event<'_>> {
    let first = *text.first().unwrap_or(&b'\n');
    match first {
        b'a'..=b'z' | b'_' | b'?' | b'A'..=b'Z' => call(text),
        b'<' => match text.strip_prefix(b"<... ") {
            Some(rest) => resumed(rest),
            // The second half of a line that a message has split.
            None => text.starts_with(b"<unfinished ...>").then_some(Event::Note),
        },
        b'+' => match text.strip_prefix(b"+++ ")? {
            rest if rest.starts_with(b"exited with") || rest.starts_with(b"killed by") => Some(Event::Exited),
            rest => rest.starts_with(b"superseded by").then_some(Event::Note),
        },
        b'-' => (text.starts_with(b"--- SIG") || text.starts_with(b"--- stopped by")).then_some(Event::Note),
        b'\n' => Some(Event::Note),
        // The sums of -C, which stand at the end.
        b'%' => (text.starts_with(b"% time") && memmem::find(text, b"usecs/call").is_some()).then_some(Event::Summary),
        // The processes that a 32-bit program starts; stacks of -k.
        b'[' => text.starts_with(b"[ Process").then_some(Event::Note),
        b'>' => text.starts_with(b"> ").then_some(Event::Note),
        _ => None,
    }
}

fn call(text: &[u8]) -> Option<Event<'_>> {
    let name =
        &text[..text.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'?')).count()];
    let after = match text[name.len()..].strip_prefix(b"(") {
        Some(after) => after,
        None => return message(text),
    };
    if let Some((args, attached)) = unfinished(after) {
        return Some(Event::Unfinished { name, args: Args { style: Style::Strace, text: args }, attached });
    }
    let (args, end) = end(after)?;
    Some(Event::Call { name, args, end })
}

/// Messages of `strace` itself.
fn message(text: &[u8]) -> Option<Event<'_>> {
    let said = text.strip_prefix(b"strace: ")?;
    Some(match said.strip_prefix(b"Process ").and_then(number::digits) {
        Some((pid, rest)) if rest.starts_with(b" attached") => Event::Attached { pid: u32::try_from(pid).ok()? },
        _ => Event::Note,
    })
}

/// The arguments of a call that is continued later, after other lines, or never. And the thread that a message in
/// between, on standard error, says was attached: `clone(flags=SIGCHLDstrace: Process 26903 attached`.
fn unfinished(text: &[u8]) -> Option<(&[u8], Option<u32>)> {
    let text = text.trim_ascii_end();
    let cut = text.strip_suffix(b"<unfinished ...>").or_else(|| text.strip_suffix(b"<detached ...>"));
    if let Some(args) = cut {
        return Some((args.trim_ascii_end(), None));
    }
    let before = text.strip_suffix(b" attached")?;
    let at = memmem::rfind(before, b"strace: Process ")?;
    match message(&text[at..])? {
        Event::Attached { pid } => Some((&text[..at], Some(pid))),
        _ => None,
    }
}

/// The rest of a line that such a message has split.
pub(super) fn rest(line: &[u8]) -> Option<(Args<'_>, End<'_>)> {
    end(line)
}

fn resumed(text: &[u8]) -> Option<Event<'_>> {
    let name = &text[..memchr(b' ', text)?];
    let after = text[name.len()..].strip_prefix(b" resumed>")?;
    match unfinished(after) {
        Some((args, attached)) => {
            Some(Event::Unfinished { name, args: Args { style: Style::Strace, text: args }, attached })
        }
        None => {
            let (args, end) = end(after)?;
            Some(Event::Resumed { name, args, end })
        }
    }
}

/// Splits `arguments) = result <0.000123>`, from its end: the result is short, and arguments may hold anything.
fn end(text: &[u8]) -> Option<(Args<'_>, End<'_>)> {
    let mut text = text.trim_ascii_end();
    let mut duration = None;
    if let Some(inner) = text.strip_suffix(b">") {
        // No time has more than 24 characters.
        let from = inner.len().saturating_sub(24);
        if let Some(open) = memrchr(b'<', &inner[from..]) {
            duration = number::decimal(&inner[from + open + 1..], SECOND)
                .and_then(|(time, rest)| rest.is_empty().then_some(time));
            if duration.is_some() {
                text = inner[..from + open].trim_ascii_end();
            }
        }
    }
    // The path that `-y` adds to a descriptor may look like a result, too: `3</tmp/a) = 7>`. In paths strace writes
    // angle brackets as numbers, so that these are of the descriptor alone: `4</dev/null<char 1:3>>`.
    let mut until = text.len();
    let closing = text.iter().rev().take_while(|&&byte| byte == b'>').count();
    for _ in 0..closing {
        until = memrchr(b'<', &text[..until])?;
    }
    let (args, result) = loop {
        let equals = memrchr(b'=', &text[..until])?;
        let (before, result) = (&text[..equals], &text[equals + 1..]);
        if let Some(args) = before.trim_ascii_end().strip_suffix(b")")
            && before.ends_with(b" ")
            && matches!(result, [b' ', b'0'..=b'9' | b'-' | b'?', ..])
        {
            break (args, &result[1..]);
        }
        until = equals;
    };
    // A result that breaks off within its time, or within the path of a descriptor.
    let broken = duration.is_none() && memrchr(b'<', result).is_some() && !matches!(result.last(), Some(b'>' | b')'));
    (!broken).then_some((Args { style: Style::Strace, text: args }, End { result, duration }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Record<'_> {
        parse(line.as_bytes()).unwrap_or_else(|| panic!("not understood: {line}"))
    }

    #[test]
    fn every_way_of_writing_who_and_when_is_understood() {
        let (second, day) = (SECOND, Stamp::TimeOfDay(122_957_347_000));
        for (head, pid, stamp) in [
            ("", None, Stamp::None),
            ("26882 ", Some(26882), Stamp::None),
            ("[pid 26882] ", Some(26882), Stamp::None),
            ("[pid     7] ", Some(7), Stamp::None),
            ("26882<cat> ", Some(26882), Stamp::None),
            ("[pid 26882<cat>] ", Some(26882), Stamp::None),
            ("00:02:02.957347 ", None, day),
            ("26882 00:02:02.957347 ", Some(26882), day),
            ("[pid 26882] 00:02:02 ", Some(26882), Stamp::TimeOfDay(122 * second)),
            ("1795305722.784861 ", None, Stamp::Since(1_795_305_722_784_861_000)),
            ("26882 1795305722.784861 ", Some(26882), Stamp::Since(1_795_305_722_784_861_000)),
            ("1795305722 ", None, Stamp::Since(1_795_305_722 * second)),
            ("     0.000138 ", None, Stamp::SinceLast(138_000)),
            ("[pid 26903]      0.000231 ", Some(26903), Stamp::SinceLast(231_000)),
            ("26903      1.000231 ", Some(26903), Stamp::SinceLast(1_000_231_000)),
            ("26882 00:02:02.957347 (+     0.000012) ", Some(26882), day),
            ("26882 00:02:02.957347 [00007f3c5d0e1a45] ", Some(26882), day),
            ("26882 00:02:02.957347 [   3] [00007f3c5d0e1a45] ", Some(26882), day),
        ] {
            let line = format!("{head}close(3)        = 0 <0.000071>");
            let record = read(&line);
            assert_eq!((record.pid, record.stamp), (pid, stamp), "{line}");
            assert!(matches!(record.event, Event::Call { name: b"close", .. }), "{line}");
        }
    }

    #[test]
    fn results_are_found_whatever_the_arguments_hold() {
        for (line, args, result, nanos) in [
            (r#"write(1, "a) = 7 <0.1>", 10) = 10 <0.000008>"#, r#"1, "a) = 7 <0.1>", 10"#, "10", Some(8000)),
            (
                r#"openat(3</d>, "x", O_RDONLY) = 4</d/x = y> <0.000107>"#,
                r#"3</d>, "x", O_RDONLY"#,
                "4</d/x = y>",
                Some(107_000),
            ),
            ("openat(AT_FDCWD, \"x\", 0) = 4</d/x>", "AT_FDCWD, \"x\", 0", "4</d/x>", None),
            (
                "access(\"/x\", R_OK) = -1 ENOENT (No such file or directory) <0.000309>",
                "\"/x\", R_OK",
                "-1 ENOENT (No such file or directory)",
                Some(309_000),
            ),
            ("exit_group(0)           = ?", "0", "?", None),
            ("futex(0x7f, FUTEX_WAIT <unfinished ...>) = ?", "0x7f, FUTEX_WAIT <unfinished ...>", "?", None),
            ("getpid() = 7 <0.000000123>", "", "7", Some(123)),
            (
                "poll([{fd=3, events=POLLIN}], 1, 0) = 0 (Timeout) <0.000003>",
                "[{fd=3, events=POLLIN}], 1, 0",
                "0 (Timeout)",
                Some(3000),
            ),
        ] {
            let Event::Call { args: found, end, .. } = read(line).event else { panic!("{line}") };
            assert_eq!(found.text, args.as_bytes(), "{line}");
            assert_eq!((end.result, end.duration.map(|time| time.nanos)), (result.as_bytes(), nanos), "{line}");
        }
    }

    #[test]
    fn interrupted_calls_come_in_two_parts() {
        let Event::Unfinished { name, args, attached: None } =
            read("26885 1.5 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>").event
        else {
            panic!()
        };
        assert_eq!((name, args.text), (&b"clone"[..], &b"child_stack=NULL, flags=SIGCHLD"[..]));
        let Event::Unfinished { name, attached: Some(26903), .. } =
            read("clone(child_stack=NULL, flags=SIGCHLDstrace: Process 26903 attached").event
        else {
            panic!()
        };
        assert_eq!(name, b"clone");
        let Event::Resumed { name, args, end } =
            read("26885 <... clone resumed>, child_tidptr=0x7fbef1ca6a10) = 26886 <0.000274>").event
        else {
            panic!()
        };
        assert_eq!((name, args.text, end.value()), (&b"clone"[..], &b", child_tidptr=0x7fbef1ca6a10"[..], Some(26886)));
        assert!(matches!(read("strace: Process 26903 attached").event, Event::Attached { pid: 26903 }));
        assert!(matches!(
            read("restart_syscall(<... resuming interrupted read ...>) = 0 <1.2>").event,
            Event::Call { .. }
        ));
    }

    #[test]
    fn notes_are_no_damage() {
        for line in [
            "",
            " <unfinished ...>",
            "26885 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---",
            "[ Process PID=7 runs in 32 bit mode. ]",
            "26885 +++ superseded by execve in pid 26886 +++",
            "strace: Process 7 detached",
            " > /usr/lib/x86_64-linux-gnu/libc.so.6(write+0x14) [0xf7a5d]",
        ] {
            assert!(matches!(read(line).event, Event::Note), "{line}");
        }
        assert!(matches!(read("26885 +++ exited with 0 +++").event, Event::Exited));
        assert!(matches!(read("[pid 5] +++ killed by SIGKILL (core dumped) +++").event, Event::Exited));
    }

    #[test]
    fn lines_that_break_off_or_are_something_else_are_damaged() {
        for line in [
            "26882 1795305722.784861 openat(AT_FDCWD, \"t/a\", O_RDO",
            "26882 1795305722.784861 openat(AT_FDCWD, \"t/a\", O_RDONLY) = 3 <0.0000",
            "26882 1795305722.784861 openat(AT_FDCWD, \"t/a\", O_RDONLY) = 3</tmp/t/",
            "26882 1795305722.784861 openat(AT_FDCWD, \"t/a\", O_RDONLY) =",
            "hello, world",
            "make: *** [all] Error 1",
            "26882 1795305722.7848",
            "<... close resu",
            "[pid 12",
            "26882 12:00:",
            "+++ b/src/main.rs",
            "--- a/src/main.rs",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
