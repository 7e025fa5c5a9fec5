//! An ext4 on a device that runs full beneath it: the file system has given away space that the device turns out not to
//! have, as a thinly provisioned one does, so that a write succeeds and its sync fails.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use manyfiles_testkit::Disk;

pub struct ThinDisk {
    point: PathBuf,
    image: PathBuf,
    ballast: PathBuf,
    // Unmounted after the file system in it.
    _backing: Disk,
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {err}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl ThinDisk {
    pub fn new() -> ThinDisk {
        let backing = Disk::tmpfs().megabytes(40).mount().unwrap();
        let (point, image) = (backing.path().join("mount"), backing.path().join("image"));
        let ballast = backing.path().join("ballast");
        fs::create_dir(&point).unwrap();
        fs::write(&image, vec![0; 32 << 20]).unwrap();
        let image_text = image.to_str().unwrap();
        run(
            "mkfs.ext4",
            &[
                "-q",
                "-F",
                "-b",
                "4096",
                "-J",
                "size=4",
                "-E",
                "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
                image_text,
            ],
        );
        // All that is not free keeps its place, and what is free has none.
        fs::write(&image, fs::read(&image).unwrap()).unwrap();
        let about = run("dumpe2fs", &[image_text]);
        for line in about.lines().filter_map(|line| line.strip_prefix("  Free blocks: ")) {
            for range in line.split(", ").filter(|range| !range.trim().is_empty()) {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let (first, last): (u64, u64) = (first.trim().parse().unwrap(), last.trim().parse().unwrap());
                let (offset, len) = ((first * 4096).to_string(), ((last - first + 1) * 4096).to_string());
                run("fallocate", &["-p", "-o", &offset, "-l", &len, image_text]);
            }
        }
        let disk = ThinDisk { point, image, ballast, _backing: backing };
        disk.mount();
        disk
    }

    pub fn path(&self) -> &Path {
        &self.point
    }

    fn mount(&self) {
        run("mount", &["-o", "loop,errors=continue", self.image.to_str().unwrap(), self.point.to_str().unwrap()]);
    }

    /// From now on what needs new blocks cannot be synced.
    pub fn run_full(&self) {
        let mut ballast = File::create(&self.ballast).unwrap();
        while ballast.write_all(&[1; 4096]).is_ok() {}
        // What the file system still had of the device.
        for n in 0..8 {
            let mut junk = File::create(self.point.join(format!("junk{n}"))).unwrap();
            drop(junk.write_all(&[3; 64 << 10]));
            drop(junk.sync_data());
        }
    }

    /// There is room again.
    pub fn make_room(&self) {
        fs::remove_file(&self.ballast).unwrap();
    }

    /// What a crash leaves of everything: the page cache forgets the file system.
    pub fn remount(&self) {
        run("umount", &[self.point.to_str().unwrap()]);
        self.mount();
    }
}

impl Drop for ThinDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.point).output());
    }
}
