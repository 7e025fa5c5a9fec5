//! Programs to compare with that no package of the system has: installed in the cache when they are first asked for.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process::said_by;

/// A program of the registry of crates, at this version.
pub fn by_cargo(cache: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let folder = cache.join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.exists() {
        eprintln!("building {name} {version}, once");
        let mut install = Command::new("cargo");
        install.args(["install", "--quiet", "--locked", &format!("{name}@{version}"), "--root"]).arg(&folder);
        said_by(&mut install)?;
        ensure!(program.exists(), "{name} {version} is installed and has no program of that name");
    }
    Ok(program)
}

/// A program of the index of Python packages, at this version.
pub fn by_pip(cache: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let folder = cache.join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.exists() {
        eprintln!("installing {name} {version}, once");
        said_by(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(folder.join("bin/python"));
        said_by(install.args(["-m", "pip", "install", "--quiet", &format!("{name}=={version}")]))?;
        ensure!(program.exists(), "{name} {version} is installed and has no program of that name");
    }
    Ok(program)
}
