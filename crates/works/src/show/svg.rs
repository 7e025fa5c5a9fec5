//! Results as a picture: how many times as fast as plain std each is.

use manyfiles_measure::chart::{Line, to_svg};

use crate::Results;

impl Results {
    /// An SVG with a bar for each entrant but the first of each work.
    pub fn to_svg(&self) -> String {
        let mut lines = Vec::new();
        for table in &self.tables {
            let first = table.rows.first().map_or("", |first| &first.name);
            lines.push(Line::Heading(format!("{}, beside: {first}", table.work)));
            let bars = table.rows.iter().filter_map(|row| Some((row.name.clone(), row.factor?)));
            lines.extend(bars.map(|(name, factor)| Line::Bar { name, factor, aim: None }));
        }
        to_svg("How many times as fast", &lines)
    }
}
