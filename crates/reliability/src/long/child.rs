//! The process that is watched, and what it and its parent say to each other: lines, by pipes.
//!
//! The child says `ready` and waits, so that the parent sees what it has before; does the work and says `done COUNT`,
//! or `failed WHY`; and waits again, so that the parent sees what is left.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::sampler::look;
use super::verdict::Watched;
use super::work::{Result, Size, Work};
use super::works;

/// How long threads and handles that are ending have for it.
const SETTLE: Duration = Duration::from_secs(3);
/// A work that takes longer than this, and its own time, hangs.
const LONGEST: Duration = Duration::from_secs(3600);

/// `long-child NAME FOLDER small|large SECONDS`.
pub fn main(args: &[String]) -> ExitCode {
    let [name, folder, size, seconds] = args else {
        return ExitCode::from(2);
    };
    let (Some(work), Ok(seconds)) = (works::all().into_iter().find(|work| work.name() == name), seconds.parse()) else {
        return ExitCode::from(2);
    };
    let size = Size { small: size == "small", time: Duration::from_secs(seconds) };
    say("ready");
    listen();
    match work.run(Path::new(folder), size) {
        Ok(count) => say(&format!("done {count}")),
        Err(error) => say(&format!("failed {}", error.to_string().replace('\n', " "))),
    }
    listen();
    ExitCode::SUCCESS
}

fn say(line: &str) {
    println!("{line}");
}

/// Until the parent says something, or is gone.
fn listen() {
    let _ = io::stdin().read(&mut [0]);
}

/// Does the work in a child, watches it, and returns what was seen and how many units were done.
pub fn watch(work: &dyn Work, folder: &Path, size: Size) -> Result<(Watched, u64)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["long-child", work.name()])
        .arg(folder)
        .args([if size.small { "small" } else { "large" }, &size.time.as_secs().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let watched = watch_child(&mut child, size);
    // Whatever came of it, it is gone then. One that has ended already is no error.
    child.kill()?;
    child.wait()?;
    watched
}

fn watch_child(child: &mut Child, size: Size) -> Result<(Watched, u64)> {
    let mut input = child.stdin.take().ok_or("a pipe")?;
    let output = BufReader::new(child.stdout.take().ok_or("a pipe")?);
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || output.lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line)));
    if lines.recv_timeout(LONGEST).map_err(|_| "the process did not begin")? != "ready" {
        return Err("the process did not begin".into());
    }
    let begun = Instant::now();
    let process = child.id();
    let before = look(process, begun)?;
    input.write_all(b"\n")?;
    let pause = Duration::from_millis(if size.small { 10 } else { 200 });
    let mut samples = Vec::new();
    let line = loop {
        match lines.recv_timeout(pause) {
            Ok(line) => break line,
            Err(RecvTimeoutError::Timeout) if begun.elapsed() > LONGEST + size.time => return Err("it hangs".into()),
            Err(RecvTimeoutError::Timeout) => samples.push(look(process, begun)?),
            Err(RecvTimeoutError::Disconnected) => return Err("the process ended before its work".into()),
        }
    };
    let took = begun.elapsed();
    let mut after = look(process, begun)?;
    while (after.handles, after.threads) != (before.handles, before.threads) && begun.elapsed() < took + SETTLE {
        thread::sleep(Duration::from_millis(5));
        after = look(process, begun)?;
    }
    input.write_all(b"\n")?;
    match line.split_once(' ') {
        Some(("done", count)) => Ok((Watched { before, samples, after, took }, count.parse()?)),
        Some(("failed", why)) => Err(why.into()),
        _ => Err(format!("the process said {line:?}").into()),
    }
}
