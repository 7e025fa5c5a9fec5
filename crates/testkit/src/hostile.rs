//! [`Hostility`]: what a program may do to itself while a library works in it.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use crate::Lacking;

/// One habit of a hostile program. It begins in the process that asks for it and does not end: it is for child
/// processes.
///
/// As text (`"signals 1000"`) it can be handed to a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostility {
    /// A signal comes every so often, to any thread that does not block it. Calls that it interrupts are not restarted.
    Signals(Duration),
    /// Standard input, output and error are closed: the next files that are opened get their numbers.
    ClosedStreams,
    /// No file may be longer (RLIMIT_FSIZE). The signal that comes with it is ignored, so that the write fails.
    FileSize(u64),
    /// So many more files can be opened than are open now. (The soft limit: the process can raise it again.)
    MoreHandles(u64),
    /// The umask.
    Umask(u32),
    /// The current folder changes all the time.
    Chdir,
    /// Child processes are forked all the time, and end at once.
    Forks,
    /// The system has not all of the calls.
    Lacks(Lacking),
}

impl fmt::Display for Hostility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hostility::Signals(every) => write!(f, "signals {}", every.as_micros()),
            Hostility::ClosedStreams => write!(f, "closed-streams 0"),
            Hostility::FileSize(bytes) => write!(f, "file-size {bytes}"),
            Hostility::MoreHandles(handles) => write!(f, "more-handles {handles}"),
            Hostility::Umask(mask) => write!(f, "umask {mask}"),
            Hostility::Chdir => write!(f, "chdir 0"),
            Hostility::Forks => write!(f, "forks 0"),
            Hostility::Lacks(Lacking::OldKernel) => write!(f, "old-kernel 0"),
            Hostility::Lacks(Lacking::Sandbox) => write!(f, "sandbox 0"),
            Hostility::Lacks(Lacking::PlainFileSystem) => write!(f, "plain-file-system 0"),
        }
    }
}

impl FromStr for Hostility {
    type Err = String;

    fn from_str(text: &str) -> Result<Hostility, String> {
        let wrong = || format!("no such hostility: {text}");
        let (name, number) = text.split_once(' ').ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        Ok(match name {
            "signals" => Hostility::Signals(Duration::from_micros(number)),
            "closed-streams" => Hostility::ClosedStreams,
            "file-size" => Hostility::FileSize(number),
            "more-handles" => Hostility::MoreHandles(number),
            "umask" => Hostility::Umask(u32::try_from(number).map_err(|_| wrong())?),
            "chdir" => Hostility::Chdir,
            "forks" => Hostility::Forks,
            "old-kernel" => Hostility::Lacks(Lacking::OldKernel),
            "sandbox" => Hostility::Lacks(Lacking::Sandbox),
            "plain-file-system" => Hostility::Lacks(Lacking::PlainFileSystem),
            _ => return Err(wrong()),
        })
    }
}

impl Hostility {
    /// From here on, in the whole process.
    pub fn begin(self) -> io::Result<()> {
        match self {
            Hostility::Lacks(lacking) => lacking.begin(),
            Hostility::Signals(every) => signals(every),
            Hostility::ClosedStreams => {
                for fd in 0..3 {
                    // SAFETY: the program is one that wants these closed; nothing here owns them.
                    unsafe { libc::close(fd) };
                }
                Ok(())
            }
            Hostility::FileSize(bytes) => {
                // SAFETY: ignoring a signal runs no code of ours.
                unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
                soft_limit(libc::RLIMIT_FSIZE, bytes)
            }
            Hostility::MoreHandles(handles) => more_handles(handles),
            Hostility::Umask(mask) => {
                // SAFETY: umask cannot fail and touches no memory of ours.
                unsafe { libc::umask(mask) };
                Ok(())
            }
            Hostility::Chdir => all_the_time(|| {
                for folder in ["/", "/proc", "/dev"] {
                    // A folder that cannot be entered is no trouble.
                    let _ = std::env::set_current_dir(folder);
                }
            }),
            Hostility::Forks => all_the_time(|| {
                // SAFETY: the child does nothing but end, which is async-signal-safe.
                match unsafe { libc::fork() } {
                    // SAFETY: as above.
                    0 => unsafe { libc::_exit(0) },
                    // SAFETY: a null status is allowed.
                    child if child > 0 => unsafe {
                        libc::waitpid(child, std::ptr::null_mut(), 0);
                    },
                    _ => {}
                }
            }),
        }
    }
}

fn soft_limit(what: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls are given a struct that outlives them.
    let results = unsafe {
        let got = libc::getrlimit(what, &mut limit);
        limit.rlim_cur = value.min(limit.rlim_max);
        [got, libc::setrlimit(what, &limit)]
    };
    if results == [0, 0] { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The limit is a number, not a count: it lies behind the nth number that is free.
fn more_handles(handles: u64) -> io::Result<()> {
    // SAFETY: asking for a descriptor's flags touches no memory.
    let is_free = |fd: &i32| unsafe { libc::fcntl(*fd, libc::F_GETFD) } == -1;
    let end = (0..).filter(is_free).nth(usize::try_from(handles).unwrap_or(usize::MAX));
    soft_limit(libc::RLIMIT_NOFILE, end.unwrap_or(i32::MAX) as u64)
}

extern "C" fn nothing(_: libc::c_int) {}

fn signals(every: Duration) -> io::Result<()> {
    // SAFETY: a sigaction of zeros is a valid one: no flags, and so no SA_RESTART.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as *const () as usize;
    let time = libc::timeval { tv_sec: every.as_secs() as _, tv_usec: every.subsec_micros() as _ };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: both structs outlive their calls; the handler does nothing, which is async-signal-safe.
    let results = unsafe {
        [
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()),
            libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()),
        ]
    };
    if results == [0, 0] { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn all_the_time(does: impl Fn() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("hostile".into()).spawn(move || {
        loop {
            does();
            std::thread::sleep(Duration::from_micros(200));
        }
    })?;
    Ok(())
}
