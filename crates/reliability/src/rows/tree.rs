//! `TreeWriter`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use manyfiles::tree::{Content, Digest, Durability, MappedFile, Metadata, OnConflict, Options, Outcome, TreeWriter};

use super::row::{Row, TREE, ours};
use crate::scene::OnFailure::{Anything, NewOrOld, WholeOrNothing};
use crate::scene::{LARGE, Node, OnFailure, SMALL, Scene, large, old, small};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    let rows = vec![
        ours(TREE, "TreeWriter::file", new_files, |folder, tale| files(TreeWriter::options(), folder, tale)),
        ours(TREE, "TreeWriter::file, Replace", replaced, |folder, tale| {
            files(TreeWriter::options().on_conflict(OnConflict::Replace), folder, tale);
        }),
        ours(TREE, "TreeWriter::file, Overwrite", overwritten, |folder, tale| {
            files(TreeWriter::options().on_conflict(OnConflict::Overwrite), folder, tale);
        }),
        ours(TREE, "TreeWriter::file, SkipIdentical", overwritten, |folder, tale| {
            files(TreeWriter::options().on_conflict(OnConflict::SkipIdentical), folder, tale);
        }),
        ours(TREE, "TreeWriter::file, EachFile", new_files, |folder, tale| {
            files(TreeWriter::options().durability(Durability::EachFile), folder, tale);
        }),
        ours(TREE, "TreeWriter::file, AtFinish", new_files, |folder, tale| {
            files(TreeWriter::options().durability(Durability::AtFinish), folder, tale);
        }),
        ours(TREE, "TreeWriter::create", new_files, stream),
        ours(TREE, "TreeWriter::create, Replace", replaced, |folder, tale| {
            streams(TreeWriter::options().on_conflict(OnConflict::Replace), folder, tale);
        }),
        ours(TREE, "TreeWriter::copy_from", new_files, copy_from),
        ours(TREE, "Content::copy_of", copies, |folder, tale| made_of(Content::copy_of, folder, tale)),
        ours(TREE, "Content::clone_of", copies, |folder, tale| made_of(Content::clone_of, folder, tale)),
        ours(TREE, "Content::link_to", copies, |folder, tale| made_of(Content::link_to, folder, tale)),
        ours(TREE, "Content::hard_link_to", copies, |folder, tale| made_of(Content::hard_link_to, folder, tale)),
        ours(TREE, "MappedFile::slice, digest", mapped_copies, mapped),
        ours(TREE, "TreeWriter::symlink, hard_link, folder", linked, links),
        ours(TREE, "TreeWriter, publish", published, publish),
    ];
    rows.into_iter().map(Row::inside).collect()
}

fn three_files(on_failure: OnFailure) -> Scene {
    Scene::default().file("dst/a/small", small(), on_failure).file("dst/a/large", large(), on_failure).file(
        "dst/b/c/empty",
        Vec::new(),
        on_failure,
    )
}

fn new_files() -> Scene {
    three_files(WholeOrNothing)
}

fn replaced() -> Scene {
    three_files(NewOrOld).file_before("dst/a/small", old()).file_before("dst/a/large", old())
}

fn overwritten() -> Scene {
    three_files(Anything).file_before("dst/a/small", old()).file_before("dst/a/large", old())
}

fn copies() -> Scene {
    Scene::default()
        .file_before("src/one", small())
        .file_before("src/two", large())
        .file("dst/a/one", small(), WholeOrNothing)
        .from("src/one")
        .file("dst/a/two", large(), WholeOrNothing)
        .from("src/two")
}

/// Slices of one file.
fn mapped_copies() -> Scene {
    Scene::default()
        .file_before("src/both", [small(), large()].concat())
        .file("dst/a/one", small(), WholeOrNothing)
        .file("dst/a/two", large(), WholeOrNothing)
        .all_from("src/both")
}

fn linked() -> Scene {
    Scene::default()
        .file("dst/a/file", small(), WholeOrNothing)
        .then("dst/a/soft", Some(Node::Link("file")), WholeOrNothing)
        .file("dst/b/hard", small(), WholeOrNothing)
        .from("dst/a/file")
        .then("dst/c", Some(Node::Folder), WholeOrNothing)
}

fn published() -> Scene {
    Scene::default()
        .file_before("dst/t/a/small", old())
        .file_before("dst/t/gone", old())
        .file("dst/t/a/small", small(), NewOrOld)
        .file("dst/t/new", large(), WholeOrNothing)
        .then("dst/t/gone", None, NewOrOld)
        .failing_as_one()
}

