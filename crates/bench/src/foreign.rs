//! Mounts as other people's programs make them, over files in memory: what a call costs there is that program's work,
//! and no delay that somebody chose.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use manyfiles_testkit::Need;
use tempfile::TempDir;

use crate::process::said_by;

/// A mount, until it is dropped.
pub struct Foreign {
    point: PathBuf,
    backing: Option<PathBuf>,
    _temp: TempDir,
}

impl Foreign {
    /// sshfs over OpenSSH, both ends on this machine: encrypted, and without a network between them.
    pub fn sshfs() -> Result<Foreign> {
        let temp = folders(&["sshfs", "ssh", "sshd", "ssh-keygen"])?;
        let at = |name: &str| temp.path().join(name);
        for key in ["host", "user"] {
            said_by(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key)))?;
        }
        std::fs::rename(at("user.pub"), at("authorized"))?;
        // sshd wants its own absolute path, and this folder for the process that talks to strangers.
        let sshd = said_by(Command::new("sh").args(["-c", "command -v sshd"]))?;
        std::fs::create_dir_all("/run/sshd")?;
        let serve = [
            sshd.trim().to_owned(),
            "-i -f /dev/null -o UsePAM=no -o StrictModes=no -o Subsystem=\"sftp internal-sftp\"".to_owned(),
            format!("-o HostKey={} -o AuthorizedKeysFile={}", at("host").display(), at("authorized").display()),
            "2>/dev/null".to_owned(),
        ];
        let program = temp.path().join("serve");
        std::fs::write(&program, format!("exec {}\n", serve.join(" ")))?;
        let options = [
            format!("ProxyCommand=sh {}", program.display()),
            format!("IdentityFile={}", at("user").display()),
            "StrictHostKeyChecking=no".into(),
            "UserKnownHostsFile=/dev/null".into(),
            "LogLevel=ERROR".into(),
        ];
        let mut mount = Command::new("sshfs");
        mount.arg(format!("here:{}", at("backing").display())).arg(at("mount")).args(["-F", "/dev/null"]);
        for option in options {
            mount.args(["-o", &option]);
        }
        Foreign::mounted(temp, mount, true)
    }

    /// gocryptfs: every file is encrypted, and its name.
    pub fn gocryptfs() -> Result<Foreign> {
        let temp = folders(&["gocryptfs"])?;
        let at = |name: &str| temp.path().join(name);
        std::fs::write(at("password"), "benchmark\n")?;
        let gocryptfs = || {
            let mut command = Command::new("gocryptfs");
            command.args(["-q", "-passfile"]).arg(at("password"));
            command
        };
        said_by(gocryptfs().args(["-init", "-scryptn", "10"]).arg(at("backing")))?;
        let mut mount = gocryptfs();
        mount.arg(at("backing")).arg(at("mount"));
        Foreign::mounted(temp, mount, false)
    }

    fn mounted(temp: TempDir, mut mount: Command, shows_its_files: bool) -> Result<Foreign> {
        said_by(&mut mount)?;
        let backing = shows_its_files.then(|| temp.path().join("backing"));
        Ok(Foreign { point: temp.path().join("mount"), backing, _temp: temp })
    }

    /// Its root.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// The same files without the mount, where they are readable there.
    pub fn backing(&self) -> &Path {
        self.backing.as_ref().unwrap_or(&self.point)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let end = Command::new("fusermount3").arg("-u").arg(&self.point).status().context("fusermount3");
        if !end.is_ok_and(|status| status.success()) {
            eprintln!("{} is still mounted", self.point.display());
        }
    }
}

fn folders(programs: &[&'static str]) -> Result<TempDir> {
    for program in programs {
        Need::Program(program).check().map_err(anyhow::Error::msg)?;
    }
    Need::Fuse.check().map_err(anyhow::Error::msg)?;
    let temp = manyfiles_testkit::scratch()?;
    for folder in ["backing", "mount"] {
        std::fs::create_dir(temp.path().join(folder))?;
    }
    Ok(temp)
}
