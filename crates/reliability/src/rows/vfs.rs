//! `Vfs`.

use std::path::Path;

use manyfiles::vfs::Vfs;

use super::row::{BUFFERED, Row, ours};
use crate::scene::OnFailure::{Anything, NewOrOld};
use crate::scene::{LARGE, Scene, large, old, small};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    vec![
        ours(BUFFERED, "Vfs::write", written, write),
        ours(BUFFERED, "Vfs::create_writer", created, writer),
        ours(BUFFERED, "Vfs::put", put_before, put),
        ours(BUFFERED, "Vfs::copy", copied, copy),
        ours(BUFFERED, "Vfs::read_at", read_before, read),
    ]
}

fn written() -> Scene {
    Scene::default().file_before("dst/one", old()).file("dst/one", [old(), small()].concat(), Anything).file(
        "dst/two",
        large(),
        Anything,
    )
}

fn created() -> Scene {
    Scene::default().file("dst/one", large(), Anything)
}

fn put_before() -> Scene {
    Scene::default().file_before("dst/one", old()).file("dst/one", small(), NewOrOld).file("dst/two", large(), NewOrOld)
}

fn copied() -> Scene {
    Scene::default().file_before("src/one", large()).file("dst/one", large(), Anything).from("src/one")
}

fn read_before() -> Scene {
    Scene::default().file_before("src/one", large())
}

fn write(folder: &Path, tale: &mut Tale) {
    let vfs = Vfs::new();
    tale.ours(vfs.write(folder.join("dst/one"), &small()));
    let all = large();
    tale.ours(all.chunks(LARGE / 3).try_for_each(|piece| vfs.write(folder.join("dst/two"), piece)));
    // A failure stays with its file, and the end repeats it: that is one error.
    let begun = tale.told.len();
    tale.list(vfs.finish());
    tale.without_repetition(begun);
}

fn writer(folder: &Path, tale: &mut Tale) {
    let vfs = Vfs::new();
    if let Some(mut writer) = tale.ours(vfs.create_writer(folder.join("dst/one"))) {
        let begun = tale.told.len();
        let all = large();
        tale.ours(all.chunks(LARGE / 3).try_for_each(|piece| writer.write_all(piece)));
        tale.ours(writer.close());
        // The close repeats the failure that there was.
        if tale.told.len() == begun + 2 && tale.told[begun] == tale.told[begun + 1] {
            tale.told.pop();
        }
    }
    tale.list(vfs.finish());
}

fn put(folder: &Path, tale: &mut Tale) {
    let vfs = Vfs::new();
    tale.ours(vfs.put(folder.join("dst/one"), small()));
    tale.ours(vfs.put(folder.join("dst/two"), large()));
    tale.list(vfs.finish());
}

fn copy(folder: &Path, tale: &mut Tale) {
    let vfs = Vfs::new();
    tale.ours(vfs.copy(folder.join("src/one"), folder.join("dst/one")));
    tale.list(vfs.finish());
}

fn read(folder: &Path, tale: &mut Tale) {
    let vfs = Vfs::new();
    let (path, all) = (folder.join("src/one"), large());
    let mut buffer = vec![0; LARGE + 100];
    // `read_at` fills the buffer or meets the end.
    match tale.ours(vfs.read_at(&path, 1000, &mut buffer)) {
        Some(n) if buffer[..n] != all[1000..] => tale.wrong.push(path),
        _ => {}
    }
    tale.list(vfs.finish());
}
