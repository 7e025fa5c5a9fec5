//! `raw.csv`: every run that counted, with the day, the commit and the machine that it was measured on.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use manyfiles_measure::stats::{self, Estimate};

use crate::contest::Outcome;

/// What figures were taken on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The day and time at which the run began, in UTC; the day alone where no more was kept.
    pub measured: String,
    /// The commit, with `-dirty` if there were changes.
    pub commit: String,
    /// Processors and kernel.
    pub machine: String,
}

const COLUMNS: [&str; 12] = [
    "group",
    "work",
    "place",
    "entrant",
    "round",
    "seconds",
    "cpu_seconds",
    "peak_memory_bytes",
    "count",
    "measured",
    "commit",
    "machine",
];

/// Writes all runs of these contests.
pub fn write(file: &Path, outcomes: &[Outcome], origin: &Origin) -> Result<()> {
    let mut out = csv::Writer::from_path(file)?;
    out.write_record(COLUMNS)?;
    let shown = |figure: Option<u64>| figure.map_or(String::new(), |it| it.to_string());
    for Outcome { group, what, place, entrants, .. } in outcomes {
        for score in entrants {
            for (round, sample) in &score.samples {
                let [seconds, cpu] = [sample.seconds, sample.cpu_seconds].map(|it| format!("{it:.9}"));
                let (round, memory, count) = (round.to_string(), shown(sample.peak_memory), shown(sample.count));
                let Origin { measured, commit, machine } = origin;
                let work: [&str; 5] = [group, what, place, &score.name, &round];
                let figures: [&str; 4] = [&seconds, &cpu, &memory, &count];
                out.write_record([&work[..], &figures[..], &[measured, commit, machine]].concat())?;
            }
        }
    }
    Ok(out.flush()?)
}

/// A contest as it stands in the raw data.
#[derive(Clone, Debug)]
pub struct Work {
    pub group: String,
    pub what: String,
    pub place: String,
    pub origin: Origin,
    /// Ours first, each with its runs.
    entrants: Vec<(String, Runs)>,
}

/// The seconds of each run, with its round.
type Runs = Vec<(usize, f64)>;

/// What the names of our entrants begin with. The first of a contest is the one that is compared; others are variants
/// of it.
const OURS: [&str; 7] = ["manyfiles", "TreeWriter", "FastClose", "FileWriter", "Vfs", "SyncBatch", "Appender"];

/// Entrants that do less than the work: large blocks in place of records, the floor below every writer.
const FLOORS: [&str; 1] = ["write(2) of 256 KiB"];

impl Work {
    /// How many times as fast ours is as each of the others, the fastest of them first.
    pub fn factors(&self) -> Vec<(&str, Estimate)> {
        let Some(((_, ours), others)) = self.entrants.split_first() else { return Vec::new() };
        let in_round = |round| ours.iter().find(|(it, _)| *it == round).map(|(_, seconds)| *seconds);
        let is_peer = |name: &str| !OURS.iter().any(|our| name.starts_with(our)) && !FLOORS.contains(&name);
        let mut peers: Vec<_> = others.iter().filter(|(name, _)| is_peer(name)).collect();
        peers.sort_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)));
        let factor = |theirs: &Runs| {
            let pairs: Vec<_> = theirs.iter().filter_map(|(round, it)| Some((*it, in_round(*round)?))).collect();
            (!pairs.is_empty()).then(|| stats::paired(&pairs))
        };
        peers.iter().filter_map(|peer| Some((peer.0.as_str(), factor(&peer.1)?))).collect()
    }
}

fn median(runs: &Runs) -> f64 {
    stats::median(&runs.iter().map(|(_, seconds)| *seconds).collect::<Vec<_>>())
}

/// The contests of a `raw.csv`, in its order.
pub fn read(file: &Path) -> Result<Vec<Work>> {
    works(file).with_context(|| file.display().to_string())
}

fn works(file: &Path) -> Result<Vec<Work>> {
    let mut works: Vec<Work> = Vec::new();
    let mut rows = csv::Reader::from_path(file)?;
    ensure!(rows.headers()? == COLUMNS[..], "its columns are not {}", COLUMNS.join(", "));
    for row in rows.records() {
        let row = row?;
        let [group, what, place, entrant, round, seconds] = [0, 1, 2, 3, 4, 5].map(|n| &row[n]);
        if works.last().is_none_or(|it| (&*it.group, &*it.what, &*it.place) != (group, what, place)) {
            let [measured, commit, machine] = [9, 10, 11].map(|n| row[n].to_owned());
            works.push(Work {
                group: group.into(),
                what: what.into(),
                place: place.into(),
                origin: Origin { measured, commit, machine },
                entrants: Vec::new(),
            });
        }
        let entrants = &mut works.last_mut().expect("it was just pushed").entrants;
        if entrants.last().is_none_or(|(name, _)| name != entrant) {
            entrants.push((entrant.into(), Vec::new()));
        }
        entrants.last_mut().expect("it was just pushed").1.push((round.parse()?, seconds.parse()?));
    }
    Ok(works)
}
