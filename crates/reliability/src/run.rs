//! One run: the scene, the fault, a child process, and a watchdog.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use manyfiles_testkit::{Call, Disk, Hostility, Preload, Rule, SlowMount, scratch};
use tempfile::TempDir;

use crate::child::{HOSTILITY, REPORT_FD};
use crate::faults::{Fault, Hostile, Mount};
use crate::rows::{How, Row};
use crate::scene::{Scene, below, bytes};
use crate::told::{Tale, Told};

/// A child that is not done by then hangs. No run takes a hundredth of this.
const WATCHDOG: Duration = Duration::from_secs(40);

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With a tale.
    Told,
    /// By a signal or a panic.
    Crash(String),
    /// The watchdog ended it.
    Hang,
}

/// A call that a rule met.
#[derive(Clone, Debug)]
pub struct Fired {
    pub call: String,
    /// It was made on a handle that is open for writing.
    pub is_writing: bool,
    /// The number that it failed with; 0 if it was cut short or delayed.
    pub errno: i32,
    pub path: PathBuf,
    /// The line of the record.
    pub at: usize,
}

/// What is known of a run. The folder is there until this is dropped.
pub struct Outcome {
    pub end: End,
    pub tale: Tale,
    pub fired: Vec<Fired>,
    /// What the program printed, if it is one.
    pub printed: Vec<u8>,
    /// Where the child's folder can be read, without faults.
    pub folder: PathBuf,
    /// What has changed outside of the folder.
    pub came_outside: Vec<PathBuf>,
    /// The error's number that this fault has, if it is one.
    pub errno: Option<i32>,
    _kept: Vec<Kept>,
}

enum Kept {
    #[expect(dead_code, reason = "removed when it is dropped")]
    Folder(TempDir),
    #[expect(dead_code, reason = "unmounted when it is dropped")]
    Disk(Disk),
}

/// What the nth run of a fault needs, or `None` where there is no such run.
struct World {
    preload: Option<Preload>,
    hostility: Option<Hostility>,
    mount: Option<SlowMount>,
    neighbour: Option<u64>,
    errno: Option<i32>,
    folder: PathBuf,
    /// Where the folder is without the mount.
    behind: PathBuf,
    kept: Vec<Kept>,
}

/// Runs the operation with the fault's nth case, counted from 0. `None`: there is no such case.
pub fn run(row: &Row, scene: &Scene, fault: &Fault, n: u64) -> io::Result<Option<Outcome>> {
    let Some(world) = world(row, scene, fault, n)? else {
        return Ok(None);
    };
    let record = scratch()?;
    let fired_path = record.path().join("fired");
    let mut command = match &row.how {
        How::Call(_) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["child", row.name]).arg(&world.folder).current_dir("/");
            command
        }
        How::Program(program) => match program(&world.folder) {
            Some(command) => command,
            None => return Ok(None),
        },
    };
    if let Some(preload) = world.preload.clone() {
        preload.record(&fired_path).apply(&mut command)?;
    }
    if let Some(hostility) = world.hostility {
        match &row.how {
            // A system lacks a call from a process's beginning on.
            _ if matches!(hostility, Hostility::Lacks(_)) => command = within(hostility, &command)?,
            How::Call(_) => {
                command.env(HOSTILITY, hostility.to_string());
            }
            // SAFETY: what these habits do between fork and exec are system calls, and they allocate nothing.
            How::Program(_) => unsafe {
                command.pre_exec(move || hostility.begin());
            },
        }
    }
    let outside = record.path().join("outside");
    fs::create_dir(&outside)?;
    fs::write(outside.join("mine"), bytes(9, 100))?;
    let mut neighbour = match world.neighbour {
        Some(seed) => Some(neighbour(&world.folder.join("dst"), &outside, seed)?),
        None => None,
    };
    let (end, status, report, printed, said) = watched(&mut command, matches!(row.how, How::Call(_)), WATCHDOG)?;
    if let Some(neighbour) = &mut neighbour {
        drop(neighbour.stdin.take());
        neighbour.wait()?;
    }
    let mut fired = fired(&fired_path);
    if let (Some(mount), Fault::Mount(Mount::Once(_, errno))) = (&world.mount, fault) {
        fired.extend(failed_on(mount, *errno, &world.behind)?);
    }
    // All that was written is behind the mount when it is gone.
    drop(world.mount);
    let tale = match &row.how {
        How::Call(_) => serde_json::from_slice(&report).ok().and_then(|value| Tale::from_json(&value)),
        How::Program(_) => Some(said_by_program(status, &said)),
    };
    let end = match (end, &tale) {
        (End::Told, None) => End::Crash(format!("{status}: {}", String::from_utf8_lossy(&said))),
        (end, _) => end,
    };
    // Folders too, which `below` leaves out.
    let here = fs::read_dir(&outside)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let mut came_outside: Vec<PathBuf> = here.into_iter().chain(below(&outside)).collect();
    came_outside.retain(|path| *path != outside.join("mine") || fs::read(path).ok() != Some(bytes(9, 100)));
    if !outside.join("mine").exists() {
        came_outside.push(outside.join("mine"));
    }
    let mut kept = world.kept;
    kept.push(Kept::Folder(record));
    Ok(Some(Outcome {
        end,
        tale: tale.unwrap_or_default(),
        fired,
        printed,
        folder: world.behind,
        came_outside,
        errno: world.errno,
        _kept: kept,
    }))
}

