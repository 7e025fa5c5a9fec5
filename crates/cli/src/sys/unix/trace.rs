//! Tracing a command.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::stop::Stop;
use crate::sys::{SIGHUP, SIGTERM, Traced};
use crate::words::CannotBegin;

/// Runs the command under `strace`. Its standard streams are this process's.
pub(crate) fn trace(command: &[OsString], stop: &Stop) -> Result<Traced, CannotBegin> {
    strace_works()?;
    let trace = tempfile::tempfile()
        .map_err(|error| CannotBegin::because(format_args!("cannot make a temporary file for the trace: {error}")))?;
    // Opened by this name, so that the command does not inherit it.
    let name = super::by_descriptor(&trace);
    // Of the bytes that are read and written only their number is needed.
    let child = Command::new("strace")
        .args(["-f", "-T", "-ttt", "-y", "-s", "0", "-o"])
        .arg(name)
        .arg("--")
        .args(command)
        .spawn()
        .map_err(|error| CannotBegin::because(format_args!("cannot run strace: {error}")))?;
    let status =
        wait(child, stop).map_err(|error| CannotBegin::because(format_args!("cannot wait for strace: {error}")))?;
    was_run(&trace, &command[0])?;
    Ok(Traced { trace, exit_code: exit_code(status) })
}

/// A command that the system would not run has no exit status that could be passed on: its trace begins with that
/// refusal.
fn was_run(trace: &File, command: &OsStr) -> Result<(), CannotBegin> {
    let mut head = [0; 4096];
    // An error of reading is reported when the trace is read.
    let len = trace.read_at(&mut head, 0).unwrap_or(0);
    let first = String::from_utf8_lossy(&head[..len]);
    let first = first.lines().next().unwrap_or_default();
    let Some((call, refused)) = first.rsplit_once(") = -1 ") else { return Ok(()) };
    if !call.contains(" execve(") {
        return Ok(());
    }
    let why = refused.split(" <").next().unwrap_or(refused);
    let command = command.display();
    let advice = match why.starts_with("EACCES") {
        true => format!("; if it is a program: chmod +x {command}"),
        false => String::new(),
    };
    Err(CannotBegin::because(format_args!("{command}: cannot run it: {why}{advice}")))
}

/// Tries it on a program that does nothing, so that a refusal is not taken for the command's own failure.
fn strace_works() -> Result<(), CannotBegin> {
    let tried = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let mut lines: Vec<String> = String::from_utf8_lossy(&output.stderr).lines().map(String::from).collect();
            lines.push(
                "strace is not allowed to trace here; a container needs the capability SYS_PTRACE (docker run \
                 --cap-add=SYS_PTRACE), \
                 and kernel.yama.ptrace_scope must not be 3"
                    .into(),
            );
            Err(CannotBegin(lines))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(CannotBegin::because(
            "tracing a command needs strace, which is for Linux and is not installed; install it (apt install strace, \
             dnf install strace), \
             or record a trace elsewhere: 'manyfiles explain TRACE'",
        )),
        Err(error) => Err(CannotBegin::because(format_args!("cannot run strace: {error}"))),
    }
}

/// Ctrl-C reaches the command by itself. Signals that reach this process alone are passed on.
fn wait(mut strace: Child, stop: &Stop) -> io::Result<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    let mut passed_on = false;
    loop {
        if let Some(status) = strace.try_wait()? {
            return Ok(status);
        }
        if let Some(signal @ (SIGTERM | SIGHUP)) = stop.signal()
            && !passed_on
        {
            passed_on = true;
            end_traced(&strace, if signal == SIGHUP { Signal::HUP } else { Signal::TERM });
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// `strace` itself lets no signal end it while it traces.
fn end_traced(strace: &Child, signal: Signal) {
    let pid = strace.id();
    // If it has ended meanwhile, so much the better.
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        let _ended_meanwhile = kill_process(child, signal);
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => 128 + signal.unwrap_or_default() as u8,
    }
}
