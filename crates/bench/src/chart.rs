//! What was measured as pictures: how many times as fast ours is, a bar for each peer; and an overview, a bar for each work.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use manyfiles_measure::chart::{Line, to_svg};
use manyfiles_measure::stats;

use crate::contest::Target;
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
            Target::Faster(aim) => Some(aim),
            Target::Shown => None,
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

/// What the overview shows: groups, each on the file system where its gain is at stake.
const OVERVIEW: [(&str, &str); 10] = [
    ("unpack", "tmpfs"),
    ("trees", "ext4"),
    ("create", "tmpfs"),
    ("create", "ext4"),
    ("slow", "close 2 ms"),
    ("norad", "close 2 ms"),
    ("durable", "ext4"),
    ("append", "ext4"),
    ("vfs", "ext4"),
    ("records", "ext4"),
];

/// Draws ours against the first of its peers in each work of the overview, from a run's `raw.csv`.
pub fn draw_overview(raw: &Path, file: &Path) -> Result<()> {
    let works = works(raw).with_context(|| raw.display().to_string())?;
    let lines: Vec<Line> = works
        .iter()
        .filter(|work| OVERVIEW.contains(&(work.group.as_str(), work.place.as_str())))
        // How long a record waits, as a multiple of a sync: the less the better, and never as short as one.
        .filter(|work| !work.what.starts_with("waiting "))
        .filter_map(|work| {
            let [(_, ours), (peer, theirs), ..] = &work.entrants[..] else { return None };
            let name = format!("{}, {}: {peer}", work.what, work.place);
            Some(Line::Bar { name, factor: stats::ratio(theirs, ours), aim: None })
        })
        .collect();
    fs::write(file, to_svg("How many times as fast manyfiles is as what is named after the colon", &lines))?;
    Ok(())
}

/// A contest as it stands in the raw data.
struct Work {
    group: String,
    what: String,
    place: String,
    /// Ours first, each with the seconds of its runs.
    entrants: Vec<(String, Vec<f64>)>,
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
        entrants.last_mut().expect("it was just pushed").1.push(field(5)?.parse()?);
    }
    Ok(works)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_has_the_first_peer_of_each_work_that_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let (raw, svg) = (folder.path().join("raw.csv"), folder.path().join("overview.svg"));
        let rows =
            [("create", "ours", 1.0), ("create", "plain", 3.0), ("create", "other", 2.0), ("scale", "ours", 1.0)];
        let rows =
            rows.map(|(group, who, seconds)| format!("{group},\"files, one folder\",tmpfs,{who},1,{seconds},0,,"));
        fs::write(&raw, format!("group,work,place,entrant,round,seconds,cpu,memory,count\n{}", rows.join("\n")))
            .unwrap();
        draw_overview(&raw, &svg).unwrap();
        let svg = fs::read_to_string(svg).unwrap();
        assert!(svg.contains("files, one folder, tmpfs: plain") && svg.contains("3.00×"), "{svg}");
        assert!(!svg.contains("other"), "{svg}");
    }
}
