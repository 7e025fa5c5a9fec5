//! `manyfiles explain`: its output on both streams, the traces that it refuses, and its exit status.
#![cfg(unix)] // needs strace and a pseudo-terminal

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{manyfiles, manyfiles_reading, read, write};
use tempfile::{TempDir, tempdir};

/// A small trace: a file is written, and closing it is slow.
const TRACE: &str = "\
7 1795305722.000000 openat(AT_FDCWD, \"/tmp/a\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.000020>
7 1795305722.000100 write(3, \"x\", 1) = 1 <0.000005>
7 1795305722.000200 close(3) = 0 <0.002000>
";

fn with_trace() -> TempDir {
    let temp = tempdir().unwrap();
    write(temp.path().join("trace"), TRACE);
    temp
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures").join(name)
}

#[test]
fn tables_go_to_standard_output_and_end_with_the_arithmetic() {
    let temp = with_trace();
    let ran = manyfiles(temp.path(), &["explain", "trace"]).code(0);
    for part in ["close", "0.002000", "Time by file", "/tmp/a", "2.00 ms − 1 × 10.0 µs to hand over = 1.99 ms"] {
        assert!(ran.out.contains(part), "{part}: {ran:#?}");
    }
    assert_eq!(ran.err, "");
    let quiet = manyfiles(temp.path(), &["explain", "trace", "-q"]).code(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let piped = manyfiles_reading(temp.path(), &["explain", "-"], TRACE.as_bytes()).code(0);
    assert_eq!(piped.out, ran.out);
}

#[test]
fn json_has_exact_seconds_and_the_same_findings() {
    let temp = with_trace();
    let json = manyfiles(temp.path(), &["explain", "trace", "--json"]).code(0).json();
    assert_eq!((json["command"].as_str(), json["status"].as_str()), (Some("explain"), Some("complete")));
    assert_eq!((json["exit_code"].as_u64(), json["trace"].as_str()), (Some(0), Some("trace")));
    assert_eq!(json["format"], "strace");
    assert_eq!(json["operations"][0]["name"], "close");
    assert_eq!(json["operations"][0]["seconds"], 0.002);
    assert_eq!(json["total"]["seconds"], 0.002025);
    assert_eq!(json["closes"]["after_append"]["calls"], 1);
    assert_eq!(json["findings"][0]["saves_seconds"], 0.00199);
    assert_eq!(json["timeline"]["axis"], "seconds");
}

#[test]
fn a_trace_that_is_not_all_understood_is_explained_as_far_as_it_is_and_that_is_said() {
    let temp = tempdir().unwrap();
    write(temp.path().join("trace"), format!("make: nothing to be done\n{TRACE}7 1795305722.000300 close(3"));
    let ran = manyfiles(temp.path(), &["explain", "trace", "--json"])
        .code(1)
        .says("trace: 2 of 5 lines were not understood")
        .says("the first is line 1: make: nothing to be done");
    let json = ran.json();
    assert_eq!((json["status"].as_str(), json["damaged"]["lines"].as_u64()), (Some("incomplete"), Some(2)));
    assert_eq!(json["total"]["calls"], 3);
}

#[test]
fn a_compressed_trace_is_read_as_it_is_from_a_file_and_from_standard_input() {
    let temp = with_trace();
    let plain = manyfiles(temp.path(), &["explain", "trace", "-vv"]).code(0).out;
    for (program, ending) in [("gzip", "gz"), ("zstd", "zst"), ("xz", "xz"), ("bzip2", "bz2")] {
        if std::process::Command::new(program).arg("--version").output().is_err() {
            println!("skipped: a compressed trace: no {program}");
            continue;
        }
        let packed =
            std::process::Command::new(program).args(["-c", "trace"]).current_dir(temp.path()).output().unwrap().stdout;
        // The name says nothing.
        write(temp.path().join("packed"), &packed);
        assert_eq!(manyfiles(temp.path(), &["explain", "packed", "-vv"]).code(0).out, plain, "{ending}");
        assert_eq!(manyfiles_reading(temp.path(), &["explain", "-", "-vv"], &packed).code(0).out, plain, "{ending}");
        write(temp.path().join("cut"), &packed[..packed.len() / 2]);
        manyfiles(temp.path(), &["explain", "cut"]).code(2).says("cut: cannot read it");
    }
}

#[test]
fn two_traces_are_compared_by_operation() {
    let temp = with_trace();
    // The file is kept open now.
    write(temp.path().join("after"), TRACE.replace("close(3) = 0 <0.002000>", "fdatasync(3) = 0 <0.000500>"));
    let ran = manyfiles(temp.path(), &["explain", "after", "--compare", "trace"]).code(0);
    let lines: Vec<String> =
        ran.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "close 1 0 0.002000 0.000000 0.0 %",
        "fdatasync 0 1 0.000000 0.000500 –",
        "openat 1 1 0.000020 0.000020 100.0 %",
        "all 3 3 0.002025 0.000525 25.9 %",
        "The run took 2.20 ms before, 700 µs after.",
    ] {
        assert!(lines.iter().any(|it| it == line), "{line}: {}", ran.out);
    }
    assert!(lines[2].starts_with("close"), "what differs most comes first: {}", ran.out);
    let json = manyfiles(temp.path(), &["explain", "after", "--compare", "trace", "--json"]).code(0).json();
    assert_eq!(
        (json["compared_with"].as_str(), json["all"]["before"]["seconds"].as_f64()),
        (Some("trace"), Some(0.002025))
    );
    assert_eq!(json["operations"][0]["name"], "close");
    manyfiles(temp.path(), &["explain", "after", "--compare", "missing"]).code(2).says("missing: cannot read it");
    manyfiles(temp.path(), &["explain", "after", "--compare", "trace", "--html", "x"]).code(2).says("cannot be used");
}

#[test]
fn stacks_are_folded_for_flame_graphs() {
    let temp = with_trace();
    manyfiles(temp.path(), &["explain", "trace", "--folded", "stacks"]).code(0).says("the stacks: stacks; draw them");
    assert_eq!(read(temp.path().join("stacks")), "open;tmp;a 20\nwrite;tmp;a 5\nclose;tmp;a 2000\n");
    manyfiles(temp.path(), &["explain", "trace", "--folded", "trace"]).code(2).says("this is the trace");
    // More files than the tables have.
    let many: String = (0..500).map(|n| format!("7 close({n}</d/{n};x>) = 0 <0.000010>\n")).collect();
    write(temp.path().join("many"), many);
    manyfiles(temp.path(), &["explain", "many", "-q", "--folded", "stacks"]).code(0);
    let stacks = read(temp.path().join("stacks"));
    assert_eq!((stacks.lines().count(), stacks.contains("close;d;499:x 10\n")), (500, true), "{stacks}");
}

#[test]
fn without_durations_it_is_said_how_to_get_them() {
    let temp = with_trace();
    let csv = fixture("procmon-without-duration.csv");
    let ran = manyfiles(temp.path(), &["explain", csv.to_str().unwrap(), "--json"])
        .code(1)
        .says("Options → Select Columns → Duration");
    assert!(ran.json()["total"]["seconds"].is_null());
    assert_eq!(ran.json()["total"]["calls"], 33);
    manyfiles_reading(temp.path(), &["explain", "-"], b"7 close(3) = 0\n").code(1).says("strace -f -T");
}

#[test]
fn what_is_no_trace_is_refused_with_what_to_do() {
    let temp = with_trace();
    fs::create_dir(temp.path().join("folder")).unwrap();
    write(temp.path().join("empty"), "");
    write(temp.path().join("binary"), b"a\0b");
    write(temp.path().join("text"), "hello\n");
    write(temp.path().join("log.pml"), "PML_\u{9}");
    for (trace, why) in [
        ("missing", "missing: cannot read it: No such file"),
        ("folder", "folder: this is a folder, not a trace"),
        ("empty", "empty: the file is empty"),
        ("binary", "binary: this is a binary file"),
        ("text", "text: not a trace that is known"),
        ("log.pml", "log.pml: this is Process Monitor's own log (PML)"),
    ] {
        let ran = manyfiles(temp.path(), &["explain", trace, "--json"]).code(2).says(why);
        assert_eq!(ran.json()["status"], "not_begun");
        assert!(ran.err.lines().all(|line| line.starts_with("manyfiles: ")), "{ran:#?}");
    }
    manyfiles_reading(temp.path(), &["explain", "-"], b"").code(2).says("standard input: the file is empty");
    manyfiles(temp.path(), &["explain"]).code(2).says("Usage:");
    manyfiles(temp.path(), &["explain", "trace", "--", "true"]).code(2).says("cannot be used with");
}

#[test]
fn a_page_that_cannot_be_written_is_found_out_before_the_trace_is_read() {
    let temp = with_trace();
    manyfiles(temp.path(), &["explain", "trace", "--html", "no/such/page.html"]).code(2).says("cannot write the page");
    manyfiles(temp.path(), &["explain", "trace", "--html", "."]).code(2).says("cannot write the page");
    // The trace is not written over, by whatever name.
    fs::hard_link(temp.path().join("trace"), temp.path().join("same")).unwrap();
    manyfiles(temp.path(), &["explain", "trace", "--html", "same"]).code(2).says("this is the trace");
    assert_eq!(read(temp.path().join("trace")), TRACE);
    // If the trace cannot be explained, an old page stays as it was, and no new page is left.
    write(temp.path().join("text"), "hello\n");
    write(temp.path().join("old.html"), "old");
    manyfiles(temp.path(), &["explain", "text", "--html", "old.html"]).code(2);
    manyfiles(temp.path(), &["explain", "text", "--html", "new.html"]).code(2);
    assert_eq!(read(temp.path().join("old.html")), "old");
    assert!(!temp.path().join("new.html").exists());
}

#[test]
fn a_page_replaces_an_older_and_longer_one() {
    let temp = with_trace();
    write(temp.path().join("page.html"), "x".repeat(1 << 20));
    manyfiles(temp.path(), &["explain", "trace", "--html", "page.html"])
        .code(0)
        .says("the page: page.html; open it in a browser");
    let page = read(temp.path().join("page.html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    manyfiles(temp.path(), &["explain", "trace", "-q", "--html", "/dev/full"]).code(1).says("No space left");
}

/// Tests that need a shell, `strace` or a terminal.
#[cfg(unix)]
mod on_unix {
    use super::*;
    use common::{Pty, names, shell};
    use manyfiles_testkit::skip;

    /// Whether strace may be used here; says so if not.
    fn strace_works() -> bool {
        match std::process::Command::new("strace").args(["-o", "/dev/null", "true"]).output() {
            Ok(output) if output.status.success() => true,
            Ok(output) => {
                skip(format_args!("strace may not trace: {}", String::from_utf8_lossy(&output.stderr).trim()));
                false
            }
            Err(error) => {
                skip(format_args!("needs strace: {error}"));
                false
            }
        }
    }

    #[test]
    fn a_commands_trace_is_explained_and_its_exit_status_passed_on() {
        if !strace_works() {
            return;
        }
        let temp = tempdir().unwrap();
        // Without the search path that cargo sets, files of the loader don't fill the tables.
        let script = "unset LD_LIBRARY_PATH; printf 'given\\n' |
        $M explain -vv -- sh -c 'echo said; cat; for n in 1 2 3; do echo $n > made$n; done; exit 7'";
        let ran = shell(temp.path(), script).code(7);
        // The tables are not mixed with the command's output.
        assert_eq!(ran.out, "said\ngiven\n");
        assert!(ran.err.contains("Time by operation") && ran.err.contains("made3"), "{ran:#?}");
        let json = manyfiles(temp.path(), &["explain", "--json", "--", "sh", "-c", ": > made4"]).code(0).json();
        assert_eq!(json["traced_command"][2], ": > made4");
        assert_eq!(json["damaged"]["lines"], 0);
        manyfiles(temp.path(), &["explain", "-q", "--", "sh", "-c", "kill -9 $$"]).code(137);
        manyfiles(temp.path(), &["explain", "--", "/no/such/command"]).code(2).says("strace did not see it run");
        assert_eq!(names(temp.path()), ["made1", "made2", "made3", "made4"]);
    }

    #[test]
    fn a_commands_trace_leaves_no_file_behind() {
        if !strace_works() {
            return;
        }
        let temp = tempdir().unwrap();
        fs::create_dir(temp.path().join("tmp")).unwrap();
        // Not while the command runs, either: nothing is left for a crash to leave behind. Nor does the command inherit
        // it.
        let script = "export TMPDIR=$PWD/tmp; $M explain --json -- sh -c 'ls -A tmp; ls -l /proc/self/fd | grep -c \"$TMPDIR\"' > out; cat out";
        let ran = shell(temp.path(), script).code(0);
        assert!(ran.out.starts_with("0\n{"), "{ran:#?}");
        assert_eq!(names(&temp.path().join("tmp")), Vec::<String>::new());
    }

    #[test]
    fn where_strace_is_missing_or_may_not_trace_it_is_said_so() {
        let temp = tempdir().unwrap();
        shell(temp.path(), "mkdir bin; PATH=$PWD/bin $M explain -- true").code(2).says("needs strace").says("install");
        let refused = "printf '#!/bin/sh\\necho strace: ptrace: Operation not permitted >&2\\nexit 1\\n' > bin/strace; chmod +x bin/strace;
        PATH=$PWD/bin:$PATH $M explain -- touch made";
        shell(temp.path(), refused).code(2).says("Operation not permitted").says("SYS_PTRACE");
        assert!(!temp.path().join("made").exists(), "the command is not run");
    }

    #[test]
    fn sigterm_ends_the_traced_command_and_what_it_did_is_explained() {
        if !strace_works() {
            return;
        }
        let temp = tempdir().unwrap();
        let script = "$M explain -vv -- sh -c 'echo x > begun; exec sleep 100' & pid=$!;
        while ! [ -s begun ]; do sleep 0.05; done; kill -TERM $pid; wait $pid";
        let ran = shell(temp.path(), script).code(143);
        assert!(ran.err.contains("/begun\n"), "{ran:#?}");
    }

    #[test]
    fn what_the_system_will_not_run_is_no_command_that_failed() {
        if !strace_works() {
            return;
        }
        let temp = tempdir().unwrap();
        write(temp.path().join("not-executable"), "echo hello\n");
        write(temp.path().join("no-program"), "hello\n");
        shell(temp.path(), "chmod +x no-program").code(0);
        manyfiles(temp.path(), &["explain", "--", "./not-executable"])
            .code(2)
            .says("./not-executable: cannot run it: EACCES")
            .says("chmod +x ./not-executable");
        let ran = manyfiles(temp.path(), &["explain", "--json", "--", "./no-program"]).code(2).says("ENOEXEC");
        assert_eq!(ran.json()["status"], "not_begun");
        manyfiles(temp.path(), &["explain", "--", "false"]).code(1);
    }

    #[test]
    fn sighup_reaches_the_traced_command() {
        if !strace_works() {
            return;
        }
        let temp = tempdir().unwrap();
        let script = "$M explain -vv -- sh -c 'echo x > begun; exec sleep 100' & pid=$!;
        while ! [ -s begun ]; do sleep 0.05; done; kill -HUP $pid; wait $pid";
        let ran = shell(temp.path(), script).code(129);
        assert!(ran.err.contains("/begun\n"), "{ran:#?}");
    }

    #[test]
    fn stopping_before_the_end_of_the_trace_tells_nothing() {
        let temp = with_trace();
        let script = "mkfifo pipe; exec 3<>pipe; cat trace >&3; $M explain pipe --html page.html --json > out & pid=$!;
        while ! [ -e page.html ]; do sleep 0.05; done; kill -INT $pid; wait $pid";
        shell(temp.path(), script).code(130).says("stopped");
        assert!(read(temp.path().join("out")).contains("\"status\": \"stopped\""));
        assert!(!temp.path().join("page.html").exists());
    }

    #[test]
    fn progress_is_a_bar_on_a_terminal_and_lines_in_a_log() {
        let temp = with_trace();
        let slow = "mkfifo pipe; (cat trace; sleep 2.5; cat trace) > pipe &";
        let ran = shell(temp.path(), &format!("{slow} $M explain pipe -q --progress always")).code(0);
        assert!(ran.err.lines().count() >= 2 && ran.err.contains("B read, "), "{ran:#?}");
        let mut pty = Pty::run(temp.path(), "explain trace --progress always");
        pty.wait_for("Time by operation");
        let (code, rest) = pty.end();
        assert_eq!(code, 0, "{rest}");
        // Lines fit the terminal.
        assert!(rest.lines().all(|line| line.trim_end().chars().count() <= 200), "{rest}");
    }

    #[test]
    fn a_trace_of_more_files_than_are_counted_fits_in_little_memory() {
        let temp = tempdir().unwrap();
        // 400,000 paths would take twice the memory that is allowed.
        let trace = "awk 'BEGIN { for (n = 0; n < 400000; n++)
        printf \"7 stat(\\\"/a/long/way/down/to/a/file/that/is/looked/at/only/once/%d\\\", 0x7ffc) = 0 <0.000003>\\n\", n }'";
        let ran = shell(temp.path(), &format!("{trace} | (ulimit -d 60000; $M explain - --json)")).code(0);
        let json = ran.json();
        assert_eq!(json["operations"][0]["calls"], 400_000);
        assert_eq!(json["operations"][0]["seconds"], 1.2);
        assert_eq!(json["files"]["exact"], false);
        let rows = json["files"]["rows"].as_array().unwrap();
        let shown: u64 = rows.iter().map(|row| row["calls"].as_u64().unwrap()).sum();
        assert_eq!(shown + json["files"]["others"]["calls"].as_u64().unwrap(), 400_000);
    }
}
