//! Findings that apply, and those that must not.

mod common;

use std::fmt::Write;

use common::report;
use manyfiles_trace::{Finding, Report};

fn finding<'a>(report: &'a Report, part: &str) -> Option<&'a Finding> {
    report.findings.iter().find(|finding| finding.part.starts_with(part))
}

fn told(finding: &Finding) -> String {
    finding.told.join(" ")
}

/// A process that writes and syncs files, `n` of them, each with a number of its own.
fn synced(pid: u32, n: usize) -> String {
    let mut trace = String::new();
    for file in 0..n {
        let path = format!("/tmp/{pid}-{file}");
        writeln!(trace, "{pid} 1.000000 openat(AT_FDCWD, \"{path}\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3 <0.000020>")
            .unwrap();
        writeln!(trace, "{pid} 1.000000 write(3, \"x\", 1) = 1 <0.000005>").unwrap();
        writeln!(trace, "{pid} 1.000000 fsync(3) = 0 <0.010000>").unwrap();
        writeln!(trace, "{pid} 1.000000 close(3) = 0 <0.002000>").unwrap();
    }
    writeln!(trace, "{pid} 1.000000 +++ exited with 0 +++").unwrap();
    trace
}

#[test]
fn a_batch_is_of_one_process() {
    let one = report(synced(7, 20).as_bytes());
    assert_eq!(finding(&one, "SyncBatch").unwrap().saves_nanos, Some(200_000_000 / 8 * 7));
    let many: String = (0..20).map(|pid| synced(100 + pid, 1)).collect();
    let many = report(many.as_bytes());
    let batch = finding(&many, "SyncBatch").unwrap();
    assert_eq!((batch.saves_nanos, many.syncs.first.calls, many.syncs.batches), (None, 20, 0));
    assert!(told(batch).contains("No process synced 16 or more"), "{}", told(batch));
    let both = report((synced(7, 20) + &synced(8, 3)).as_bytes());
    assert_eq!(finding(&both, "SyncBatch").unwrap().saves_nanos, Some(200_000_000 / 8 * 7), "of the one that could");
}

#[test]
fn a_close_that_a_process_ends_with_is_not_handed_over() {
    let one_each: String = (0..50).map(|pid| synced(100 + pid, 1)).collect();
    let closes = report(one_each.as_bytes());
    let closes = finding(&closes, "FastClose").unwrap();
    assert_eq!(closes.saves_nanos, None, "{}", told(closes));
    let many = report(synced(7, 50).as_bytes());
    assert_eq!(finding(&many, "FastClose").unwrap().saves_nanos, Some(50 * (2_000_000 - 10_000)));
}

#[test]
fn durable_writes_are_not_to_be_buffered() {
    for flag in ["O_SYNC", "O_DSYNC"] {
        let mut trace = format!("7 1.000000 openat(AT_FDCWD, \"/tmp/log\", O_WRONLY|O_APPEND|{flag}) = 3 <0.000020>\n");
        for _ in 0..100 {
            trace += "7 1.000000 write(3, \"1234567\", 7) = 7 <0.001000>\n";
        }
        let report = report(trace.as_bytes());
        assert!(finding(&report, "FileWriter").is_none(), "a buffer would give up what {flag} is for");
        assert_eq!((report.syncs.durable_writes.calls, report.small_writes.calls), (100, 0));
        let group = finding(&report, "Appender").unwrap();
        assert!(told(group).contains("O_SYNC or O_DSYNC") && group.saves_nanos.is_none(), "{}", told(group));
    }
}

#[test]
fn write_back_and_syncs_of_folders_and_of_all_are_no_syncs_of_files() {
    let mut trace = String::new();
    for n in 0..40 {
        writeln!(trace, "7 1.000000 openat(AT_FDCWD, \"/tmp/d{n}\", O_RDONLY|O_CLOEXEC) = 3 <0.000020>").unwrap();
        trace += "7 1.000000 fsync(3) = 0 <0.010000>\n7 1.000000 close(3) = 0 <0.000001>\n";
        writeln!(trace, "7 1.000000 openat(AT_FDCWD, \"/tmp/f{n}\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3 <0.000020>")
            .unwrap();
        trace += "7 1.000000 sync_file_range(3, 0, 0, SYNC_FILE_RANGE_WRITE) = 0 <0.003000>\n";
        trace += "7 1.000000 syncfs(3) = 0 <0.004000>\n7 1.000000 close(3) = 0 <0.000001>\n";
    }
    let report = report(trace.as_bytes());
    assert_eq!((report.syncs.first.calls, report.syncs.again.calls, report.syncs.folders.calls), (0, 0, 40));
    assert!(finding(&report, "SyncBatch").is_none() && finding(&report, "Appender").is_none());
}

