//! What is played.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use manyfiles::close::{self, FastClose};
use windows_sys::Win32::Foundation::{HANDLE_FLAG_PROTECT_FROM_CLOSE, SetHandleInformation};

use crate::counted::{self, After, Counted};

/// Who plays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Manyfiles,
    CloseAlready,
    Std,
}

impl Who {
    pub fn named(name: &str) -> Result<Who, String> {
        match name {
            "manyfiles" => Ok(Who::Manyfiles),
            "close-already" => Ok(Who::CloseAlready),
            "std" => Ok(Who::Std),
            _ => Err(format!("nobody is called {name}")),
        }
    }

    fn write(self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match self {
            Who::Manyfiles => manyfiles::fs::write(path, bytes),
            Who::CloseAlready => close_already::fs::write(path, bytes),
            Who::Std => fs::write(path, bytes),
        }
    }

    /// Drops a handle as a program of this library does.
    fn drop<H: manyfiles::close::FastCloseable + close_already::FastCloseable + 'static>(self, handle: H) {
        match self {
            Who::Manyfiles => drop(FastClose::new(handle)),
            Who::CloseAlready => drop(close_already::FastClose::new(handle)),
            Who::Std => drop(handle),
        }
    }
}

/// As much as a glyph of a font.
const BYTES: &[u8] = &[b'x'; 1500];

/// Writes a file and opens it for itself alone. How often that failed.
pub fn reopen(who: Who, folder: &Path, rounds: usize) -> usize {
    let alone = |path: &Path| match who {
        Who::Manyfiles => manyfiles::fs::OpenOptions::new().read(true).share_mode(0).open(path).map(drop),
        _ => fs::OpenOptions::new().read(true).share_mode(0).open(path).map(drop),
    };
    (0..rounds)
        .filter(|n| {
            let path = folder.join(n.to_string());
            who.write(&path, BYTES).and_then(|()| alone(&path)).is_err()
        })
        .count()
}

/// Makes a folder, writes a file in it, removes the file and the folder. How often that failed.
pub fn remove(who: Who, folder: &Path, rounds: usize) -> usize {
    let round = |folder: &Path| -> io::Result<()> {
        let file = folder.join("file");
        fs::create_dir(folder)?;
        who.write(&file, BYTES)?;
        match who {
            Who::Manyfiles => {
                manyfiles::fs::remove_file(file)?;
                manyfiles::fs::remove_dir(folder)
            }
            _ => {
                fs::remove_file(file)?;
                fs::remove_dir(folder)
            }
        }
    };
    (0..rounds).filter(|n| round(&folder.join(n.to_string())).is_err()).count()
}

/// Writes files in a loop. How long it takes until the last one is closed.
pub fn files(who: Who, folder: &Path, count: usize) -> Result<Duration, Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = (0..count).map(|n| folder.join(n.to_string())).collect();
    let start = Instant::now();
    for path in &paths {
        match who {
            // What `close_already::fs::write` does.
            Who::CloseAlready => {
                let mut file = close_already::FastClose::new(Counted::new(File::create(path)?, After::Nothing));
                file.write_all(BYTES)?;
            }
            _ => who.write(path, BYTES)?,
        }
    }
    match who {
        Who::Manyfiles => close::wait()?,
        Who::CloseAlready => counted::wait_for(count),
        Who::Std => (),
    }
    Ok(start.elapsed())
}

/// Hands over handles that are open already, each of which takes 2 ms to close. The most that waited at once.
pub fn burst(who: Who, folder: &Path, count: usize) -> Result<usize, Box<dyn std::error::Error>> {
    let file = File::create(folder.join("file"))?;
    let handles: Vec<File> = (0..count).map(|_| file.try_clone()).collect::<Result<_, _>>()?;
    let mut most = 0;
    for (before, handle) in handles.into_iter().enumerate() {
        who.drop(Counted::new(handle, After::Wait(Duration::from_millis(2))));
        most = most.max(before + 1 - counted::closed());
    }
    if who == Who::Manyfiles {
        close::wait()?;
    }
    Ok(most)
}

/// Drops files at the end of `main`, as a program would that keeps them until then. Each logs its close.
pub fn end(who: Who, folder: &Path, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let guard = (who == Who::Manyfiles).then(close::guard);
    counted::open_log(&folder.join("log"))?;
    for file in written(folder, count)? {
        who.drop(Counted::new(file, After::Log));
    }
    if let Some(guard) = guard {
        guard.finish()?;
    }
    Ok(())
}

/// Drops files, every tenth of which cannot be closed. How many errors nobody heard of.
pub fn errors(who: Who, folder: &Path, count: usize) -> Result<usize, Box<dyn std::error::Error>> {
    const INVALID_HANDLE: i32 = 6;
    let files = written(folder, count)?;
    let broken = files.iter().step_by(10);
    let expected = broken.len();
    for file in broken {
        // SAFETY: the handle is open, and stays so: CloseHandle fails.
        let done = unsafe {
            SetHandleInformation(file.as_raw_handle(), HANDLE_FLAG_PROTECT_FROM_CLOSE, HANDLE_FLAG_PROTECT_FROM_CLOSE)
        };
        if done == 0 {
            return Err(io::Error::last_os_error().into());
        }
    }
    for file in files {
        who.drop(file);
    }
    let heard = match who {
        Who::Manyfiles => match close::guard().finish() {
            Ok(_) => 0,
            Err(errors) => errors.iter().filter(|error| error.raw_os_error() == Some(INVALID_HANDLE)).count(),
        },
        // Neither has a way to tell.
        Who::CloseAlready | Who::Std => 0,
    };
    Ok(expected - heard)
}

/// Open files with a byte in each.
fn written(folder: &Path, count: usize) -> io::Result<Vec<File>> {
    let one = |n: usize| {
        let mut file = File::create(folder.join(n.to_string()))?;
        file.write_all(b"x")?;
        Ok(file)
    };
    (0..count).map(one).collect()
}
