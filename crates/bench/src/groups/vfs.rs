//! Many small writes to one path by its name, through Vfs::write, against opening and closing for each, and against
//! TileDB's VFS.

use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use manyfiles::vfs::Vfs;

use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Sample, timed};
use crate::place::Place;
use crate::process;
use crate::report::Book;
use Goal::{Faster, Shown};

/// The version compared with, from PyPI.
const TILEDB: &str = "tiledb==0.36.1";
/// Rounds of what starts a Python interpreter for each.
const FEW: usize = 9;

/// Writes COUNT times LEN bytes to PATH and prints the seconds and the processor's, without those of the start.
const SCRIPT: &str = "
import sys, time, tiledb
path, count, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
tile = bytes(n % 256 for n in range(length))
vfs = tiledb.VFS()
clock, processor = time.perf_counter(), time.process_time()
with vfs.open(path, 'wb') as file:
    for _ in range(count):
        file.write(tile)
print(time.perf_counter() - clock, time.process_time() - processor)
";

pub fn run(plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let python = match python_with_tiledb(cache) {
        Ok(python) => Some(python),
        Err(why) => {
            book.skip("vfs, TileDB", &format!("{why:#}"));
            None
        }
    };
    // A run takes some milliseconds.
    let plan = plan.times(5);
    for place in [Place::tmpfs(), Place::ext4_cleared()] {
        let Some(place) = book.place_or_skip("vfs", place) else { continue };
        for (count, len, what, least) in [
            (1_000, 4 << 10, "1,000 writes of 4 KB to one path", 3.0),
            (5_000, 4 << 10, "5,000 writes of 4 KB to one path", 3.0),
            (10_000, 512, "10,000 writes of 512 B to one path", 8.0),
        ] {
            let least = if place.name == "ext4" { Faster(least) } else { Shown };
            contest(&place, count, len, what, least, python.as_deref(), plan, book);
        }
        many_paths(&place, plan, book);
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "a row of a table")]
fn contest(
    place: &Place,
    count: usize,
    len: usize,
    what: &str,
    target: Goal,
    python: Option<&Path>,
    plan: Plan,
    book: &mut Book,
) {
    let tile: Vec<u8> = (0..len).map(|n| n as u8).collect();
    let tile = &tile;
    let whole = tile.repeat(count);
    let check: Check<'_> = Box::new(move |folder| {
        ensure!(fs::read(folder.join("array"))? == whole, "other bytes than were written");
        Ok(())
    });
    let ours = |folder: &Path| {
        fs::create_dir_all(folder)?;
        let uri = path_text(folder)?.to_owned() + "/array";
        timed(|| {
            let vfs = Vfs::new();
            (0..count).try_for_each(|_| vfs.write(&uri, black_box(tile)))?;
            Ok(vfs.finish()?)
        })
    };
    let writer = |folder: &Path| {
        fs::create_dir_all(folder)?;
        timed(|| {
            let vfs = Vfs::new();
            let mut writer = vfs.create_writer(folder.join("array"))?;
            (0..count).try_for_each(|_| writer.write_all(black_box(tile)))?;
            writer.close()?;
            Ok(())
        })
    };
    let open_each = |folder: &Path| {
        fs::create_dir_all(folder)?;
        let path = folder.join("array");
        timed(|| {
            (0..count).try_for_each(|n| {
                let file = File::options().write(true).create(true).truncate(false).open(&path)?;
                Ok(file.write_all_at(black_box(tile), (n * len) as u64)?)
            })
        })
    };
    let tiledb = move |folder: &Path| {
        fs::create_dir_all(folder)?;
        by_tiledb(python.context("there is no such entrant without it")?, &folder.join("array"), count, len)
    };
    let mut entrants = vec![
        Entrant::new("Vfs::write", Shown, &check, Box::new(ours)),
        Entrant::new("open, pwrite, close each", target, &check, Box::new(open_each)),
        Entrant::new("Vfs::create_writer", Shown, &check, Box::new(writer)),
    ];
    if python.is_some() {
        let entrant = Entrant::new("TileDB's VFS, Python", Faster(4.0), &check, Box::new(tiledb));
        entrants.push(Entrant { rounds_at_most: Some(FEW), ..entrant });
    }
    book.enter(contest::run(Contest { group: "vfs", what: what.into(), place, entrants }, plan));
}

/// Tiles that go to 100 files in turn, as columns of one array do.
fn many_paths(place: &Place, plan: Plan, book: &mut Book) {
    const FILES: usize = 100;
    const TILES: usize = 100;
    let tile = &[b'x'; 1_000];
    let check: Check<'_> = Box::new(|folder| {
        for n in 0..FILES {
            ensure!(fs::read(folder.join(n.to_string()))? == tile.repeat(TILES), "other bytes in {n}");
        }
        Ok(())
    });
    let paths = |folder: &Path| -> Result<Vec<PathBuf>> {
        fs::create_dir_all(folder)?;
        Ok((0..FILES).map(|n| folder.join(n.to_string())).collect())
    };
    let ours = |folder: &Path| {
        let paths = paths(folder)?;
        timed(|| {
            let vfs = Vfs::new();
            (0..TILES).try_for_each(|_| paths.iter().try_for_each(|path| vfs.write(path, black_box(tile))))?;
            Ok(vfs.finish()?)
        })
    };
    let open_each = |folder: &Path| {
        let paths = paths(folder)?;
        timed(|| {
            (0..TILES).try_for_each(|n| {
                paths.iter().try_for_each(|path| {
                    let file = File::options().write(true).create(true).truncate(false).open(path)?;
                    Ok(file.write_all_at(black_box(tile), (n * tile.len()) as u64)?)
                })
            })
        })
    };
    let entrants = vec![
        Entrant::new("Vfs::write", Shown, &check, Box::new(ours)),
        Entrant::new("open, pwrite, close each", Shown, &check, Box::new(open_each)),
    ];
    let what = "100 writes of 1 KB to each of 100 paths in turn".into();
    book.enter(contest::run(Contest { group: "vfs", what, place, entrants }, plan));
}

fn by_tiledb(python: &Path, path: &Path, count: usize, len: usize) -> Result<Sample> {
    let figures = [count, len].map(|figure| figure.to_string());
    process::timed_by_itself(Command::new(python).args(["-c", SCRIPT]).arg(path).args(figures))
}

/// A Python of its own in the cache, with TileDB's wheel. Made there if it is missing.
fn python_with_tiledb(cache: &Path) -> Result<PathBuf> {
    let folder = cache.join("python-tiledb");
    let python = folder.join("bin/python");
    let imports =
        || Command::new(&python).args(["-c", "import tiledb"]).output().is_ok_and(|done| done.status.success());
    if !imports() {
        eprintln!("installing {TILEDB}, once");
        process::said_by(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        process::said_by(Command::new(&python).args(["-m", "pip", "install", "--quiet", TILEDB]))?;
        ensure!(imports(), "{TILEDB} is installed and cannot be imported");
    }
    Ok(python)
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str().context("the folder's path is not plain text")
}
