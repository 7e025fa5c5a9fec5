//! What is there after each end: the table in docs/appender.md is what these logs show, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Call, Disk, Fault, Random, base};
use crate::appender::{Appender, Options, Receipt, Records, State};

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Closed,
    ClosedAndCut,
    Killed,
    KilledOpenedAndCut,
    Cut,
    FailedSync,
    FailedSyncAndCut,
    FailedSyncOpenedAndCut,
    DiskFull,
}

const ENDS: [(End, &str); 9] = [
    (End::Closed, "closed, and `close` said Ok"),
    (End::ClosedAndCut, "the same, and then the power was cut"),
    (End::Killed, "killed, or crashed"),
    (End::KilledOpenedAndCut, "the same, opened again, and then the power was cut"),
    (End::Cut, "the power was cut, or the machine crashed"),
    (End::FailedSync, "a sync failed"),
    (End::FailedSyncAndCut, "the same, and then the power was cut"),
    (End::FailedSyncOpenedAndCut, "a sync failed, opened again, and then the power was cut"),
    (End::DiskFull, "the disk was full"),
];
const STATES: [State; 3] = [State::Durable, State::Written, State::Buffered];
const KINDS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];
const LOGS: u64 = 60;

fn options((framed, rotated): (bool, bool), random: &mut Random) -> Options {
    let options = Appender::options().framed(framed);
    if rotated { options.rotate_bytes(2_000 + random.below(8_000)) } else { options }
}

fn open(disk: &Disk, options: &Options) -> Appender {
    Appender::new(&base(), options.clone(), Arc::new(disk.clone())).unwrap()
}

/// Appends some records, each told from all others, and brings them into a state.
fn append(appender: &Appender, state: State, random: &mut Random) -> Vec<(Vec<u8>, Receipt)> {
    let count = 1 + random.below(5);
    let record = |n: u64, random: &mut Random| {
        let text = format!("<{state:?} {n}>");
        text.bytes().cycle().take(text.len() + random.below(700) as usize).collect::<Vec<u8>>()
    };
    let records: Vec<_> = (0..count)
        .map(|n| {
            let record = record(n, random);
            let receipt = appender.append(&record).unwrap();
            (record, receipt)
        })
        .collect();
    let last = &records.last().unwrap().1;
    match state {
        State::Durable => last.wait_durable().unwrap(),
        State::Written => last.wait_written().unwrap(),
        _ => {}
    }
    records
}

/// All that programs see of a log.
fn read(disk: &Disk, framed: bool) -> Vec<Vec<u8>> {
    if framed {
        let records = Records::open_in(Arc::new(disk.clone()), &base(), None).unwrap();
        return records.map(Result::unwrap).collect();
    }
    let is_content = |name: &PathBuf| !name.to_string_lossy().contains(".manyfiles-");
    disk.names().iter().filter(|name| is_content(name)).map(|name| disk.file(name).unwrap().0).collect()
}

