//! The Linux source's tar, plain and in gzip, and as a zip, onto tmpfs: as a whole process against those who do that, each
//! at its best.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use manyfiles_testkit::{Compare, Kind, Tree};

use crate::checks::{alike, same};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan};
use crate::installed;
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use crate::target::build_command;
use Goal::{Faster, Shown};
use manyfiles_measure::contest::Site;

const PACKAGE: &str = "linux-source-6.1";
/// Peak resident memory that the command may have, pages of a mapped archive included.
const MEMORY: u64 = 128_000_000;

/// A peer unpacks the archive `$1` into the folder `$2`, which is there. As root, tar, bsdtar and unzip would set every
/// owner too, which ours does only when asked to: so they are told not to, and shown in their default once more.
struct Peer {
    name: &'static str,
    target: Goal,
    needs: &'static [&'static str],
    /// A line for the shell.
    line: &'static str,
}

const fn peer(name: &'static str, target: Goal, needs: &'static [&'static str], line: &'static str) -> Peer {
    Peer { name, target, needs, line }
}

const TAR: [Peer; 4] = [
    peer("GNU tar, no owners", Faster(1.9), &["tar"], "exec tar --no-same-owner -xf \"$1\" -C \"$2\""),
    peer("bsdtar, no owners", Faster(2.5), &["bsdtar"], "exec bsdtar --no-same-owner -xf \"$1\" -C \"$2\""),
    peer("7zz", Faster(2.5), &["7zz"], "exec 7zz x -y -bd -snld \"$1\" \"-o$2\""),
    peer("GNU tar", Shown, &["tar"], "exec tar -xf \"$1\" -C \"$2\""),
];
const GZIP: [Peer; 5] = [
    peer("GNU tar, no owners", Faster(2.5), &["tar"], "exec tar --no-same-owner -xzf \"$1\" -C \"$2\""),
    peer("bsdtar, no owners", Shown, &["bsdtar"], "exec bsdtar --no-same-owner -xzf \"$1\" -C \"$2\""),
    peer("pigz | tar", Faster(1.0), &["pigz", "tar"], "pigz -dc \"$1\" | tar --no-same-owner -xf - -C \"$2\""),
    peer(
        "rapidgzip | tar",
        Faster(1.0),
        &["rapidgzip", "tar"],
        "rapidgzip -q -d -c \"$1\" | tar --no-same-owner -xf - -C \"$2\"",
    ),
    peer("igzip | tar", Faster(1.0), &["igzip", "tar"], "igzip -dc \"$1\" | tar --no-same-owner -xf - -C \"$2\""),
];
const ZIP: [Peer; 4] = [
    peer("unzip", Faster(3.0), &["unzip"], "exec unzip -q \"$1\" -d \"$2\""),
    peer("7zz", Shown, &["7zz"], "exec 7zz x -y -bd -snld \"$1\" \"-o$2\""),
    peer("bsdtar, no owners", Shown, &["bsdtar"], "exec bsdtar --no-same-owner -xf \"$1\" -C \"$2\""),
    peer("ripunzip, links as files", Faster(1.0), &["ripunzip"], "exec ripunzip unzip-file -q \"$1\" -d \"$2\""),
];

pub fn run(plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let tar = match linux_tar(cache) {
        Ok(tar) => tar,
        Err(e) => {
            book.skip("unpack", &format!("{e:#}"));
            return Ok(());
        }
    };
    let ours = build_command()?;
    let place = Place::tmpfs()?;
    let expected = reference(&tar, &place)?;
    let (files, bytes) = expected.files();
    book.note(format!("{PACKAGE}: {} entries, {files} files, {:.2} GB", expected.entries.len(), bytes as f64 / 1e9));
    // Where the programs are that nobody's package manager has.
    let programs = [installed::by_cargo(cache, "ripunzip", "2.0.3"), installed::by_pip(cache, "rapidgzip", "0.16.2")];
    let mut paths = std::env::var_os("PATH").unwrap_or_default();
    for program in programs {
        match program {
            Ok(program) => {
                paths.push(":");
                paths.push(program.parent().context("a program is in a folder")?);
            }
            Err(why) => book.skip("unpack", &format!("{why:#}")),
        }
    }
    let archived = fs::metadata(&tar)?.mtime();
    let scene = Scene { ours: &ours, place: &place, expected: &expected, archived, paths: &paths, plan };
    scene.contest("Linux 6.1 source, tar", &tar, &TAR, book)?;
    scene.contest("Linux 6.1 source, tar.gz", &made_of(&tar, "tar.gz", "gzip -c \"$1\" > \"$2\"")?, &GZIP, book)?;
    let zip = "folder=$(mktemp -d) && tar -xf \"$1\" -C \"$folder\" && (cd \"$folder\" && zip -qry - .) > \"$2\" && rm -r \"$folder\"";
    scene.contest("Linux 6.1 source, zip", &made_of(&tar, "zip", zip)?, &ZIP, book)
}

struct Scene<'a> {
    ours: &'a Path,
    place: &'a Place,
    expected: &'a Tree,
    /// When the tar was made, in seconds.
    archived: i64,
    paths: &'a OsStr,
    plan: Plan<'a>,
}

