//! [`make_trouble`]: another process that has rights to the same folder, and uses them at the worst moment.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Random;

/// Linux's `fcntl` number for the signal of a lease, which crate libc does not name.
const F_SETSIG: libc::c_int = 10;

/// Until `is_over`: renames, cuts and removes what is below `folder`, puts links to `outside` and folders in its place,
/// holds locks and leases. The order follows from `seed`. Returns the number of things done; that something is gone
/// already is no failure.
pub fn make_trouble(folder: &Path, outside: &Path, seed: u64, mut is_over: impl FnMut() -> bool) -> u64 {
    let mut random = Random::new(seed);
    let mut held: Vec<File> = Vec::new();
    let mut done = 0;
    while !is_over() {
        let there = below(folder);
        if there.is_empty() {
            std::thread::sleep(Duration::from_micros(50));
            continue;
        }
        let target = &there[random.below(there.len())];
        // None of these has to succeed: the other process changes the same names.
        let succeeded = match random.below(8) {
            0 => fs::rename(target, aside(folder, &mut random)).is_ok(),
            1 => OpenOptions::new().write(true).truncate(true).open(target).is_ok(),
            2 => fs::remove_file(target).is_ok(),
            3 => fs::remove_dir_all(target).is_ok(),
            4 => fs::rename(target, aside(folder, &mut random)).is_ok() && symlink(outside, target).is_ok(),
            5 => fs::remove_file(target).is_ok() && fs::create_dir(target).is_ok(),
            6 => File::open(target).is_ok_and(|file| {
                let locked = lock(&file);
                held.push(file);
                locked
            }),
            _ => fs::rename(target, &there[random.below(there.len())]).is_ok(),
        };
        done += u64::from(succeeded);
        held.drain(..held.len().saturating_sub(8));
        std::thread::sleep(Duration::from_micros(random.below(300) as u64));
        // Whoever opens the file waits for the end of the lease. So would this thread, and for the system's 45 s.
        held.last().map(give_lease_back);
    }
    done
}

/// A lock that another process waits for, and a lease that its open has to break. The signal that asks for the lease is
/// one that ends nothing: the usual one, SIGIO, ends this process.
fn lock(file: &File) -> bool {
    // SAFETY: the calls take a descriptor that is open, and numbers.
    unsafe {
        libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0
            && libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0
    }
}

fn give_lease_back(file: &File) {
    // SAFETY: the call takes a descriptor that is open, and numbers. Without a lease it does nothing.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
}

fn aside(folder: &Path, random: &mut Random) -> PathBuf {
    folder.join(format!("aside-{}", random.below(1000)))
}

/// Everything below, links not followed; what the neighbour put aside too.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(below(&entry.path()));
        }
        found.push(entry.path());
    }
    found.sort();
    found
}
