//! [`Info`]: the file that tells where something in the trash was, and keeps its name there for it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr as again};

const ENDING: &str = ".trashinfo";

/// The longest name that file systems have. Some have shorter ones, and say so.
const LONGEST: usize = 255;

/// An info that was made. Dropped, it is removed again.
pub(super) struct Info<'a> {
    folder: &'a OwnedFd,
    name: OsString,
    stays: bool,
}

impl<'a> Info<'a> {
    /// Makes one with the first name that is free, beginning with that of this attempt.
    pub(super) fn create(folder: &'a OwnedFd, of: &OsStr, attempt: &mut u32, content: &str) -> io::Result<Info<'a>> {
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut longest = LONGEST;
        loop {
            let name = name(of, *attempt, longest);
            match again(|| openat(folder, with_ending(&name), how, Mode::RUSR | Mode::WUSR)) {
                Ok(file) => {
                    *attempt += 1;
                    let info = Info { folder, name, stays: false };
                    let mut file = File::from(file);
                    file.write_all(content.as_bytes())?;
                    close(file)?;
                    return Ok(info);
                }
                Err(Errno::EXIST) => *attempt += 1,
                Err(Errno::NAMETOOLONG) if longest > 64 => longest -= 16,
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// The name that what it tells of gets.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(super) fn keep(mut self) {
        self.stays = true;
    }
}

impl Drop for Info<'_> {
    fn drop(&mut self) {
        if !self.stays {
            // One that stays tells of a file that is not there, which trashes ignore.
            let _ignored = unlinkat(self.folder, with_ending(&self.name), AtFlags::empty());
        }
    }
}

/// A file system on a network may say only now that it had no room.
fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor is this file's, which does not close it any more.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()), // It is closed all the same.
            error => Err(error),
        },
    }
}

fn with_ending(name: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(ENDING);
    name
}

/// `NAME`, `NAME.2`, `NAME.3` …, cut so that the info's name is not too long. Where many have the name, the time tells
/// them apart: each that is tried takes a call.
fn name(of: &OsStr, attempt: u32, longest: usize) -> OsString {
    let number = match attempt {
        0 => String::new(),
        1..32 => format!(".{}", attempt + 1),
        _ => format!(".{}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()),
    };
    let room = longest.saturating_sub(ENDING.len() + number.len());
    let of = of.as_bytes();
    let mut end = of.len().min(room);
    // Between two characters, if they are characters.
    while end < of.len() && end > 0 && room - end < 3 && of[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    OsString::from_vec([&of[..end], number.as_bytes()].concat())
}

/// The path is that of a URL. The time is the local one, as the specification has it.
pub(super) fn content(path: &Path) -> String {
    let mut content = String::from("[Trash Info]\nPath=");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => content.push(byte.into()),
            byte => write!(content, "%{byte:02X}").expect("a string has room"),
        }
    }
    let now = chrono::Local::now().format("%Y-%m-%dT%H:%M:%S");
    write!(content, "\nDeletionDate={now}\n").expect("a string has room");
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_names_are_cut_between_characters_so_that_the_info_s_name_fits() {
        for of in ["a".repeat(255), "é".repeat(127), "x".repeat(250)] {
            for attempt in [0, 1, 30, 40] {
                let name = name(of.as_ref(), attempt, LONGEST);
                assert!(with_ending(&name).len() <= 255 && name.len() > 200, "{name:?}");
                assert!(name.to_str().is_some(), "{name:?}");
            }
        }
        assert_eq!((name("a.b".as_ref(), 0, 255), name("a.b".as_ref(), 1, 255)), ("a.b".into(), "a.b.2".into()));
    }

    #[test]
    fn every_byte_that_is_no_plain_letter_is_written_in_percents() {
        let content = content(Path::new(OsStr::from_bytes(b"/a b/\xff\n%~=.txt")));
        assert!(content.starts_with("[Trash Info]\nPath=/a%20b/%FF%0A%25~%3D.txt\nDeletionDate=20"), "{content}");
        assert_eq!(content.lines().count(), 3);
    }
}
