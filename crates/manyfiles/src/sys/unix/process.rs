//! This process and others.

use std::io;

/// Lets `what` run when the process ends by `exit`, or by returning from `main`.
pub(crate) fn at_exit(what: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the function takes nothing, and stays where it is as long as this code does.
    match unsafe { libc::atexit(what) } {
        0 => Ok(()),
        _ => Err(io::Error::other("no room for another function that runs at exit")),
    }
}

/// Lets these run around each fork: on the thread that forks, before it and after it, and in the child. The last may do no more
/// than a signal handler.
pub(crate) fn around_forks(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> io::Result<()> {
    /// The C library's type for it is `unsafe`.
    type Handler = unsafe extern "C" fn();
    // SAFETY: the functions take nothing, and stay where they are as long as this code does.
    match unsafe { libc::pthread_atfork(Some(before as Handler), Some(parent as Handler), Some(child as Handler)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A process, told from all that ever ran: its number, when it started, and the world that both numbers belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) started: u64,
    /// Zero where the system does not say. Processes of one world see each other's numbers: one start of one machine, one
    /// namespace of process numbers (a container has its own), one clock. The upper half says which start of which machine.
    pub(crate) world: u64,
}

/// This process.
pub(crate) fn own_process() -> Process {
    let id = std::process::id();
    match world_and_start(id) {
        Some((world, started)) => Process { id, started, world },
        None => {
            // No `/proc`: a number that hardly anybody else has.
            use std::hash::{BuildHasher, Hasher};
            let started = std::collections::hash_map::RandomState::new().build_hasher().finish();
            Process { id, started, world: 0 }
        }
    }
}

fn world_and_start(own_id: u32) -> Option<(u64, u64)> {
    // `/proc` may belong to another namespace than this process: then its numbers say nothing here.
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (id, _) = stat.split_once(' ')?;
    if id.parse() != Ok(own_id) {
        return None;
    }
    let started = start_of(&stat)?;
    let start_of_machine = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let mut namespaces = Vec::new();
    for namespace in ["/proc/self/ns/pid", "/proc/self/ns/time"] {
        match std::fs::read_link(namespace) {
            Ok(link) => namespaces.extend_from_slice(link.as_os_str().as_encoded_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {} // a kernel without that kind
            Err(_) => return None,
        }
    }
    let world = u64::from(half(&start_of_machine)) << 32 | u64::from(half(&namespaces));
    Some((world, started))
}

/// Its 22nd field. The second, the program's name, may hold anything but ends with the last parenthesis.
fn start_of(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(19)?.parse().ok()
}

/// Whether nothing is left of it but what its parent has not asked for yet: it is a zombie, and has no other thread.
fn has_ended(stat: &str) -> bool {
    let mut fields = stat.rsplit_once(')').map_or("", |(_, behind_name)| behind_name).split_whitespace();
    fields.next() == Some("Z") && fields.nth(16).is_some_and(|threads| threads == "0" || threads == "1")
}

/// Half of a world. Never zero: a world of zero is none.
fn half(bytes: &[u8]) -> u32 {
    let hash = hash(bytes);
    ((hash >> 32) as u32 ^ hash as u32).max(1)
}

/// Whether two worlds are of one start of one machine, so that one kernel has the locks of both.
pub(crate) fn have_one_kernel(one: u64, other: u64) -> bool {
    one != 0 && other != 0 && one >> 32 == other >> 32
}

/// FNV-1a: short, and the same in all versions of this crate.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Whether the process with this number, of this process's own world, that started then still runs. Where that cannot be found
/// out, it does.
pub(crate) fn is_running(id: u32, started: u64) -> bool {
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => start_of(&stat).is_none_or(|start| start == started) && !has_ended(&stat),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // It may be hidden from others than its user.
            let process = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
            process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
        }
        Err(_) => true,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_one_that_had_its_number_before_does_not() {
        let own = own_process();
        if own.world == 0 {
            return eprintln!("skipped: this_process_runs_and_one_that_had_its_number_before_does_not: needs /proc");
        }
        assert_eq!(own, own_process());
        assert!(have_one_kernel(own.world, own.world ^ 1), "another namespace");
        assert!(!have_one_kernel(own.world, own.world ^ 1 << 32), "another machine");
        assert!(!have_one_kernel(0, 0));
        assert!(is_running(own.id, own.started));
        assert!(!is_running(own.id, own.started + 1));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = child.id();
        let started = || std::fs::read_to_string(format!("/proc/{id}/stat")).ok().and_then(|stat| start_of(&stat));
        let started = started().expect("a zombie at least");
        while is_running(id, started) {
            std::thread::yield_now(); // It ends, and is a zombie then.
        }
        child.wait().unwrap();
        assert!(!is_running(id, started));
    }

    #[test]
    fn a_programs_name_with_spaces_and_parentheses_is_no_field() {
        let fields = (4..22).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(start_of(&format!("7 (a) b (c)) S {fields} 4711 23")), Some(4711));
        assert_eq!(start_of("7 (cut"), None);
    }
}