#[test]
fn what_is_pushed_on_its_way_would_not_have_waited_in_a_buffer() {
    let mut trace = "7 1.000000 openat(AT_FDCWD, \"/tmp/f\", O_WRONLY|O_CREAT, 0666) = 3 <0.000020>\n".to_owned();
    for _ in 0..10 {
        trace += "7 1.000000 write(3, \"1234567\", 7) = 7 <0.000005>\n";
        trace += "7 1.000000 sync_file_range(3, 0, 0, SYNC_FILE_RANGE_WRITE) = 0 <0.000010>\n";
    }
    assert_eq!(report(trace.as_bytes()).small_writes.calls, 0);
}

#[test]
fn what_a_trace_cannot_show_is_said() {
    let mapped = |prot: &str, how: &str, path: &str| {
        format!("7 1.000000 mmap(NULL, 4096, {prot}, {how}, 3<{path}>, 0) = 0x7f0000000000 <0.000005>\n")
    };
    let trace = [
        "7 1.000000 io_uring_enter(5, 8, 8, IORING_ENTER_GETEVENTS, NULL, 8) = 8 <0.002000>\n",
        &mapped("PROT_READ|PROT_WRITE", "MAP_SHARED", "/tmp/database"),
        &mapped("PROT_READ|PROT_WRITE", "MAP_PRIVATE", "/tmp/PROT_WRITE, MAP_SHARED"),
        &mapped("PROT_READ", "MAP_PRIVATE", "/usr/lib/libc.so.6"),
        &mapped("PROT_READ|PROT_EXEC", "MAP_PRIVATE", "/usr/bin/program"),
        "7 1.000000 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000 <0.000005>\n",
        &mapped("PROT_READ", "MAP_PRIVATE", "/tmp/a.pack"),
    ]
    .concat();
    let report = report(trace.as_bytes());
    let hidden = report.hidden;
    assert_eq!((hidden.io_uring, hidden.mapped_to_write, hidden.mapped_to_read), (1, 1, 2));
    let text = manyfiles_trace::render::text(&report, manyfiles_trace::render::Detail { rows: 5, width: None });
    assert!(text.contains("1 call handed work to io_uring"), "{text}");
    assert!(text.contains("1 time a file was mapped to be written to"), "{text}");
    assert!(!text.contains("mapped to be read"), "one file read so is nothing to speak of: {text}");
}

#[test]
fn the_name_of_a_file_may_look_like_a_result() {
    let trace = "\
7 1.000000 openat(AT_FDCWD</tmp>, \"a) = 7\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</tmp/a) = 7> <0.000020>
7 1.000000 write(3</tmp/a) = 7>, \"x\", 1) = 1 <0.000005>
7 1.000000 dup(3</tmp/a) = 7>) = 4</tmp/a) = 7> <0.000005>
7 1.000000 openat(AT_FDCWD</tmp>, \"/dev/null\", O_RDONLY) = 5</dev/null<char 1:3>> <0.000020>
";
    let report = report(trace.as_bytes());
    assert_eq!((report.damage.lines, report.total.calls), (0, 4));
    assert_eq!(common::file(&report, "/tmp/a) = 7"), (2, 1, 25_000), "dup is no work on files");
    assert_eq!(common::file(&report, "/dev/null").1, 1);
}

#[test]
fn columns_that_a_spreadsheet_saved_again_are_told_from_what_is_no_trace() {
    for separator in [";", "\t"] {
        let trace =
            ["Time of Day", "Process Name", "PID", "Operation", "Path", "Result", "Detail", "Duration"].join(separator);
        let why = common::read(format!("{trace}\r\n1{separator}2\r\n").as_bytes()).unwrap_err().to_string();
        assert!(why.contains("spreadsheet") && why.contains("CSV"), "{why}");
    }
}
