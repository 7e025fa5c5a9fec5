//! Archives that come in parts, which are files beside each other. The first part alone begins as an archive, and the
//! last part alone ends as one: which others there are, their names tell.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, Result};
use crate::joined::Joined;
use crate::stamp::Stamp;

/// What to do with a part of a split zip that is not its last.
pub(crate) const SPLIT_ZIP: &str = "this is one part of a split zip; put all parts into one folder and give the last \
    one, NAME.zip";
/// What to do with a part of anything else.
const CUT: &str = "by its name this is one part of an archive that was cut into several; put all parts into one folder \
    and give the first one, NAME.001";
/// More parts than this would be more files open than most systems allow.
const MOST: u32 = 900;

/// The file, and with it those that follow by their names, if it is the first of several (`NAME.001`).
pub(crate) fn join(path: &Path, file: File, stamp: Stamp) -> Result<Joined, ErrorKind> {
    let Some(digits) = path.extension().map(|it| it.as_encoded_bytes().len()).filter(|_| is_first(path)) else {
        return Ok(Joined::one(file, stamp));
    };
    let name = |number: u32| path.with_extension(format!("{number:0digits$}"));
    let mut files = vec![(file, stamp)];
    let mut odd = None;
    for number in 2.. {
        match open(&name(number)) {
            Ok(part) if number > MOST => {
                drop(part);
                return Err(too_many());
            }
            Ok(part) => {
                // Only the last one has another length, and it is shorter.
                let before = files.last().expect("there is a first").1.len;
                if odd.is_none() && (before < stamp.len || part.1.len > stamp.len) {
                    let number = if before < stamp.len { number - 1 } else { number };
                    odd = Some(format!("{} has another length than the first part", shown(&name(number))));
                }
                files.push(part);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(unreadable(&name(number), error)),
        }
    }
    let next = name(files.len() as u32 + 1);
    if let Some(later) = later_part(path, files.len() as u32 + 1) {
        let cause = format!("its part {} is missing, and {later} is there; put it beside the others", shown(&next));
        return Err(ErrorKind::Unsupported(cause));
    }
    let mut joined = Joined::of(files, false);
    joined.remark = Some(odd.unwrap_or_else(|| format!("if a part {} is missing, put it there", shown(&next))));
    Ok(joined)
}

/// The last part of a split zip, with the `count` others before it: `NAME.z01` and so on.
pub(crate) fn spanned(path: &Path, last: Joined, count: u32) -> Result<Joined, ErrorKind> {
    if count >= MOST {
        return Err(too_many());
    }
    // Names of parts are written in the case of the last one's.
    let letter = path.extension().and_then(|ending| ending.to_str()).map_or("z", |ending| match ending {
        "ZIP" => "Z",
        _ => "z",
    });
    let name = |number: u32| path.with_extension(format!("{letter}{number:02}"));
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for number in 1..=count {
        match open(&name(number)) {
            Ok(part) => files.push(part),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing.push(shown(&name(number))),
            Err(error) => return Err(unreadable(&name(number), error)),
        }
    }
    if !missing.is_empty() {
        let more = if missing.len() > 5 { format!(" and {} more", missing.len() - 5) } else { String::new() };
        missing.truncate(5);
        let cause = format!(
            "it is the last of {} parts of a split zip, and beside it these are missing: {}{more}",
            count + 1,
            missing.join(", ")
        );
        return Err(ErrorKind::Unsupported(cause));
    }
    files.push(last.into_last());
    Ok(Joined::of(files, true))
}

fn open(path: &Path) -> std::io::Result<(File, Stamp)> {
    // Looked at before it is opened: the open of a pipe waits for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let file = File::open(path)?;
    let stamp = Stamp::of(&file)?;
    if stamp.len == 0 {
        return Err(std::io::Error::other("it is empty; get it anew if it was downloaded"));
    }
    Ok((file, stamp))
}

fn unreadable(path: &Path, error: std::io::Error) -> ErrorKind {
    ErrorKind::Open(std::io::Error::new(error.kind(), format!("its part {}: {error}", shown(path))))
}

fn too_many() -> ErrorKind {
    ErrorKind::Unsupported(format!("it has more than {MOST} parts; join them first (`cat`, or `zip -s 0`)"))
}

/// The name of a file beside the archive.
fn shown(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The name of a part whose number is higher than that of a missing one.
fn later_part(path: &Path, missing: u32) -> Option<String> {
    let stem = path.file_stem()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder that cannot be listed tells nothing.
    let names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let number = |name: &Path| -> Option<u32> {
        let digits = name.extension().filter(|_| name.file_stem() == Some(stem))?.to_str()?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let later = names.filter(|name| number(name).is_some_and(|number| number > missing && number <= MOST)).min()?;
    Some(OsString::from(later).to_string_lossy().into_owned())
}

/// Adds to an error of reading that the file is one part of several, if its name says so.
pub(crate) fn explain(path: &Path, kind: ErrorKind) -> ErrorKind {
    let Some(advice) = advice(path) else { return kind };
    match kind {
        ErrorKind::NotAnArchive { looks_like: None, compression: None } => ErrorKind::Unsupported(advice.into()),
        ErrorKind::Damaged { at, entries, cause } if cause.contains("cut short") && !is_first(path) => {
            ErrorKind::Damaged { at, entries, cause: format!("{cause}; {advice}") }
        }
        other => other,
    }
}

/// Adds to damage what is strange about the parts.
pub(crate) fn remark(kind: ErrorKind, remark: Option<String>) -> ErrorKind {
    match (kind, remark) {
        (ErrorKind::Damaged { at, entries, cause }, Some(remark)) => {
            ErrorKind::Damaged { at, entries, cause: format!("{cause}; {remark}") }
        }
        (other, _) => other,
    }
}

/// That several parts of a tar are read only one after the other.
pub(crate) fn no_tar() -> ErrorKind {
    let cause = "parts of a tar can be unpacked, listed and tested; to read single files of it, join them first (`cat \
                 NAME.001 NAME.002 … > NAME`)";
    ErrorKind::Unsupported(cause.into())
}

/// Whether a name is that of a first part: it ends with 1 and zeros before it.
fn is_first(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().as_encoded_bytes();
    ending.len() >= 3 && ending.ends_with(b"1") && ending[..ending.len() - 1].iter().all(|&byte| byte == b'0')
}

fn advice(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.as_encoded_bytes();
    match ending {
        [b'z' | b'Z', tens, ones] if tens.is_ascii_digit() && ones.is_ascii_digit() => Some(SPLIT_ZIP),
        [_, _, _] if ending.iter().all(u8::is_ascii_digit) => Some(CUT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_end_with_their_number() {
        for (name, is) in [
            ("a.z01", Some(SPLIT_ZIP)),
            ("a.Z12", Some(SPLIT_ZIP)),
            ("a.zip.001", Some(CUT)),
            ("a.zip", None),
            ("a.z", None),
            ("a.1", None),
            ("z01", None),
        ] {
            assert_eq!(advice(Path::new(name)), is, "{name}");
        }
    }

    #[test]
    fn the_first_part_is_called_one() {
        for (name, is) in [("a.zip.001", true), ("a.0001", true), ("a.01", false), ("a.011", false), ("001", false)] {
            assert_eq!(is_first(Path::new(name)), is, "{name}");
        }
    }
}
