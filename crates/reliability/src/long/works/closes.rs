//! The closer, and files that are written one by one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;

use manyfiles::FastClose;
use manyfiles::close::{self, Closer, Policy};
use manyfiles::writer::FileWriter;

use crate::long::content::{check_count, check_files, content, path};
use crate::long::work::{Place, Result, Size, Work};

const THREADS: u64 = 4;

/// Runs `one` on some threads, each with its number, and returns the first error.
pub fn on_threads(threads: u64, one: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
    let one = &one;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || one(n))).collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".into())));
        // All are joined before the first error is returned.
        results.fold(Ok(()), Result::and)
    })
}

/// Ten million closes, a third each by a closer that hands over all, by one that decides, and by the global one. Each
/// file was appended to before, so that a close that is lost or doubled does not pass for one.
pub struct Closes;

const FILES: u64 = 1_000;

impl Closes {
    fn closes(size: Size) -> u64 {
        size.choose(10_000_000, 40_000)
    }
}

impl Work for Closes {
    fn name(&self) -> &'static str {
        "closes"
    }

    fn what(&self, size: Size) -> String {
        format!(
            "`Closer`, `FastClose`: {} closes of files that were appended to, {THREADS} threads",
            Closes::closes(size)
        )
    }

    fn unit(&self) -> &'static str {
        "closes"
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn prepare(&self, folder: &Path, _size: Size) -> Result<()> {
        (0..FILES).try_for_each(|n| fs::write(folder.join(n.to_string()), ""))?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let all = Closer::options().policy(Policy::Always).build();
        let some = Closer::new();
        on_threads(THREADS, |thread| {
            for n in (thread..Closes::closes(size)).step_by(THREADS as usize) {
                let path = folder.join((n % FILES).to_string());
                let mut file: File = OpenOptions::new().append(true).open(&path)?;
                file.write_all(&[n as u8])?;
                match n / THREADS % 3 {
                    0 => all.close(file),
                    1 => some.close_at(file, path),
                    _ => drop(FastClose::new(file)),
                }
            }
            Ok(())
        })?;
        close::wait()?;
        let done = [all.finish()?, some.finish()?, close::metrics()];
        Ok(done.iter().map(|metrics| metrics.handed_over + metrics.closed_inline).sum())
    }

    fn check(&self, folder: &Path, size: Size, done: u64) -> Result<()> {
        let closes = Closes::closes(size);
        if done != closes {
            return Err(format!("{done} closes were counted, and not {closes}").into());
        }
        check_count(folder, FILES)?;
        for file in 0..FILES {
            let mut found = fs::read(folder.join(file.to_string()))?;
            let mut expected: Vec<u8> = (file..closes).step_by(FILES as usize).map(|n| n as u8).collect();
            // Threads append in any order.
            found.sort_unstable();
            expected.sort_unstable();
            if found != expected {
                return Err(format!("file {file} has other bytes than were appended").into());
            }
        }
        Ok(())
    }
}

/// A million files, in turn by `FileWriter` and by `manyfiles::fs`.
pub struct Writers;

const FOLDERS: u64 = 1_000;

impl Writers {
    fn files(size: Size) -> u64 {
        size.choose(1_000_000, 10_000)
    }
}

impl Work for Writers {
    fn name(&self) -> &'static str {
        "writers"
    }

    fn what(&self, size: Size) -> String {
        format!("`FileWriter`, `fs::write`, `fs::File`: {} files, {THREADS} threads", Writers::files(size))
    }

    fn place(&self) -> Place {
        Place::Tmpfs
    }

    fn prepare(&self, folder: &Path, _size: Size) -> Result<()> {
        fs::create_dir(folder.join("files"))?;
        (0..FOLDERS).try_for_each(|n| fs::create_dir(folder.join(format!("files/{n}"))))?;
        Ok(())
    }

    fn run(&self, folder: &Path, size: Size) -> Result<u64> {
        let root = folder.join("files");
        on_threads(THREADS, |thread| {
            for n in (thread..Writers::files(size)).step_by(THREADS as usize) {
                let (path, bytes) = (root.join(path(n, FOLDERS)), content(n));
                match n / THREADS % 3 {
                    0 => {
                        let mut writer = FileWriter::create(path)?;
                        bytes.chunks(50).try_for_each(|part| writer.write_all(part))?;
                        writer.close()?;
                    }
                    1 => manyfiles::fs::write(path, bytes)?,
                    _ => manyfiles::fs::File::create(path)?.write_all(&bytes)?,
                }
            }
            Ok(())
        })?;
        close::wait()?;
        Ok(Writers::files(size))
    }

    fn check(&self, folder: &Path, size: Size, _done: u64) -> Result<()> {
        check_files(&folder.join("files"), Writers::files(size), FOLDERS)
    }
}
