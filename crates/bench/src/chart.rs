//! What was measured as a picture: how many times as fast ours is, a bar for each peer.

use std::fs;
use std::path::Path;

use anyhow::Result;
use manyfiles_measure::chart::{Line, to_svg};

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
