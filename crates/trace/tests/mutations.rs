//! Traces changed at random: reading them ends, without a panic, and the sums add up.
//!
//! proptest prints the input of a failure and keeps its seed beside this file.

mod common;

use common::{fixture, read};
use manyfiles_testkit::cases;
use manyfiles_trace::render::{self, Detail};
use proptest::prelude::*;

const FIXTURES: [&str; 5] = ["strace.txt", "perf.txt", "procmon.csv", "procmon-without-duration.csv", "procmon.xml"];

/// A change of a trace: at a place, in per mille of its length.
#[derive(Clone, Debug)]
enum Change {
    Set(u16, u8),
    Insert(u16, &'static str),
    Cut(u16),
    Remove(u16, u16),
    Repeat(u16, u16),
    Swap(u16, u16),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0..1000u16;
    let texts = prop::sample::select(vec![
        "\n",
        "\r\n",
        "\"",
        "\"\"",
        ",",
        "<",
        ">",
        "(",
        ")",
        " = ",
        "= 0 <0.000001>",
        "<event>",
        "</event>",
        "<unfinished ...>",
        "<... ",
        "<... close resumed>",
        "99999999999999999999",
        "18446744073709551615",
        "-9223372036854775808",
        "\\",
        "\\x",
        "\u{0}",
        "\u{fffd}",
        "[pid ",
        "+++ exited with 0 +++\n",
        "4294967295 ",
        "23:59:59.999999 ",
        "00:00:00 ",
        "[continued]: ",
        "&#x110000;",
        "&",
        "</",
        "clone(",
        ") = 4194304 <0.1>\n",
        "dup2(3, 2147483647) = 2147483647 <0.000001>\n",
        ", -1",
        "CLONE_FILES",
        "0x",
    ]);
    prop_oneof![
        3 => (place.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        5 => (place.clone(), texts).prop_map(|(at, text)| Change::Insert(at, text)),
        1 => place.clone().prop_map(Change::Cut),
        2 => (place.clone(), 1..300u16).prop_map(|(at, len)| Change::Remove(at, len)),
        2 => (place.clone(), 1..900u16).prop_map(|(at, len)| Change::Repeat(at, len)),
        1 => (place.clone(), place).prop_map(|(a, b)| Change::Swap(a, b)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let len = bytes.len();
    let place = |at: u16| usize::from(at) * len / 1000;
    match *change {
        Change::Set(at, byte) => bytes.iter_mut().skip(place(at)).take(1).for_each(|it| *it = byte),
        Change::Insert(at, text) => drop(bytes.splice(place(at)..place(at), text.bytes())),
        Change::Cut(at) => bytes.truncate(place(at)),
        Change::Remove(at, count) => drop(bytes.drain(place(at)..len.min(place(at) + usize::from(count)))),
        Change::Repeat(at, count) => {
            let part = bytes[place(at)..len.min(place(at) + usize::from(count))].to_vec();
            bytes.splice(place(at)..place(at), part);
        }
        Change::Swap(a, b) => {
            if len > 0 {
                bytes.swap(place(a).min(len - 1), place(b).min(len - 1));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2000), ..ProptestConfig::default() })]

    #[test]
    fn a_changed_trace_is_read_to_its_end_and_its_sums_add_up(
        original in 0..FIXTURES.len(),
        changes in prop::collection::vec(change(), 1..8),
    ) {
        let mut bytes = fixture(FIXTURES[original]);
        changes.iter().for_each(|change| apply(&mut bytes, change));
        let Ok(report) = read(&bytes) else { return Ok(()) };
        let calls: u64 = report.operations.iter().map(|operation| operation.sum.calls).sum();
        prop_assert_eq!(calls, report.total.calls);
        prop_assert_eq!(report.kinds.iter().map(|(_, sum)| sum.calls).sum::<u64>(), report.total.calls);
        let threads = report.threads.rows.iter().map(|thread| thread.sum.calls).sum::<u64>() + report.threads.others.calls;
        prop_assert_eq!(threads, report.total.calls);
        let files = report.files.rows.iter().map(|file| file.sum.calls).sum::<u64>() + report.files.others.calls;
        prop_assert_eq!(files + report.without_name.calls, report.file_total.calls);
        prop_assert!(report.total.calls + report.damage.lines <= report.lines + 1);
        let text = render::text(&report, Detail { rows: 5, width: Some(60) });
        prop_assert!(!text.is_empty());
        prop_assert!(render::html(&report, "x").ends_with("</html>\n"));
        prop_assert!(render::json(&report).is_object());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(500), ..ProptestConfig::default() })]

    /// The lines of one trace within another: lines of the other format are damage, and no more.
    #[test]
    fn noise_behind_a_first_call_is_read_to_its_end(noise in prop::collection::vec(any::<u8>(), 0..2000)) {
        for head in ["7 close(3) = 0 <0.000001>\n", "     0.070 ( 0.019 ms): close(fd: 3) = 0\n", "\"Operation\",\"PID\"\r\n"] {
            // A zero would make it a binary file.
            let noise: Vec<u8> = noise.iter().map(|&byte| byte.max(1)).collect();
            let trace = [head.as_bytes(), &noise].concat();
            prop_assert!(read(&trace).is_ok());
        }
    }
}
