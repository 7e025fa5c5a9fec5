//! Results as one JSON object. Keys are never renamed; new ones may come.

use manyfiles_measure::stats::Estimate;
use serde_json::{Value, json};

use crate::corpus::SEED;
use crate::{Results, Row, Table};

impl Results {
    /// Times are in seconds. `exit_code` is the command's.
    pub fn to_json(&self, exit_code: u8) -> Value {
        let (place, options) = (&self.place, &self.options);
        json!({
            "command": "bench",
            "status": if self.has_problems() { "incomplete" } else { "complete" },
            "exit_code": exit_code,
            "folder": place.folder.to_string_lossy(),
            "file_system": place.file_system,
            "source": place.source,
            "mount_point": place.mount_point.as_ref().map(|path| path.to_string_lossy()),
            "mount_options": place.mount_options,
            "remarks": place.remarks,
            "processors": std::thread::available_parallelism().map_or(1, usize::from),
            "seed": SEED,
            "rounds": options.rounds,
            "seconds": options.time.as_secs_f64(),
            "simulate_close_ms": options.simulate_close.map(|wait| wait.as_secs_f64() * 1e3),
            "tables": self.tables.iter().map(table).collect::<Value>(),
            "left_out": self.left_out.iter().map(|it| json!({ "what": it.what, "why": it.why })).collect::<Value>(),
        })
    }
}

fn table(table: &Table) -> Value {
    json!({
        "work": table.work,
        "amount": table.amount,
        "unit": table.unit,
        "rounds": table.rounds,
        "taken_by_others": table.taken_by_others,
        "noise": table.noise(),
        "entrants": table.rows.iter().map(row).collect::<Value>(),
    })
}

fn row(row: &Row) -> Value {
    let runs = row
        .samples
        .iter()
        .map(|(round, sample)| json!({ "round": round, "seconds": sample.seconds, "cpu_seconds": sample.cpu_seconds }));
    json!({
        "name": row.name,
        "seconds": row.seconds.map(estimate),
        "times_as_fast": row.factor.map(estimate),
        "spread": row.spread(),
        "problems": row.problems,
        "runs": runs.collect::<Value>(),
    })
}

fn estimate(estimate: Estimate) -> Value {
    let Estimate { value, low, high, confidence } = estimate;
    json!({ "median": value, "low": low, "high": high, "confidence": confidence })
}
