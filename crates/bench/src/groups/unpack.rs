//! The Linux source's tar, onto tmpfs, as a whole process against tar, bsdtar and 7zz.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use manyfiles_testkit::{Compare, Need, Tree};

use crate::checks::{alike, same};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Sample};
use crate::place::Place;
use crate::process;
use crate::report::Book;
use crate::target::build_command;
use Goal::Faster;
use manyfiles_measure::contest::Site;

const PACKAGE: &str = "linux-source-6.1";
/// Peak resident memory that the command may have, pages of a mapped archive included.
const MEMORY: u64 = 128_000_000;

/// A command that unpacks a tar.
struct Tool {
    name: &'static str,
    target: Goal,
    program: &'static str,
    /// The arguments between the program and the two paths' own: the archive comes after these, the folder at the end.
    before_archive: &'static [&'static str],
    before_folder: &'static str,
}

/// Ours and its peers. As root, tar and bsdtar would set every owner too, which ours does only when asked to: so they
/// are told not to, and shown in their default once more.
const TOOLS: [Tool; 5] = [
    Tool {
        name: "manyfiles",
        target: Goal::Shown,
        program: "manyfiles",
        before_archive: &["unpack", "-q"],
        before_folder: "-C",
    },
    tool("tar", "GNU tar, no owners", Faster(1.9), &["--no-same-owner", "-xf"], "-C"),
    tool("bsdtar", "bsdtar, no owners", Faster(2.5), &["--no-same-owner", "-xf"], "-C"),
    tool("7zz", "7zz", Faster(2.5), &["x", "-y", "-bd", "-snld"], "-o"),
    tool("tar", "GNU tar", Goal::Shown, &["-xf"], "-C"),
];

const fn tool(
    program: &'static str,
    name: &'static str,
    target: Goal,
    before_archive: &'static [&'static str],
    before_folder: &'static str,
) -> Tool {
    Tool { name, target, program, before_archive, before_folder }
}

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
    let archived = fs::metadata(&tar)?.mtime();
    let (files, bytes) = expected.files();
    book.note(format!("{PACKAGE}: {} entries, {files} files, {:.2} GB", expected.entries.len(), bytes as f64 / 1e9));

    // Some folders have no entry of their own in the archive: their times are those of the unpacking, and not compared.
    let mut dated = expected.clone();
    dated.entries.retain(|_, entry| entry.modified.0 < archived);
    let check: Check<'_> = Box::new(|folder| {
        let mut actual = Tree::read(folder)?;
        same(&expected, &actual)?;
        actual.entries.retain(|path, _| dated.entries.contains_key(path));
        alike(&dated, &actual, Compare { times: true, ..Compare::default() })
    });
    let mut entrants = Vec::new();
    for tool in &TOOLS {
        let program = if tool.program == "manyfiles" { ours.clone() } else { tool.program.into() };
        if let (Err(why), true) = (Need::Program(tool.program).check(), tool.program != "manyfiles") {
            book.skip(&format!("unpack, {}", tool.name), &why);
            continue;
        }
        let tar = &tar;
        let run = move |folder: &Path| unpack(tool, program.as_ref(), tar, folder);
        entrants.push(Entrant::new(tool.name, tool.target, &check, Box::new(run)));
    }
    let contest = Contest { group: "unpack", what: "Linux 6.1 source, tar".into(), place: &place, entrants };
    let outcome = contest::run(contest, plan);
    if let Some(outcome) = &outcome {
        book.enter_memory_limit(outcome, MEMORY);
    }
    book.enter(outcome);
    Ok(())
}

fn unpack(tool: &Tool, program: &OsStr, tar: &Path, folder: &Path) -> Result<Sample> {
    fs::create_dir(folder)?;
    let mut last = OsString::from(tool.before_folder);
    // 7zz wants `-oFOLDER`.
    let separate = (tool.before_folder == "-C").then(|| std::mem::take(&mut last));
    last.push(folder);
    let mut command = vec![program];
    command.extend(tool.before_archive.iter().map(OsStr::new));
    command.push(tar.as_ref());
    command.extend(separate.as_deref());
    command.push(&last);
    process::measure(&command)
}

/// What GNU tar makes of the archive is what everybody is to make of it.
fn reference(tar: &Path, place: &Place) -> Result<Tree> {
    let folder = place.fresh()?;
    unpack(&TOOLS[1], "tar".as_ref(), tar, &folder)?;
    let tree = Tree::read(&folder)?;
    place.done_with(&folder)?;
    Ok(tree)
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
