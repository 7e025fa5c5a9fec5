//! `tree::Removal`, the command `remove`, and the peers.

use std::fs;
use std::path::Path;
use std::process::Command;

use manyfiles::tree::Removal;

use super::commands::manyfiles;
use super::row::{How, REMOVAL, Row, ours, peer};
use crate::scene::OnFailure::NewOrOld;
use crate::scene::{Node, Scene, large, small};
use crate::told::Tale;

const TREE: &str = "dst/old";

pub fn rows() -> Vec<Row> {
    let program = |name, is_ours, command: fn(&Path) -> Option<Command>| Row {
        group: REMOVAL,
        name,
        is_ours,
        how: How::Program(command),
        scene: tree,
        stays_inside: is_ours,
    };
    vec![
        ours(REMOVAL, "tree::Removal", tree, remove).inside(),
        program("manyfiles remove", true, |folder| manyfiles(folder, &["remove", TREE])),
        peer(REMOVAL, "std::fs::remove_dir_all", tree, remove_dir_all),
        program("rm -r", false, |folder| {
            let mut command = Command::new("rm");
            command.current_dir(folder).args(["-r", "-f", TREE]);
            Some(command)
        }),
    ]
}

fn tree() -> Scene {
    let scene = Scene::default()
        .file_before("dst/old/a/small", small())
        .file_before("dst/old/a/large", large())
        .before("dst/old/a/soft", Node::Link("../../../src"))
        .file_before("dst/old/b/c/empty", Vec::new())
        .file_before("dst/old/last", small())
        .file_before("dst/beside", small())
        .file_before("src/kept", large());
    ["dst/old/a/small", "dst/old/a/large", "dst/old/a/soft", "dst/old/b/c/empty", "dst/old/last"]
        .into_iter()
        .fold(scene, |scene, path| scene.then(path, None, NewOrOld))
}

fn remove(folder: &Path, tale: &mut Tale) {
    let removed = Removal::new().remove(folder.join(TREE));
    tale.list(removed.map_err(Into::into));
}

fn remove_dir_all(folder: &Path, tale: &mut Tale) {
    let path = folder.join(TREE);
    tale.call(&path, fs::remove_dir_all(&path));
}
