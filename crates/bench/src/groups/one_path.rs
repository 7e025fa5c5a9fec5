//! Many small writes to one path, against opening and closing for each.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Result;
use manyfiles::writer::FileWriter;
use manyfiles_works::works::OnePath;

use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, timed};
use crate::peers::NEVER;
use crate::place::Place;
use crate::report::Book;
use Goal::{Faster, Shown, ShownTime};

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    // A run takes some milliseconds.
    let plan = plan.times(5);
    // Cleared, so that each run's memory comes from the one before: what has been free for long a virtual machine must
    // have back from its host, at 10 µs a page, and then that is all there is to see.
    for place in [Place::tmpfs(), Place::ext4_cleared()] {
        let Some(place) = book.place_or_skip("one-path", place) else { continue };
        let on_ext4 = place.name == "ext4";
        for (count, len, what, tmpfs, ext4) in [
            (1_000, 4 << 10, "1,000 writes of 4 KB to one path", 2.0, 4.0),
            (5_000, 4 << 10, "5,000 writes of 4 KB to one path", 2.0, 4.0),
            (10_000, 512, "10,000 writes of 512 B to one path", 10.0, 16.0),
        ] {
            contest(&place, count, len, what, Faster(if on_ext4 { ext4 } else { tmpfs }), plan, book);
        }
    }
    Ok(())
}

fn contest(place: &Place, count: usize, len: usize, what: &str, target: Goal, plan: Plan, book: &mut Book) {
    let writes = OnePath::new(count, len, &NEVER);
    let (tile, offsets) = (writes.tile(), || writes.offsets());
    let whole = &tile.repeat(count);
    let check: Check<'_> = Box::new(|folder| writes.check(folder));
    let ours_at = |folder: &Path| {
        fs::create_dir_all(folder)?;
        timed(|| {
            let mut file = FileWriter::create(folder.join("array"))?;
            offsets().try_for_each(|offset| file.write_at(black_box(tile), offset))?;
            file.close()?;
            Ok(())
        })
    };
    let open_each = |folder: &Path| {
        fs::create_dir_all(folder)?;
        timed(|| {
            offsets().try_for_each(|offset| {
                let file = File::options().write(true).create(true).truncate(false).open(folder.join("array"))?;
                Ok(file.write_all_at(black_box(tile), offset)?)
            })
        })
    };
    let one_handle = |folder: &Path| {
        fs::create_dir_all(folder)?;
        timed(|| {
            let file = File::create(folder.join("array"))?;
            offsets().try_for_each(|offset| Ok(file.write_all_at(black_box(tile), offset)?))
        })
    };
    let buffered = |folder: &Path| {
        fs::create_dir_all(folder)?;
        timed(|| {
            let mut file = BufWriter::with_capacity(256 << 10, File::create(folder.join("array"))?);
            offsets().try_for_each(|_| file.write_all(black_box(tile)))?;
            Ok(file.flush()?)
        })
    };
    // What nobody is faster than.
    let bare = |folder: &Path| {
        fs::create_dir_all(folder)?;
        timed(|| {
            let mut file = File::create(folder.join("array"))?;
            whole.chunks(256 << 10).try_for_each(|block| Ok(file.write_all(block)?))
        })
    };
    let entrants = vec![
        Entrant::new("FileWriter", Shown, &check, Box::new(|folder| writes.with_file_writer(folder))),
        Entrant::new("open, pwrite, close each", target, &check, Box::new(open_each)),
        Entrant::new("FileWriter, write_at", Shown, &check, Box::new(ours_at)),
        Entrant::new("File, pwrite", Shown, &check, Box::new(one_handle)),
        Entrant::new("BufWriter, 256 KiB", Shown, &check, Box::new(buffered)),
        Entrant::new("write(2) of 256 KiB", ShownTime, &check, Box::new(bare)),
    ];
    book.enter(contest::run(Contest { group: "one-path", what: what.into(), place, entrants }, plan));
}
