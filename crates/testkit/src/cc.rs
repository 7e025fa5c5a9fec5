//! Compiles the C sources of this crate when they are first needed, so that a machine without a C compiler or libfuse
//! can build everything else.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiled form of `source` (a program, or with `-shared` among the flags a library), from the cache if it is
/// there.
pub(crate) fn compiled(name: &str, source: &str, flags: &[String]) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (source, flags).hash(&mut hasher);
    let cache = cache_folder();
    let product = cache.join(format!("{name}-{:016x}", hasher.finish()));
    if product.exists() {
        return Ok(product);
    }
    std::fs::create_dir_all(&cache)?;
    // Compiled aside and renamed: tests that start together may each compile, but none runs half a file.
    let work = tempfile::tempdir_in(&cache)?;
    let (input, output) = (work.path().join(format!("{name}.c")), work.path().join(name));
    std::fs::write(&input, source)?;
    run(Command::new("cc").args(["-O2", "-Wall", "-Wextra", "-o"]).args([&output, &input]).args(flags))?;
    std::fs::rename(&output, &product)?;
    Ok(product)
}

/// What `pkg-config` says a program that uses `library` is to be compiled with.
pub(crate) fn pkg_config(library: &str) -> io::Result<Vec<String>> {
    let text = run(Command::new("pkg-config").args(["--cflags", "--libs", library]))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Runs a command to its end. Its standard output, or an error with what it said on standard error.
pub(crate) fn run(command: &mut Command) -> io::Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|e| io::Error::new(e.kind(), format!("{shown}: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{shown}: {}: {}", output.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Beside cargo's own products if this program is one of them, else in the folder for temporary files.
fn cache_folder() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    let target = exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    target.map_or_else(std::env::temp_dir, Path::to_path_buf).join("testkit")
}
