//! Logs of framed records: reading from any record on gives the same, and an appender loses none of them.

use std::path::Path;

use manyfiles::appender::{Appender, Records, check};

pub fn read(bytes: &[u8]) {
    let memory = Path::new("/dev/shm");
    let temp = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let temp = temp.expect("there is room");
    let log = temp.path().join("log");
    std::fs::write(&log, bytes).expect("there is room");
    drop(check(&log));
    let Ok(mut records) = Records::open(&log) else { return };
    let (mut all, mut positions, mut damaged) = (Vec::new(), Vec::new(), false);
    while let Some(record) = records.next() {
        match record {
            Ok(record) => {
                positions.push(records.record_position().expect("a record was read"));
                all.push(record);
            }
            Err(_) => damaged = true,
        }
        assert!(all.len() <= bytes.len(), "more records than bytes");
    }
    for (n, position) in positions.iter().enumerate().take(20) {
        let rest = Records::open_at(&log, *position).expect("there is a record");
        let rest: Vec<_> = rest.filter_map(Result::ok).collect();
        assert_eq!(rest, all[n..], "from record {n} on");
    }
    let Ok(appender) = Appender::options().framed(true).open(&log) else { return };
    appender.append(b"one more").expect("there is room");
    appender.close().expect("there is room");
    all.push(b"one more".to_vec());
    let after: Vec<_> = Records::open(&log).expect("it is there").filter_map(Result::ok).collect();
    assert!(damaged || after == all, "the appender has lost records: {} in place of {}", after.len(), all.len());
}
