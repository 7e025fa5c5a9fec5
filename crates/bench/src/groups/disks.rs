//! Disks whose calls are slow for reasons of their own: sshfs, gocryptfs, an overlay, a FUSE mount with the kernel's
//! write-back and without. New files and an unpacked tar, against everybody at their best.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use manyfiles_testkit::Corpus;

use crate::checks::{SEED, holds};
use crate::contest::{self, Contest, Entrant, Goal, Plan, Run};
use crate::peers::Peer;
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use crate::target::build_command;
use Goal::{Faster, Shown};

const GROUP: &str = "disks";

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let ours = build_command()?;
    let corpus = Arc::new(Corpus::spread(2_300, 100, SEED));
    let store = manyfiles_testkit::scratch()?;
    let (source, tar) = (store.path().join("source"), store.path().join("tree.tar"));
    corpus.write(&source)?;
    said_by(Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(&source).arg("."))?;
    let delay = Duration::from_micros(200);
    for (what, place) in [
        ("sshfs", Place::sshfs()),
        ("gocryptfs", Place::gocryptfs()),
        ("overlay", Place::overlay()),
        ("FUSE", Place::slow("FUSE, 0.2 ms a call", &Place::EVERY_CALL, delay)),
        ("FUSE with write-back", Place::slow_with_write_back("FUSE, write-back, 0.2 ms a call", delay)),
    ] {
        let Some(place) = book.place_or_skip(&format!("{GROUP}, {what}"), place) else { continue };
        new_files(&corpus, &place, plan, book);
        unpacked(&ours, &corpus, &tar, &place, plan, book);
    }
    Ok(())
}

fn new_files(corpus: &Arc<Corpus>, place: &Place, plan: Plan, book: &mut Book) {
    let check = holds(corpus);
    let best = [Peer::BEST_ON_TWO_CORES.as_slice(), &Peer::BEST_WHERE_CALLS_WAIT].concat();
    let claims = best.into_iter().map(|peer| (peer, Faster(1.0)));
    let ours = [(Peer::TreeWriter, Shown), (Peer::FastClose, Shown)];
    let entrants = ours.into_iter().chain(claims).map(|(peer, goal)| {
        Entrant::new(peer.name(), goal, &check, Box::new(move |folder| peer.write(corpus, folder)))
    });
    let entrants = entrants.collect();
    let what = "2,300 files, 23 folders, new".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
}

fn unpacked(ours: &Path, corpus: &Corpus, tar: &Path, place: &Place, plan: Plan, book: &mut Book) {
    let check = holds(corpus);
    let program = |program: &Path, flags: &'static [&'static str]| -> Run<'_> {
        let program = program.to_owned();
        Box::new(move |folder| {
            fs::create_dir(folder)?;
            process::measure_command(Command::new(&program).args(flags).arg(tar).arg("-C").arg(folder))
        })
    };
    let entrants = vec![
        Entrant::new("manyfiles unpack", Shown, &check, program(ours, &["unpack", "-q"])),
        Entrant::new("GNU tar", Faster(1.0), &check, program(Path::new("tar"), &["--no-same-owner", "-xf"])),
        Entrant::new("bsdtar", Faster(1.0), &check, program(Path::new("bsdtar"), &["--no-same-owner", "-xf"])),
    ];
    let what = "2,300 files, 23 folders, out of a tar".into();
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
}
