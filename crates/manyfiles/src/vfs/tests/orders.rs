//! Every order in which the threads of a small scene can run, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p manyfiles --release --lib vfs::tests::orders`

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use loom::thread;

use crate::vfs::file_key::FileKey;
use crate::vfs::table::Table;
use crate::vfs::{Backend, Choices, Metadata, Output};

/// Files and the handles that are open: not looked at while a call runs, so its lock is no part of the model.
#[derive(Default)]
struct Disk {
    files: BTreeMap<PathBuf, Vec<u8>>,
    open: usize,
    most_open: usize,
}

#[derive(Clone, Default)]
struct Model {
    disk: Arc<Mutex<Disk>>,
    pins: bool,
}

struct Handle(PathBuf, Arc<Mutex<Disk>>);

impl Output for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Where another thread would come in between.
        thread::yield_now();
        if self.0.starts_with("bad") {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.1.lock().unwrap().files.get_mut(&self.0).expect("nobody removes what is open").extend(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.1.lock().unwrap().open -= 1;
    }
}

impl Backend for Model {
    fn append(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        thread::yield_now();
        let mut disk = self.disk.lock().unwrap();
        disk.files.entry(path.to_owned()).or_default();
        disk.open += 1;
        disk.most_open = disk.most_open.max(disk.open);
        Ok(Box::new(Handle(path.to_owned(), Arc::clone(&self.disk))))
    }

    fn reopens(&self) -> bool {
        !self.pins
    }

    fn create(&self, path: &Path, _choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        self.append(path)
    }

    fn read_at(&self, _path: &Path, _offset: u64, _buffer: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn metadata(&self, _path: &Path) -> io::Result<Metadata> {
        Ok(Metadata::file(0))
    }

    fn list(&self, _path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        Ok(Vec::new())
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        thread::yield_now();
        let mut disk = self.disk.lock().unwrap();
        if let Some(bytes) = disk.files.remove(from) {
            disk.files.insert(to.to_owned(), bytes);
        }
        Ok(())
    }

    fn sync(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone)]
struct Scene {
    table: Arc<Table>,
    model: Model,
}

impl Scene {
    fn new(handles: usize) -> Scene {
        Scene::of(handles, Model::default())
    }

    fn of(handles: usize, model: Model) -> Scene {
        let backends: Vec<(String, Arc<dyn Backend>)> = vec![("file".into(), Arc::new(model.clone()))];
        Scene { table: Arc::new(Table::new(backends, handles, 1 << 20)), model }
    }

    fn write(&self, path: &str, bytes: &str) -> crate::Result<()> {
        if self.table.push(path.as_ref(), bytes.as_bytes()) {
            return Ok(());
        }
        self.table.write(&key(path), path.as_ref(), bytes.as_bytes())
    }

    fn rename(&self, from: &str, to: &str) {
        let (from, to) = (key(from), key(to));
        let (first, second) = if from <= to { (&from, &to) } else { (&to, &from) };
        let rename = || self.model.rename(&from.path, &to.path);
        self.table.exclusively(first, || self.table.exclusively(second, rename)).unwrap();
    }

    /// Closes everything, and says what is in the files then.
    fn finish(&self) -> BTreeMap<String, String> {
        let errors = self.table.close_all();
        assert!(errors.is_empty(), "{errors:?}");
        let disk = self.model.disk.lock().unwrap();
        assert_eq!(disk.open, 0, "handles are left");
        let text = |(path, bytes): (&PathBuf, &Vec<u8>)| {
            (path.to_str().unwrap().to_owned(), String::from_utf8(bytes.clone()).unwrap())
        };
        disk.files.iter().map(text).collect()
    }

