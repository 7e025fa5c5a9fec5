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
const TEST_BZIP2: [Peer; 3] = [
    ("bsdtar -xO", Faster(2.0), "bsdtar", &["-xOf"]),
    ("lbzip2 -t", Shown, "lbzip2", &["-t"]),
    ("pbzip2 -t", Shown, "pbzip2", &["-t"]),
];
const TEST_ZIP: [Peer; 3] = [
    ("bsdtar -xO", Faster(2.0), "bsdtar", &["-xOf"]),
    ("unzip -t", Shown, "unzip", &["-tqq"]),
    ("7zz t", Shown, "7zz", &["t", "-bd"]),
];

pub fn run(ours: &Path, plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let place = Place::tmpfs()?;
    let store = place.fresh()?;
    fs::create_dir(&store)?;
    let corpus = Corpus::w2(SEED);
    corpus.write(&store)?;
    // Each by the program that most are made by.
    let made = |name: &str, line: &str| -> Result<PathBuf> {
        let archive = store.join(name);
        said_by(Command::new("sh").args(["-c", line, "sh"]).arg(&archive).arg(ours).current_dir(&store))?;
        Ok(archive)
    };
    let small = made("small.tar", "tar -cf \"$1\" src")?;
    contest(ours, "list", &LIST, &small, "50,000 files in a tar", &place, plan, book)?;
    contest(ours, "test", &TEST, &small, "50,000 files in a tar", &place, plan, book)?;
    fs::remove_file(small)?;
    fs::remove_dir_all(store.join("src"))?;
    match linux_tar(cache) {
        Ok(tar) => {
            fs::copy(tar, store.join("linux.tar"))?;
            said_by(Command::new("sh").args(["-c", "mkdir src && tar -xf linux.tar -C src"]).current_dir(&store))?;
            for (name, line, list, test, what) in [
                ("linux.tar", "", &LIST[..], &TEST[..], "the Linux source's tar"),
                ("l.tar.gz", "gzip -c linux.tar > \"$1\"", &LIST[..2], &TEST_GZIP[..], "the Linux source's tar.gz"),
                (
                    "p.tar.zst",
                    "\"$2\" pack -q src \"$1\"",
                    &LIST[..1],
                    &TEST_ZSTD[..],
                    "the Linux source, tar.zst of pack",
                ),
                (
                    "z.tar.zst",
                    "zstd -qT0 linux.tar -o \"$1\"",
                    &LIST[..1],
                    &TEST_ZSTD[..],
                    "the Linux source, tar.zst of zstd (one frame)",
                ),
                ("b.tar.bz2", "bzip2 -c linux.tar > \"$1\"", &LIST[..0], &TEST_BZIP2[..], "the Linux source's tar.bz2"),
                ("l.zip", "zip -qry \"$1\" src", &LIST_ZIP[..], &TEST_ZIP[..], "the Linux source in a zip"),
            ] {
                let archive = if line.is_empty() { store.join(name) } else { made(name, line)? };
                if !list.is_empty() {
                    contest(ours, "list", list, &archive, what, &place, plan, book)?;
                }
                contest(ours, "test", test, &archive, what, &place, plan, book)?;
            }
        }
        Err(why) => book.skip("archive, the Linux source", &format!("{why:#}")),
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
