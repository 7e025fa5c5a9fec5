//! [`Row`]: one line of the table, and what it says of its claim.

use std::fmt;

use manyfiles_measure::stats::Estimate;

use crate::contest::Goal;

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The group's name.
    pub group: &'static str,
    /// The work.
    pub what: String,
    /// Where.
    pub place: String,
    /// Whom ours is compared with.
    pub peer: String,
    /// What is compared, with its unit where it has one.
    pub figure: Figure,
    /// What is claimed.
    pub target: Goal,
    /// How many runs of ours and of the peer's counted.
    pub runs: (usize, usize),
    /// The peer's spread.
    pub spread: f64,
    /// Median processor time of ours and of the peer's, in seconds, where time is compared.
    pub cpu: Option<(f64, f64)>,
}

/// What a row compares.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// Median time of ours and of the peer's, in seconds, and their ratio in the sense of the target: how many times as
    /// fast ours is, or how many times the peer's time it takes.
    Time { ours: f64, peer: f64, ratio: Estimate },
    /// Peak memory of ours and what it is compared with, in bytes, and their ratio.
    Memory { ours: f64, limit: f64, ratio: Estimate },
    /// The most that was counted in a round of ours, and the median of the peer's rounds.
    Count { ours: u64, peer: f64 },
    /// There was nothing to compare: every run failed, or its output was wrong.
    Nothing,
}

/// What a row says of its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The claim holds.
    Pass,
    /// Ours wins, by less than claimed.
    Short,
    /// Ours is the slower or larger one.
    Lost,
    /// Ours wins; nothing was claimed.
    Won,
    /// Shown for comparison.
    Shown,
    /// A run failed, or its output was wrong.
    Wrong,
}

impl Row {
    /// What the median says. The interval beside it says how surely.
    pub fn verdict(&self) -> Verdict {
        let value = match self.figure {
            Figure::Nothing => return Verdict::Wrong,
            Figure::Time { ratio, .. } | Figure::Memory { ratio, .. } => ratio.value,
            Figure::Count { ours, .. } => {
                return match self.target {
                    Goal::NoMoreThan(most) if ours <= most => Verdict::Pass,
                    Goal::NoMoreThan(_) => Verdict::Lost,
                    _ => Verdict::Shown,
                };
            }
        };
        match self.target {
            Goal::Faster(least) if value >= least => Verdict::Pass,
            Goal::AtMost(most) if value <= most => Verdict::Pass,
            Goal::AtMost(_) => Verdict::Short,
            Goal::ShownTime => Verdict::Shown,
            Goal::Faster(_) if value > 1.0 => Verdict::Short,
            Goal::Shown if value > 1.0 => Verdict::Won,
            _ => Verdict::Lost,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "pass",
            Verdict::Short => "FALLS SHORT",
            Verdict::Lost => "LOST",
            Verdict::Won => "faster",
            Verdict::Shown => "–",
            Verdict::Wrong => "WRONG",
        })
    }
}
