//! Each format, from a small trace with known sums.

mod common;

use common::{file, fixture, operation, read, report};
use manyfiles_trace::{Error, Format, Kind};

const MICRO: u64 = 1000;
const MILLI: u64 = 1_000_000;

#[test]
fn strace_with_processes_pipes_and_calls_in_two_parts() {
    let report = report(&fixture("strace.txt"));
    assert_eq!((report.format, report.lines, report.digits), (Format::Strace, 47, 6));
    assert_eq!(operation(&report, "close"), (5, 0, 4173 * MICRO));
    assert_eq!(operation(&report, "openat"), (4, 0, 176 * MICRO));
    assert_eq!(operation(&report, "mkdir"), (3, 2, 38 * MICRO));
    assert_eq!(operation(&report, "clone"), (1, 0, 240 * MICRO));
    assert_eq!(operation(&report, "exit_group"), (1, 0, 0));
    assert_eq!((report.total.calls, report.total.failed), (39, 2));
    assert_eq!((report.untimed, report.never_returned), (1, 1), "exit_group, and the futex");
    // The name has quotes in it, and the content has text that looks like a result.
    assert_eq!(file(&report, "/tmp/out/log \"1\""), (8, 1, (29 + 4 * 8 + 4000 + 3000 + 2100) * MICRO));
    // Relative to a folder that the child changed to, under two descriptors, twice.
    assert_eq!(file(&report, "/tmp/out/twice"), (7, 2, (20 + 2 + 8 + 1000 + 20 + 8 + 1000) * MICRO));
    // A read from a pipe is a wait.
    assert_eq!(report.kinds[Kind::Read as usize].1.calls, 0);
    assert_eq!(report.kinds[Kind::Wait as usize].1.nanos, (3050 + 6 + 10) * MICRO);
    // The first descriptor of the file that was duplicated is closed before anything is written.
    assert_eq!((report.closes.appended.calls, report.closes.appended.nanos), (3, 4100 * MICRO));
    assert_eq!((report.closes.unwritten.calls, report.closes.unwritten.nanos), (2, 73 * MICRO));
    assert_eq!((report.again.opens, report.again.kept_opens, report.again.kept_close_nanos), (1, 1, MILLI));
    assert_eq!((report.small_writes.runs, report.small_writes.calls, report.small_writes.bytes), (1, 3, 21));
    assert_eq!((report.syncs.first.calls, report.syncs.again.calls, report.syncs.again.nanos), (1, 1, 3 * MILLI));
    assert_eq!((report.made.files, report.folders_were_there.calls), (1, 2));
    assert_eq!(report.tracing, Some(2 * MICRO));
    assert_eq!(report.damage.first, Some((44, "cc: warning: what a program said in between".into())));
    assert_eq!(report.damage.lines, 1);
    let threads: Vec<_> = report.threads.rows.iter().map(|row| (row.thread, &*row.program, row.sum.calls)).collect();
    assert_eq!(threads, [(26882, "sh", 27), (26885, "sh", 12)]);
}

#[test]
fn strace_on_standard_error_where_numbers_come_and_go() {
    let trace = "\
openat(AT_FDCWD, \"/tmp/a\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.000010>
clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLDstrace: Process 7002 attached
 <unfinished ...>
[pid  7002] write(3, \"x\", 1 <unfinished ...>
[pid  7001] <... clone resumed>, child_tidptr=0x7fb) = 7002 <0.000200>
[pid  7002] <... write resumed>)      = 1 <0.000020>
[pid  7001] wait4(-1,  <unfinished ...>
[pid  7002] exit_group(0)             = ?
[pid  7002] +++ exited with 0 +++
<... wait4 resumed>[{WIFEXITED(s)}], 0, NULL) = 7002 <0.000300>
--- SIGCHLD {si_signo=SIGCHLD} ---
write(3, \"y\", 1)                       = 1 <0.000030>
close(3)                                = 0 <0.000040>
+++ exited with 0 +++
";
    // The same, if the message comes so late that the call is whole but for a line break.
    let whole = trace
        .replace(" <unfinished ...>\n[pid  7002] write", ", child_tidptr=0x7fb) = 7002 <0.000200>\n[pid  7002] write")
        .replace("[pid  7001] <... clone resumed>, child_tidptr=0x7fb) = 7002 <0.000200>\n", "");
    let (first, second) = (report(trace.as_bytes()), report(whole.as_bytes()));
    assert_eq!(first.operations, second.operations);
    assert_eq!(second.damage.lines, 0);
    let report = first;
    assert_eq!((report.damage.lines, report.never_returned, report.total.calls), (0, 0, 7));
    assert_eq!(operation(&report, "wait4"), (1, 0, 300 * MICRO));
    // The child has the parent's descriptors. Lines from before the parent had a number are the parent's.
    assert_eq!(file(&report, "/tmp/a"), (4, 1, 100 * MICRO));
    let threads: Vec<_> = report.threads.rows.iter().map(|row| (row.thread, row.sum.calls)).collect();
    assert_eq!(threads, [(7001, 5), (7002, 2)]);
    assert_eq!(report.span, None, "there are no times of day");
}

