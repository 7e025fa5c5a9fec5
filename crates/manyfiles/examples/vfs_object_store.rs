//! A backend of one's own: an object store, in which an object appears as a whole when it is complete, and cannot be added to.
//! Run it without arguments.
//!
//! The store here is a map in memory; a real one would send each part away in `write` and complete the upload in `close`.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use manyfiles::vfs::{Backend, Choices, CreateOptions, Metadata, Output, Vfs};

/// Buckets and their objects, by key.
#[derive(Clone, Default)]
struct Store {
    objects: Arc<Mutex<BTreeMap<PathBuf, Vec<u8>>>>,
}

/// An upload. If it is dropped before it is closed, the object never appears.
struct Upload {
    store: Store,
    key: PathBuf,
    parts: Vec<Vec<u8>>,
}

impl Output for Upload {
    /// What a `Vfs` gathers arrives in parts of up to 256 KiB.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.parts.push(bytes.to_owned());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::Error::new(ErrorKind::Unsupported, "an object is durable when it is complete: flush it"))
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        println!("uploaded {} in {} parts", self.key.display(), self.parts.len());
        self.store.objects().insert(self.key, self.parts.concat());
        Ok(())
    }
}

impl Store {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Vec<u8>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn upload(&self, key: &Path) -> Box<dyn Output> {
        Box::new(Upload { store: self.clone(), key: key.to_owned(), parts: Vec::new() })
    }
}

impl Backend for Store {
    fn locate(&self, name: &str) -> io::Result<PathBuf> {
        match name.split_once('/') {
            Some((bucket, _)) if !bucket.is_empty() => Ok(PathBuf::from(name)),
            _ => Err(io::Error::new(ErrorKind::InvalidInput, "an object is named store://bucket/key")),
        }
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        if self.objects().contains_key(path) {
            return Err(io::Error::new(ErrorKind::Unsupported, "the object is complete; nothing can be added to it"));
        }
        Ok(self.upload(path))
    }

    fn reopens(&self) -> bool {
        false
    }

    fn create(&self, path: &Path, _choices: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        Ok(self.upload(path))
    }

    fn read_at(&self, path: &Path, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let objects = self.objects();
        let object = objects.get(path).ok_or(ErrorKind::NotFound)?;
        let rest = usize::try_from(offset).ok().and_then(|offset| object.get(offset..)).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    /// A prefix that objects have counts as a folder.
    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let objects = self.objects();
        match objects.get(path) {
            Some(object) => Ok(Metadata::file(object.len() as u64)),
            None if objects.keys().any(|key| key.starts_with(path)) => Ok(Metadata::folder()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Metadata)>> {
        let objects = self.objects();
        let mut children = BTreeMap::new();
        for (key, object) in objects.iter() {
            let Ok(below) = key.strip_prefix(path) else { continue };
            let mut names = below.iter();
            let Some(name) = names.next() else { continue };
            let is_folder = names.next().is_some();
            let metadata = if is_folder { Metadata::folder() } else { Metadata::file(object.len() as u64) };
            children.insert(name.to_owned(), metadata);
        }
        Ok(children.into_iter().collect())
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(()) // keys need none
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.objects().remove(path).map(drop).ok_or(ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut objects = self.objects();
        let object = objects.remove(from).ok_or(ErrorKind::NotFound)?;
        objects.insert(to.to_owned(), object);
        Ok(())
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.metadata(path).map(drop)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let vfs = Vfs::options().backend("store", Store::default()).handles(2).build();

    for record in 0..100_000u32 {
        vfs.write("store://logs/today", &record.to_le_bytes())?;
    }
    println!("before the flush it is {}there", if vfs.exists("store://logs/today")? { "" } else { "not " });
    vfs.flush("store://logs/today")?;
    println!("after it, it has {} bytes", vfs.size("store://logs/today")?);

    let mut writer = vfs.create_writer("store://logs/archive/old")?;
    writer.write_all(b"records of old")?;
    writer.close()?;
    for entry in vfs.list("store://logs/")? {
        println!("{} {}", if entry.metadata.is_folder { "folder" } else { "object" }, entry.uri.to_string_lossy());
    }

    // What the store cannot do is an error that says so.
    for refused in [
        vfs.write("store://logs/today", b"more"),
        vfs.write("store://nobucket", b""),
        vfs.create_writer_with("store://logs/x", &CreateOptions::new().set("storage_class", "cold")).map(drop),
    ] {
        println!("{}", refused.expect_err("none of these can be done"));
    }
    // Two objects are being written, and with two handles a third has to wait for one of them to be completed.
    vfs.write("store://logs/a", b"1")?;
    vfs.write("store://logs/b", b"2")?;
    println!("{}", vfs.write("store://logs/c", b"3").expect_err("there are two handles"));
    vfs.flush("store://logs/a")?;
    vfs.write("store://logs/c", b"3")?;
    vfs.finish()?;
    Ok(())
}
