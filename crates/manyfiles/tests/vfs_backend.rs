//! A backend of one's own: what it is asked for, and what its panics leave.
#![cfg(feature = "full")]

use std::io::{self, ErrorKind};
use std::path::Path;

use manyfiles::vfs::{Backend, Choices, CreateOptions, Metadata, Output, Vfs};
use manyfiles::writer::SyncPolicy;

/// Panics when it writes what says so.
struct Fragile;

impl Output for Fragile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        assert!(!bytes.starts_with(b"panic"), "the other side is gone");
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl Backend for Fragile {
    fn append(&self, _: &Path) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(Fragile))
    }

    fn create(&self, _: &Path, _: &Choices<'_>) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(Fragile))
    }

    fn read_at(&self, _: &Path, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn metadata(&self, _: &Path) -> io::Result<Metadata> {
        Ok(Metadata::file(0))
    }

    fn list(&self, _: &Path) -> io::Result<Vec<(std::ffi::OsString, Metadata)>> {
        Ok(Vec::new())
    }

    fn create_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_backend_that_panics_is_a_failure_of_that_file_and_of_no_other() {
    let vfs = Vfs::options().handles(1).backend("fragile", Fragile).build();
    vfs.write("fragile://a", b"fine").unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| vfs.append("fragile://a", b"panic")));
    assert!(panicked.is_err());
    // Its handle is gone, so another file finds room; and it is not taken for complete.
    vfs.write("fragile://b", b"fine").unwrap();
    let error = vfs.write("fragile://a", b"more").unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Other, Some(Path::new("fragile://a"))));
    assert!(error.to_string().contains("panicked"), "{error}");
    assert_eq!(vfs.wait().unwrap_err().len(), 1);
    vfs.write("fragile://a", b"again").unwrap();
    vfs.finish().unwrap();
}

#[test]
fn a_backend_is_asked_only_for_options_that_it_knows() {
    let vfs = Vfs::options().backend("fragile", Fragile).build();
    let refused = vfs.create_writer_with("fragile://a", &CreateOptions::new().create_new(true)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(refused.to_string().contains(r#"no option "create_new" here; known: none"#), "{refused}");
    // When a writer syncs is its own affair, and none of the backend's options.
    let synced = CreateOptions::new().create_new(false).sync(SyncPolicy::OnClose);
    let mut writer = vfs.create_writer_with("fragile://a", &synced).unwrap();
    writer.write_all(b"fine").unwrap();
    assert_eq!(writer.close().unwrap().durable, 4);
    vfs.finish().unwrap();
}
