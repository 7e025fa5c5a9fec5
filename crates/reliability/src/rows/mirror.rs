//! `tree::Mirror`, the command `copy --mirror`, and rsync.

use std::path::Path;
use std::process::Command;

use manyfiles::tree::Mirror;
use manyfiles_testkit::Need;

use super::commands::manyfiles;
use super::row::{How, MIRRORS, Row, ours};
use crate::scene::OnFailure::{Anything, NewOrOld, WholeOrNothing};
use crate::scene::{Node, Scene, large, old, small};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    let program = |name, is_ours, scene, command: fn(&Path) -> Option<Command>| Row {
        group: MIRRORS,
        name,
        is_ours,
        how: How::Program(command),
        scene,
        stays_inside: is_ours,
    };
    vec![
        ours(MIRRORS, "tree::Mirror", trees, mirror).inside(),
        program("manyfiles copy --mirror", true, trees, |folder| {
            manyfiles(folder, &["copy", "--mirror", "src", "dst"])
        }),
        program("rsync -aH --delete", false, promises_nothing, |folder| {
            Need::Program("rsync").check().ok()?;
            let mut command = Command::new("rsync");
            command.current_dir(folder).args(["-aH", "--delete", "src/", "dst"]);
            Some(command)
        }),
    ]
}

/// One file new, one in a new folder, one changed, a link, and two that are only in the target, one of them in a folder.
fn trees() -> Scene {
    let scene = Scene::default()
        .file_before("src/a/new", small())
        .file_before("src/b/c/large", large())
        .file_before("src/changed", small())
        .before("src/soft", Node::Link("a/new"))
        .file_before("dst/changed", old())
        .file_before("dst/a/gone", small())
        .file_before("dst/old/gone", large())
        .file("dst/a/new", small(), WholeOrNothing)
        .from("src/a/new")
        .file("dst/b/c/large", large(), WholeOrNothing)
        .from("src/b/c/large")
        .file("dst/changed", small(), NewOrOld)
        .from("src/changed")
        .then("dst/soft", Some(Node::Link("a/new")), WholeOrNothing)
        .from("src/soft");
    // Nothing is removed if anything failed: an error may name anything else.
    ["dst/a/gone", "dst/old/gone"]
        .into_iter()
        .fold(scene, |scene, path| ALL.into_iter().fold(scene.then(path, None, NewOrOld), Scene::from))
}

const ALL: [&str; 19] = [
    "src",
    "src/a",
    "src/a/new",
    "src/b",
    "src/b/c",
    "src/b/c/large",
    "src/changed",
    "src/soft",
    "dst",
    "dst/a",
    "dst/a/gone",
    "dst/a/new",
    "dst/b",
    "dst/b/c",
    "dst/b/c/large",
    "dst/changed",
    "dst/old",
    "dst/old/gone",
    "dst/soft",
];

fn promises_nothing() -> Scene {
    let mut scene = trees();
    scene.after.iter_mut().for_each(|expected| expected.on_failure = Anything);
    scene
}

fn mirror(folder: &Path, tale: &mut Tale) {
    let mirrored = Mirror::new().mirror(folder.join("src"), folder.join("dst"));
    tale.list(mirrored.map_err(Into::into));
}