    fn beside(&self, work: impl FnOnce(&Scene) + Send + 'static) -> thread::JoinHandle<()> {
        let scene = self.clone();
        thread::spawn(move || work(&scene))
    }
}

fn key(path: &str) -> FileKey {
    FileKey::new(0, path.into())
}

/// Threads that change places up to three times at the wrong moment: a second. Four take ten.
fn orders(scene: impl Fn() + Sync + Send + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(scene);
}

#[test]
fn two_threads_that_write_one_file_lose_nothing() {
    orders(|| {
        let scene = Scene::new(1);
        let other = scene.beside(|scene| {
            scene.write("a", "x").unwrap();
            scene.write("a", "y").unwrap();
        });
        scene.write("a", "1").unwrap();
        scene.write("a", "2").unwrap();
        other.join().unwrap();
        let text = scene.finish().remove("a").unwrap();
        let of = |wanted: &str| text.chars().filter(|c| wanted.contains(*c)).collect::<String>();
        assert_eq!((text.len(), of("12"), of("xy")), (4, "12".into(), "xy".into()), "{text}");
    });
}

#[test]
fn two_files_take_turns_with_one_handle() {
    orders(|| {
        let scene = Scene::new(1);
        let other = scene.beside(|scene| {
            scene.write("b", "x").unwrap();
            scene.write("b", "y").unwrap();
        });
        scene.write("a", "1").unwrap();
        scene.write("a", "2").unwrap();
        other.join().unwrap();
        let files = scene.finish();
        assert_eq!((&*files["a"], &*files["b"]), ("12", "xy"));
        assert_eq!(scene.model.disk.lock().unwrap().most_open, 1);
    });
}

#[test]
fn a_write_beside_a_flush_is_before_it_or_after_it() {
    orders(|| {
        let scene = Scene::new(2);
        scene.write("a", "1").unwrap();
        scene.write("a", "2").unwrap();
        let other = scene.beside(|scene| scene.table.close(&key("a")).unwrap());
        scene.write("a", "3").unwrap();
        other.join().unwrap();
        assert_eq!(scene.finish()["a"], "123");
    });
}

#[test]
fn two_renames_in_opposite_directions_do_not_wait_for_each_other() {
    orders(|| {
        let scene = Scene::new(1);
        scene.write("a", "1").unwrap();
        let other = scene.beside(|scene| scene.rename("b", "a"));
        scene.rename("a", "b");
        other.join().unwrap();
        assert_eq!(scene.finish().into_values().collect::<Vec<_>>(), ["1"]);
    });
}

#[test]
fn a_rename_and_a_write_that_needs_the_renamed_file_s_handle_both_end() {
    orders(|| {
        let scene = Scene::new(1);
        scene.write("a", "1").unwrap();
        let other = scene.beside(|scene| scene.rename("a", "b"));
        scene.write("b", "2").unwrap();
        other.join().unwrap();
        let files = scene.finish();
        // The write came before, and was replaced, or after.
        assert!(matches!(&*files["b"], "1" | "12"), "{files:?}");
    });
}

#[test]
fn a_rename_never_lets_a_kept_handle_write_under_the_old_name() {
    orders(|| {
        let scene = Scene::new(2);
        scene.write("a", "1").unwrap();
        let other = scene.beside(|scene| scene.rename("a", "b"));
        scene.write("a", "2").unwrap();
        other.join().unwrap();
        let files = scene.finish();
        let found = (files.get("a").map(String::as_str), files.get("b").map(String::as_str));
        assert!(matches!(found, (None, Some("12")) | (Some("2"), Some("1"))), "{found:?}");
    });
}

#[test]
fn a_failure_reaches_every_writer_and_is_never_followed_by_a_success() {
    orders(|| {
        let scene = Scene::new(1);
        let twice = |scene: &Scene| {
            scene.write("bad", "x").unwrap_err();
            scene.write("bad", "y").unwrap_err();
        };
        let other = scene.beside(twice);
        twice(&scene);
        other.join().unwrap();
        assert!(scene.table.close(&key("bad")).is_err());
        assert!(scene.table.close(&key("bad")).is_ok(), "taken once");
        scene.finish();
    });
}

#[test]
fn a_failure_while_making_room_stays_with_its_own_file() {
    orders(|| {
        let scene = Scene::new(1);
        // Opened, nothing written yet; what follows is buffered by hand to fail at eviction.
        scene.write("bad", "").unwrap();
        let other = scene.beside(|scene| drop(scene.write("bad", "x")));
        scene.write("a", "1").unwrap();
        other.join().unwrap();
        assert!(scene.table.close(&key("bad")).is_err());
        assert_eq!(scene.finish()["a"], "1");
    });
}

#[test]
fn where_no_handle_may_be_closed_one_file_too_many_is_an_error_and_does_not_wait() {
    orders(|| {
        let scene = Scene::of(1, Model { pins: true, ..Model::default() });
        let other = scene.beside(|scene| drop(scene.write("a", "1")));
        let written = scene.write("b", "2");
        other.join().unwrap();
        let files = scene.finish();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(files.contains_key("b"), written.is_ok());
    });
}
