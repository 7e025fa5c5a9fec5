//! Programs for Windows, run by wine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::process::said_by;

const TRIPLE: &str = "x86_64-pc-windows-gnu";

/// Wine, set up as for the tests, with a server that this process started: one that is started by a program whose
/// closes are delayed would delay its own.
pub struct Wine {
    environment: HashMap<String, String>,
}

impl Wine {
    /// Sets it up if that has not been done yet. An error says why it cannot be had here.
    pub fn start() -> Result<Wine> {
        let output = Command::new(script("test-windows")).args(["--run", "env"]).output()?;
        let said = String::from_utf8(output.stdout)?;
        if let Some(why) = said.lines().find(|line| line.starts_with("skipped: ")) {
            bail!("{why}");
        }
        ensure!(output.status.success(), "test-windows: {}", String::from_utf8_lossy(&output.stderr).trim());
        let pairs = said.lines().filter_map(|line| line.split_once('='));
        let wine = Wine { environment: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect() };
        // One that an interrupted run left behind may be a delayed one. (Fails if there is none.)
        wine.server("--kill").status()?;
        let status = wine.server("--persistent").status()?;
        ensure!(status.success(), "wine's server: {status}");
        Ok(wine)
    }

    /// Builds a program in a folder with a manifest. Returns the path of the executable.
    pub fn build(&self, manifest: &Path) -> Result<PathBuf> {
        let mut cargo = Command::new(script("cargo-for"));
        cargo.args([TRIPLE, "build", "--release", "--message-format=json-render-diagnostics", "--manifest-path"]);
        let target = crate::groups::target_folder().unwrap_or_else(std::env::temp_dir);
        let said = said_by(cargo.arg(manifest).env("CARGO_TARGET_DIR", target).envs(&self.environment))?;
        let (_, rest) = said.rsplit_once("\"executable\":\"").context("cargo names the program it built")?;
        Ok(rest.split('"').next().expect("there is a first part").into())
    }

    /// What runs a program. Folders of this system are on the drive `Z:`.
    pub fn command(&self, program: &Path) -> Result<Command> {
        let wine = self.environment.get("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER").context("the runner is set")?;
        let mut command = Command::new(wine);
        command.arg(program).envs(&self.environment).stdin(Stdio::null());
        Ok(command)
    }

    fn server(&self, argument: &str) -> Command {
        let known = ["/usr/lib/wine/wineserver64", "/usr/lib/wine/wineserver"];
        let path = known.into_iter().find(|path| Path::new(path).exists()).unwrap_or("wineserver");
        let mut command = Command::new(path);
        command.arg(argument).envs(&self.environment).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        if let Err(e) = self.server("--kill").status() {
            eprintln!("cannot end wine's server: {e}");
        }
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}
