//! What is slow, why, and what helps: from the times alone, so that it can be tested without a slow disk.

use std::time::Duration;

use manyfiles_measure::Place;

use crate::series::Series;
use crate::step::Step;

/// Something that is slow here.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What is slow and by how much, as a sentence.
    pub slow: String,
    /// What helps: the part of manyfiles, and where it is.
    pub use_this: String,
    /// How many times as fast the work becomes, as measured here.
    pub factor: f64,
}

/// A call on a local file system takes 0.4–25 µs (docs/measurements.md, "What a small file costs"); through FUSE
/// without any work behind it 70 µs on the slowest machine that we know of.
const SLOW: Duration = Duration::from_micros(150);

/// Less is not worth a change.
const WORTH_IT: f64 = 1.3;

/// All that is slow, the most rewarding first.
pub(crate) fn advise(series: &[Series], place: &Place) -> Vec<Advice> {
    let find = |step, many: bool| series.iter().find(|it| it.step == step && (it.threads > 1) == many);
    let mut all = Vec::new();
    let (handed_over, tree) = (find(Step::HandedOver, false), find(Step::Tree, false));
    if let (Some(new), Some(handed_over), Some(tree)) = (find(Step::New, false), handed_over, tree) {
        all.extend(slow_close(new, handed_over, tree, place));
        all.extend(slow_open(new, tree));
    }
    if let (Some(truncated), Some(in_place)) = (find(Step::Truncated, false), find(Step::InPlace, false)) {
        all.extend(slow_overwrite(truncated, in_place));
    }
    if let (Some(synced), Some(batch)) = (find(Step::Synced, false), find(Step::Batch, false)) {
        all.extend(slow_sync(synced, batch, find(Step::Synced, true)));
    }
    all.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    all
}

fn slow_close(new: &Series, handed_over: &Series, tree: &Series, place: &Place) -> Option<Advice> {
    let close = new.of("close")?;
    let share = close.total().div_duration_f64(total(new));
    if close.median() < SLOW || share < 0.25 {
        return None;
    }
    let why = match place.file_system.as_deref() {
        Some(name) if name.starts_with("nfs") => " (NFS sends what was written to the server then)",
        Some("cifs" | "smb3") => " (SMB sends what was written to the server then)",
        Some(name) if name.starts_with("fuse") => " (FUSE asks the program behind the mount then)",
        Some("NTFS" | "ReFS") => " (a virus scanner looks at the file then)",
        _ => "",
    };
    let [closes, files] = [handed_over, tree].map(|it| it.rate() / new.rate());
    let factor = closes.max(files);
    (factor >= WORTH_IT).then(|| Advice {
        slow: format!(
            "closing a new file takes {} here, {:.0} % of the time that a small file takes{why}",
            short(close.median()),
            share * 100.0
        ),
        use_this: format!(
            "TreeWriter ({} as fast here), or FastClose around each File ({}): they close on many threads, and report \
             what a close says; in the terminal: manyfiles unpack, manyfiles copy",
            times(files),
            times(closes)
        ),
        factor,
    })
}

/// `1.4 times`, `25 times`.
fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1} times") } else { format!("{factor:.0} times") }
}

fn slow_open(new: &Series, tree: &Series) -> Option<Advice> {
    let open = new.of("open")?;
    let share = open.total().div_duration_f64(total(new));
    if open.median() < SLOW || share < 0.25 {
        return None;
    }
    let factor = tree.rate() / new.rate();
    (factor >= WORTH_IT).then(|| Advice {
        slow: format!(
            "creating a file takes {} here, {:.0} % of the time that a small file takes: each waits for the other side",
            short(open.median()),
            share * 100.0
        ),
        use_this: "TreeWriter: it notices, and works on up to 128 files at once, in as many folders as there are"
            .into(),
        factor,
    })
}

fn slow_overwrite(truncated: &Series, in_place: &Series) -> Option<Advice> {
    // Means, not medians: the few closes that wait for write-back make the difference.
    let (long, short_) = (mean(truncated), mean(in_place));
    let factor = long.div_duration_f64(short_);
    (factor >= WORTH_IT && long - short_ >= Duration::from_micros(5)).then(|| Advice {
        slow: format!(
            "overwriting a file takes {} if it is truncated first, and {} if it is written over and cut to length",
            short(long),
            short(short_)
        ),
        use_this: "TreeWriter with OnConflict::Overwrite, or manyfiles unpack and copy with --on-conflict overwrite \
                   (a crash in between leaves old and new bytes mixed)"
            .into(),
        factor,
    })
}

