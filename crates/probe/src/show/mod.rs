//! Findings as a table in a terminal, as JSON, as a picture.

mod json;
mod svg;
mod text;

use std::time::Duration;

/// Histograms have a bucket for each fourth of a decade, from here on.
const FIRST: Duration = Duration::from_nanos(100);
const DECADES: u32 = 7;
const PER_DECADE: u32 = 4;

/// Where the buckets end; the last one ends at a second, and takes what is longer too.
fn bucket_ends() -> Vec<Duration> {
    let end = |bucket: u32| FIRST.mul_f64(10_f64.powf(f64::from(bucket + 1) / f64::from(PER_DECADE)));
    (0..DECADES * PER_DECADE).map(end).collect()
}
