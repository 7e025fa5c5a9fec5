//! `FileWriter`.

use std::path::Path;

use manyfiles::writer::{FileWriter, Options, SyncPolicy};

use super::row::{BUFFERED, DURABLE, Row, ours};
use crate::scene::OnFailure::Anything;
use crate::scene::{LARGE, Scene, large, old};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    vec![
        ours(BUFFERED, "FileWriter::create", created, |folder, tale| written(FileWriter::options(), folder, tale)),
        ours(BUFFERED, "FileWriter, second_thread", created, |folder, tale| {
            written(FileWriter::options().second_thread(true), folder, tale);
        }),
        ours(BUFFERED, "FileWriter::append", appended, append),
        ours(DURABLE, "FileWriter, OnClose", created, |folder, tale| {
            written(FileWriter::options().sync(SyncPolicy::OnClose), folder, tale);
        }),
    ]
}

fn created() -> Scene {
    Scene::default().file("dst/one", large(), Anything)
}

fn appended() -> Scene {
    Scene::default().file_before("dst/one", old()).file("dst/one", [old(), large()].concat(), Anything)
}

fn written(options: Options, folder: &Path, tale: &mut Tale) {
    let writer = tale.ours(options.buffer_size(64 << 10).create(folder.join("dst/one")));
    fill(writer, tale);
}

fn append(folder: &Path, tale: &mut Tale) {
    let writer = tale.ours(FileWriter::options().buffer_size(64 << 10).append(folder.join("dst/one")));
    fill(writer, tale);
}

fn fill(writer: Option<FileWriter>, tale: &mut Tale) {
    let Some(mut writer) = writer else {
        return;
    };
    let begun = tale.told.len();
    let all = large();
    let written = all.chunks(LARGE / 10).try_for_each(|piece| writer.write_all(piece));
    tale.ours(written);
    // The close repeats the failure that there was.
    tale.ours(writer.close());
    if tale.told.len() == begun + 2 && tale.told[begun] == tale.told[begun + 1] {
        tale.told.pop();
    }
}
