//! The child process: one operation, once, and what it told.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use manyfiles_testkit::Hostility;

use crate::rows::{self, How};
use crate::told::Tale;

/// The number of the pipe on which a child tells its tale: above all that hostile programs close or use up.
pub const REPORT_FD: i32 = 600;

/// What the environment variable of this name says, a [`Hostility`] begins with when the process has begun.
pub const HOSTILITY: &str = "RELIABILITY_HOSTILITY";

/// How long threads and handles that are ending have for it.
const SETTLE: Duration = Duration::from_secs(3);

/// `child ROW FOLDER`.
pub fn main(args: &[String]) -> ExitCode {
    let [name, folder] = args else {
        return ExitCode::from(2);
    };
    let rows = rows::all();
    let Some(How::Call(operation)) = rows.iter().find(|row| row.name == name).map(|row| &row.how) else {
        return ExitCode::from(2);
    };
    let before = what_is_open();
    let hostility = std::env::var(HOSTILITY).ok();
    if let Some(hostility) = &hostility {
        begin(hostility);
    }
    // SAFETY: the parent has put the pipe there, and nothing else owns it.
    let mut pipe = unsafe { File::from_raw_fd(REPORT_FD) };
    let mut tale = Tale::default();
    operation(Path::new(folder), &mut tale);
    allow_handles();
    tale.left = left(&before);
    pipe.write_all(tale.to_json().to_string().as_bytes()).expect("the parent reads");
    ExitCode::SUCCESS
}

/// `within HOSTILITY PROGRAM ARGUMENTS…`: becomes the program, which the hostility goes on in.
pub fn within(args: &[String]) -> ExitCode {
    let [hostility, program, args @ ..] = args else {
        return ExitCode::from(2);
    };
    begin(hostility);
    let error = Command::new(program).args(args).exec();
    eprintln!("{program}: {error}");
    ExitCode::from(2)
}

fn begin(hostility: &str) {
    let begun = hostility.parse().and_then(|it: Hostility| it.begin().map_err(|error| error.to_string()));
    begun.expect("the hostility begins");
}

/// As many handles as ever: looking at what is open takes some.
fn allow_handles() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a struct that outlives them.
    let results = unsafe {
        let got = libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        [got, libc::setrlimit(libc::RLIMIT_NOFILE, &limit)]
    };
    assert_eq!(results, [0, 0], "a soft limit can be raised to the hard one");
}

/// Descriptors by what they are open on, and threads by name, each with a count.
pub fn what_is_open() -> BTreeMap<String, usize> {
    let mut open = BTreeMap::new();
    for entry in read_links("/proc/self/fd") {
        // The folder of the list itself, and what the test kit writes to.
        if !entry.contains("/proc/") {
            *open.entry(format!("a handle of {entry}")).or_default() += 1;
        }
    }
    for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.trim() != "hostile" {
            *open.entry(format!("a thread {}", name.trim())).or_default() += 1;
        }
    }
    open
}

fn read_links(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned())).collect()
}

/// What is open and was not. Threads of a pool end some time after their work, so they are waited for; those that stay
/// by design, to serve the next close, are not counted.
pub fn left(before: &BTreeMap<String, usize>) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let more: Vec<String> = what_is_open()
            .into_iter()
            .filter(|(what, count)| *count > before.get(what).copied().unwrap_or(0))
            .map(|(what, _)| what)
            .collect();
        if more.is_empty() || begun.elapsed() > SETTLE {
            return more;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `neighbour FOLDER OUTSIDE SEED`: until its standard input ends.
pub fn neighbour(args: &[String]) -> ExitCode {
    static OVER: AtomicBool = AtomicBool::new(false);
    let [folder, outside, seed] = args else {
        return ExitCode::from(2);
    };
    let Ok(seed) = seed.parse() else {
        return ExitCode::from(2);
    };
    std::thread::spawn(|| {
        // It ends with the parent's end of the pipe, whatever the parent's fate.
        let _ = std::io::stdin().read(&mut [0]);
        OVER.store(true, Ordering::Relaxed);
    });
    let is_over = || OVER.load(Ordering::Relaxed);
    manyfiles_testkit::make_trouble(Path::new(folder), Path::new(outside), seed, is_over);
    ExitCode::SUCCESS
}
