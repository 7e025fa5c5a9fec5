//! What is open when a process loses it counts, whatever takes it away: an exit, another file under its number, a range
//! of closes, a new program, a thread that ends.

mod common;

use std::fmt::Write;

use common::report;
use manyfiles_trace::Report;

/// `n` writes of seven bytes to a descriptor, by a thread.
fn writes(pid: u32, fd: i32, n: usize) -> String {
    (0..n).fold(String::new(), |mut lines, _| {
        writeln!(lines, "{pid} 1.000000 write({fd}, \"1234567\", 7) = 7 <0.000005>").unwrap();
        lines
    })
}

fn open(pid: u32, path: &str, flags: &str, fd: i32) -> String {
    format!("{pid} 1.000000 openat(AT_FDCWD, \"{path}\", O_WRONLY|O_CREAT{flags}, 0666) = {fd} <0.000020>\n")
}

fn of(parts: &[&str]) -> Report {
    report(parts.concat().as_bytes())
}

fn merged(report: &Report) -> (u64, u64) {
    (report.small_writes.runs, report.small_writes.calls)
}

#[test]
fn an_exit_a_kill_and_the_end_of_the_trace_end_files() {
    let before = [open(7, "/tmp/a", "|O_TRUNC", 3), writes(7, 3, 100)].concat();
    for end in [
        "7 2.000000 exit_group(0) = ?\n7 2.000000 +++ exited with 0 +++\n",
        "7 2.000000 +++ killed by SIGKILL +++\n",
        "7 2.000000 +++ exited with 1 +++\n",
        "",
    ] {
        let report = of(&[&before, end]);
        assert_eq!(merged(&report), (1, 100), "{end}");
        assert_eq!((report.made.files, report.made.nanos), (1, 20_000 + 100 * 5_000), "{end}");
    }
}

#[test]
fn another_file_under_the_number_ends_the_one_before() {
    // What a shell does for `for ...; do echo ...; done > f`: the file becomes standard output, and goes again.
    let report = of(&[
        &open(7, "/tmp/f", "|O_TRUNC", 3),
        "7 1.000000 fcntl(1, F_DUPFD, 10) = 10 <0.000001>\n",
        "7 1.000000 dup2(3, 1) = 1 <0.000001>\n7 1.000000 close(3) = 0 <0.000001>\n",
        &writes(7, 1, 50),
        "7 1.000000 dup2(10, 1) = 1 <0.000001>\n7 1.000000 close(10) = 0 <0.000001>\n",
        &writes(7, 1, 50),
        "7 2.000000 +++ exited with 0 +++\n",
    ]);
    assert_eq!(
        merged(&report),
        (1, 50),
        "what went to the standard output from before the trace is no file that is known"
    );
    let report = of(&[&open(7, "/tmp/a", "", 3), &writes(7, 3, 9), &open(7, "/tmp/b", "", 3), &writes(7, 3, 8)]);
    assert_eq!(merged(&report), (2, 17), "a close was lost from the trace");
}

#[test]
fn a_range_of_closes_and_a_new_program_end_files() {
    let before =
        [open(7, "/tmp/a", "|O_CLOEXEC", 3), open(7, "/tmp/b", "", 4), writes(7, 3, 9), writes(7, 4, 8)].concat();
    let ranged = of(&[&before, "7 2.000000 close_range(3, 4294967295, 0) = 0 <0.000001>\n", &writes(7, 3, 5)]);
    assert_eq!(merged(&ranged), (2, 17));
    let exec = "7 2.000000 execve(\"/bin/x\", [\"x\"], 0x7ff /* 3 vars */) = 0 <0.000100>\n";
    let executed = of(&[&before, exec, &writes(7, 4, 8), "7 3.000000 +++ exited with 0 +++\n"]);
    assert_eq!(merged(&executed), (2, 25), "the one that stays open goes on");
}

#[test]
fn a_file_that_others_have_open_still_has_not_ended() {
    let report = of(&[
        &open(7, "/tmp/a", "", 3),
        &writes(7, 3, 5),
        "7 1.000000 clone(child_stack=NULL, flags=SIGCHLD) = 8 <0.000100>\n",
        "7 1.000000 +++ exited with 0 +++\n",
        &writes(8, 3, 5),
        "8 1.000000 +++ exited with 0 +++\n",
    ]);
    assert_eq!(merged(&report), (1, 10), "one file position, one run");
    let threads = of(&[
        &open(7, "/tmp/a", "", 3),
        "7 1.000000 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}, 88) = 8 <0.000100>\n",
        &writes(8, 3, 5),
        "8 1.000000 +++ exited with 0 +++\n",
        &writes(7, 3, 5),
        "7 1.000000 +++ exited with 0 +++\n",
    ]);
    assert_eq!(merged(&threads), (1, 10));
}

/// 14,000 children of a parent with 21 descriptors, as a long `make` has them: no count of descriptors that are long
/// gone makes the table forget those that are there.
#[test]
fn a_day_of_children_does_not_make_the_parent_forget_its_files() {
    let mut trace = String::new();
    for fd in 3..24 {
        trace += &open(7, &format!("/tmp/{fd}"), "", fd);
    }
    for child in 0..14_000 {
        let child = 100 + child;
        trace += &writes(7, 5, 1);
        writeln!(trace, "7 1.000000 clone(child_stack=NULL, flags=SIGCHLD) = {child} <0.000100>").unwrap();
        writeln!(trace, "{child} 1.000000 +++ exited with 0 +++").unwrap();
    }
    assert_eq!(merged(&report(trace.as_bytes())), (1, 14_000));
}
