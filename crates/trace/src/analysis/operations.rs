//! Calls and time by operation, with a histogram of each.

use hashbrown::{DefaultHashBuilder, HashMap};
use hdrhistogram::Histogram;

use crate::call::{Call, Kind};
use crate::report::{Latencies, Operation, Sum};

/// No system has more calls. What a damaged trace has beyond is counted together.
const MOST: usize = 500;
const OTHERS: &[u8] = b"(others)";

/// Calls that do next to nothing: what they take under a tracer is what tracing takes.
const CHEAP: [&[u8]; 8] = [b"getpid", b"gettid", b"getppid", b"getuid", b"geteuid", b"getgid", b"getegid", b"umask"];
/// From so few of them nothing follows.
const ENOUGH: u64 = 8;

#[derive(Default)]
pub(super) struct Operations {
    by_name: HashMap<Box<[u8]>, usize, DefaultHashBuilder>,
    all: Vec<Entry>,
}

struct Entry {
    name: Box<[u8]>,
    kind: Kind,
    sum: Sum,
    max: u64,
    histogram: Histogram<u64>,
}

impl Operations {
    pub fn add(&mut self, call: &Call<'_>) {
        let at = match self.by_name.get(call.operation) {
            Some(&at) => at,
            None => self.insert(call),
        };
        let entry = &mut self.all[at];
        entry.sum.add(call);
        if let Some(nanos) = call.duration {
            entry.max = entry.max.max(nanos);
            entry.histogram.record(nanos.min(HOUR)).expect("it grows as needed");
        }
    }

    fn insert(&mut self, call: &Call<'_>) -> usize {
        let (name, kind) = if self.all.len() < MOST { (call.operation, call.kind) } else { (OTHERS, Kind::Other) };
        if let Some(&at) = self.by_name.get(name) {
            return at;
        }
        let at = self.all.len();
        self.by_name.insert(name.into(), at);
        let mut histogram = Histogram::new(2).expect("two digits are allowed");
        histogram.auto(true);
        self.all.push(Entry { name: name.into(), kind, sum: Sum::default(), max: 0, histogram });
        at
    }

    /// What tracing adds to a call, as far as the cheapest calls tell: their median.
    pub fn tracing(&self) -> Option<u64> {
        let mut cheap = Histogram::<u64>::new(2).expect("two digits are allowed");
        cheap.auto(true);
        for entry in self.all.iter().filter(|entry| CHEAP.contains(&&*entry.name)) {
            cheap.add(&entry.histogram).expect("it grows as needed");
        }
        (cheap.len() >= ENOUGH).then(|| quantile(&cheap, 0.5))
    }

    /// What the cheapest tenth of writes take at most.
    pub fn cheapest_write(&self) -> Option<u64> {
        let mut writes = Histogram::<u64>::new(2).expect("two digits are allowed");
        writes.auto(true);
        for entry in self.all.iter().filter(|entry| entry.kind == Kind::Write) {
            writes.add(&entry.histogram).expect("it grows as needed");
        }
        (!writes.is_empty()).then(|| quantile(&writes, 0.1))
    }

    /// By time, the most first; of equals by calls, then by name.
    pub fn finish(self) -> Vec<Operation> {
        let mut all: Vec<Operation> = self
            .all
            .into_iter()
            .map(|entry| Operation {
                latencies: latencies(&entry.histogram, entry.max),
                name: String::from_utf8_lossy(&entry.name).into_owned(),
                kind: entry.kind,
                sum: entry.sum,
            })
            .collect();
        all.sort_unstable_by(|a, b| {
            (b.sum.nanos, b.sum.calls).cmp(&(a.sum.nanos, a.sum.calls)).then_with(|| a.name.cmp(&b.name))
        });
        all
    }
}

/// Longer calls are shown as an hour in the distribution; their sum is exact all the same.
const HOUR: u64 = 3_600_000_000_000;

/// The least of the times that the histogram holds for one with that one.
fn quantile(histogram: &Histogram<u64>, q: f64) -> u64 {
    histogram.lowest_equivalent(histogram.value_at_quantile(q))
}

fn latencies(histogram: &Histogram<u64>, max: u64) -> Option<Latencies> {
    if histogram.is_empty() {
        return None;
    }
    let quantile = |q| quantile(histogram, q);
    let mut buckets = Latencies::empty_buckets();
    for value in histogram.iter_recorded() {
        let at = Latencies::bucket_of(histogram.lowest_equivalent(value.value_iterated_to()));
        buckets[at] += value.count_since_last_iteration();
    }
    Some(Latencies { p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), max, buckets })
}
