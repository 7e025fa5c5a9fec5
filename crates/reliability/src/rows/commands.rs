//! The command `manyfiles`: `unpack`, `copy`, `pack`, `list`, `test`, `cat`, `log cat`.

use std::path::{Path, PathBuf};
use std::process::Command;

use manyfiles::appender::Appender;

use super::appender;
use super::row::{COMMANDS, How, Row};
use crate::scene::OnFailure::{NewOrOld, WholeOrNothing};
use crate::scene::{Node, OnFailure, Scene, below, large, old, small};

pub fn rows() -> Vec<Row> {
    vec![
        ours("manyfiles unpack", unpacked, |folder| manyfiles(folder, &["unpack", "src/archive.tar", "-C", "dst"]))
            .inside(),
        ours("manyfiles unpack --on-conflict replace", unpacked_over, |folder| {
            manyfiles(folder, &["unpack", "--on-conflict", "replace", "src/archive.tar", "-C", "dst"])
        })
        .inside(),
        ours("manyfiles unpack --salvage", unpacked, |folder| {
            manyfiles(folder, &["unpack", "--salvage", "src/archive.tar", "-C", "dst"])
        })
        .inside(),
        ours("manyfiles unpack -a", unpacked, |folder| {
            manyfiles(folder, &["unpack", "-a", "src/archive.tar", "-C", "dst"])
        })
        .inside(),
        ours("manyfiles copy", copied, |folder| manyfiles(folder, &["copy", "src/.", "dst"])).inside(),
        ours("manyfiles copy --fsync", copied, |folder| manyfiles(folder, &["copy", "--fsync", "src/.", "dst"]))
            .inside(),
        ours("manyfiles copy -a", copied_whole, |folder| manyfiles(folder, &["copy", "-a", "src/.", "dst"])).inside(),
        ours("manyfiles copy --xattrs --acls", copied_whole, |folder| {
            manyfiles(folder, &["copy", "--xattrs", "--acls", "src/.", "dst"])
        })
        .inside(),
        ours("manyfiles pack", packed, |folder| manyfiles(folder, &["pack", "-C", "src", ".", "dst/archive.tar"])),
        ours("manyfiles pack -a", packed, |folder| {
            manyfiles(folder, &["pack", "-a", "-C", "src", ".", "dst/archive.tar"])
        }),
        ours("manyfiles pack --force --fsync", packed_over, |folder| {
            manyfiles(folder, &["pack", "--force", "--fsync", "-C", "src", ".", "dst/archive.tar"])
        }),
        ours("manyfiles list", listed, |folder| manyfiles(folder, &["list", "src/archive.tar"])),
        ours("manyfiles test", tested, |folder| manyfiles(folder, &["test", "src/archive.tar"])),
        ours("manyfiles cat", shown, |folder| manyfiles(folder, &["cat", "src/archive.tar", "b/hard", "a/large"])),
        ours("manyfiles log cat", logged, |folder| manyfiles(folder, &["log", "cat", "src/log"])),
    ]
}

fn ours(name: &'static str, scene: fn() -> Scene, program: fn(&Path) -> Option<Command>) -> Row {
    Row { group: COMMANDS, name, is_ours: true, how: How::Program(program), scene, stays_inside: false }
}

/// The command, beside this program.
pub fn manyfiles_path() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let beside = exe.parent()?.join("manyfiles");
    beside.is_file().then_some(beside)
}

pub(super) fn manyfiles(folder: &Path, args: &[&str]) -> Option<Command> {
    let mut command = Command::new(manyfiles_path()?);
    command.current_dir(folder).args(args);
    Some(command)
}

/// `a/small`, `a/large`, `a/soft`, `b/hard` and `empty` as a tar.
pub fn archive() -> Vec<u8> {
    let mut tar = Vec::new();
    entry(&mut tar, "a/", b'5', "", &[]);
    entry(&mut tar, "a/small", b'0', "", &small());
    entry(&mut tar, "a/large", b'0', "", &large());
    entry(&mut tar, "a/soft", b'2', "small", &[]);
    entry(&mut tar, "b/", b'5', "", &[]);
    entry(&mut tar, "b/hard", b'1', "a/small", &[]);
    entry(&mut tar, "empty", b'0', "", &[]);
    tar.resize(tar.len() + 1024, 0);
    tar
}

