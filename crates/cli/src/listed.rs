//! Files that list patterns (`--include-from`, `--exclude-from`) or paths (`--files-from`). `-` is standard input.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::args::Pattern;
use crate::sys;

/// A list is read into memory. No list of names is longer than this by intent.
const LONGEST: u64 = 1 << 30;

/// The patterns that were given, and those that the files list: one a line, without empty lines and those that begin
/// with `#`.
pub(crate) fn patterns(given: &[Pattern], files: &[PathBuf], option: &str) -> Result<Vec<Pattern>, String> {
    let mut patterns = given.to_vec();
    for file in files {
        let place = |number: usize| format!("{option} {}, line {}", file.display(), number + 1);
        let bytes = read(file).map_err(|error| format!("{option} {}: {error}", file.display()))?;
        for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let text = std::str::from_utf8(line).map_err(|_| format!("{}: it is not UTF-8", place(number)))?;
            patterns.push(text.parse().map_err(|error| format!("{}: {text}: {error}", place(number)))?);
        }
    }
    Ok(patterns)
}

/// The paths that a file lists: one a line, or with `null` each ended by a zero byte, as `find -print0` does.
pub(crate) fn paths(file: &Path, null: bool) -> Result<Vec<PathBuf>, String> {
    let bytes = read(file).map_err(|error| format!("--files-from {}: {error}", file.display()))?;
    let end = if null { 0 } else { b'\n' };
    let names = bytes.split(|&byte| byte == end).filter(|name| !name.is_empty());
    names
        .map(|name| match name.contains(&0) {
            true => {
                Err(format!("--files-from {}: a name has a zero byte in it; --null splits at these", file.display()))
            }
            false => Ok(sys::path(name)),
        })
        .collect()
}

/// Why standard input cannot be read for all of these.
pub(crate) fn read_once<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), String> {
    match files.into_iter().filter(|file| is_stdin(file)).count() {
        0 | 1 => Ok(()),
        _ => Err("standard input ('-') can be read once only".into()),
    }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut limited: Box<dyn Read> = match is_stdin(file) {
        true => Box::new(std::io::stdin().lock().take(LONGEST + 1)),
        false => Box::new(File::open(file)?.take(LONGEST + 1)),
    };
    limited.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it is longer than 1 GiB, and no list"));
    }
    Ok(bytes)
}
