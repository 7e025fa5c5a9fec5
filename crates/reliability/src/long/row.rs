//! A line of the page, as `docs/long.csv` keeps it.

use super::verdict::{Verdict, Watched};
use super::work::{Result, Size, Work};

const FLAT: &str = "flat";
const AS_DOCUMENTED: &str = "as documented";

/// What came of a work. Text has no semicolons.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    pub what: String,
    pub place: String,
    pub unit: String,
    pub done: u64,
    pub seconds: f64,
    pub peak: u64,
    /// Measured and documented bytes for each thing that something is kept of, and what that thing is.
    pub kept: Option<(f64, u64, String)>,
    pub handles: (u64, u64, u64),
    pub threads: (u64, u64, u64),
    pub verdict: String,
    pub made: String,
}

impl Row {
    pub fn new(work: &dyn Work, size: Size, watched: &Watched, done: u64, verdict: &Verdict, made: &str) -> Row {
        let Watched { before, after, .. } = watched;
        let kept = work.holds().zip(verdict.bytes_each);
        Row {
            name: work.name().into(),
            what: work.what(size),
            place: work.place().name().into(),
            unit: work.unit().into(),
            done,
            seconds: watched.took.as_secs_f64(),
            peak: verdict.peak,
            kept: kept.map(|(holds, each)| (each, holds.bytes, holds.each.into())),
            handles: (before.handles, verdict.handles, after.handles),
            threads: (before.threads, verdict.threads, after.threads),
            verdict: match (verdict.wrong.is_empty(), work.holds()) {
                (true, None) => FLAT.into(),
                (true, Some(_)) => AS_DOCUMENTED.into(),
                (false, _) => verdict.wrong.join(", "),
            },
            made: made.into(),
        }
    }

    pub fn is_sound(&self) -> bool {
        [FLAT, AS_DOCUMENTED].contains(&&*self.verdict)
    }

    pub fn to_line(&self) -> String {
        let kept = self.kept.as_ref().map(|(each, bytes, what)| format!("{each:.1};{bytes};{what}"));
        let ((h0, h1, h2), (t0, t1, t2)) = (self.handles, self.threads);
        format!(
            "{};{};{};{};{};{:.1};{};{};{h0};{h1};{h2};{t0};{t1};{t2};{};{}\n",
            self.name,
            self.what,
            self.place,
            self.unit,
            self.done,
            self.seconds,
            self.peak,
            kept.unwrap_or_else(|| ";;".into()),
            self.verdict,
            self.made
        )
    }

    pub fn parse(line: &str) -> Result<Row> {
        let fields: Vec<&str> = line.split(';').collect();
        let [name, what, place, unit, done, seconds, peak, each, bytes, thing, h0, h1, h2, t0, t1, t2, verdict, made] =
            fields[..]
        else {
            return Err(format!("a line of docs/long.csv has {} fields: {line}", fields.len()).into());
        };
        let kept = if each.is_empty() { None } else { Some((each.parse()?, bytes.parse()?, thing.to_owned())) };
        Ok(Row {
            name: name.into(),
            what: what.into(),
            place: place.into(),
            unit: unit.into(),
            done: done.parse()?,
            seconds: seconds.parse()?,
            peak: peak.parse()?,
            kept,
            handles: (h0.parse()?, h1.parse()?, h2.parse()?),
            threads: (t0.parse()?, t1.parse()?, t2.parse()?),
            verdict: verdict.into(),
            made: made.into(),
        })
    }
}

/// The first line of the file.
pub const HEAD: &str = "work;what;file system;unit;done;seconds;peak memory;bytes each;documented;of each;\
    handles before;most;after;threads before;most;after;verdict;made\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let row = Row {
            name: "pack".into(),
            what: "`ArchiveWriter`: 5 files".into(),
            place: "tmpfs".into(),
            unit: "files".into(),
            done: 5,
            seconds: 1.5,
            peak: 1 << 30,
            kept: Some((120.5, 110, "entry".into())),
            handles: (3, 9, 3),
            threads: (1, 4, 1),
            verdict: "flat".into(),
            made: "2026-11-23, commit 1, Linux, 2 cores".into(),
        };
        assert_eq!(Row::parse(row.to_line().trim_end()).unwrap(), row);
        let without = Row { kept: None, ..row };
        assert_eq!(Row::parse(without.to_line().trim_end()).unwrap(), without);
        assert_eq!(HEAD.split(';').count(), without.to_line().split(';').count());
    }
}
