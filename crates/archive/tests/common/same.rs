//! Compares what an archive shows with what unpacking it writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manyfiles::tree::TreeWriter;
use manyfiles_archive::{Archive, Input, Kind, Limits, Unpacker};
use manyfiles_testkit::{Kind as On, Tree};

/// What is at a path: `file 1a2b3c`, `folder`, `link to x`.
pub(crate) fn shown(archive: &Archive) -> BTreeMap<PathBuf, String> {
    let mut shown = BTreeMap::new();
    archive
        .walk("", &mut |entry| {
            let what = match entry.kind {
                Kind::File => {
                    let content = archive.read(entry.path).map_err(|error| error.to_string());
                    format!("file {:?}", content.map(|content| digest(&content)))
                }
                Kind::Folder => "folder".into(),
                Kind::Symlink(target) => format!("link to {}", target.display()),
                other => format!("{other:?}"),
            };
            assert!(shown.insert(entry.path.to_path_buf(), what).is_none(), "{} twice", entry.path.display());
        })
        .unwrap();
    shown
}

fn digest(content: &[u8]) -> (usize, u32) {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    (content.len(), crc.sum())
}

/// What unpacking writes into an empty folder. `None`: it fails; or the tree has kept a name for a folder that a
/// refused entry asked for, and refused a later entry of this name.
pub(crate) fn written(archive: &Path) -> Option<BTreeMap<PathBuf, String>> {
    let temp = manyfiles_testkit::scratch().unwrap();
    let root = temp.path().join("root");
    let tree = TreeWriter::options().last_wins(true).threads(1).open(&root).unwrap();
    let unpacker = Unpacker::options().threads(1).special_files(true).limits(Limits::default()).build();
    let unpacked = unpacker.unpack(Input::File(archive.into()), &tree);
    let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
    // Shown if the test fails.
    report.failures.iter().for_each(|failure| println!("{failure}"));
    unpacked.ok()?;
    if report.failures.iter().any(|failure| failure.to_string().contains("a folder of this tree has the name")) {
        return None;
    }
    let mut written = BTreeMap::new();
    for (path, entry) in &Tree::read(&root).unwrap().entries {
        if path.as_os_str().is_empty() {
            continue;
        }
        let what = match &entry.kind {
            On::File { .. } => format!("file {:?}", Ok::<_, String>(digest(&std::fs::read(root.join(path)).unwrap()))),
            On::Folder => "folder".into(),
            On::Symlink(target) => format!("link to {}", target.display()),
            other => format!("{other:?}"),
        };
        written.insert(path.clone(), what);
    }
    Some(written)
}
