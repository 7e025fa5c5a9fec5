//! Contents by number, so that whoever checks them has to know nothing but the number.

use std::fs;
use std::path::Path;

use manyfiles_testkit::Random;

use super::work::Result;

/// No file is longer, so that a million of them fit into the memory of a small machine.
const LONGEST: usize = 200;

/// The bytes of file `n`; every eighth is empty.
pub fn content(n: u64) -> Vec<u8> {
    let mut random = Random::new(n);
    let len = if n.is_multiple_of(8) { 0 } else { random.below(LONGEST) + 1 };
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(random.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Fails unless the file has the bytes of `n`.
pub fn check_file(path: &Path, n: u64) -> Result<()> {
    if fs::read(path)? == content(n) {
        return Ok(());
    }
    Err(format!("{} has other bytes than were written", path.display()).into())
}

/// Fails unless `folder` has `folders` folders named by their numbers, in which the `files` files lie in turn, each
/// with its bytes, and nothing else. With one folder they lie in `folder` itself.
pub fn check_files(folder: &Path, files: u64, folders: u64) -> Result<()> {
    if folders == 1 {
        return check_one_folder(folder, (0..files).collect::<Vec<_>>().as_slice());
    }
    let expected = folders.min(files);
    check_count(folder, expected)?;
    for number in 0..expected {
        let here: Vec<u64> = (number..files).step_by(folders as usize).collect();
        check_one_folder(&folder.join(number.to_string()), &here)?;
    }
    Ok(())
}

fn check_one_folder(folder: &Path, files: &[u64]) -> Result<()> {
    check_count(folder, files.len() as u64)?;
    files.iter().try_for_each(|&n| check_file(&folder.join(n.to_string()), n))
}

/// Names are not compared: that each expected one is there is found out by reading it.
pub fn check_count(folder: &Path, expected: u64) -> Result<()> {
    let found = fs::read_dir(folder)?.count() as u64;
    if found == expected {
        return Ok(());
    }
    Err(format!("{} has {found} entries, and not {expected}", folder.display()).into())
}

/// Where file `n` lies, as [`check_files`] expects it.
pub fn path(n: u64, folders: u64) -> String {
    if folders == 1 { n.to_string() } else { format!("{}/{n}", n % folders) }
}