#[test]
fn strace_with_every_way_of_saying_when_gives_the_same_sums() {
    let stamps: [fn(u64) -> String; 5] = [
        |_| String::new(),
        |n| format!("{}.{:06} ", 1_795_305_722 + n / 1000, n % 1000 * 1000),
        |n| format!("23:59:{:02}.{:03}000 ", 59 - 59 * u64::from(n >= 1000), n % 1000).replace("23:59:00", "00:00:00"),
        |n| format!("     0.{:06} ", if n == 0 { 0 } else { 500_000 }),
        |n| format!("{} ", 1_795_305_722 + n / 1000),
    ];
    for pid in ["", "26882 ", "[pid 26882] "] {
        for (at, stamp) in stamps.iter().enumerate() {
            let trace = format!(
                "{pid}{}openat(AT_FDCWD</tmp>, \"a\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</tmp/a> <0.000010>\n\
                 {pid}{}write(3</tmp/a>, \"x\"..., 100) = 100 <0.000020>\n\
                 {pid}{}close(3</tmp/a>) = 0 <0.000030>\n",
                stamp(0),
                stamp(500),
                stamp(1000)
            );
            let report = report(trace.as_bytes());
            assert_eq!((report.damage.lines, report.total.nanos), (0, 60 * MICRO), "{trace}");
            assert_eq!(file(&report, "/tmp/a"), (3, 1, 60 * MICRO), "{trace}");
            let span = [None, Some(1_000_030_000), Some(1_000_030_000), Some(1_000_030_000), Some(1_000_030_000)];
            assert_eq!(report.span, span[at], "{trace}");
        }
    }
}

