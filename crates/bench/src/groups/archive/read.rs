//! Archives listed and tested, as whole programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Corpus, Need};

use super::GROUP;
use crate::checks::SEED;
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan};
use crate::groups::unpack::linux_tar;
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use Goal::{Faster, Shown};

/// The name, the claim, the program, and its arguments before the archive.
type Peer = (&'static str, Goal, &'static str, &'static [&'static str]);

const LIST: [Peer; 3] = [
    ("bsdtar -t", Faster(2.0), "bsdtar", &["-tf"]),
    ("GNU tar -t", Shown, "tar", &["-tf"]),
    ("7zz l", Shown, "7zz", &["l", "-ba"]),
];
const LIST_ZIP: [Peer; 3] = [
    ("bsdtar -t", Faster(2.0), "bsdtar", &["-tf"]),
    ("unzip -Z1", Shown, "unzip", &["-Z1"]),
    ("7zz l", Shown, "7zz", &["l", "-ba"]),
];
const TEST: [Peer; 3] = [
    ("bsdtar -xO", Faster(2.0), "bsdtar", &["-xOf"]),
    ("GNU tar -xO", Shown, "tar", &["-xOf"]),
    ("7zz t", Shown, "7zz", &["t", "-bd"]),
];
const TEST_GZIP: [Peer; 2] = [("bsdtar -xO", Faster(2.0), "bsdtar", &["-xOf"]), ("gzip -t", Shown, "gzip", &["-t"])];
const TEST_ZSTD: [Peer; 2] =
    [("bsdtar -xO", Faster(2.0), "bsdtar", &["-xOf"]), ("zstd -t", Shown, "zstd", &["-q", "-t"])];
const TEST_ZIP: [Peer; 3] = [
    ("bsdtar -xO", Faster(2.0), "bsdtar", &["-xOf"]),
    ("unzip -t", Shown, "unzip", &["-tqq"]),
    ("7zz t", Shown, "7zz", &["t", "-bd"]),
];

pub fn run(ours: &Path, plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let place = Place::tmpfs()?;
    let store = place.fresh()?;
    fs::create_dir(&store)?;
    match linux_tar(cache) {
        Ok(tar) => {
            let here = store.join("linux.tar");
            fs::copy(tar, &here)?;
            contest(ours, "list", &LIST, &here, "the Linux source's tar", &place, plan, book)?;
            contest(ours, "test", &TEST, &here, "the Linux source's tar", &place, plan, book)?;
            fs::remove_file(here)?;
        }
        Err(why) => book.skip("archive, the Linux source", &format!("{why:#}")),
    }
    let corpus = Corpus::w2(SEED);
    corpus.write(&store)?;
    // Each by the program that most are made by.
    let made = |name: &str, line: &str| -> Result<PathBuf> {
        let archive = store.join(name);
        said_by(Command::new("sh").args(["-c", line, "sh"]).arg(&archive).current_dir(&store))?;
        Ok(archive)
    };
    let gzip = made("w2.tar.gz", "tar -czf \"$1\" src")?;
    let zstd = made("w2.tar.zst", "tar -cf - src | zstd -q -T0 > \"$1\"")?;
    let zip = made("w2.zip", "zip -qr \"$1\" src")?;
    for (archive, list, test, what) in [
        (&gzip, &LIST[..2], &TEST_GZIP[..], "50,000 files in a tar.gz"),
        (&zstd, &LIST[..1], &TEST_ZSTD[..], "50,000 files in a tar.zst"),
        (&zip, &LIST_ZIP[..], &TEST_ZIP[..], "50,000 files in a zip"),
    ] {
        contest(ours, "list", list, archive, what, &place, plan, book)?;
        contest(ours, "test", test, archive, what, &place, plan, book)?;
    }
    place.done_with(&store)
}

#[expect(clippy::too_many_arguments, reason = "a row of a table")]
fn contest(
    ours: &Path,
    command: &'static str,
    peers: &[Peer],
    archive: &Path,
    what: &str,
    place: &Place,
    plan: Plan,
    book: &mut Book,
) -> Result<()> {
    if command == "list" {
        // What is printed is dropped below, so it is compared here.
        let ours = said_by(Command::new(ours).arg("list").arg(archive))?;
        let theirs = said_by(Command::new("bsdtar").arg("-tf").arg(archive))?;
        ensure!(ours == theirs, "{} is listed in another way than by bsdtar", archive.display());
    }
    let check: Check<'_> = Box::new(|_| Ok(()));
    let run = |_: &Path| process::measure_command(Command::new(ours).arg(command).arg(archive));
    let mut entrants = vec![Entrant::new(format!("manyfiles {command}"), Shown, &check, Box::new(run))];
    for &(name, goal, program, arguments) in peers {
        if let Err(why) = Need::Program(program).check() {
            book.skip(&format!("archive, {name}"), &why);
            continue;
        }
        let run = move |_: &Path| process::measure_command(Command::new(program).args(arguments).arg(archive));
        entrants.push(Entrant::new(name, goal, &check, Box::new(run)));
    }
    let what = format!("{command}: {what}");
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
    Ok(())
}
