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

    /// `operation;fault;verdict=runs verdict=runs`: no name has a semicolon.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("operation;fault;verdicts\n");
        for ((row, fault), cell) in &self.0 {
            let cell: Vec<_> = cell.iter().map(|(verdict, runs)| format!("{verdict}={runs}")).collect();
            writeln!(text, "{row};{fault};{}", cell.join(",")).expect("a string takes all");
        }
        text
    }

    pub fn from_csv(text: &str) -> Result<Table, String> {
        let mut table = Table::default();
        for line in text.lines().skip(1) {
            let parts: Vec<_> = line.split(';').collect();
            let [row, fault, cell] = parts[..] else {
                return Err(format!("not a cell: {line}"));
            };
            let verdicts = cell.split(',').map(|item| {
                let (verdict, runs) = item.split_once('=')?;
                Some((Verdict::parse(verdict)?, runs.parse().ok()?))
            });
            let cell = verdicts.collect::<Option<Cell>>().ok_or_else(|| format!("not a cell: {line}"))?;
            table.0.insert((row.to_owned(), fault.to_owned()), cell);
        }
        Ok(table)
    }

    /// The cells of `now` that are not as they are here. Kept is as good as reported, since threads take turns as they like;
    /// and not every run of a sample meets each call.
    pub fn changed(&self, now: &Table) -> Vec<String> {
        let mut changed = Vec::new();
        for ((row, fault), cell) in &now.0 {
            let was = self.cell(row, fault);
            for verdict in cell.keys().filter(|verdict| **verdict != Verdict::Kept) {
                let is_known = was.is_some_and(|was| was.contains_key(verdict));
                if !is_known && (was.is_some() || !verdict.is_good()) {
                    let was = was.map_or("nothing".into(), |was| {
                        was.keys().map(Verdict::to_string).collect::<Vec<_>>().join(", ")
                    });
                    changed.push(format!("{row} under {fault}: now {verdict}, was {was}"));
                }
            }
        }
        changed
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
        assert_eq!(Table::from_csv(&table.to_csv()), Ok(table));
    }

    #[test]
    fn a_verdict_that_is_new_in_a_cell_is_a_change() {
        let (mut was, mut now) = (Table::default(), Table::default());
        was.add("a", "f", [Verdict::Reported]);
        now.add("a", "f", [Verdict::Kept]);
        assert_eq!(was.changed(&now), Vec::<String>::new());
        now.add("a", "f", [Verdict::Lost]);
        now.add("b", "f", [Verdict::Reported]);
        assert_eq!(was.changed(&now), ["a under f: now lost, was reported"]);
        was.add("b", "f", [Verdict::Kept]);
        assert_eq!(was.changed(&now).len(), 2);
    }
}