fn open(options: Options, root: &Path, tale: &mut Tale) -> Option<TreeWriter> {
    tale.ours(options.open(root))
}

/// What the report has is told once, whether a call returned it before or not.
fn end(tree: TreeWriter, tale: &mut Tale) {
    let from_calls = std::mem::take(&mut tale.told);
    tale.tree(tree.finish());
    let more: Vec<_> = from_calls.into_iter().filter(|told| !tale.told.contains(told)).collect();
    tale.told.extend(more);
}

fn files(options: Options, folder: &Path, tale: &mut Tale) {
    let Some(tree) = open(options, &folder.join("dst"), tale) else {
        return;
    };
    tale.ours(tree.file("a/small", small()));
    tale.ours(tree.file("a/large", large()));
    tale.ours(tree.file("b/c/empty", Vec::new()));
    end(tree, tale);
}

fn stream(folder: &Path, tale: &mut Tale) {
    streams(TreeWriter::options(), folder, tale);
}

fn streams(options: Options, folder: &Path, tale: &mut Tale) {
    let Some(tree) = open(options, &folder.join("dst"), tale) else {
        return;
    };
    for (path, bytes, piece) in
        [("a/small", small(), SMALL), ("a/large", large(), LARGE / 3), ("b/c/empty", Vec::new(), 1)]
    {
        let Some(mut file) = tale.ours(tree.create(path, Metadata::default())) else {
            continue;
        };
        let at = folder.join("dst").join(path);
        let written = bytes.chunks(piece).try_for_each(|piece| file.write_all(piece));
        if tale.call(&at, written).is_some() {
            tale.ours(file.close());
        }
        // Else the stream is dropped, which is a failure of the report: the same one.
    }
    end(tree, tale);
}

fn copy_from(folder: &Path, tale: &mut Tale) {
    let Some(tree) = open(TreeWriter::options(), &folder.join("dst"), tale) else {
        return;
    };
    for (path, bytes) in [("a/small", small()), ("a/large", large()), ("b/c/empty", Vec::new())] {
        tale.ours(tree.copy_from(path, &bytes[..], Metadata::default()));
    }
    end(tree, tale);
}

fn made_of(make: fn(PathBuf) -> Content, folder: &Path, tale: &mut Tale) {
    let Some(tree) = open(TreeWriter::options(), &folder.join("dst"), tale) else {
        return;
    };
    tale.ours(tree.file("a/one", make(folder.join("src/one"))));
    tale.ours(tree.file("a/two", make(folder.join("src/two"))));
    end(tree, tale);
}

/// The digest of a file is its bytes.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Digest for Bytes {
    fn update(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0
    }
}

fn mapped(folder: &Path, tale: &mut Tale) {
    let source = folder.join("src/both");
    let Some(file) = tale.call(&source, std::fs::File::open(&source)) else {
        return;
    };
    let Some(file) = tale.ours(MappedFile::new(file, &source)) else {
        return;
    };
    let wrong = Arc::new(Mutex::new(Vec::new()));
    let found = wrong.clone();
    let options = TreeWriter::options().digest(|| Box::<Bytes>::default()).on_entry(move |entry| {
        let right = if entry.path.ends_with("one") { small() } else { large() };
        if let Outcome::Written { digest, .. } = entry.outcome
            && digest != Some(&right[..])
        {
            found.lock().expect("no holder panics").push(entry.path.to_owned());
        }
    });
    let Some(tree) = open(options, &folder.join("dst"), tale) else {
        return;
    };
    for (path, offset, len) in [("a/one", 0, SMALL), ("a/two", SMALL as u64, LARGE)] {
        if let Some(content) = tale.ours(file.slice(offset, len)) {
            tale.ours(tree.file(path, content));
        }
    }
    end(tree, tale);
    tale.ours(file.check());
    tale.wrong.append(&mut wrong.lock().expect("no holder panics"));
}

fn links(folder: &Path, tale: &mut Tale) {
    let Some(tree) = open(TreeWriter::options(), &folder.join("dst"), tale) else {
        return;
    };
    tale.ours(tree.file("a/file", small()));
    tale.ours(tree.symlink("a/soft", "file", Metadata::default()));
    tale.ours(tree.hard_link("b/hard", "a/file"));
    tale.ours(tree.folder("c", Metadata::default().mode(0o750)));
    end(tree, tale);
}

fn publish(folder: &Path, tale: &mut Tale) {
    let Some(tree) = open(TreeWriter::options().publish(true), &folder.join("dst/t"), tale) else {
        return;
    };
    tale.ours(tree.file("a/small", small()));
    tale.ours(tree.file("new", large()));
    end(tree, tale);
}