#[test]
fn descriptors_without_a_path_of_their_own_are_followed() {
    let trace = "\
1 open(\"/d/log\", O_WRONLY|O_CREAT|O_APPEND, 0644) = 3 <0.000001>
1 fcntl(3, F_DUPFD_CLOEXEC, 10) = 10 <0.000001>
1 close(3) = 0 <0.000001>
1 writev(10, [{iov_base=\"a\", iov_len=1}], 1) = 1 <0.000001>
1 fork() = 2 <0.000001>
2 write(10, \"b\", 1) = 1 <0.000001>
2 execve(\"/bin/x\", [\"x\"], 0x7ffc /* 1 var */) = 0 <0.000001>
2 write(10, \"c\", 1) = -1 EBADF (Bad file descriptor) <0.000001>
1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD, child_tid=0x7f}, 88) = 3 <0.000001>
3 write(10, \"d\", 1) = 1 <0.000001>
3 openat(10, \"below\", O_RDONLY) = 4 <0.000001>
1 read(4, \"\", 10) = 0 <0.000001>
1 close_range(4, 4294967295, 0) = 0 <0.000001>
1 write(10, \"e\", 1) = 1 <0.000001>
1 copy_file_range(4, NULL, 10, NULL, 100, 0) = 100 <0.000001>
";
    let report = report(trace.as_bytes());
    assert_eq!(report.damage.lines, 0);
    // open, close, writes of 1, its child 2 and its thread 3. After the exec the descriptor is closed; and so it is by
    // the range.
    assert_eq!(file(&report, "/d/log"), (5, 1, 5 * MICRO));
    assert_eq!(file(&report, "/d/log/below"), (2, 1, 2 * MICRO));
    // The write after the exec, the range, and two on what it closed.
    assert_eq!(report.without_name.calls, 4);
}

#[test]
fn strace_with_hexadecimal_strings_names_the_same_files() {
    let trace = r#"7 openat(AT_FDCWD<\x2f\x74>, "\x61\x3e", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3<\x2f\x74\x2f\x61\x3e> <0.000010>
7 write(3<\x2f\x74\x2f\x61\x3e>, "\x78", 1) = 1 <0.000020>
7 stat("\x2f\x74\x2f\x61\x3e", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.000005>
"#;
    assert_eq!(file(&report(trace.as_bytes()), "/t/a>"), (3, 1, 35 * MICRO));
}

#[test]
fn perf_trace_with_continued_calls_and_a_summary() {
    let report = report(&fixture("perf.txt"));
    assert_eq!((report.format, report.digits), (Format::PerfTrace, 6));
    assert_eq!(operation(&report, "close"), (2, 0, 2057 * MICRO));
    assert_eq!(operation(&report, "write"), (2, 0, 40 * MICRO));
    assert_eq!(operation(&report, "wait4"), (1, 0, 8265 * MICRO));
    assert_eq!(operation(&report, "vfork"), (2, 0, 350 * MICRO));
    assert_eq!(operation(&report, "access"), (1, 1, 12 * MICRO));
    assert_eq!(file(&report, "/tmp/out/a"), (4, 1, 2133 * MICRO));
    assert_eq!(file(&report, "/etc/ld.so.cache"), (3, 1, 56 * MICRO));
    assert_eq!((report.closes.appended.calls, report.closes.appended.nanos), (1, 2040 * MICRO));
    assert_eq!(report.untimed, 3);
    assert_eq!(report.threads.rows[1].program, "Web Content");
    assert_eq!(report.damage.first, Some((18, "    13.7".into())), "what is below the summary is no damage");
    assert_eq!(report.damage.lines, 1);
}

#[test]
fn process_monitor_in_both_exports_tells_the_same() {
    for (name, format) in [("procmon.csv", Format::ProcmonCsv), ("procmon.xml", Format::ProcmonXml)] {
        let report = report(&fixture(name));
        assert_eq!((report.format, report.digits, report.damage.lines), (format, 7, 0), "{name}");
        assert_eq!((report.total.calls, report.total.failed, report.total.nanos), (33, 1, 22_998_200), "{name}");
        assert_eq!(operation(&report, "CloseFile"), (7, 0, 10_553_000));
        assert_eq!(operation(&report, "FlushBuffersFile"), (3, 0, 12_000_000));
        assert_eq!(operation(&report, "CreateFile"), (8, 1, 237_000));
        assert_eq!(operation(&report, "RegOpenKey"), (1, 0, 9_100), "that a key leads to another is no failure");
        assert_eq!(file(&report, r"C:\src\font.ufo\glyphs\A.glif"), (7, 2, 2_171_700));
        assert_eq!(file(&report, r"C:\src\save.log"), (12, 3, 16_617_000));
        assert_eq!(report.folders.rows[0].path[..], *br"C:\src");
        // The open that only looked at attributes was within none that wrote.
        assert_eq!((report.closes.appended.calls, report.closes.appended.nanos), (6, 10_550_000));
        assert_eq!((report.closes.unwritten.calls, report.closes.unwritten.nanos), (1, 3_000));
        assert_eq!((report.again.opens, report.again.kept_opens), (3, 2));
        assert_eq!(
            (report.small_writes.calls, report.small_writes.bytes, report.small_writes.calls_with_buffer),
            (6, 4500, 3)
        );
        assert_eq!((report.syncs.first.calls, report.syncs.again.calls), (1, 2));
        assert_eq!((report.made.files, report.made.by_one_thread), (3, 3));
        // Bytes that the memory manager reads are not the program's.
        assert_eq!(report.total.bytes, 4500 + 3 * 64);
        // Noon, and an hour later.
        assert_eq!(report.span, Some(3_604_001_000_000), "{name}");
        let threads: Vec<_> = report.threads.rows.iter().map(|row| (row.process, row.thread, &*row.program)).collect();
        assert_eq!(threads, [(4412, 5124, "hg.exe"), (4412, 5120, "hg.exe")]);
    }
}

#[test]
fn without_durations_everything_but_time_is_told_and_how_to_get_it() {
    let report = report(&fixture("procmon-without-duration.csv"));
    assert!(!report.timed && !report.is_complete());
    assert_eq!((report.total.calls, report.total.nanos), (33, 0));
    assert_eq!((report.closes.appended.calls, report.again.kept_opens, report.small_writes.calls), (6, 2, 6));
    assert!(report.findings.iter().all(|finding| finding.saves_nanos.is_none() && finding.arithmetic.is_none()));
    assert!(report.format.how_to_get_durations().contains("Options → Select Columns → Duration"));
    // strace without -T.
    let report = common::report(b"7 close(3) = 0\n");
    assert!(!report.timed);
    assert!(report.format.how_to_get_durations().contains("-T"));
}

#[test]
fn process_monitors_completion_time_stands_in_for_the_duration() {
    let trace = "\"Time of Day\",\"PID\",\"Operation\",\"Path\",\"Completion Time\"\r\n\
                 \"11:59:59.9990000 PM\",\"4\",\"CloseFile\",\"C:\\a\",\"12:00:00.0010000 AM\"\r\n";
    let report = report(trace.as_bytes());
    assert_eq!(operation(&report, "CloseFile"), (1, 0, 2 * MILLI));
}

#[test]
fn damaged_records_are_counted_and_cost_no_others() {
    let whole = String::from_utf8(fixture("procmon.csv")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive("\r\n").collect();
    let good = report(whole.as_bytes()).total.calls;
    for (what, line) in [
        ("cut", "\"12:00:00.0000000 PM\",\"hg.exe\",\"44\r\n"),
        (
            "cut within quotes",
            "\"12:00:00.0000000 PM\",\"hg.exe\",\"4412\",\"5120\",\"CloseFile\",\"C:\\a\",\"SUCC\r\n",
        ),
        ("too few fields", "\"12:00:00.0000000 PM\",\"hg.exe\"\r\n"),
        ("a duration that is none", &lines[9].replace("\"0.0", "\"soon 0.0")),
        ("a process that is none", &lines[9].replace("4412", "x")),
        ("no operation", &lines[9].replace("CreateFile", "").replace("WriteFile", "")),
        ("noise", "\u{fffd}\u{1}\"\"\"x\r\n"),
    ] {
        let mut damaged = lines.clone();
        damaged.insert(9, line);
        let report = report(damaged.concat().as_bytes());
        assert_eq!((report.total.calls, report.damage.lines), (good, 1), "{what}: {:?}", report.damage);
        assert_eq!(report.damage.first.unwrap().0, 12, "{what}: the first record has three lines");
    }
    let xml = String::from_utf8(fixture("procmon.xml")).unwrap();
    for (what, from, to) in [
        ("an event without an end", "</event>", ""),
        ("an element without an end", "</Operation>", ""),
        ("an event without an operation", "<Operation>Load Image</Operation>\r\n", ""),
        ("the end is missing", "</event>\r\n\r\n</eventlist></procmon>\r\n", ""),
    ] {
        let report = report(xml.replacen(from, to, 1).as_bytes());
        assert_eq!((report.total.calls, report.damage.lines), (good - 1, 1), "{what}: {:?}", report.damage);
    }
}

#[test]
fn what_is_no_trace_is_said_to_be_what_it_is() {
    for (content, says) in [
        (&b""[..], "empty"),
        (b"\xef\xbb\xbf\r\n \n", "empty"),
        (b"PML_\0\0\0\0", "save it as CSV"),
        (b"PERFILE2\0\0", "perf trace -i"),
        (b"\x1f\x8b\x08\0", "compressed"),
        (b"\xff\xfeT\0i\0", "UTF-16"),
        (b"\x7fELF\x02\x01", "explain -- COMMAND"),
        (b"a\0b\0c", "binary"),
        (b"hello, world\n", "not a trace"),
        (b"<html><body></body></html>", "not a trace"),
        (b"\"Operation\",\"Cost\"\r\n\"hip\",\"3\"\r\n", "not a trace"),
        (b"% time     seconds  usecs/call     calls    errors syscall\n 50.0 0.1 1 2 close\n", "strace -c"),
        (b"\n Summary of events:\n\n sh (26041), 22 events\n", "perf trace -s"),
    ] {
        let error = read(content).unwrap_err();
        assert!(error.to_string().contains(says), "{content:?}: {error}");
        assert_eq!(error.raw_os_error(), None);
    }
    assert!(matches!(read(b""), Err(Error::Empty)));
}

#[test]
fn an_error_of_the_source_keeps_its_number() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(5))
        }
    }
    let error = manyfiles_trace::explain(&mut Broken, &manyfiles_trace::Progress::default()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5));
}

#[test]
fn what_a_call_does_to_pipes_is_no_part_of_how_long_it_takes_on_files() {
    let mut trace = String::new();
    for n in 0..50 {
        let at = n * 10;
        trace += &format!("7 {at}.000000 read(0<pipe:[1]>, \"\", 4096) = 10 <1.500000>\n");
        trace += &format!("7 {at}.200000 read(3</tmp/a>, \"\", 4096) = 10 <0.000004>\n");
        trace += &format!("7 {at}.300000 fsync(3</tmp/a>) = 0 <0.004000>\n");
    }
    let report = common::report(trace.as_bytes());
    let read = report.operations.iter().find(|operation| operation.name == "read").unwrap();
    assert_eq!((read.sum.calls, read.sum.nanos), (100, 50 * 1_500_004 * MICRO), "the table has all");
    assert_eq!((read.on_files.sum.calls, read.on_files.sum.nanos), (50, 200 * MICRO));
    assert_eq!(read.on_files.latencies.as_ref().unwrap().max, 4 * MICRO);
    assert_eq!(read.kind.name(), "read", "whatever its first call was");
    let page = manyfiles_trace::render::html(&report, "trace");
    let distributions = &page[page.find("How long calls take").unwrap()..page.find("The worst files").unwrap()];
    assert!(distributions.find(">fsync<") < distributions.find(">read<"), "what took most time on files leads");
    assert!(distributions.contains("50 calls, 200 µs"), "{distributions}");
}

#[test]
fn many_small_writes_save_calls_even_where_tracing_hides_their_time() {
    let trace = |write: u64, nothing: u64| {
        let mut trace =
            String::from("7 1.000000 openat(AT_FDCWD, \"/tmp/a\", O_WRONLY|O_CREAT, 0666) = 3</tmp/a> <0.000020>\n");
        for n in 0..2000 {
            trace += &format!("7 2.{n:06} write(3</tmp/a>, \"\", 10) = 10 <0.{:06}>\n", write + n % 10);
        }
        for n in 0..20 {
            trace += &format!("7 3.{n:06} getppid() = 1 <0.{:06}>\n", nothing + n % 3);
        }
        common::report((trace + "7 4.000000 close(3</tmp/a>) = 0 <0.000010>\n").as_bytes())
    };
    let small_writes = |report: &manyfiles_trace::Report| {
        report.findings.iter().find(|finding| finding.part == "FileWriter").unwrap().clone()
    };
    // The cheapest writes take 9 µs, the cheapest calls that do nothing 8 µs, and these 9 µs at the median.
    let told = trace(9, 8);
    let saved = small_writes(&told).saves_nanos.unwrap();
    // Percentiles are precise to one in a hundred.
    assert!((1_850 * MICRO..2_100 * MICRO).contains(&saved), "the cheapest is compared with the cheapest: {saved}");
    let hidden = trace(9, 12);
    let finding = small_writes(&hidden);
    assert_eq!((finding.saves_nanos, finding.saves_calls), (None, Some(1999)));
    let detail = manyfiles_trace::render::Detail { rows: 10, width: None };
    for shown in [manyfiles_trace::render::text(&hidden, detail), manyfiles_trace::render::html(&hidden, "trace")] {
        assert!(shown.contains("saves 1,999 calls"), "{shown}");
    }
}
