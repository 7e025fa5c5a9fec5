//! Few open files for a child process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the child that `command` starts have at most `limit` descriptors (RLIMIT_NOFILE, soft and hard).
pub fn nofile_limit(command: &mut Command, limit: u64) -> &mut Command {
    let set = move || {
        let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
        // SAFETY: setrlimit reads the struct it is given, which outlives the call.
        match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec `set` makes one system call and reads errno: both are async-signal-safe, and it
    // allocates nothing.
    unsafe { command.pre_exec(set) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_sees_the_limit_it_was_given() {
        let output = nofile_limit(Command::new("sh").args(["-c", "ulimit -n"]), 64).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "64");
    }
}
