//! Tracing a command.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::job::CannotBegin;
use crate::stop::Stop;
use crate::sys::Traced;

/// Runs the command under `strace`. Its standard streams are this process's.
pub fn trace(command: &[OsString], stop: &Stop) -> Result<Traced, CannotBegin> {
    strace_works()?;
    let trace = tempfile::tempfile()
        .map_err(|error| CannotBegin::because(format_args!("cannot make a temporary file for the trace: {error}")))?;
    // Opened by this name, so that the command does not inherit it.
    let name = format!("/proc/{}/fd/{}", std::process::id(), trace.as_raw_fd());
    // Of what is read and written nothing is needed but how much.
    let child = Command::new("strace")
        .args(["-f", "-T", "-ttt", "-y", "-s", "0", "-o", &name, "--"])
        .args(command)
        .spawn()
        .map_err(|error| CannotBegin::because(format_args!("cannot run strace: {error}")))?;
    let status =
        wait(child, stop).map_err(|error| CannotBegin::because(format_args!("cannot wait for strace: {error}")))?;
    Ok(Traced { trace, exit_code: exit_code(status) })
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
                "strace is not allowed to trace here; a container needs the capability SYS_PTRACE (docker run --cap-add=SYS_PTRACE), \
                 and kernel.yama.ptrace_scope must not be 3"
                    .into(),
            );
            Err(CannotBegin(lines))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(CannotBegin::because(
            "tracing a command needs strace, which is for Linux and is not installed; install it (apt install strace, dnf install strace), \
             or record a trace elsewhere: 'manyfiles explain TRACE'",
        )),
        Err(error) => Err(CannotBegin::because(format_args!("cannot run strace: {error}"))),
    }
}

/// Ctrl-C reaches the command by itself. What reaches this process alone is passed on.
fn wait(mut strace: Child, stop: &Stop) -> io::Result<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    let mut passed_on = false;
    loop {
        if let Some(status) = strace.try_wait()? {
            return Ok(status);
        }
        if stop.signal() == Some(Signal::TERM.as_raw()) && !passed_on {
            passed_on = true;
            end_traced(&strace);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// `strace` itself lets no signal end it while it traces.
fn end_traced(strace: &Child) {
    let pid = strace.id();
    // If it has ended meanwhile, so much the better.
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        let _ended_meanwhile = kill_process(child, Signal::TERM);
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => 128 + signal.unwrap_or_default() as u8,
    }
}