fn world(row: &Row, scene: &Scene, fault: &Fault, n: u64) -> io::Result<Option<World>> {
    let is_program = matches!(row.how, How::Program(_));
    let mut kept = Vec::new();
    let root = match fault {
        Fault::FullDisk(rooms) => {
            let Some(&room) = rooms.get(n as usize) else {
                return Ok(None);
            };
            let disk = mounting(|| Disk::tmpfs().megabytes(4).mount())?;
            let folder = disk.path().join("scene");
            scene.prepare(&folder)?;
            disk.fill(room << 10)?;
            kept.push(Kept::Disk(disk));
            folder
        }
        _ => {
            let temp = scratch()?;
            let folder = temp.path().join("scene");
            scene.prepare(&folder)?;
            kept.push(Kept::Folder(temp));
            folder
        }
    };
    let mut world = World {
        preload: None,
        hostility: None,
        mount: None,
        neighbour: None,
        errno: None,
        folder: root.clone(),
        behind: root.clone(),
        kept,
    };
    let text = root.to_string_lossy().into_owned();
    let rule = |rule: Rule| Some(Preload::new().rule(rule.path_contains(&text)));
    match *fault {
        Fault::None => {
            // It counts nothing, and finds out nothing: all calls are made as they are.
            if n > 0 {
                return Ok(None);
            }
        }
        Fault::Once(errno) => {
            world.preload = rule(Rule::fail(Call::Any, errno).nth(n + 1));
            world.errno = (errno != libc::EINTR).then_some(errno);
        }
        Fault::Short => world.preload = rule(Rule::short(Call::Any, 1).nth(n + 1)),
        Fault::Onwards(errno) => {
            world.preload = rule(Rule::fail(Call::Any, errno).after(n));
            world.errno = Some(errno);
        }
        Fault::Threads => {
            world.preload = Some(Preload::new().rule(Rule::fail(Call::Thread, libc::EAGAIN).after(n)));
        }
        Fault::Hostile(hostile) => {
            // What a program does about signals is set by its own first instructions; the others are threads of the
            // child. And a Rust program that begins without standard output has one that takes everything.
            let is_untold = hostile == Hostile::ClosedStreams && scene.prints.is_some();
            if is_program && (is_untold || matches!(hostile, Hostile::Signals | Hostile::Chdir | Hostile::Forks)) {
                return Ok(None);
            }
            let Some(hostility) = hostile.nth(n) else {
                return Ok(None);
            };
            world.errno = match hostility {
                Hostility::FileSize(_) => Some(libc::EFBIG),
                Hostility::MoreHandles(_) => Some(libc::EMFILE),
                _ => None,
            };
            // To begin at all, a program opens its libraries.
            let hostility = match hostility {
                Hostility::MoreHandles(more) if is_program => Hostility::MoreHandles(more + 2),
                other => other,
            };
            world.hostility = Some(hostility);
        }
        Fault::FullDisk(_) => world.errno = Some(libc::ENOSPC),
        Fault::Mount(mount) => {
            if n > 0 && !matches!(mount, Mount::Once(..)) {
                return Ok(None);
            }
            let options = SlowMount::options();
            let (options, errno) = match mount {
                Mount::Short => (options.short(1000), None),
                Mount::Lies => (options.lie_about_length("/src"), None),
                Mount::Once(op, errno) => (options.write_back().fail_nth(op, errno, "/dst", n + 1).log(), Some(errno)),
                Mount::Space(bytes) => (options.write_back().space(bytes), Some(libc::ENOSPC)),
                Mount::Jitter => (options.write_back().jitter(Duration::from_millis(2), 1), None),
                Mount::Fat => (options.like_fat(), None),
                Mount::PublishesAtClose => (options.publish_at_close().keep_removed(), None),
            };
            let mount = mounting(|| options.mount_over(&root))?;
            world.errno = errno;
            world.folder = mount.path().to_owned();
            world.mount = Some(mount);
        }
        Fault::Overlay => {
            if n > 0 {
                return Ok(None);
            }
            let disk = mounting(|| Disk::overlay(&root))?;
            disk.path().clone_into(&mut world.folder);
            disk.path().clone_into(&mut world.behind);
            // Unmounted before its lower layer is removed.
            world.kept.insert(0, Kept::Disk(disk));
        }
        Fault::Neighbour(seeds) => {
            if n >= seeds {
                return Ok(None);
            }
            world.neighbour = Some(n);
        }
    }
    Ok(Some(world))
}

