//! [`Table`]: columns of text that line up.

/// On which side of its column a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under headings.
///
/// ```
/// use manyfiles_trace::render::{Align, Table};
/// let mut table = Table::new(&[("operation", Align::Left), ("calls", Align::Right)]);
/// table.row(["close".into(), "2,300".into()]);
/// assert_eq!(table.to_string(), "operation  calls\nclose      2,300\n");
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
    width: Option<usize>,
}

impl Table {
    /// With these headings.
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new(), width: None }
    }

    /// Lines are no wider than this: the last column gives way, in its middle, down to 20 characters.
    pub fn width(mut self, characters: Option<usize>) -> Table {
        self.width = characters;
        self
    }

    /// Adds a row. What is missing is empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut widths: Vec<usize> = self.columns.iter().map(|(heading, _)| heading.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        if let (Some(most), Some((last, others))) = (self.width, widths.split_last_mut()) {
            let taken: usize = others.iter().map(|width| width + 2).sum();
            *last = (*last).min(most.saturating_sub(taken).max(20));
        }
        let headings: Vec<String> = self.columns.iter().map(|(heading, _)| heading.to_string()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), &width) in row.iter().zip(&self.columns).zip(&widths) {
                let cell = shortened(cell, width);
                match align {
                    Align::Left => line += &format!("{cell:<width$}  "),
                    Align::Right => line += &format!("{cell:>width$}  "),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The beginning and the end, which in a path is the name.
fn shortened(text: &str, width: usize) -> String {
    let len = text.chars().count();
    if len <= width {
        return text.into();
    }
    let front = (width - 1) / 3;
    let head: String = text.chars().take(front).collect();
    let tail: String = text.chars().skip(len - (width - 1 - front)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_gives_way_in_its_middle() {
        let mut table = Table::new(&[("n", Align::Right), ("path", Align::Left)]).width(Some(30));
        table.row(["1".into(), "/a/very/long/path/that/does/not/fit/name.txt".into()]);
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains('…') && text.contains("name.txt"), "{text}");
    }
}
