//! Cells, and their form in `docs/reliability.csv`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::judge::Verdict;

/// How often each verdict was given.
pub type Cell = BTreeMap<Verdict, u64>;

/// Cells by operation and fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table(pub BTreeMap<(String, String), Cell>);

impl Table {
    pub fn add(&mut self, row: &str, fault: &str, verdicts: impl IntoIterator<Item = Verdict>) {
        let cell = self.0.entry((row.to_owned(), fault.to_owned())).or_default();
        for verdict in verdicts {
            *cell.entry(verdict).or_default() += 1;
        }
    }

    pub fn cell(&self, row: &str, fault: &str) -> Option<&Cell> {
        self.0.get(&(row.to_owned(), fault.to_owned()))
    }

    pub fn has_row(&self, row: &str) -> bool {
        self.0.keys().any(|(of, _)| of == row)
    }

    /// A line for each operation, a column for each fault, in each cell how often each verdict was given: no name has a
    /// semicolon. An empty cell is one that cannot happen.
    pub fn to_csv(&self, rows: &[&str], faults: &[&str]) -> String {
        let mut text = format!("operation;{}\n", faults.join(";"));
        for row in rows.iter().filter(|row| self.has_row(row)) {
            text.push_str(row);
            for fault in faults {
                let cell = self.cell(row, fault).into_iter().flatten();
                let cell: Vec<_> = cell.map(|(verdict, runs)| format!("{verdict}={runs}")).collect();
                write!(text, ";{}", cell.join(",")).expect("a string takes all");
            }
            text.push('\n');
        }
        text
    }

    pub fn from_csv(text: &str) -> Result<Table, String> {
        let mut table = Table::default();
        let mut lines = text.lines().map(|line| line.split(';').collect::<Vec<_>>());
        let heads = lines.next().ok_or("there is nothing in it")?;
        for parts in lines {
            if parts.len() != heads.len() {
                return Err(format!("{} cells in place of {}: {}", parts.len(), heads.len(), parts[0]));
            }
            for (fault, cell) in heads.iter().zip(&parts).skip(1).filter(|(_, cell)| !cell.is_empty()) {
                let verdicts = cell.split(',').map(|item| {
                    let (verdict, runs) = item.split_once('=')?;
                    Some((Verdict::parse(verdict)?, runs.parse().ok()?))
                });
                let cell = verdicts.collect::<Option<Cell>>().ok_or_else(|| format!("not a cell: {cell}"))?;
                table.0.insert((parts[0].to_owned(), (*fault).to_owned()), cell);
            }
        }
        Ok(table)
    }

    /// The cells of `now` that are worse than here, or not here. A verdict is worse if it is a bad one that the cell
    /// has not had, or an error where there was none. Which calls a sample meets is left to chance, so one that is
    /// missing now is no change.
    pub fn worse(&self, now: &Table) -> Vec<String> {
        let mut worse = Vec::new();
        for ((row, fault), cell) in &now.0 {
            let Some(was) = self.cell(row, fault) else {
                worse.push(format!("{row} under {fault} is not in the file"));
                continue;
            };
            let is_worse = |verdict: &&Verdict| match verdict {
                Verdict::Kept | Verdict::Taken => false,
                Verdict::Reported => was.keys().all(|was| *was == Verdict::Kept),
                _ => !was.contains_key(verdict),
            };
            for verdict in cell.keys().filter(is_worse) {
                let was = was.keys().map(Verdict::to_string).collect::<Vec<_>>().join(", ");
                worse.push(format!("{row} under {fault}: now {verdict}, was {was}"));
            }
        }
        worse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mut table = Table::default();
        table.add("fs::write", "close EIO", [Verdict::Kept, Verdict::Reported]);
        table.add("fs::write", "close EIO", [Verdict::Reported]);
        table.add("std::fs::write", "close EIO", [Verdict::Lost, Verdict::OtherErrno]);
        assert_eq!(
            Table::from_csv(&table.to_csv(&["fs::write", "std::fs::write"], &["no fault", "close EIO"])),
            Ok(table)
        );
    }

    #[test]
    fn a_bad_verdict_that_is_new_in_a_cell_is_worse() {
        let (mut was, mut now) = (Table::default(), Table::default());
        was.add("a", "f", [Verdict::Reported]);
        now.add("a", "f", [Verdict::Kept]);
        assert_eq!(was.worse(&now), Vec::<String>::new());
        now.add("a", "f", [Verdict::Lost]);
        now.add("b", "f", [Verdict::Reported]);
        assert_eq!(was.worse(&now), ["a under f: now lost, was reported", "b under f is not in the file"]);
        was.add("b", "f", [Verdict::Kept]);
        assert_eq!(was.worse(&now)[1], "b under f: now reported, was kept");
        was.add("b", "f", [Verdict::Taken]);
        assert_eq!(was.worse(&now).len(), 1);
    }
}