/// One entry in the format ustar.
fn entry(tar: &mut Vec<u8>, name: &str, kind: u8, link: &str, content: &[u8]) {
    let mut header = [0u8; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, if kind == b'5' { b"0000755" } else { b"0000644" });
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", content.len()).as_bytes());
    put(136, b"14000000000");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend(header);
    tar.extend(content);
    tar.resize(tar.len().next_multiple_of(512), 0);
}

fn tree(scene: Scene, on_failure: OnFailure) -> Scene {
    scene
        .file("dst/a/small", small(), on_failure)
        .file("dst/a/large", large(), on_failure)
        .then("dst/a/soft", Some(Node::Link("small")), on_failure)
        .file("dst/b/hard", small(), on_failure)
        .from("dst/a/small")
        .file("dst/empty", Vec::new(), on_failure)
}

pub fn unpacked() -> Scene {
    tree(Scene::default().file_before("src/archive.tar", archive()), WholeOrNothing).all_from("src/archive.tar")
}

fn unpacked_over() -> Scene {
    let scene = Scene::default().file_before("src/archive.tar", archive());
    tree(scene.file_before("dst/a/small", old()).file_before("dst/a/large", old()), NewOrOld)
        .all_from("src/archive.tar")
}

/// `src` is what the archive holds.
pub fn copied() -> Scene {
    Scene::default()
        .file_before("src/a/small", small())
        .file_before("src/a/large", large())
        .before("src/a/soft", Node::Link("small"))
        .file_before("src/b/hard", small())
        .file_before("src/empty", Vec::new())
        .file("dst/a/small", small(), WholeOrNothing)
        .from("src/a/small")
        .file("dst/a/large", large(), WholeOrNothing)
        .from("src/a/large")
        .then("dst/a/soft", Some(Node::Link("small")), WholeOrNothing)
        .from("src/a/soft")
        .file("dst/b/hard", small(), WholeOrNothing)
        .from("src/b/hard")
        .file("dst/empty", Vec::new(), WholeOrNothing)
        .from("src/empty")
}

/// With extended attributes.
fn copied_whole() -> Scene {
    Scene { has_attributes: true, ..copied() }
}

/// What [`copied`] has as files, to be packed.
pub fn packed() -> Scene {
    let scene = Scene::default()
        .file_before("src/a/small", small())
        .file_before("src/a/large", large())
        .file_before("src/b/other", old())
        .file_before("src/empty", Vec::new())
        .then("dst/archive.tar", Some(Node::Tar), OnFailure::WholeTar);
    ["src", "src/a", "src/b", "src/a/small", "src/a/large", "src/b/other", "src/empty"]
        .into_iter()
        .fold(scene, Scene::from)
}

pub fn packed_over() -> Scene {
    Scene { is_synced_first: true, ..packed().file_before("dst/archive.tar", old()) }
}

/// An archive that is read, and what is printed of it.
fn printed(prints: impl Into<Vec<u8>>) -> Scene {
    Scene { prints: Some(prints.into()), ..Scene::default().file_before("src/archive.tar", archive()) }
}

pub fn listed() -> Scene {
    printed("a/\na/small\na/large\na/soft\nb/\nb/hard\nempty\n")
}

fn tested() -> Scene {
    printed("src/archive.tar: sound: tar, 7 entries, 302 kB\n")
}

fn shown() -> Scene {
    printed([small(), large()].concat())
}

/// A log that is read.
fn logged() -> Scene {
    let mut scene = Scene::default();
    let temp = tempfile::tempdir().expect("a temporary folder can be made");
    let appender =
        Appender::options().framed(true).open(temp.path().join("log")).expect("a log can be made without faults");
    let mut prints = Vec::new();
    for record in appender::the_records() {
        appender.append_durable(&record).expect("a record can be appended without faults");
        prints.extend([&record[..], b"\n"].concat());
    }
    appender.close().expect("a log can be closed without faults");
    for file in below(temp.path()) {
        let name = file.file_name().and_then(|name| name.to_str()).expect("its name is text");
        let path: &'static str = Box::leak(format!("src/{name}").into_boxed_str());
        scene = scene.file_before(path, std::fs::read(&file).expect("it was just written"));
    }
    Scene { prints: Some(prints), ..scene }
}
