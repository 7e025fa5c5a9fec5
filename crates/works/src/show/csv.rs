//! Every counted run as a line of CSV.

use std::io::{self, Write};

use crate::Results;

impl Results {
    /// Writes a heading, and a line for each counted run.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(["work", "entrant", "round", "seconds", "cpu_seconds"])?;
        for table in &self.tables {
            for row in &table.rows {
                for (round, sample) in &row.samples {
                    let (seconds, cpu) = (format!("{:.9}", sample.seconds), format!("{:.9}", sample.cpu_seconds));
                    csv.write_record([table.work, &row.name, &round.to_string(), &seconds, &cpu])?;
                }
            }
        }
        csv.flush()
    }
}
