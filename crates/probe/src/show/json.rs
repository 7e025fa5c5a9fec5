//! Findings as one JSON object. Keys are never renamed; new ones may come.

use std::time::Duration;

use serde_json::{Value, json};

use super::bucket_ends;
use crate::{Findings, Samples, Series};

impl Findings {
    /// Times are in seconds.
    pub fn to_json(&self) -> Value {
        let place = &self.place;
        json!({
            "command": "probe",
            "folder": place.folder.to_string_lossy(),
            "file_system": place.file_system,
            "source": place.source,
            "mount_point": place.mount_point.as_ref().map(|path| path.to_string_lossy()),
            "mount_options": place.mount_options,
            "free_bytes": place.free_bytes,
            "remarks": place.remarks,
            "taken_by_others": rounded(self.taken_by_others, 1e3),
            "series": self.series.iter().map(series).collect::<Value>(),
            "advice": self.advice.iter().map(|advice| json!({
                "slow": advice.slow,
                "use": advice.use_this,
                "factor": rounded(advice.factor, 1e2),
            })).collect::<Value>(),
        })
    }
}

fn series(series: &Series) -> Value {
    json!({
        "step": series.step.name(),
        "threads": series.threads,
        "files": series.files,
        "seconds": seconds(series.elapsed),
        "operations": series.operations.iter().map(|(name, samples)| operation(name, samples)).collect::<Value>(),
    })
}

fn operation(name: &str, samples: &Samples) -> Value {
    let ends = bucket_ends();
    let counts = samples.buckets(&ends);
    let histogram = counts.iter().zip(&ends).filter(|(count, _)| **count > 0);
    json!({
        "operation": name,
        "count": samples.count(),
        "mean": seconds(samples.mean()),
        "median": seconds(samples.median()),
        "p90": seconds(samples.quantile(0.9)),
        "p99": seconds(samples.quantile(0.99)),
        "max": seconds(samples.max()),
        "histogram": histogram.map(|(count, end)| json!({ "below": seconds(*end), "count": count })).collect::<Value>(),
    })
}

/// To the nanosecond.
fn seconds(time: Duration) -> f64 {
    rounded(time.as_secs_f64(), 1e9)
}

fn rounded(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}
