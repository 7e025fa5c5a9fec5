//! Whether FastClose costs anything where a close is fast.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use manyfiles::close::{self, FastClose};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::Corpus;

use super::{SEED, holds};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, timed};
use crate::place::Place;
use crate::report::Book;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    // A run of W1 is too short to see 3 % in; five times the rounds of four times the files are not.
    let corpus = Corpus::spread(9_200, 2_300, SEED);
    let plan = plan.times(5);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip("fastclose", place) else { continue };
        writing(&corpus, &place, plan, book);
        opening(&place, plan, book)?;
    }
    Ok(())
}

/// Files made, written and closed, in a loop.
fn writing(corpus: &Corpus, place: &Place, plan: Plan, book: &mut Book) {
    let check = holds(corpus);
    let each = |root: &Path, write: &dyn Fn(&Path, &[u8]) -> Result<()>| {
        for folder in corpus.folders() {
            fs::create_dir_all(root.join(folder))?;
        }
        let paths: Vec<PathBuf> = corpus.files.iter().map(|(path, _)| root.join(path)).collect();
        timed(|| {
            paths.iter().zip(&corpus.files).try_for_each(|(path, (_, bytes))| write(path, bytes))?;
            // Waits where FastClose has something to wait for, and costs a File's loop nothing.
            Ok(close::wait()?)
        })
    };
    let fast = |root: &Path| each(root, &|path, bytes| Ok(FastClose::new(File::create(path)?).write_all(bytes)?));
    let plain = |root: &Path| each(root, &|path, bytes| Ok(File::create(path)?.write_all(bytes)?));
    let entrants = vec![
        Entrant::new("FastClose<File>", Goal::Shown, &check, Box::new(fast)),
        Entrant::new("File", Goal::AtMost(1.03), &check, Box::new(plain)),
    ];
    let what = "9,200 files made, written, closed".to_owned();
    book.enter(contest::run(Contest { group: "fastclose", what, place, entrants }, plan));
}

/// Files that are there, opened and closed and nothing else: where the wrapper would show most. Nothing is claimed.
fn opening(place: &Place, plan: Plan, book: &mut Book) -> Result<()> {
    const TIMES: usize = 20_000;
    let shelf = place.fresh()?;
    fs::create_dir_all(&shelf)?;
    let path = shelf.join("file");
    fs::write(&path, "bytes")?;
    let check: Check<'_> = Box::new(|_| Ok(()));
    let fast = |_: &Path| {
        timed(|| {
            for _ in 0..TIMES {
                black_box(FastClose::new(File::open(&path)?));
            }
            Ok(close::wait()?)
        })
    };
    let plain = |_: &Path| {
        timed(|| {
            for _ in 0..TIMES {
                black_box(File::open(&path)?);
            }
            Ok(())
        })
    };
    let entrants = vec![
        Entrant::new("FastClose<File>", Goal::Shown, &check, Box::new(fast)),
        Entrant::new("File", Goal::ShownTime, &check, Box::new(plain)),
    ];
    let what = "a file opened and closed 20,000 times".to_owned();
    book.enter(contest::run(Contest { group: "fastclose", what, place, entrants }, plan));
    Ok(())
}