fn slow_sync(synced: &Series, batch: &Series, many: Option<&Series>) -> Option<Advice> {
    let sync = synced.of("sync")?;
    let factor = synced.per_file().div_duration_f64(batch.per_file());
    if sync.median() < Duration::from_micros(50) || factor < WORTH_IT {
        return None;
    }
    let beside = match many {
        Some(many) if many.rate() > synced.rate() * WORTH_IT => {
            format!(", on {} threads at once {}", many.threads, short(many.per_file()))
        }
        _ => String::new(),
    };
    Some(Advice {
        slow: format!(
            "a file that is synced by itself takes {}{beside}; in a batch of {} it takes {}",
            short(synced.per_file()),
            batch.files,
            short(batch.per_file())
        ),
        use_this: "SyncBatch for many files, Appender for many records of one".into(),
        factor,
    })
}

fn total(series: &Series) -> Duration {
    series.operations.iter().map(|(_, samples)| samples.total()).sum::<Duration>().max(Duration::from_nanos(1))
}

/// What a file takes, in all its calls.
fn mean(series: &Series) -> Duration {
    series.operations.iter().map(|(_, samples)| samples.trimmed_mean()).sum()
}

/// `0.4 µs`, `12.9 µs`, `2.1 ms`, `1.3 s`: two or three digits.
pub(crate) fn short(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    let (value, unit) = match micros {
        ..999.5 => (micros, "µs"),
        ..999_500.0 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    if value < 99.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyfiles_measure::Samples;

    fn series(step: Step, threads: usize, files: u64, per_file: u64, calls: &[(&'static str, u64)]) -> Series {
        let samples = |micros| Samples::new(vec![Duration::from_micros(micros); files as usize]).unwrap();
        Series {
            step,
            threads,
            files,
            elapsed: Duration::from_micros(files * per_file),
            operations: calls.iter().map(|(name, micros)| (*name, samples(*micros))).collect(),
        }
    }

    fn on(file_system: &str) -> Place {
        Place { file_system: Some(file_system.into()), ..Place::default() }
    }

    #[test]
    fn on_tmpfs_nothing_is_slow() {
        let series = [
            series(Step::New, 1, 100, 6, &[("open", 3), ("write", 2), ("close", 1)]),
            series(Step::HandedOver, 1, 100, 6, &[]),
            series(Step::Tree, 1, 100, 4, &[]),
            series(Step::Truncated, 1, 100, 5, &[("open", 3), ("write", 2), ("close", 1)]),
            series(Step::InPlace, 1, 100, 4, &[("open", 1), ("write", 2), ("cut to length", 1), ("close", 1)]),
            series(Step::Synced, 1, 100, 7, &[("open", 3), ("write", 2), ("sync", 1), ("close", 1)]),
            series(Step::Batch, 1, 100, 7, &[]),
        ];
        assert_eq!(advise(&series, &on("tmpfs")), []);
    }

    #[test]
    fn a_slow_close_is_named_with_its_time_its_reason_and_the_measured_gain() {
        let series = [
            series(Step::New, 1, 100, 2_300, &[("open", 100), ("write", 100), ("close", 2_100)]),
            series(Step::HandedOver, 1, 100, 230, &[]),
            series(Step::Tree, 1, 100, 92, &[]),
        ];
        let advice = advise(&series, &on("fuse.sshfs"));
        assert_eq!(advice.len(), 1);
        assert!(advice[0].slow.contains("closing a new file takes 2.1 ms here, 91 %"), "{advice:?}");
        assert!(advice[0].slow.contains("FUSE"), "{advice:?}");
        assert!(
            advice[0].use_this.contains("TreeWriter (25 times as fast here), or FastClose around each File (10 times)")
        );
        assert!((advice[0].factor - 25.0).abs() < 0.01, "{advice:?}");
    }

    #[test]
    fn a_slow_disk_gets_batches_and_ext4_is_overwritten_in_place() {
        let series = [
            series(Step::Truncated, 1, 100, 25, &[("open", 11), ("write", 3), ("close", 10)]),
            series(Step::InPlace, 1, 100, 9, &[("open", 1), ("write", 6), ("cut to length", 1), ("close", 1)]),
            series(Step::Synced, 1, 100, 500, &[("open", 10), ("write", 4), ("sync", 480), ("close", 1)]),
            series(Step::Synced, 16, 100, 100, &[("open", 10), ("write", 4), ("sync", 1_400), ("close", 1)]),
            series(Step::Batch, 1, 400, 40, &[]),
        ];
        let advice = advise(&series, &on("ext4"));
        assert_eq!(advice.iter().map(|it| it.factor.round()).collect::<Vec<_>>(), [13.0, 3.0]);
        assert!(advice[0].slow.contains("on 16 threads at once 100 µs"), "{advice:?}");
        assert!(advice[1].use_this.contains("--on-conflict overwrite"), "{advice:?}");
    }

    #[test]
    fn times_are_short() {
        for (nanos, text) in
            [(400, "0.4 µs"), (12_940, "12.9 µs"), (150_000, "150 µs"), (2_100_000, "2.1 ms"), (1_300_000_000, "1.3 s")]
        {
            assert_eq!(short(Duration::from_nanos(nanos)), text);
        }
    }
}
