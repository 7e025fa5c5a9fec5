//! Whole processes, measured from spawn to exit.

use std::ffi::OsStr;
use std::io::Seek;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::contest::Sample;

/// The first argument that makes this program a [`measure_child`].
pub const MEASURE: &str = "--measure-a-child";

/// Runs `command` and says how long it took and how much memory it had. Its output is dropped, but for an error's text.
///
/// Another process of this program starts it and waits: Linux counts the memory of whoever forks to the child's peak,
/// and this process may hold a large corpus.
pub fn measure(command: &[&OsStr]) -> Result<Sample> {
    let (program, arguments) = command.split_first().context("no command")?;
    measure_command(Command::new(program).args(arguments))
}

/// [`measure`] with the command's environment and folder.
pub fn measure_command(command: &Command) -> Result<Sample> {
    let mut middle = Command::new(std::env::current_exe()?);
    if let Some(folder) = command.get_current_dir() {
        middle.current_dir(folder);
    }
    middle.arg(MEASURE).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    let changes = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    // A file: a pipe would not end while something that the command left behind has it open, as wine's services do.
    let mut complaint = tempfile::tempfile()?;
    let output = middle.envs(changes).stderr(complaint.try_clone()?).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        complaint.rewind()?;
        let complaint = std::io::read_to_string(complaint)?;
        let lines: Vec<_> = complaint.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        bail!("{} of {:?}: {last}", output.status, command.get_program());
    }
    let figures: Vec<f64> = said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [seconds, cpu_seconds, memory] = figures[..] else { bail!("expected three figures, not: {said}") };
    Ok(Sample { seconds, cpu_seconds, peak_memory: Some(memory as u64), count: None })
}

/// The small process in the middle: prints seconds, processor seconds and bytes, and exits as the command did.
pub fn measure_child(command: &[String]) -> Result<ExitStatus> {
    let (program, arguments) = command.split_first().context("no command")?;
    let start = Instant::now();
    let child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn().with_context(|| program.clone())?;
    let mut status = 0;
    // SAFETY: all-zero is a valid rusage, a struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live variables of the right type. The child is reaped here and nowhere else:
        // `child` is never waited for.
        match unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) } {
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => continue,
            -1 => return Err(std::io::Error::last_os_error().into()),
            _ => break,
        }
    }
    println!("{} {} {}", start.elapsed().as_secs_f64(), cpu(&usage), usage.ru_maxrss * 1024);
    Ok(ExitStatus::from_raw(status))
}

/// Runs a command to its end: what it said on standard output.
pub fn said_by(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_owned();
    let output = command.output().with_context(|| format!("needs {}", program.display()))?;
    if !output.status.success() {
        bail!("{}: {}: {}", program.display(), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs a program that times its own work and prints the seconds and the processor's.
pub fn timed_by_itself(command: &mut Command) -> Result<Sample> {
    let said = said_by(command)?;
    let (seconds, cpu_seconds) = said.trim().split_once(' ').context("the program prints two figures")?;
    Ok(Sample { seconds: seconds.parse()?, cpu_seconds: cpu_seconds.parse()?, peak_memory: None, count: None })
}

/// Processor time of those children that have ended and were waited for.
pub fn children_cpu_seconds() -> f64 {
    // SAFETY: all-zero is a valid rusage, a struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live variable of the right type.
    let returned = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    assert_eq!(returned, 0, "a process may ask for its children's usage");
    cpu(&usage)
}

fn cpu(usage: &libc::rusage) -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