impl Scene<'_> {
    fn contest(&self, what: &str, archive: &Path, peers: &[Peer], book: &mut Book) -> Result<()> {
        // Some folders have no entry of their own in the archive: their times are those of the unpacking, and not
        // compared. A zip has times to two seconds.
        let mut dated = self.expected.clone();
        dated.entries.retain(|_, entry| entry.modified.0 < self.archived && !what.ends_with("zip"));
        let check: Check<'_> = Box::new(|folder| {
            let mut actual = Tree::read(folder)?;
            same(self.expected, &actual)?;
            actual.entries.retain(|path, _| dated.entries.contains_key(path));
            alike(&dated, &actual, Compare { times: true, ..Compare::default() })
        });
        // Who makes files of links makes all else.
        let mut without_links = self.expected.clone();
        without_links.entries.retain(|_, entry| !matches!(entry.kind, Kind::Symlink(_)));
        let check_all_but_links: Check<'_> = Box::new(|folder| {
            let mut actual = Tree::read(folder)?;
            actual.entries.retain(|path, _| without_links.entries.contains_key(path));
            same(&without_links, &actual)
        });
        let ours = |folder: &Path| {
            fs::create_dir(folder)?;
            process::measure_command(Command::new(self.ours).args(["unpack", "-q"]).arg(archive).arg("-C").arg(folder))
        };
        let mut entrants = vec![Entrant::new("manyfiles", Shown, &check, Box::new(ours))];
        for peer in peers {
            if let Some(missing) = peer.needs.iter().find(|program| !self.has(program)) {
                book.skip(&format!("{what}, {}", peer.name), &format!("there is no {missing}"));
                continue;
            }
            let run = |folder: &Path| {
                fs::create_dir(folder)?;
                let mut line = Command::new("sh");
                line.args(["-c", peer.line, "sh"]).args([archive, folder]).env("PATH", self.paths);
                process::measure_command(&line)
            };
            let check = if peer.name.ends_with("links as files") { &check_all_but_links } else { &check };
            entrants.push(Entrant::new(peer.name, peer.target, check, Box::new(run)));
        }
        let outcome =
            contest::run(Contest { group: "unpack", what: what.into(), place: self.place, entrants }, self.plan);
        if let Some(outcome) = &outcome {
            book.enter_memory_limit(outcome, MEMORY);
        }
        book.enter(outcome);
        Ok(())
    }

    fn has(&self, program: &str) -> bool {
        std::env::split_paths(self.paths).any(|folder| folder.join(program).is_file())
    }
}

/// What GNU tar makes of the archive is what everybody is to make of it.
fn reference(tar: &Path, place: &Place) -> Result<Tree> {
    let folder = place.fresh()?;
    fs::create_dir(&folder)?;
    said_by(Command::new("tar").args(["--no-same-owner", "-xf"]).arg(tar).arg("-C").arg(&folder))?;
    let tree = Tree::read(&folder)?;
    place.done_with(&folder)?;
    Ok(tree)
}

/// Another archive of the same, beside it: made by a line for the shell, if it is not there yet.
fn made_of(tar: &Path, ending: &str, line: &str) -> Result<PathBuf> {
    let archive = tar.with_extension(ending);
    if !archive.exists() {
        eprintln!("making {}, once", archive.display());
        let part = archive.with_extension("part");
        said_by(Command::new("sh").args(["-c", line, "sh"]).args([tar, &part]))?;
        fs::rename(part, &archive)?;
    }
    Ok(archive)
}

/// The tar in the cache: fetched as the Debian package it is part of, if it isn't there yet.
pub(super) fn linux_tar(cache: &Path) -> Result<PathBuf> {
    let tar = cache.join(format!("{PACKAGE}.tar"));
    if tar.exists() {
        return Ok(tar);
    }
    fs::create_dir_all(cache)?;
    let package = match package_in(cache)? {
        Some(package) => package,
        None => {
            let fetched = Command::new("apt-get").args(["download", "-qq", PACKAGE]).current_dir(cache).status();
            ensure!(fetched.context("needs apt-get")?.success(), "apt-get cannot download {PACKAGE}");
            package_in(cache)?.with_context(|| format!("apt-get left no {PACKAGE}"))?
        }
    };
    eprintln!("decompressing {}, once", package.display());
    let part = tar.with_extension("part");
    let inner = format!("./usr/src/{PACKAGE}.tar.xz");
    let mut stages: Vec<Child> = Vec::new();
    for (program, arguments) in [
        ("dpkg-deb", vec!["--fsys-tarfile", path_text(&package)?]),
        ("tar", vec!["-xO", &inner]),
        ("xz", vec!["-dc", "-T0"]),
    ] {
        let input = match stages.last_mut().and_then(|stage| stage.stdout.take()) {
            Some(output) => Stdio::from(output),
            None => Stdio::null(),
        };
        let output = if program == "xz" { File::create(&part)?.into() } else { Stdio::piped() };
        let stage = Command::new(program).args(arguments).stdin(input).stdout(output).spawn();
        stages.push(stage.with_context(|| format!("needs {program}"))?);
    }
    // The last first: one in front that ends because nobody reads on says less.
    for stage in stages.iter_mut().rev() {
        let status = stage.wait()?;
        if !status.success() {
            bail!("{} cannot be unpacked: {status}", package.display());
        }
    }
    fs::rename(part, &tar)?;
    Ok(tar)
}

fn package_in(cache: &Path) -> Result<Option<PathBuf>> {
    let mut packages = fs::read_dir(cache)?.collect::<std::io::Result<Vec<_>>>()?.into_iter().map(|entry| entry.path());
    Ok(packages.find(|path| {
        path.extension().is_some_and(|it| it == "deb") && path_text(path).is_ok_and(|it| it.contains(PACKAGE))
    }))
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str().context("the cache's path is not plain text")
}
