//! A tree packed, as whole programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Corpus, Need};

use super::{GROUP, holds};
use crate::checks::SEED;
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan};
use crate::place::Place;
use crate::process;
use crate::report::Book;
use Goal::{Faster, Shown};

/// A peer packs `src` of the folder that it is started in.
struct Peer {
    name: &'static str,
    goal: Goal,
    needs: &'static str,
    /// A line for the shell; the archive is `$1`.
    line: &'static str,
    /// One that takes many seconds plays this many rounds.
    rounds_at_most: Option<usize>,
}

const fn peer(name: &'static str, goal: Goal, needs: &'static str, line: &'static str) -> Peer {
    Peer { name, goal, needs, line, rounds_at_most: None }
}

const fn slow_peer(name: &'static str, goal: Goal, needs: &'static str, line: &'static str) -> Peer {
    Peer { rounds_at_most: Some(3), ..peer(name, goal, needs, line) }
}

const TAR: [Peer; 4] = [
    peer("GNU tar, times in seconds", Faster(1.5), "tar", "exec tar -cf \"$1\" src"),
    peer("GNU tar, times in nanoseconds", Shown, "tar", "exec tar --format=posix -cf \"$1\" src"),
    peer("bsdtar", Shown, "bsdtar", "exec bsdtar -cf \"$1\" src"),
    peer("7zz", Shown, "7zz", "exec 7zz a -bd -ttar \"$1\" src"),
];
const GZIP: [Peer; 3] = [
    peer("tar | pigz", Faster(1.0), "pigz", "tar -cf - src | pigz > \"$1\""),
    slow_peer("GNU tar -z", Shown, "tar", "exec tar -czf \"$1\" src"),
    slow_peer("bsdtar -z", Shown, "bsdtar", "exec bsdtar -czf \"$1\" src"),
];
const ZSTD: [Peer; 2] = [
    peer("tar | zstd -T0", Faster(1.0), "zstd", "tar -cf - src | zstd -q -T0 -3 > \"$1\""),
    peer("bsdtar --zstd", Shown, "bsdtar", "exec bsdtar --zstd -cf \"$1\" src"),
];
const ZIP: [Peer; 3] = [
    slow_peer("zip", Faster(2.0), "zip", "exec zip -qr \"$1\" src"),
    slow_peer("7zz", Shown, "7zz", "exec 7zz a -bd -tzip \"$1\" src"),
    slow_peer("bsdtar", Shown, "bsdtar", "exec bsdtar -acf \"$1\" src"),
];

pub fn run(ours: &Path, plan: Plan, book: &mut Book) -> Result<()> {
    let corpus = Corpus::w2(SEED);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip("archive, pack", place) else { continue };
        let source = place.fresh()?;
        corpus.write(&source)?;
        let formats: [(&str, &[Peer]); 4] = [("tar", &TAR), ("tar.gz", &GZIP), ("tar.zst", &ZSTD), ("zip", &ZIP)];
        // Compressing takes the same time wherever the archive is.
        for (ending, peers) in formats.into_iter().take(if place.name == "tmpfs" { 4 } else { 1 }) {
            pack(ours, ending, peers, &source, &corpus, &place, plan, book);
        }
        place.done_with(&source)?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "a row of a table")]
fn pack(
    ours: &Path,
    ending: &str,
    peers: &[Peer],
    source: &Path,
    corpus: &Corpus,
    place: &Place,
    plan: Plan,
    book: &mut Book,
) {
    let name = format!("packed.{ending}");
    let check: Check<'_> = Box::new(|folder| holds(&folder.join(&name), corpus, 1));
    let archive = |folder: &Path| -> Result<_> {
        fs::create_dir(folder)?;
        Ok(folder.join(&name))
    };
    let run = |folder: &Path| {
        process::measure_command(
            Command::new(ours).args(["pack", "-q", "src"]).arg(archive(folder)?).current_dir(source),
        )
    };
    let mut entrants = vec![Entrant::new("manyfiles pack", Shown, &check, Box::new(run))];
    for peer in peers {
        if let Err(why) = Need::Program(peer.needs).check() {
            book.skip(&format!("archive, {}", peer.name), &why);
            continue;
        }
        let run = |folder: &Path| {
            let archive = archive(folder)?;
            process::measure_command(Command::new("sh").args(["-c", peer.line, "sh"]).arg(archive).current_dir(source))
        };
        let entrant = Entrant::new(peer.name, peer.goal, &check, Box::new(run));
        entrants.push(Entrant { rounds_at_most: peer.rounds_at_most, ..entrant });
    }
    let what = format!("50,000 files, 2,954 folders, packed into a {ending}");
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
}
