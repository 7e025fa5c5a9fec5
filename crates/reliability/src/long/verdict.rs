//! Whether a work was flat, by numbers.

use std::time::Duration;

use super::sampler::Sample;

/// So much more memory at the end than in the middle is noise of the allocator.
const SLACK: u64 = 8 << 20;
/// What is kept for each thing may take so much more than what is documented: the allocator rounds up, and tables that
/// grow are doubled.
const ROUNDED_UP: f64 = 1.5;
/// Fewer samples say nothing about a middle.
const FEWEST: usize = 12;

/// What was seen of one work.
#[derive(Debug)]
pub struct Watched {
    /// Before the work.
    pub before: Sample,
    /// While it went on.
    pub samples: Vec<Sample>,
    /// When it was over, and threads and handles that are ending had time for it.
    pub after: Sample,
    /// How long the work took.
    pub took: Duration,
}

/// What is kept for each thing, by documentation.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub bytes: u64,
    pub count: u64,
}

/// The figures, and what is wrong with them.
#[derive(Debug)]
pub struct Verdict {
    /// The most memory.
    pub peak: u64,
    /// The most handles and threads.
    pub handles: u64,
    pub threads: u64,
    /// Growth since before the work, for each thing of which something is kept.
    pub bytes_each: Option<f64>,
    pub wrong: Vec<String>,
}

/// `exact`: memory is judged. A work of a few seconds is over before its buffers are full.
pub fn judge(watched: &Watched, kept: Option<Kept>, exact: bool) -> Verdict {
    let Watched { before, samples, after, .. } = watched;
    let most = |of: fn(&Sample) -> u64| samples.iter().chain([after]).map(of).max().unwrap_or(0);
    let mut verdict = Verdict {
        peak: most(|sample| sample.memory),
        handles: most(|sample| sample.handles),
        threads: most(|sample| sample.threads),
        bytes_each: None,
        wrong: Vec::new(),
    };
    for (what, then, now) in [("handles", before.handles, after.handles), ("threads", before.threads, after.threads)] {
        if then != now {
            verdict.wrong.push(format!("{now} {what} after it, {then} before"));
        }
    }
    if samples.len() < FEWEST {
        if exact {
            verdict.wrong.push(format!("it was too short: {} samples", samples.len()));
        }
        return verdict;
    }
    let [middle, end] = [(0.45, 0.55), (0.90, 1.0)].map(|part| median(samples, part));
    let grown = |from: u64| end.saturating_sub(from);
    match kept {
        Some(Kept { bytes, count }) => {
            let each = grown(before.memory) as f64 / count as f64;
            verdict.bytes_each = Some(each);
            if exact && each > bytes as f64 * ROUNDED_UP + SLACK as f64 / count as f64 {
                verdict.wrong.push(format!("{each:.0} bytes are kept for each, {bytes} are documented"));
            }
        }
        None if exact && grown(middle) > SLACK.max(middle / 10) => {
            let [middle, end] = [middle, end].map(|bytes| bytes >> 20);
            verdict.wrong.push(format!("{end} MiB at the end, {middle} in the middle"));
        }
        None => {}
    }
    verdict
}

/// The median memory of a part of the samples, `0.0..1.0` being all.
fn median(samples: &[Sample], (from, to): (f64, f64)) -> u64 {
    let at = |part: f64| (samples.len() as f64 * part) as usize;
    let mut memory: Vec<u64> = samples[at(from)..at(to).max(at(from) + 1)].iter().map(|sample| sample.memory).collect();
    memory.sort_unstable();
    memory[memory.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn watched(memory: impl Fn(u64) -> u64) -> Watched {
        let sample = |n: u64| Sample { at: Duration::from_secs(n), memory: memory(n), handles: 5, threads: 3 };
        let idle = Sample { handles: 4, threads: 1, ..Sample::default() };
        Watched { before: idle, samples: (0..100).map(sample).collect(), after: idle, took: Duration::from_secs(100) }
    }

    #[test]
    fn memory_that_stays_is_flat_and_so_is_what_falls() {
        for memory in [|_| 50 * MB, |n| (200 - n) * MB, |n: u64| 50 * MB + n.min(30) * MB] {
            assert!(judge(&watched(memory), None, true).wrong.is_empty());
        }
    }

    #[test]
    fn memory_that_grows_is_told_unless_it_is_little() {
        assert_eq!(judge(&watched(|n| (50 + n) * MB), None, true).wrong, ["145 MiB at the end, 100 in the middle"]);
        assert!(judge(&watched(|n| (50 + n / 10) * MB), None, true).wrong.is_empty());
        assert!(judge(&watched(|n| (50 + n) * MB), None, false).wrong.is_empty());
    }

    #[test]
    fn what_is_kept_for_each_is_reckoned_and_held_against_what_is_said() {
        let kept = |bytes| Some(Kept { bytes, count: 1_000_000 });
        let verdict = judge(&watched(|n| n * 1_000_000), kept(90), true);
        assert!(verdict.wrong.is_empty(), "{verdict:?}");
        let each = verdict.bytes_each.unwrap();
        assert!((95.0..105.0).contains(&each), "{each}");
        assert_eq!(judge(&watched(|n| n * 1_000_000), kept(40), true).wrong.len(), 1);
    }

    #[test]
    fn a_handle_and_a_thread_that_stay_are_told() {
        let mut watched = watched(|_| MB);
        watched.after.handles += 1;
        watched.after.threads += 2;
        let wrong = judge(&watched, None, false).wrong;
        assert_eq!(wrong, ["5 handles after it, 4 before", "3 threads after it, 1 before"]);
    }

    #[test]
    fn a_few_samples_are_no_verdict() {
        let mut watched = watched(|_| MB);
        watched.samples.truncate(5);
        assert_eq!(judge(&watched, None, true).wrong, ["it was too short: 5 samples"]);
    }
}
