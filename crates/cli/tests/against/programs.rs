//! Running programs: as a user, with a umask, in a folder.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::case::Setup;

/// The number of the user `nobody` and of its group.
pub(crate) const NOBODY: u32 = 65534;

/// The result of a run.
pub(crate) struct Ran {
    /// `None`: it was killed by a signal, or because it did not end.
    pub code: Option<i32>,
    pub err: String,
    /// As a shell reads it.
    pub line: String,
}

/// Runs `args` in `folder`.
pub(crate) fn run<S: AsRef<OsStr>>(folder: &Path, setup: &Setup, args: &[S]) -> Ran {
    let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_str().unwrap()).collect();
    let umask = format!("umask {:03o}; exec \"$@\"", setup.umask);
    let mut line = vec!["sh", "-c", &umask, "sh"];
    if setup.nobody {
        line.splice(0..0, ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    line.extend(&args);
    let mut command = assert_cmd::Command::new(line[0]);
    command.args(&line[1..]).current_dir(folder).env("LC_ALL", "C.UTF-8").timeout(Duration::from_secs(30));
    let output = command.output().unwrap();
    let said = [output.stderr, output.stdout].concat();
    let err = String::from_utf8_lossy(&said).into_owned();
    Ran { code: output.status.code(), err, line: shown(setup, &args) }
}

fn shown(setup: &Setup, args: &[&str]) -> String {
    let quoted = args.iter().map(|arg| match arg.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=".contains(c)) {
        true => (*arg).to_owned(),
        false => format!("'{arg}'"),
    });
    let who = if setup.nobody { " (as nobody)" } else { "" };
    format!("umask {:03o}; {}{who}", setup.umask, quoted.collect::<Vec<_>>().join(" "))
}

/// Whether the user `nobody` may run the command and see the scratch folder; else why not.
pub(crate) fn nobody_can_run(program: &Path) -> Result<(), String> {
    let quiet = |args: &[&OsStr]| {
        std::process::Command::new("setpriv").args(args).stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"].map(OsStr::new);
    match quiet(&[&user[..], &[program.as_os_str(), OsStr::new("--version")]].concat()) {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("setpriv cannot run {} as nobody", program.display())),
    }
}
