//! Calls and time by operation, with a histogram of each.

use hashbrown::{DefaultHashBuilder, HashMap};
use hdrhistogram::Histogram;

use crate::call::{Call, Kind};
use crate::report::{Latencies, OnFiles, Operation, Sum};

/// No system has more calls. What a damaged trace has beyond is counted together.
const MOST: usize = 500;
const OTHERS: &[u8] = b"(others)";

/// Calls that do next to nothing: under a tracer their time is the time of tracing.
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
    /// What was done to files, and what the same call did elsewhere: `read` waits for pipes, too.
    on_files: Calls,
    elsewhere: Calls,
}

struct Calls {
    sum: Sum,
    max: u64,
    histogram: Histogram<u64>,
}

impl Calls {
    fn none() -> Calls {
        Calls { sum: Sum::default(), max: 0, histogram: histogram() }
    }

    fn add(&mut self, call: &Call<'_>) {
        self.sum.add(call);
        if let Some(nanos) = call.duration {
            self.max = self.max.max(nanos);
            self.histogram.record(nanos.min(HOUR)).expect("it grows as needed");
        }
    }

    fn plus(&mut self, other: &Calls) {
        self.sum.plus(&other.sum);
        self.max = self.max.max(other.max);
        self.histogram.add(&other.histogram).expect("it grows as needed");
    }

    fn latencies(&self) -> Option<Latencies> {
        latencies(&self.histogram, self.max)
    }
}

fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new(2).expect("two digits are allowed");
    histogram.auto(true);
    histogram
}

impl Operations {
    pub(super) fn add(&mut self, call: &Call<'_>) {
        let at = match self.by_name.get(call.operation) {
            Some(&at) => at,
            None => self.insert(call),
        };
        let entry = &mut self.all[at];
        match call.kind.is_file() && call.path.is_some() {
            true => entry.on_files.add(call),
            false => entry.elsewhere.add(call),
        }
        // An operation is shown with the kind of its calls on files, whichever calls came first.
        if call.kind.is_file() && !entry.kind.is_file() && *entry.name != *OTHERS {
            entry.kind = call.kind;
        }
    }

    fn insert(&mut self, call: &Call<'_>) -> usize {
        let (name, kind) = if self.all.len() < MOST { (call.operation, call.kind) } else { (OTHERS, Kind::Other) };
        if let Some(&at) = self.by_name.get(name) {
            return at;
        }
        let at = self.all.len();
        self.by_name.insert(name.into(), at);
        self.all.push(Entry { name: name.into(), kind, on_files: Calls::none(), elsewhere: Calls::none() });
        at
    }

    /// What tracing adds to a call, as far as the cheapest calls tell: their median, and what the cheapest tenth of
    /// them take.
    pub(super) fn tracing(&self) -> Option<(u64, u64)> {
        let mut cheap = histogram();
        for entry in self.all.iter().filter(|entry| CHEAP.contains(&&*entry.name)) {
            cheap.add(&entry.elsewhere.histogram).expect("it grows as needed");
        }
        (cheap.len() >= ENOUGH).then(|| (quantile(&cheap, 0.5), quantile(&cheap, 0.1)))
    }

    /// What the cheapest tenth of writes take at most.
    pub(super) fn cheapest_write(&self) -> Option<u64> {
        let mut writes = histogram();
        for entry in self.all.iter().filter(|entry| entry.kind == Kind::Write) {
            writes.add(&entry.on_files.histogram).expect("it grows as needed");
        }
        (!writes.is_empty()).then(|| quantile(&writes, 0.1))
    }

    /// By time, the most first; of equals by calls, then by name.
    pub(super) fn finish(self) -> Vec<Operation> {
        let mut all: Vec<Operation> = self
            .all
            .into_iter()
            .map(|Entry { name, kind, on_files, mut elsewhere }| {
                let of_files = OnFiles { sum: on_files.sum, latencies: on_files.latencies() };
                elsewhere.plus(&on_files);
                let name = String::from_utf8_lossy(&name).into_owned();
                Operation { name, kind, sum: elsewhere.sum, latencies: elsewhere.latencies(), on_files: of_files }
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

/// The quantile `q`: the lowest time of its bucket in the histogram.
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
