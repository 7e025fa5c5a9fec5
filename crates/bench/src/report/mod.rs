//! [`Book`]: what was measured, as rows with a verdict, and the files it is kept in.

mod row;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::contest::{Goal, Outcome, Score};
use crate::place::Place;
use crate::raw::{self, Origin};
use manyfiles_measure::stats::{self, NOISY};

pub use row::{Figure, Row};

/// Everything that was measured in one run of this program.
#[derive(Default)]
pub struct Book {
    /// The table's lines.
    pub rows: Vec<Row>,
    outcomes: Vec<Outcome>,
    notes: Vec<String>,
    problems: Vec<String>,
}

impl Book {
    /// Enters a contest, unless it was left out: a row for each entrant but ours.
    pub fn enter(&mut self, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        let (ours, peers) = outcome.entrants.split_first().expect("a contest has entrants");
        let (ours_seconds, ours_cpu) = (ours.each(|it| it.seconds), ours.each(|it| it.cpu_seconds));
        for peer in peers {
            let theirs = peer.each(|it| it.seconds);
            let pairs = if peer.goal.is_of_time() {
                ours.beside(peer, |it| Some(it.seconds))
            } else {
                peer.beside(ours, |it| Some(it.seconds))
            };
            let figure = if pairs.is_empty() {
                Figure::Nothing
            } else {
                let ratio = stats::paired(&pairs);
                Figure::Time { ours: stats::median(&ours_seconds), peer: stats::median(&theirs), ratio }
            };
            self.push(Row {
                group: outcome.group,
                what: outcome.what.clone(),
                place: outcome.place.clone(),
                peer: peer.name.clone(),
                figure,
                target: peer.goal,
                runs: (ours_seconds.len(), theirs.len()),
                spread: if theirs.is_empty() { 0.0 } else { stats::spread(&theirs) },
                cpu: (!theirs.is_empty() && !ours_cpu.is_empty())
                    .then(|| (stats::median(&ours_cpu), stats::median(&peer.each(|it| it.cpu_seconds)))),
            });
        }
        self.keep(outcome);
    }

    /// Enters a contest in which peak memory is compared and not time.
    pub fn enter_memory(&mut self, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        let (ours, score) = (&outcome.entrants[0], &outcome.entrants[1]);
        let pairs = ours.beside(score, |it| it.peak_memory.map(|bytes| bytes as f64));
        let (ours, peer): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let nothing = pairs.is_empty();
        self.push(Row {
            group: outcome.group,
            what: outcome.what.clone(),
            place: outcome.place.clone(),
            peer: score.name.clone(),
            figure: if nothing {
                Figure::Nothing
            } else {
                let ratio = stats::paired(&pairs);
                Figure::Memory { ours: stats::median(&ours), limit: stats::median(&peer), ratio }
            },
            target: score.goal,
            runs: (ours.len(), peer.len()),
            spread: if nothing { 0.0 } else { stats::spread(&peer) },
            cpu: None,
        });
        self.keep(outcome);
    }

    /// Enters a contest in which something is counted, and time is not compared: a row for each entrant but ours.
    pub fn enter_counts(&mut self, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        let counts = |score: &Score| -> Vec<u64> { score.samples.iter().filter_map(|(_, it)| it.count).collect() };
        let ours = counts(&outcome.entrants[0]);
        for peer in &outcome.entrants[1..] {
            let theirs: Vec<f64> = counts(peer).into_iter().map(|it| it as f64).collect();
            let figure = match ours.iter().max() {
                Some(&most) if !theirs.is_empty() => Figure::Count { ours: most, peer: stats::median(&theirs) },
                _ => Figure::Nothing,
            };
            self.push(Row {
                group: outcome.group,
                what: outcome.what.clone(),
                place: outcome.place.clone(),
                peer: peer.name.clone(),
                figure,
                target: peer.goal,
                runs: (ours.len(), theirs.len()),
                spread: 0.0,
                cpu: None,
            });
        }
        self.keep(outcome);
    }

    /// Enters the peak memory of our processes in a contest, against a limit. The contest itself is entered besides.
    pub fn enter_memory_limit(&mut self, outcome: &Outcome, limit: u64) {
        let samples = &outcome.entrants[0].samples;
        let memory: Vec<f64> = samples.iter().filter_map(|(_, it)| it.peak_memory).map(|it| it as f64).collect();
        let limit = limit as f64;
        let figure = if memory.is_empty() {
            Figure::Nothing
        } else {
            Figure::Memory {
                ours: stats::median(&memory),
                limit,
                ratio: stats::paired(&memory.iter().map(|&it| (it, limit)).collect::<Vec<_>>()),
            }
        };
        self.push(Row {
            group: outcome.group,
            what: format!("{}, peak memory", outcome.what),
            place: outcome.place.clone(),
            peer: "the limit".into(),
            figure,
            target: Goal::AtMost(1.0),
            runs: (memory.len(), 1),
            spread: 0.0,
            cpu: None,
        });
    }

    fn push(&mut self, row: Row) {
        println!("{}", table::line(&row));
        if row.spread > NOISY {
            let (what, place, peer, spread) = (&row.what, &row.place, &row.peer, row.spread * 100.0);
            self.warn(format!("{what}, {place}: {peer} varied by {spread:.0} %; the machine was busy, measure again"));
        }
        self.rows.push(row);
    }

    fn keep(&mut self, outcome: Outcome) {
        for score in &outcome.entrants {
            for problem in &score.problems {
                self.warn(format!("{}, {}: {}: {problem}", outcome.what, outcome.place, score.name));
            }
        }
        self.outcomes.push(outcome);
    }

    /// A place that may not be to be had on this machine.
    pub fn place_or_skip(&mut self, what: &str, place: Result<Place>) -> Option<Place> {
        match place {
            Ok(place) => Some(place),
            Err(e) => {
                self.skip(what, &format!("{e:#}"));
                None
            }
        }
    }

    /// Says that something could not be measured here.
    pub fn skip(&mut self, what: &str, why: &str) {
        self.warn(format!("skipped: {what}: {why}"));
    }

    /// Something that a reader of the table should know.
    pub fn note(&mut self, note: String) {
        println!("{note}");
        self.notes.push(note);
    }

    fn warn(&mut self, warning: String) {
        eprintln!("{warning}");
        self.problems.push(warning);
    }

    /// Whether a run failed or left wrong output.
    pub fn has_wrong_output(&self) -> bool {
        self.outcomes.iter().flat_map(|outcome| &outcome.entrants).any(|score| !score.problems.is_empty())
    }

    /// Writes `table.md` and `raw.csv`. The chart is [`chart`](crate::chart)'s.
    pub fn save(&self, folder: &Path, header: &str, origin: &Origin) -> Result<()> {
        let mut text = format!("# Measurements\n\n{header}\n");
        for note in &self.notes {
            writeln!(text, "- {note}")?;
        }
        text += "\nMedians. “×” is how many times as fast ours is: the median of the rounds' ratios, with its 95 % confidence interval, \
                 which takes six rounds; “times the time” and memory are ours against the other's. CPU is the time of all cores. Spread is the peer's, fastest to slowest.\n";
        text += &table::markdown(&self.rows);
        if !self.problems.is_empty() {
            text += "\n## Warnings\n\n";
            for problem in &self.problems {
                writeln!(text, "- {}", problem.replace('\n', " "))?;
            }
        }
        fs::write(folder.join("table.md"), text)?;
        raw::write(&folder.join("raw.csv"), &self.outcomes, origin)
    }
}