/// Mounts are made one after the other: the test kit removes what was left behind when it makes its first.
fn mounting<T>(mount: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    static ONE: OnceLock<Mutex<()>> = OnceLock::new();
    let _one = ONE.get_or_init(Mutex::default).lock().expect("no mount panics");
    mount()
}

fn neighbour(folder: &Path, outside: &Path, seed: u64) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("neighbour").args([folder, outside]).arg(seed.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// The same program, begun by a process of this one that has taken on the hostility.
fn within(hostility: Hostility, program: &Command) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("within").arg(hostility.to_string()).arg(program.get_program()).args(program.get_args());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    Ok(command)
}

pub type Watched = (End, ExitStatus, Vec<u8>, Vec<u8>, Vec<u8>);

/// Runs the child to its end, or for as long as the watchdog allows. What it reported, printed, and said on standard
/// error.
pub fn watched(command: &mut Command, reports: bool, allowed: Duration) -> io::Result<Watched> {
    let (mut reads, writes) = io::pipe()?;
    let number = writes.as_raw_fd();
    if reports {
        // SAFETY: between fork and exec it makes one system call, which is async-signal-safe.
        unsafe {
            command.pre_exec(move || match libc::dup2(number, REPORT_FD) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    drop(OwnedFd::from(writes));
    let reading = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read until the child was ended is all there is.
            let _ = from.read_to_end(&mut bytes);
            bytes
        })
    };
    let printed = reading(Box::new(child.stdout.take().expect("it is a pipe")));
    let said = reading(Box::new(child.stderr.take().expect("it is a pipe")));
    let report = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = reads.read_to_end(&mut bytes);
        bytes
    });
    let begun = Instant::now();
    let (mut end, status) = loop {
        if let Some(status) = child.try_wait()? {
            break (End::Told, status);
        }
        if begun.elapsed() > allowed {
            child.kill()?;
            break (End::Hang, child.wait()?);
        }
        thread::sleep(Duration::from_micros(500));
    };
    let join = |reader: thread::JoinHandle<Vec<u8>>| reader.join().expect("a reader does not panic");
    let (printed, said, report) = (join(printed), join(said), join(report));
    if end == End::Told && (status.signal().is_some() || status.code() == Some(101)) {
        end = End::Crash(format!("{status}: {}", String::from_utf8_lossy(&said)));
    }
    Ok((end, status, report, printed, said))
}

/// A program's error is its status, and a line of standard error for each.
fn said_by_program(status: ExitStatus, said: &[u8]) -> Tale {
    let has_counted = String::from_utf8_lossy(said).contains(" lost what this user or this file system cannot keep");
    let mut tale = Tale { has_counted, ..Tale::default() };
    if status.success() {
        return tale;
    }
    let lines = String::from_utf8_lossy(said).lines().map(str::to_owned).collect::<Vec<_>>();
    for text in lines.into_iter().chain([status.to_string()]) {
        tale.told.push(Told { path: None, errno: None, text });
    }
    tale
}

/// What the mount failed, under the names that calls have elsewhere.
fn failed_on(mount: &SlowMount, errno: i32, behind: &Path) -> io::Result<Vec<Fired>> {
    let log = mount.log()?;
    let failed = log.iter().filter_map(|line| line.strip_prefix("failed ")?.split_once(" /"));
    let call = |op: &str| match op {
        "flush" => "close".into(),
        "create" => "open".into(),
        other => other.to_owned(),
    };
    Ok(failed
        .map(|(op, path)| Fired { call: call(op), is_writing: true, errno, path: behind.join(path), at: 0 })
        .collect())
}

/// The calls that rules met, from the file that the preload wrote.
pub fn fired(path: &Path) -> Vec<Fired> {
    let mut text = String::new();
    if File::open(path).and_then(|mut file| file.read_to_string(&mut text)).is_err() {
        return Vec::new();
    }
    let parts = text.lines().enumerate().map(|(at, line)| (at, line.splitn(4, ' ').collect::<Vec<_>>()));
    parts
        .filter(|(_, parts)| parts.len() == 4 && parts[0] != "mark")
        .map(|(at, parts)| Fired {
            call: parts[0].to_owned(),
            is_writing: parts[2] == "w",
            errno: parts[1].parse().unwrap_or(0),
            path: PathBuf::from(parts[3]),
            at,
        })
        .collect()
}
