//! Mercurial's own file layer as an entrant: plain, and with its background closer.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use manyfiles_testkit::{Corpus, Need};
use tempfile::TempDir;

use crate::contest::Sample;
use crate::process::{self, said_by};

/// Reads all files below SOURCE, then writes them below TO as Mercurial writes a working copy, and prints the seconds
/// and the processor's of the writing. Its vfs removes what has the name before it writes; its closer has four threads
/// and a queue of 384 files, and by itself begins at 2,048.
const SCRIPT: &str = r#"
import os, sys, time
from mercurial import ui as uimod, vfs as vfsmod
source, to, background = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]), sys.argv[3] == "background"
files = []
for folder, _, names in os.walk(source):
    for name in sorted(names):
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            files.append((os.path.relpath(path, source), file.read()))
ui = uimod.ui.load()
ui.setconfig(b"worker", b"backgroundclose", background)
ui.setconfig(b"worker", b"backgroundcloseminfilecount", 1)
os.makedirs(to)
vfs = vfsmod.vfs(to)
clock, processor = time.perf_counter(), time.process_time()
with vfs.backgroundclosing(ui, expectedcount=len(files)):
    for path, content in files:
        with vfs(path, b"wb", backgroundclose=background) as file:
            file.write(content)
print(time.perf_counter() - clock, time.process_time() - processor)
"#;

/// Mercurial as it is installed here, and a corpus where its script can read it.
pub struct Mercurial {
    python: PathBuf,
    source: TempDir,
}

impl Mercurial {
    /// Errors where it is not installed.
    pub fn with(corpus: &Corpus) -> Result<Mercurial> {
        Need::Program("hg").check().map_err(anyhow::Error::msg)?;
        // The one that Mercurial itself runs on: others don't have its modules.
        let mut hg = Command::new("hg");
        let python = PathBuf::from(said_by(hg.args(["debuginstall", "-T", "{pythonexe}"]).env("HGPLAIN", "1"))?);
        ensure!(python.is_file(), "hg debuginstall names no Python");
        let source = manyfiles_testkit::scratch()?;
        corpus.write(source.path())?;
        Ok(Mercurial { python, source })
    }

    /// Writes the corpus below `to`.
    pub fn write(&self, to: &Path, background: bool) -> Result<Sample> {
        let mode = if background { "background" } else { "plain" };
        let mut script = Command::new(&self.python);
        script.args(["-c", SCRIPT]).arg(self.source.path()).arg(to).arg(mode).env("HGRCPATH", "");
        process::timed_by_itself(&mut script)
    }
}
