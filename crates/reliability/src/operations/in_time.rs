//! Whether a failure of a [`Vfs`](manyfiles::vfs::Vfs)' file was told by the calls that had to tell it, and before any
//! of them succeeded.

use super::marks::{Mark, Step};
use super::names::{Call, NAMES, Name, path};
use super::subject::{Numbered, Seen, Threads};
use crate::run::Fired;

/// Where in the record a call began, had its file, and ended.
#[derive(Clone, Copy)]
struct Span {
    began: usize,
    made: usize,
    ended: usize,
}

impl Span {
    fn of(marks: &[Mark], number: u64) -> Option<Span> {
        let at = |step| marks.iter().find(|mark| mark.number == number && mark.step == step).map(|mark| mark.at);
        let (began, ended) = (at(Step::Began)?, at(Step::Ended)?);
        Some(Span { began, made: at(Step::Made).unwrap_or(usize::MAX), ended })
    }

    fn has(&self, at: usize) -> bool {
        (self.began..self.ended).contains(&at)
    }
}

/// The calls of a thread, with their places.
fn spans<'a>(calls: &'a [Numbered<Call>], marks: &[Mark]) -> Vec<(&'a Numbered<Call>, Span)> {
    calls.iter().filter_map(|it| Some((it, Span::of(marks, it.number)?))).collect()
}

pub fn judge(threads: &Threads<Call>, seen: &mut Seen) {
    let mut problems = Vec::new();
    for fired in seen.fired.iter().filter(|fired| fired.errno != 0 && fired.errno != libc::EINTR) {
        let counts = matches!(&*fired.call, "close" | "write") && fired.is_writing || fired.call == "fsync";
        for (thread, calls) in threads.iter().enumerate().filter(|_| counts) {
            let folder = path(&seen.folder, thread, 0).parent().expect("it is in a folder").to_owned();
            let spans = spans(calls, &seen.marks);
            let name = (0..NAMES).find(|name| fired.path == path(&seen.folder, thread, *name));
            let wrong = match name {
                Some(name) if fired.call != "fsync" => of_file(seen, threads, &spans, fired, name),
                // A new file by another name, the folder, or a sync: nobody's but the call's that is under way.
                _ if fired.path.starts_with(&folder) => of_call(seen, &spans, fired),
                _ => None,
            };
            problems.extend(
                wrong.map(|wrong| format!("{} of {}: {}: {wrong}", fired.call, fired.path.display(), fired.errno)),
            );
        }
    }
    seen.problems.extend(problems);
}

/// What only the call that is under way can tell.
fn of_call(seen: &Seen, spans: &[(&Numbered<Call>, Span)], fired: &Fired) -> Option<String> {
    let (it, _) = spans.iter().find(|(_, span)| span.has(fired.at))?;
    seen.answer(it.number).is_ok().then(|| format!("{}: {:?} has met it and succeeded", it.number, it.call))
}

/// A kept handle's: any thread may have met it. Or that of a call that made the file.
fn of_file(
    seen: &Seen,
    threads: &Threads<Call>,
    spans: &[(&Numbered<Call>, Span)],
    fired: &Fired,
    name: Name,
) -> Option<String> {
    let told_at = first_told(seen, threads, fired);
    let mut may_be_kept = false;
    for (it, span) in spans.iter().filter(|(it, _)| it.call.names().contains(&name) || matches!(it.call, Call::Wait)) {
        let (call, is_ok) = (&it.call, seen.answer(it.number).is_ok());
        let is_made = call.makes_anew(name);
        let is_own = span.has(fired.at) && is_made && (fired.at > span.made || !may_be_kept);
        if is_ok && is_own {
            return Some(format!("{}: {call:?} has met it and succeeded", it.number));
        }
        may_be_kept = match call {
            Call::Append(..) | Call::AppendNow(..) | Call::Touch(_) => true,
            Call::Flush(_) | Call::Wait => false,
            _ if is_made && is_ok => false,
            _ => may_be_kept,
        };
        // "until `flush` has returned it or the file is removed, by the last of its names, or created anew"
        if is_ok && is_made && span.ended > fired.at {
            return None;
        }
        let (is_after, is_before_told) = (span.began > fired.at, told_at.is_none_or(|told| span.ended < told));
        if is_ok && is_after && is_before_told && !matches!(call, Call::Touch(_)) {
            return Some(format!("{}: {call:?} has succeeded after it, and nobody was told", it.number));
        }
    }
    if told_at.is_none() { Some("nobody was told".into()) } else { None }
}

/// Where the first call began that has told it. A sync tells of the folder.
fn first_told(seen: &Seen, threads: &Threads<Call>, fired: &Fired) -> Option<usize> {
    let tells = |told: &crate::told::Told| told.path.as_deref().is_some_and(|told| fired.path.starts_with(told));
    let calls = threads.iter().flatten().filter(|it| seen.answer(it.number).told.iter().any(tells));
    let spans = calls.filter_map(|it| Span::of(&seen.marks, it.number)).filter(|span| span.ended > fired.at);
    let at_end = seen.story.end.iter().any(tells).then_some(usize::MAX);
    spans.map(|span| span.began).min().or(at_end)
}
