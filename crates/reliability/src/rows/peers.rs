//! Other programs that unpack and copy.

use std::path::Path;
use std::process::Command;

use manyfiles_testkit::Need;

use super::commands::{copied, listed, packed, unpacked};
use super::row::{COMMANDS, How, Row};
use crate::scene::OnFailure::Anything;
use crate::scene::Scene;

pub fn rows() -> Vec<Row> {
    vec![
        peer("GNU tar -x", archive, |folder| program("tar", folder, &["-xf", "src/archive.tar", "-C", "dst"])),
        peer("bsdtar -x", archive, |folder| program("bsdtar", folder, &["-xf", "src/archive.tar", "-C", "dst"])),
        peer("GNU tar -c", packed, |folder| program("tar", folder, &["-cf", "dst/archive.tar", "-C", "src", "."])),
        peer("bsdtar -c", packed, |folder| program("bsdtar", folder, &["-cf", "dst/archive.tar", "-C", "src", "."])),
        peer("GNU tar -t", listed, |folder| program("tar", folder, &["-tf", "src/archive.tar"])),
        peer("bsdtar -t", listed, |folder| program("bsdtar", folder, &["-tf", "src/archive.tar"])),
        // An exception ends it: what comes later is not there, as the caller knows.
        peer(
            "Python, tarfile",
            || archive().failing_as_one(),
            |folder| python(folder, "import tarfile; tarfile.open('src/archive.tar').extractall('dst')"),
        ),
        peer("cp -a", copies, |folder| program("cp", folder, &["-a", "src/.", "dst"])),
        peer(
            "Python, shutil.copytree",
            || copies().failing_as_one(),
            |folder| python(folder, "import shutil; shutil.copytree('src', 'dst', symlinks=True, dirs_exist_ok=True)"),
        ),
    ]
}

fn peer(name: &'static str, scene: fn() -> Scene, program: fn(&Path) -> Option<Command>) -> Row {
    Row { group: COMMANDS, name, is_ours: false, how: How::Program(program), scene, stays_inside: false }
}

fn program(name: &'static str, folder: &Path, args: &[&str]) -> Option<Command> {
    Need::Program(name).check().ok()?;
    let mut command = Command::new(name);
    command.current_dir(folder).args(args);
    Some(command)
}

/// Past wrappers that choose a version, which would be processes of their own.
fn python(folder: &Path, script: &str) -> Option<Command> {
    // Alone (-I), it does not look for modules in its current folder.
    let args = ["-I", "-S", "-c", script];
    let mut command = program("python3", folder, &args)?;
    for path in ["/usr/bin/python3", "/usr/local/bin/python3"] {
        if Path::new(path).is_file() {
            command = Command::new(path);
            command.current_dir(folder).args(args);
            break;
        }
    }
    Some(command)
}

fn archive() -> Scene {
    promises_nothing(unpacked())
}

fn copies() -> Scene {
    promises_nothing(copied())
}

/// None of them promises what stays of a file that failed.
fn promises_nothing(mut scene: Scene) -> Scene {
    for expected in &mut scene.after {
        expected.on_failure = Anything;
    }
    scene
}
