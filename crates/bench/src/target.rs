//! What cargo has built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The folder that cargo builds into, if this program is from there.
pub fn target_folder() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists()).map(Path::to_owned)
}

/// The release build of the command, beside this program's own.
pub fn build_command() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let built = Command::new(cargo).args(["build", "--release", "--quiet", "-p", "manyfiles-cli"]).status()?;
    ensure!(built.success(), "cannot build the command");
    let target = target_folder().context("this program is not in a cargo target folder")?;
    Ok(target.join("release/manyfiles"))
}
