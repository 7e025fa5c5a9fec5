//! What would save time, and the arithmetic of it.
//!
//! Every saving is computed from the trace's figures and from measured constants, and is an estimate to the low side.
//! Savings overlap: a close that is saved because the file stays open cannot be handed over as well.

use crate::human::{bytes, count, counted, time};
use crate::report::{A_BATCH, BUFFER, Finding, Report, Sum};

/// What handing a close over costs the thread that does it, at most (the figure behind `Policy::Adaptive`).
const HAND_OVER: u64 = 10_000;
/// Closes that a `Closer` has going at once.
const CLOSERS: u64 = 64;
/// One sync for a batch against one for each file: measured 8 times (written, synced and renamed) to 14 (written and
/// synced).
const BATCH: u64 = 8;
/// Making files with a `TreeWriter` against one thread in a loop: measured 1.5 times (ext4) to 2 (tmpfs) on two cores.
const TREE: (u64, u64) = (3, 2);
/// Files from which on a tree is worth its threads.
const A_TREE: u64 = 64;

/// All findings that apply to a trace, the largest saving first.
pub(crate) fn all(report: &Report) -> Vec<Finding> {
    let mut all: Vec<Finding> = [
        closes(report),
        again(report),
        small_writes(report),
        batch(report),
        group(report),
        tree(report),
        folders(report),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.sort_by_key(|finding| std::cmp::Reverse((finding.saves_nanos, finding.saves_calls)));
    all
}

impl Finding {
    fn new(part: &'static str, title: &'static str, told: String) -> Finding {
        Finding { part, title, told: vec![told], arithmetic: None, saves_nanos: None, saves_calls: None }
    }

    fn saying(mut self, told: impl Into<String>) -> Finding {
        self.told.push(told.into());
        self
    }

    /// `terms` is what stands before the equals sign.
    fn saving(mut self, terms: String, nanos: u64) -> Finding {
        self.arithmetic = Some(format!("{terms} = {}", time(nanos)));
        self.saves_nanos = Some(nanos);
        self
    }
}

impl Finding {
    /// The saving in a few words; `share` says how much of the time on files that is.
    pub(crate) fn saving_in_words(&self, share: impl FnOnce(u64) -> String) -> (String, String) {
        match (self.saves_nanos, self.saves_calls) {
            (Some(nanos), _) => (format!("saves {}", time(nanos)), share(nanos)),
            (None, Some(calls)) => (
                format!("saves {}", counted(calls, "call", "calls")),
                "how long they take, the trace can't tell".into(),
            ),
            (None, None) => (String::new(), "no saving that the trace shows".into()),
        }
    }
}

/// `− 2,300 × 71.0 µs of tracing`, where that is known.
fn without_tracing(report: &Report, calls: u64) -> (u64, String) {
    match report.tracing.filter(|&nanos| nanos > 0) {
        Some(nanos) => (calls.saturating_mul(nanos), format!(" − {} × {} of tracing", count(calls), time(nanos))),
        None => (0, String::new()),
    }
}

fn mean(nanos: u64, calls: u64) -> String {
    time(nanos / calls.max(1))
}

fn closes(report: &Report) -> Option<Finding> {
    let closes = &report.closes;
    let calls = closes.written.calls + closes.appended.calls;
    let nanos = closes.written.nanos.saturating_add(closes.appended.nanos);
    if calls == 0 {
        return None;
    }
    let (part, title) = ("FastClose, Closer", "closes after a write");
    let mut told = format!(
        "{} followed a write ({} of them an append)",
        counted(calls, "close", "closes"),
        count(closes.appended.calls)
    );
    if !report.timed {
        return Some(Finding::new(part, title, told + "."));
    }
    told += &format!(" and took {}, {} each", time(nanos), mean(nanos, calls));
    told += &match closes.unwritten.calls {
        0 => ".".to_string(),
        others => {
            format!("; {} took {} each.", counted(others, "other", "others"), mean(closes.unwritten.nanos, others))
        }
    };
    let finding = Finding::new(part, title, told);
    let Sum { calls: several, nanos, .. } = closes.of_several;
    if several == 0 {
        return Some(finding.saying(
            "Each was of a process that made one only, and ended: it had nothing else to do meanwhile, and nothing is to be \
             gained.",
        ));
    }
    let finding = match calls - several {
        0 => finding,
        _ => finding.saying(format!(
            "{} of them were of processes that closed several: only such ones are reckoned with.",
            count(several)
        )),
    };
    let (tracing, tracing_said) = without_tracing(report, several);
    let saved = nanos.saturating_sub(tracing).saturating_sub(several * HAND_OVER);
    if saved == 0 {
        return Some(finding.saying(format!(
            "That is no more than handing them over would cost ({} each): a Closer that sees this closes at once, and \
             nothing is to be gained.",
            time(HAND_OVER)
        )));
    }
    let terms = format!("{}{tracing_said} − {} × {} to hand over", time(nanos), count(several), time(HAND_OVER));
    Some(
        finding
            .saying(format!(
                "Handed over, they no longer hold up the thread that writes; up to {CLOSERS} of them wait at once, so \
                 all are closed soon after."
            ))
            .saving(terms, saved),
    )
}

fn again(report: &Report) -> Option<Finding> {
    let again = &report.again;
    if again.kept_opens == 0 {
        return None;
    }
    let least = if again.exact { "" } else { "at least " };
    let mut told = format!(
        "{least}{} for writing of a file that the same process had open for writing before",
        counted(again.kept_opens, "open", "opens")
    );
    let (part, title) = ("Vfs, FileWriter", "files opened again and again");
    if !report.timed {
        return Some(Finding::new(part, title, told + "."));
    }
    told += &format!(
        "; they took {}, the closes before them {}.",
        time(again.kept_open_nanos),
        time(again.kept_close_nanos)
    );
    let (tracing, tracing_said) = without_tracing(report, 2 * again.kept_opens);
    let saved = again.kept_open_nanos.saturating_add(again.kept_close_nanos).saturating_sub(tracing);
    let terms = format!("{} + {}{tracing_said}", time(again.kept_open_nanos), time(again.kept_close_nanos));
    let finding = Finding::new(part, title, told).saying("With the handle kept, none of these calls is made.");
    Some(if saved > 0 { finding.saving(terms, saved) } else { finding })
}

fn small_writes(report: &Report) -> Option<Finding> {
    let writes = &report.small_writes;
    let fewer = writes.calls.checked_sub(writes.calls_with_buffer).filter(|&fewer| fewer > 0)?;
    let mut told = format!(
        "{} writes of less than 64 KiB each followed one another in {}, {} in all, {} each",
        count(writes.calls),
        counted(writes.runs, "run", "runs"),
        bytes(writes.bytes),
        bytes(writes.bytes / writes.calls)
    );
    let (part, title) = ("FileWriter", "small writes that a buffer merges");
    let merged = format!("Through a buffer of {} KiB they would be {}.", BUFFER >> 10, count(writes.calls_with_buffer));
    let Some(cheapest) = report.cheapest_write.filter(|_| report.timed) else {
        let finding = Finding::new(part, title, told + ".").saying(merged);
        return Some(Finding { saves_calls: Some(fewer), ..finding });
    };
    told += &format!("; they took {}.", time(writes.nanos));
    // The cheapest writes are compared with the cheapest calls: beside the median of calls that do nothing, the
    // cheapest writes would seem free.
    let tracing = report.least_tracing.unwrap_or(0);
    // Never more than these writes took.
    let saved = fewer.saturating_mul(cheapest.saturating_sub(tracing)).min(writes.nanos);
    let finding = Finding::new(part, title, told).saying(merged);
    let each = match tracing {
        0 => time(cheapest),
        tracing => format!("({} − {} of tracing)", time(cheapest), time(tracing)),
    };
    let terms = format!(
        "({} − {}) × {each} that the cheapest tenth of writes take",
        count(writes.calls),
        count(writes.calls_with_buffer)
    );
    Some(match saved {
        0 => Finding {
            saves_calls: Some(fewer),
            ..finding.saying(
                "Under this tracer the cheapest writes cost no more than the tracing: the trace can't tell their time.",
            )
        },
        saved => finding.saving(terms, saved),
    })
}

fn batch(report: &Report) -> Option<Finding> {
    let syncs = &report.syncs;
    if syncs.first.calls < 2 {
        return None;
    }
    let (part, title) = ("SyncBatch", "syncs that a batch merges");
    let finding = Finding::new(part, title, synced_one_by_one(report, &syncs.first));
    if syncs.batches == 0 {
        return Some(finding.saying(format!(
            "No process synced {A_BATCH} or more. From some {A_BATCH} files of one process on, one sync for all of them is worth its \
             price; so few are synced faster from several threads, and those of several processes by nobody."
        )));
    }
    let finding = match syncs.first.calls - syncs.in_batches.calls {
        0 => finding,
        _ => finding.saying(format!(
            "{} of them were of {} that synced {A_BATCH} or more: only such ones are reckoned with.",
            count(syncs.in_batches.calls),
            counted(syncs.batches, "process", "processes")
        )),
    };
    let finding = finding.saying(
        "One sync for all of them took from an eighth down to a fourteenth of that where it was measured (ext4, XFS); \
         reckoned with an eighth.",
    );
    let nanos = syncs.in_batches.nanos;
    let saved = nanos - nanos / BATCH;
    Some(if report.timed { finding.saving(format!("{0} − {0} / {BATCH}", time(nanos)), saved) } else { finding })
}

fn synced_one_by_one(report: &Report, sum: &Sum) -> String {
    let told = format!("{} files were synced one by one", count(sum.calls));
    match report.timed {
        true => format!("{told}, which took {}, {} each.", time(sum.nanos), mean(sum.nanos, sum.calls)),
        false => told + ".",
    }
}

fn group(report: &Report) -> Option<Finding> {
    let syncs = &report.syncs;
    let took = |sum: &Sum| match report.timed {
        true => format!("; they took {}, {} each", time(sum.nanos), mean(sum.nanos, sum.calls)),
        false => String::new(),
    };
    let mut told = Vec::new();
    if syncs.again.calls > 0 {
        let calls = counted(syncs.again.calls, "sync", "syncs");
        told.push(format!("{calls} of a file that had been synced before{}.", took(&syncs.again)));
    }
    if syncs.durable_writes.calls > 0 {
        let calls = counted(syncs.durable_writes.calls, "write", "writes");
        let sum = took(&syncs.durable_writes);
        told.push(format!("{calls} to files that were opened with O_SYNC or O_DSYNC: each waits for the disk{sum}."));
    }
    if told.is_empty() {
        return None;
    }
    let finding = Finding::new("Appender, SyncPolicy", "waits for the disk, one for each record", told.join(" "));
    Some(finding.saying(
        "Records of several threads share syncs in an Appender; a SyncPolicy syncs once in so many bytes or so much \
         time, if a crash may take what came since. How much that saves depends on what may be lost.",
    ))
}

fn tree(report: &Report) -> Option<Finding> {
    let made = &report.made;
    if made.files < A_TREE {
        return None;
    }
    let (part, title) = ("TreeWriter", "many files made one after the other");
    let mut told = format!("{} files were made", count(made.files));
    if made.by_one_thread < made.files / 10 * 9 {
        return Some(Finding::new(part, title, told + ", by several threads; no more is promised for that."));
    }
    told += " by one thread";
    if !report.timed {
        return Some(Finding::new(part, title, told + "."));
    }
    told +=
        &format!("; their opens, writes and closes took {}, {} each.", time(made.nanos), mean(made.nanos, made.files));
    let (tracing, tracing_said) = without_tracing(report, 3 * made.files);
    let work = made.nanos.saturating_sub(tracing);
    let saved = work - work / TREE.0 * TREE.1;
    let finding = Finding::new(part, title, told).saying(
        "Spread over threads by folder and opened relative to folders that stay open, this was 1.5 times (ext4) to \
         twice (tmpfs) as \
         fast on two cores; where calls wait, many times.",
    );
    let took = time(made.nanos);
    let took = if tracing == 0 { took } else { format!("({took}{tracing_said})") };
    let terms = format!("{took} × (1 − 1 / 1.5)");
    Some(if saved > 0 { finding.saving(terms, saved) } else { finding })
}

fn folders(report: &Report) -> Option<Finding> {
    let sum = &report.folders_were_there;
    if sum.calls < 2 {
        return None;
    }
    let (part, title) = ("TreeWriter", "folders made that were there");
    let told = format!("{} times a folder was to be made that was there already", count(sum.calls));
    if !report.timed {
        return Some(Finding::new(part, title, told + "."));
    }
    let (tracing, tracing_said) = without_tracing(report, sum.calls);
    let saved = sum.nanos.saturating_sub(tracing);
    let finding = Finding::new(part, title, format!("{told}; that took {}.", time(sum.nanos)))
        .saying("A TreeWriter makes each folder once and remembers.");
    Some(if saved > 0 { finding.saving(format!("{}{tracing_said}", time(sum.nanos)), saved) } else { finding })
}
