//! What was measured.

use manyfiles_measure::contest::{Outcome, Sample, Score};
use manyfiles_measure::stats::{self, Estimate};
use manyfiles_measure::{Place, noise};

use crate::options::Options;
use crate::shown::Work;

/// Everything of one call of [`bench`](crate::bench).
#[derive(Clone, Debug)]
pub struct Results {
    /// Where.
    pub place: Place,
    /// What was asked for.
    pub options: Options,
    /// A table for each work, in the order in which they were done.
    pub tables: Vec<Table>,
    /// What was not measured, and why.
    pub left_out: Vec<LeftOut>,
}

/// Something that was not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The work, or an entrant of one.
    pub what: String,
    /// Why.
    pub why: String,
}

/// One work.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub work: &'static str,
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// How many of them each run wrote.
    pub amount: f64,
    /// Counted rounds.
    pub rounds: usize,
    /// The share of the time, from 0 to 1, in which other programs had the processor that this one wanted, before or
    /// after.
    pub taken_by_others: f64,
    /// The entrants. The first is what the others are compared with.
    pub rows: Vec<Row>,
}

/// One entrant.
#[derive(Clone, Debug)]
pub struct Row {
    /// Who.
    pub name: String,
    /// What each counted run took, with its round.
    pub samples: Vec<(usize, Sample)>,
    /// The median of the runs' seconds, with its interval; `None` if none counted.
    pub seconds: Option<Estimate>,
    /// How many times as fast as the first entrant, with its interval: the median over the rounds. `None` for the
    /// first, and where there is no round in which both have a time.
    pub factor: Option<Estimate>,
    /// What was wrong with an output, or why a run failed.
    pub problems: Vec<String>,
}

impl Table {
    pub(crate) fn new(work: &Work, outcome: Outcome, taken_by_others: f64) -> Table {
        let baseline = outcome.entrants.first().cloned();
        let row = |(n, score): (usize, Score)| {
            let seconds = score.each(|sample| sample.seconds);
            let pairs =
                baseline.as_ref().map_or(Vec::new(), |first| first.beside(&score, |sample| Some(sample.seconds)));
            Row {
                name: score.name,
                seconds: (!seconds.is_empty()).then(|| stats::estimate(&seconds)),
                factor: (n > 0 && !pairs.is_empty()).then(|| stats::paired(&pairs)),
                samples: score.samples,
                problems: score.problems,
            }
        };
        Table {
            work: work.name,
            unit: work.unit,
            amount: work.amount,
            rounds: outcome.rounds,
            taken_by_others,
            rows: outcome.entrants.into_iter().enumerate().map(row).collect(),
        }
    }

    /// Why its figures are not to be trusted, if they are not: other programs had the processor, or the first entrant,
    /// whom all are compared with, did not take the same time twice.
    pub fn noise(&self) -> Option<String> {
        if self.taken_by_others >= noise::NOISY {
            return Some(format!("other programs had the processor {:.0} % of the time", self.taken_by_others * 100.0));
        }
        let first = self.rows.first()?;
        let spread = first.spread().filter(|&spread| spread > stats::NOISY)?;
        Some(format!("{} varied by {:.0} %", first.name, spread * 100.0))
    }
}

impl Row {
    /// The distance of its fastest and its slowest run, as a part of the median.
    pub fn spread(&self) -> Option<f64> {
        let seconds: Vec<f64> = self.samples.iter().map(|(_, sample)| sample.seconds).collect();
        (!seconds.is_empty()).then(|| stats::spread(&seconds))
    }

    /// Whether the interval of the factor holds 1: whether nobody can say who is faster.
    pub fn is_even(&self) -> bool {
        self.factor.is_some_and(|factor| factor.low <= 1.0 && factor.high >= 1.0)
    }
}

impl Results {
    /// Whether a run failed or left wrong output.
    pub fn has_problems(&self) -> bool {
        self.tables.iter().flat_map(|table| &table.rows).any(|row| !row.problems.is_empty())
    }
}
