//! `Closer`, `FastClose`, `manyfiles::fs`; std and close_already beside them.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use manyfiles::close::{self, Closer, FastClose, Policy};

use super::row::{FILES, Row, ours, peer};
use crate::scene::OnFailure::{Anything, NewOrOld};
use crate::scene::{Scene, large, old, small};
use crate::told::Tale;

pub fn rows() -> Vec<Row> {
    vec![
        ours(FILES, "Closer::close_at", two_files, closer),
        ours(FILES, "FastClose, close::wait", two_files, fast_close),
        ours(FILES, "fs::write", two_files, |folder, tale| {
            each(folder, tale, |path, bytes, tale| {
                tale.call(path, manyfiles::fs::write(path, bytes));
            });
            tale.list(close::wait());
        }),
        ours(FILES, "fs::File", two_files, |folder, tale| {
            each(folder, tale, |path, bytes, tale| {
                let written = manyfiles::fs::File::create(path).and_then(|mut file| file.write_all(bytes));
                tale.call(path, written);
            });
            tale.list(close::wait());
        }),
        ours(FILES, "fs::copy", copied, |folder, tale| {
            let (from, to) = (folder.join("src/one"), folder.join("dst/one"));
            tale.call(&to, manyfiles::fs::copy(from, &to));
            tale.list(close::wait());
        }),
        ours(FILES, "fs::write, fs::rename", renamed, |folder, tale| {
            let (from, to) = (folder.join("dst/new"), folder.join("dst/one"));
            if tale.call(&from, manyfiles::fs::write(&from, small())).is_some() && tale.list(close::wait()).is_some() {
                tale.call(&to, manyfiles::fs::rename(&from, &to));
            }
        }),
        peer(FILES, "std::fs::write", two_files, |folder, tale| {
            each(folder, tale, |path, bytes, tale| {
                tale.call(path, std::fs::write(path, bytes));
            });
        }),
        peer(FILES, "std::fs::copy", copied, |folder, tale| {
            let (from, to) = (folder.join("src/one"), folder.join("dst/one"));
            tale.call(&to, std::fs::copy(from, &to));
        }),
        peer(FILES, "std::fs::write, rename", renamed, |folder, tale| {
            let (from, to) = (folder.join("dst/new"), folder.join("dst/one"));
            if tale.call(&from, std::fs::write(&from, small())).is_some() {
                tale.call(&to, std::fs::rename(&from, &to));
            }
        }),
        peer(FILES, "close_already 0.3.5", two_files, |folder, tale| {
            each(folder, tale, |path, bytes, tale| {
                tale.call(path, close_already_original::fs::write(path, bytes));
            });
        }),
    ]
}

fn two_files() -> Scene {
    Scene::default().file_before("dst/one", old()).file("dst/one", small(), Anything).file("dst/two", large(), Anything)
}

fn copied() -> Scene {
    Scene::default().file_before("src/one", large()).file("dst/one", large(), Anything).from("src/one")
}

fn renamed() -> Scene {
    let scene = Scene::default().file_before("dst/one", old()).file("dst/one", small(), NewOrOld).from("dst/new");
    Scene { may_stay: Some("dst/new"), ..scene }
}

fn each(folder: &Path, tale: &mut Tale, mut write: impl FnMut(&PathBuf, &[u8], &mut Tale)) {
    for (path, bytes) in [("dst/one", small()), ("dst/two", large())] {
        write(&folder.join(path), &bytes, tale);
    }
}

fn closer(folder: &Path, tale: &mut Tale) {
    let closer = Closer::options().policy(Policy::Always).build();
    each(folder, tale, |path, bytes, tale| {
        if let Some(mut file) = tale.call(path, File::create(path)) {
            tale.call(path, file.write_all(bytes));
            closer.close_at(file, path);
        }
    });
    tale.list(closer.finish());
}

fn fast_close(folder: &Path, tale: &mut Tale) {
    each(folder, tale, |path, bytes, tale| {
        if let Some(file) = tale.call(path, File::create(path)) {
            let mut file = FastClose::new(file);
            tale.call(path, file.write_all(bytes));
        }
    });
    tale.list(close::wait());
}
