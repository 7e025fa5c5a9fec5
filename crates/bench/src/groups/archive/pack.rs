//! A tree packed, as whole programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Corpus, Need, Tree};

use super::{GROUP, holds, holds_files};
use crate::checks::SEED;
use crate::contest::{self, Check, Contest, Entrant, FEW, Goal, Plan};
use crate::groups::unpack::linux_tar;
use crate::place::Place;
use crate::process::{self, said_by};
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
    Peer { rounds_at_most: Some(FEW), ..peer(name, goal, needs, line) }
}

const TAR: [Peer; 4] = [
    peer("GNU tar, times in seconds", Faster(1.5), "tar", "exec tar -cf \"$1\" src"),
    peer("GNU tar, times in nanoseconds", Shown, "tar", "exec tar --format=posix -cf \"$1\" src"),
    peer("bsdtar", Shown, "bsdtar", "exec bsdtar -cf \"$1\" src"),
    peer("7zz", Shown, "7zz", "exec 7zz a -bd -snl -ttar \"$1\" src"),
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
    slow_peer("zip", Faster(2.0), "zip", "exec zip -qry \"$1\" src"),
    slow_peer("7zz", Shown, "7zz", "exec 7zz a -bd -snl -tzip \"$1\" src"),
    slow_peer("bsdtar", Shown, "bsdtar", "exec bsdtar -acf \"$1\" src"),
];

pub fn run(ours: &Path, plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let corpus = Corpus::w2(SEED);
    for place in [Place::tmpfs(), Place::ext4()] {
        let Some(place) = book.place_or_skip("archive, pack", place) else { continue };
        let source = place.fresh()?;
        corpus.write(&source)?;
        let check: Verify<'_> = Box::new(|archive| holds(archive, &corpus, 1));
        let what = "50,000 files, 2,954 folders, packed into a tar";
        Packed { ours, what, source: &source, check, place: &place, plan }.measure("tar", &TAR, book);
        place.done_with(&source)?;
    }
    let tar = match linux_tar(cache) {
        Ok(tar) => tar,
        Err(why) => {
            book.skip("archive, the Linux source packed", &format!("{why:#}"));
            return Ok(());
        }
    };
    let place = Place::tmpfs()?;
    let source = place.fresh()?;
    fs::create_dir_all(&source)?;
    said_by(Command::new("tar").arg("-xf").arg(tar).arg("-C").arg(&source))?;
    for entry in fs::read_dir(&source)? {
        fs::rename(entry?.path(), source.join("src"))?;
    }
    let count = Tree::read(&source)?.files().0;
    // Made content repeats far more than people's does, which favors whoever looks back furthest.
    for (ending, peers) in [("tar", &TAR[..]), ("tar.gz", &GZIP), ("tar.zst", &ZSTD), ("zip", &ZIP)] {
        let check: Verify<'_> = Box::new(|archive| holds_files(archive, &source, count, 97));
        let what = format!("the Linux source packed into a {ending}");
        Packed { ours, what: &what, source: &source, check, place: &place, plan }.measure(ending, peers, book);
    }
    place.done_with(&source)
}

/// Whether an archive is whole.
type Verify<'a> = Box<dyn Fn(&Path) -> Result<()> + 'a>;

/// A tree, as `src` in `source`, that is packed.
struct Packed<'a> {
    ours: &'a Path,
    what: &'a str,
    source: &'a Path,
    check: Verify<'a>,
    place: &'a Place,
    plan: Plan<'a>,
}

impl Packed<'_> {
    fn measure(&self, ending: &str, peers: &[Peer], book: &mut Book) {
        let name = format!("packed.{ending}");
        let check: Check<'_> = Box::new(|folder| (self.check)(&folder.join(&name)));
        let archive = |folder: &Path| -> Result<_> {
            fs::create_dir(folder)?;
            Ok(folder.join(&name))
        };
        let run = |folder: &Path| {
            process::measure_command(
                Command::new(self.ours).args(["pack", "-q", "src"]).arg(archive(folder)?).current_dir(self.source),
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
                let mut line = Command::new("sh");
                process::measure_command(line.args(["-c", peer.line, "sh"]).arg(archive).current_dir(self.source))
            };
            let entrant = Entrant::new(peer.name, peer.goal, &check, Box::new(run));
            entrants.push(Entrant { rounds_at_most: peer.rounds_at_most, ..entrant });
        }
        let contest = Contest { group: GROUP, what: self.what.to_owned(), place: self.place, entrants };
        book.enter(contest::run(contest, self.plan));
    }
}
