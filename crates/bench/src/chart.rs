//! What was measured as pictures: how many times as fast ours is, a bar for each peer; and an overview, a bar for each
//! work.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use manyfiles_measure::chart::{Line, to_svg};
use manyfiles_measure::stats;

use crate::contest::Goal;
use crate::report::{Figure, Row};

/// Draws all rows that say how many times as fast ours is.
pub fn draw(rows: &[Row], file: &Path) -> Result<()> {
    fs::write(file, to_svg("How many times as fast manyfiles is", &lines(rows)))?;
    Ok(())
}

fn lines(rows: &[Row]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut heading = String::new();
    for row in rows {
        let Figure::Time { ratio, .. } = row.figure else { continue };
        let aim = match row.target {
            Goal::Faster(aim) => Some(aim),
            Goal::Shown => None,
            _ => continue,
        };
        if row.group == "scale" {
            continue;
        }
        let here = format!("{}, {}", row.what, row.place);
        if here != heading {
            lines.push(Line::Heading(here.clone()));
            heading = here;
        }
        lines.push(Line::Bar { name: row.peer.clone(), factor: ratio, aim });
    }
    lines
}

/// What the overview shows: group, work, file system, and the name of the bar. One for each thing that a reader may
/// want to do, one of them lost.
const OVERVIEW: [(&str, &str, &str, &str); 8] = [
    ("unpack", "Linux 6.1 source, tar", "tmpfs", "unpack the Linux source, tmpfs"),
    ("trees", "50,000 files, 2,954 folders, copied", "ext4", "copy 50,000 files, ext4"),
    ("create", "50,000 files, 2,954 folders", "tmpfs", "50,000 new files, tmpfs"),
    ("create", "2,300 files, one folder", "ext4", "2,300 new files in one folder, ext4"),
    ("slow", "2,300 files, one folder", "close 2 ms", "the same where a close takes 2 ms, FUSE"),
    ("durable", "10,000 files durable, 100 folders", "ext4", "10,000 durable files, ext4"),
    ("append", "durable records of 100 B, 8 threads", "ext4", "durable records, 8 threads, ext4"),
    ("records", "100 MiB, records of 100 B", "ext4", "100 MiB in records of 100 B, ext4"),
];

/// What the names of our entrants begin with. The first of a contest is the one that is compared; others are variants
/// of it.
const OURS: [&str; 7] = ["manyfiles", "TreeWriter", "FastClose", "FileWriter", "Vfs", "SyncBatch", "Appender"];

/// Entrants that do less than the work: large blocks in place of records, the floor below every writer.
const FLOORS: [&str; 1] = ["write(2) of 256 KiB"];

/// Draws ours against the fastest of its peers in each work of the overview, from a run's `raw.csv`.
pub fn draw_overview(raw: &Path, file: &Path) -> Result<()> {
    let works = works(raw).with_context(|| raw.display().to_string())?;
    let bar = |&(group, what, place, name): &(&str, &str, &str, &str)| {
        let work = works.iter().find(|work| (&*work.group, &*work.what, &*work.place) == (group, what, place))?;
        let (_, ours) = work.entrants.first()?;
        let is_peer = |name: &str| !OURS.iter().any(|our| name.starts_with(our)) && !FLOORS.contains(&name);
        let peers = work.entrants.iter().filter(|(name, _)| is_peer(name));
        let (peer, theirs) = peers.min_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)))?;
        let in_round = |round| ours.iter().find(|(it, _)| *it == round).map(|(_, seconds)| *seconds);
        let pairs: Vec<_> = theirs.iter().filter_map(|(round, theirs)| Some((*theirs, in_round(*round)?))).collect();
        Some(Line::Bar { name: format!("{name}: {peer}"), factor: stats::paired(&pairs), aim: None })
    };
    let lines: Vec<Line> = OVERVIEW.iter().filter_map(bar).collect();
    let title = "How many times as fast manyfiles is as the fastest of its peers, named after the colon";
    fs::write(file, to_svg(title, &lines))?;
    Ok(())
}

/// A contest as it stands in the raw data.
struct Work {
    group: String,
    what: String,
    place: String,
    /// Ours first, each with its runs.
    entrants: Vec<(String, Runs)>,
}

/// The seconds of each run, with its round.
type Runs = Vec<(usize, f64)>;

fn median(runs: &Runs) -> f64 {
    stats::median(&runs.iter().map(|(_, seconds)| *seconds).collect::<Vec<_>>())
}

fn works(raw: &Path) -> Result<Vec<Work>> {
    let mut works: Vec<Work> = Vec::new();
    for row in csv::Reader::from_path(raw)?.records() {
        let row = row?;
        let field = |n: usize| row.get(n).with_context(|| format!("no column {n}"));
        let (group, what, place, entrant) = (field(0)?, field(1)?, field(2)?, field(3)?);
        if works.last().is_none_or(|it| (&*it.group, &*it.what, &*it.place) != (group, what, place)) {
            works.push(Work { group: group.into(), what: what.into(), place: place.into(), entrants: Vec::new() });
        }
        let entrants = &mut works.last_mut().expect("it was just pushed").entrants;
        if entrants.last().is_none_or(|(name, _)| name != entrant) {
            entrants.push((entrant.into(), Vec::new()));
        }
        entrants.last_mut().expect("it was just pushed").1.push((field(4)?.parse()?, field(5)?.parse()?));
    }
    Ok(works)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_has_the_fastest_peer_of_each_work_that_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let (raw, svg) = (folder.path().join("raw.csv"), folder.path().join("overview.svg"));
        let (shown, other) = ("100 MiB, records of 100 B", "100 MiB, records of 1 B");
        let rows = [
            (shown, "FileWriter", 1.0),
            (shown, "BufWriter, 8 KiB", 3.0),
            (shown, "BufWriter, 1 MiB", 0.5),
            (shown, "write(2) of 256 KiB", 0.25),
            (shown, "FileWriter, second thread", 0.125),
            (other, "FileWriter", 1.0),
            (other, "slowest", 9.0),
        ];
        let rows = rows.map(|(work, who, seconds)| format!("records,\"{work}\",ext4,\"{who}\",1,{seconds},0,,"));
        fs::write(&raw, format!("group,work,place,entrant,round,seconds,cpu,memory,count\n{}", rows.join("\n")))
            .unwrap();
        draw_overview(&raw, &svg).unwrap();
        let svg = fs::read_to_string(svg).unwrap();
        assert!(svg.contains("records of 100 B, ext4: BufWriter, 1 MiB") && svg.contains("0.50×"), "{svg}");
        for left_out in ["8 KiB", "256 KiB", "second thread", "slowest"] {
            assert!(!svg.contains(left_out), "{left_out}: {svg}");
        }
    }

    /// The README's picture is what this program draws from the raw data beside it, with each of its bars.
    #[test]
    fn the_picture_of_the_readme_is_drawn_from_the_raw_data() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let folder = tempfile::tempdir().unwrap();
        let drawn = folder.path().join("overview.svg");
        draw_overview(&docs.join("benchmarks/2026-11-22/raw.csv"), &drawn).unwrap();
        let drawn = fs::read_to_string(drawn).unwrap();
        let bars = OVERVIEW.iter().filter(|(.., name)| drawn.contains(&format!("{name}:")));
        assert_eq!(bars.count(), OVERVIEW.len(), "{drawn}");
        assert!(drawn == fs::read_to_string(docs.join("speed.svg")).unwrap(), "docs/speed.svg: draw it with --redraw");
    }
}