/// Lives one log to its end. Says of each state whether a record was there, and whether one was gone.
fn live(kind: (bool, bool), end: End, seed: u64) -> Vec<(State, bool)> {
    let mut random = Random(seed);
    let options = options(kind, &mut random);
    let mut disk = Disk::default();
    disk.seed(random.clone());
    let appender = open(&disk, &options);
    let mut records: Vec<(State, Vec<u8>)> = Vec::new();
    let mut written = None;
    for state in [State::Durable, State::Written] {
        let of_state = append(&appender, state, &mut random);
        written = of_state.last().map(|(_, receipt)| receipt.clone());
        records.extend(of_state.into_iter().map(|(record, receipt)| (receipt.state(), record)));
    }
    let mut buffer = |records: &mut Vec<(State, Vec<u8>)>| {
        let buffered = append(&appender, State::Buffered, &mut random);
        records.extend(buffered.into_iter().map(|(record, receipt)| (receipt.state(), record)));
    };
    match end {
        End::FailedSync | End::FailedSyncAndCut | End::FailedSyncOpenedAndCut => {
            let gate = disk.hold_syncs();
            disk.inject(Call::Sync, 1, Fault::Fail { errno: 5, for_good: false });
            std::thread::scope(|scope| {
                let waits = scope.spawn(|| written.unwrap().wait_durable());
                gate.wait_until_one_is_held();
                buffer(&mut records);
                gate.open();
                waits.join().unwrap().unwrap_err();
            });
        }
        End::DiskFull => {
            buffer(&mut records);
            disk.inject(Call::Write, 1, Fault::Fail { errno: 28, for_good: true });
            appender.flush().unwrap_err();
        }
        _ => buffer(&mut records),
    }
    match end {
        End::Closed | End::ClosedAndCut => {
            appender.close().unwrap();
        }
        _ => std::mem::forget(appender),
    }
    disk.next_process();
    if matches!(end, End::KilledOpenedAndCut | End::FailedSyncOpenedAndCut) {
        std::mem::forget(open(&disk, &options));
    }
    if matches!(
        end,
        End::ClosedAndCut | End::Cut | End::KilledOpenedAndCut | End::FailedSyncAndCut | End::FailedSyncOpenedAndCut
    ) {
        disk = Disk::holding(&disk.cut(random));
        // What an opening has left half done the next one finishes.
        std::mem::forget(open(&disk, &options));
    }
    let left = read(&disk, kind.0);
    let has = |record: &[u8]| left.iter().any(|bytes| bytes.windows(record.len()).any(|window| window == record));
    records.into_iter().map(|(state, record)| (state, has(&record))).collect()
}

fn word(seen: &BTreeSet<bool>) -> &'static str {
    match (seen.contains(&true), seen.contains(&false)) {
        (true, false) => "there",
        (true, true) => "may be gone",
        (false, true) => "gone",
        (false, false) => panic!("there was no such record"),
    }
}

fn table() -> String {
    let mut table = String::from("| how the last process ended | durable | written | buffered |\n|---|---|---|---|\n");
    for (end, text) in ENDS {
        let mut seen: BTreeMap<((bool, bool), usize), BTreeSet<bool>> = BTreeMap::new();
        for kind in KINDS {
            for seed in 0..LOGS {
                for (state, is_there) in live(kind, end, seed) {
                    let column = STATES.iter().position(|&other| other == state).unwrap();
                    seen.entry((kind, column)).or_default().insert(is_there);
                }
            }
        }
        let cell = |column: usize| {
            let words = KINDS.map(|kind| word(&seen[&(kind, column)]));
            match words {
                [plain, plain_rotated, framed, framed_rotated]
                    if plain == plain_rotated && framed == framed_rotated && plain == framed =>
                {
                    plain.to_owned()
                }
                [plain, plain_rotated, framed, framed_rotated] if framed == framed_rotated && plain == framed => {
                    format!("{plain}; rotated without frames: {plain_rotated}")
                }
                [plain, plain_rotated, framed, framed_rotated] => format!(
                    "framed: {framed}, and rotated: {framed_rotated}; \
                     without frames: {plain}, and rotated: {plain_rotated}"
                ),
            }
        };
        table += &format!("| {text} | {} | {} | {} |\n", cell(0), cell(1), cell(2));
    }
    table
}

#[test]
fn the_table_in_the_documentation_is_what_the_model_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/appender.md");
    if !path.exists() {
        return manyfiles_testkit::skip("the documentation is not beside this crate");
    }
    let documentation = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
    let table = table();
    assert!(documentation.contains(&table), "docs/appender.md should have this table:\n\n{table}");
    // Whatever else it says: what was acknowledged as durable is always there.
    for row in table.lines().skip(2) {
        assert_eq!(row.split('|').nth(2).unwrap().trim(), "there", "{row}");
    }
}
