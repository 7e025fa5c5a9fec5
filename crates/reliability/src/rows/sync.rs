//! `SyncBatch`.

use std::path::Path;

use manyfiles::sync::SyncBatch;

use super::row::{DURABLE, Row, ours, peer};
use crate::scene::OnFailure::{Anything, NewOrOld};
use crate::scene::{OnFailure, Scene, large, old, small};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    vec![
        ours(DURABLE, "SyncBatch", in_place, |folder, tale| batch(false, folder, tale)),
        ours(DURABLE, "SyncBatch, atomic", beside, |folder, tale| batch(true, folder, tale)),
        peer(DURABLE, "std::fs::File, sync_all", synced, |folder, tale| {
            for (path, bytes) in [("dst/one", small()), ("dst/two", large())] {
                let path = folder.join(path);
                let written = std::fs::File::create(&path).and_then(|mut file| {
                    std::io::Write::write_all(&mut file, &bytes)?;
                    file.sync_all()
                });
                tale.call(&path, written);
            }
        }),
    ]
}

fn two(on_failure: OnFailure) -> Scene {
    Scene::default().file_before("dst/one", old()).file("dst/one", small(), on_failure).file(
        "dst/two",
        large(),
        on_failure,
    )
}

fn in_place() -> Scene {
    two(Anything)
}

fn synced() -> Scene {
    Scene { is_synced_first: true, ..in_place() }
}

fn beside() -> Scene {
    two(NewOrOld).failing_as_one()
}

fn batch(atomic: bool, folder: &Path, tale: &mut Tale) {
    let batch = SyncBatch::options().atomic(atomic).build();
    tale.ours(batch.write(folder.join("dst/one"), small()));
    tale.ours(batch.write(folder.join("dst/two"), large()));
    if let Err(failed) = batch.finish() {
        tale.told.extend(failed.errors().iter().map(Into::into));
    }
}
