//! What a process uses, as the kernel tells it, over time.

use std::fmt::Write;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// What a process used at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since its work began.
    pub at: Duration,
    /// Resident bytes, but for those of mapped files.
    pub memory: u64,
    pub handles: u64,
    pub threads: u64,
}

/// Looks at a process of this number.
pub fn look(process: u32, begun: Instant) -> io::Result<Sample> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let missing = |what: &str| io::Error::other(format!("the kernel does not tell {what} of a process"));
    Ok(Sample {
        at: begun.elapsed(),
        // Its own memory: windows of files that are mapped can be taken back from it at any time.
        memory: number("RssAnon:").ok_or_else(|| missing("the memory"))? << 10,
        handles: fs::read_dir(format!("/proc/{process}/fd"))?.count() as u64,
        threads: fs::read_dir(format!("/proc/{process}/task"))?.count() as u64,
    })
}

/// What a spreadsheet reads.
pub fn to_csv(samples: &[Sample]) -> String {
    let mut csv = String::from("seconds,memory,handles,threads\n");
    for Sample { at, memory, handles, threads } in samples {
        // Into a string nothing can fail.
        let _ = writeln!(csv, "{:.3},{memory},{handles},{threads}", at.as_secs_f64());
    }
    csv
}

/// What [`to_csv`] has written; lines that it has not are left out.
pub fn parse(csv: &str) -> Vec<Sample> {
    let sample = |line: &str| {
        let mut fields = line.split(',');
        let at = Duration::try_from_secs_f64(fields.next()?.parse().ok()?).ok()?;
        let mut number = || fields.next()?.parse().ok();
        Some(Sample { at, memory: number()?, handles: number()?, threads: number()? })
    };
    csv.lines().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_as_they_were_written() {
        let sample = |n| Sample { at: Duration::from_millis(n * 200), memory: n << 20, handles: n, threads: 3 };
        let samples: Vec<Sample> = (0..20).map(sample).collect();
        assert_eq!(parse(&to_csv(&samples)), samples);
    }

    #[test]
    fn this_process_uses_what_it_has_opened_and_begun() {
        // Other tests of this program open and begin things, too.
        let files: Vec<_> = (0..100).map(|_| fs::File::open("/proc/self/status").unwrap()).collect();
        let memory = vec![1_u8; 64 << 20];
        let sample = look(std::process::id(), Instant::now()).unwrap();
        assert!(sample.handles > 100 && sample.threads > 1 && sample.memory > 64 << 20, "{sample:?}");
        drop((files, memory));
    }
}
