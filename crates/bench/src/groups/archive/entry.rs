//! One file of 100,000 read, by its name: from an archive, and from the folder that it would be unpacked into.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use manyfiles::tree::Metadata;
use manyfiles_archive::{Archive, ArchiveWriter};
use manyfiles_measure::contest::Site;
use manyfiles_testkit::Corpus;

use super::mount::Mounted;
use super::{GROUP, ratarmount};
use crate::checks::SEED;
use crate::contest::{self, Check, Contest, Entrant, FEW, Goal, Plan, Sample, timed};
use crate::place::Place;
use crate::report::Book;
use Goal::{Faster, Shown};

const FILES: usize = 100_000;
/// How many are read in one run, in an order that has no order.
const READS: usize = 1_000;
const LIMIT: f64 = 50e-6;

/// Opens the archive, reads the files that standard input names, and prints what one took.
const PYTHON: &str = r#"
import sys, tarfile, zipfile, time
archive, what = sys.argv[1:]
names = sys.stdin.read().split()
def of_tar():
    t = tarfile.open(archive); t.getmembers()
    return lambda name: t.extractfile(name).read()
def of_zip():
    return zipfile.ZipFile(archive).read
begin = time.perf_counter(), time.process_time()
read = of_zip() if archive.endswith('.zip') else of_tar()
if what == 'open':
    count = 1
else:
    begin = time.perf_counter(), time.process_time()
    for name in names: read(name)
    count = len(names)
end = time.perf_counter(), time.process_time()
print((end[0] - begin[0]) / count, (end[1] - begin[1]) / count)
"#;

pub fn run(plan: Plan, cache: &Path, book: &mut Book) -> Result<()> {
    let corpus = Corpus::spread(FILES, 100, SEED);
    let place = Place::tmpfs()?;
    let store = place.fresh()?;
    let (folder, kept) = (store.join("folder"), store.join("kept"));
    fs::create_dir_all(&kept)?;
    corpus.write(&folder)?;
    let disk = book.place_or_skip("archive, a folder on ext4", Place::ext4());
    let on_disk = match &disk {
        Some(disk) => {
            let folder = disk.fresh()?;
            corpus.write(&folder)?;
            Some(folder)
        }
        None => None,
    };
    let ratarmount = ratarmount(cache).inspect_err(|why| book.skip("archive, ratarmount", &format!("{why:#}"))).ok();
    for ending in ["tar", "zip", "tar.zst", "tar.gz"] {
        let archive = store.join(format!("entries.{ending}"));
        let writer = ArchiveWriter::create(&archive)?;
        for (path, bytes) in &corpus.files {
            writer.file(path, bytes.clone(), Metadata::default())?;
        }
        writer.finish()?;
        let scene = Scene { corpus: &corpus, archive: &archive, kept: &kept, ending, place: &place };
        scene.open(plan, book);
        scene.read(&folder, on_disk.as_deref(), ratarmount.as_deref(), plan, book)?;
    }
    place.done_with(&store)
}

struct Scene<'a> {
    corpus: &'a Corpus,
    archive: &'a Path,
    /// Where our indexes are.
    kept: &'a Path,
    ending: &'a str,
    place: &'a Place,
}

