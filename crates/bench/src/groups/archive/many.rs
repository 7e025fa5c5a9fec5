//! 225,000 small files into one archive, and into a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use manyfiles::tree::Metadata;
use manyfiles_archive::ArchiveWriter;
use manyfiles_testkit::Corpus;

use super::GROUP;
use crate::checks::{self, SEED};
use crate::contest::{self, Check, Contest, Entrant, FEW, Goal, Plan, Sample, timed};
use crate::peers::Peer;
use crate::place::Place;
use crate::report::Book;
use Goal::{Faster, Shown};

const FILES: usize = 225_000;
/// Bytes a second.
const LIMIT: f64 = 100e6;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let corpus = Arc::new(Corpus::spread(FILES, 100, SEED));
    book.note(corpus.to_string());
    for make in [Place::tmpfs, Place::ext4] {
        for ending in ["tar", "tar.zst", "zip"] {
            // A new disk for each: the folders of one contest have a million files.
            let Some(place) = book.place_or_skip("archive, 225,000 files", make()) else { continue };
            book.enter(write(&corpus, ending, &place, plan));
        }
    }
    Ok(())
}

fn write(corpus: &Arc<Corpus>, ending: &str, place: &Place, plan: Plan) -> Option<contest::Outcome> {
    let archive = |folder: &Path| -> PathBuf { folder.join("many").with_extension(ending) };
    let is_archive: Check<'_> = Box::new(|folder| super::holds(&archive(folder), corpus, 97));
    let is_folder = checks::holds(corpus);
    let is_limit: Check<'_> = Box::new(|_| Ok(()));
    let ours = |folder: &Path| {
        fs::create_dir(folder)?;
        timed(|| {
            let writer = ArchiveWriter::create(archive(folder))?;
            for (path, bytes) in &corpus.files {
                writer.file(path, bytes.clone(), Metadata::default())?;
            }
            writer.finish()?;
            Ok(())
        })
    };
    let limit = |_: &Path| Ok(Sample { seconds: corpus.bytes() as f64 / LIMIT, ..Sample::default() });
    let mut entrants = vec![
        Entrant::new("ArchiveWriter", Shown, &is_archive, Box::new(ours)),
        Entrant::new("100 MB/s", Faster(1.0), &is_limit, Box::new(limit)),
    ];
    // What is asked for is about the disk.
    let goal = if place.name == "ext4" { Faster(10.0) } else { Shown };
    for (peer, goal) in [(Peer::Std, goal), (Peer::TreeWriter, Shown)] {
        let run = Box::new(move |folder: &Path| peer.write(corpus, folder));
        let entrant = Entrant::new(format!("{}, folder", peer.name()), goal, &is_folder, run);
        entrants.push(Entrant { rounds_at_most: Some(FEW), ..entrant });
    }
    let what = format!("225,000 files into a {ending}");
    contest::run(Contest { group: GROUP, what, place, entrants }, plan)
}