impl Scene<'_> {
    fn open(&self, plan: Plan, book: &mut Book) {
        let check: Check<'_> = Box::new(|_| Ok(()));
        let ours = |cache: Option<&Path>| -> Result<Sample> {
            let mut opened = None;
            let options = Archive::options().cache(cache.map(Path::to_path_buf));
            let sample = timed(|| {
                opened = Some(options.open(self.archive)?);
                Ok(())
            })?;
            ensure!(opened.is_some_and(|it| it.contains(&self.corpus.files[FILES / 2].0)), "a file is missing");
            Ok(sample)
        };
        let mut entrants = vec![
            Entrant::new("Archive::open, no index", Shown, &check, Box::new(|_| ours(None))),
            Entrant::new("Archive::open, index kept", Shown, &check, Box::new(|_| ours(Some(self.kept)))),
        ];
        // They know no zstd.
        if self.ending != "tar.zst" {
            entrants.push(Entrant::new(self.python_name(), Shown, &check, Box::new(|_| self.python("open"))));
        }
        let what = format!("a {} of 100,000 files opened", self.ending);
        book.enter(contest::run(Contest { group: GROUP, what, place: self.place, entrants }, plan));
    }

    fn read(
        &self,
        folder: &Path,
        on_disk: Option<&Path>,
        ratarmount: Option<&Path>,
        plan: Plan,
        book: &mut Book,
    ) -> Result<()> {
        let check: Check<'_> = Box::new(|_| Ok(()));
        let ours = |_: &Path| {
            let archive = Archive::options().cache(Some(self.kept.into())).open(self.archive)?;
            self.each(|path| Ok(archive.read(path)?))
        };
        let mut entrants = vec![
            Entrant::new("Archive::read", Shown, &check, Box::new(ours)),
            Entrant::new(
                "the limit",
                Faster(1.0),
                &check,
                Box::new(|_| Ok(Sample { seconds: LIMIT, ..Sample::default() })),
            ),
        ];
        let std = |folder: PathBuf| move |_: &Path| self.each(|path| Ok(fs::read(folder.join(path))?));
        entrants.push(Entrant::new("std::fs::read, folder", Shown, &check, Box::new(std(folder.into()))));
        if let Some(folder) = on_disk {
            let entrant = Entrant::new("std::fs::read, folder on ext4", Shown, &check, Box::new(std(folder.into())));
            entrants.push(entrant);
        }
        // A tarfile of Python goes back to the beginning of a gzip for each file.
        if !matches!(self.ending, "tar.zst" | "tar.gz") {
            entrants.push(Entrant::new(self.python_name(), Shown, &check, Box::new(|_| self.python("read"))));
        }
        if let Some(program) = ratarmount {
            let run = move |folder: &Path| {
                let mounted = Mounted::by_ratarmount(program, self.archive, folder, self.kept)?;
                let read = self.each(|path| Ok(fs::read(folder.join(path))?));
                mounted.end()?;
                read
            };
            let entrant = Entrant::new("ratarmount", Shown, &check, Box::new(run));
            entrants.push(Entrant { rounds_at_most: Some(FEW), ..entrant });
        }
        let what = format!("a file of 100,000 read, {}", self.ending);
        book.enter(contest::run(Contest { group: GROUP, what, place: self.place, entrants }, plan));
        Ok(())
    }

    /// What one of the reads takes.
    fn each(&self, mut read: impl FnMut(&Path) -> Result<Vec<u8>>) -> Result<Sample> {
        let sample = timed(|| {
            self.chosen().try_for_each(|(path, bytes)| {
                ensure!(read(path)?[..] == bytes[..], "other bytes in {}", path.display());
                Ok(())
            })
        })?;
        let reads = READS as f64;
        Ok(Sample { seconds: sample.seconds / reads, cpu_seconds: sample.cpu_seconds / reads, ..sample })
    }

    /// The files that are read: steps of a prime through all of them.
    fn chosen(&self) -> impl Iterator<Item = &(PathBuf, std::sync::Arc<[u8]>)> {
        (0..READS).map(|n| &self.corpus.files[n * 61_819 % FILES])
    }

    fn python_name(&self) -> &'static str {
        if self.ending == "zip" { "Python's zipfile" } else { "Python's tarfile" }
    }

    fn python(&self, what: &str) -> Result<Sample> {
        let mut child = Command::new("python3")
            .args(["-c", PYTHON])
            .arg(self.archive)
            .arg(what)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("needs python3")?;
        let names: Vec<_> = self.chosen().map(|(path, _)| path.display().to_string()).collect();
        child.stdin.take().context("it has a pipe")?.write_all(names.join("\n").as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "python3: {}", output.status);
        let said = String::from_utf8(output.stdout)?;
        let (seconds, cpu_seconds) = said.trim().split_once(' ').context("it prints two figures")?;
        Ok(Sample { seconds: seconds.parse()?, cpu_seconds: cpu_seconds.parse()?, ..Sample::default() })
    }
}
