//! Paths of entries never lead out, and a file in memory is found by the URI that it was written by.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use manyfiles::tree::check as check_path;
use manyfiles::vfs::Vfs;

pub fn check(bytes: &[u8]) {
    let text = OsStr::from_bytes(bytes);
    if let Ok(normal) = check_path(Path::new(text)) {
        assert!(normal.components().all(|part| matches!(part, Component::Normal(_))), "{normal:?}");
        assert!(normal.as_os_str().is_empty() || check_path(&normal).as_ref() == Ok(&normal), "{normal:?}");
    }
    let vfs = Vfs::new();
    // Only looked for: it may be any path of this machine.
    let _ = vfs.exists(text);
    let uri = [b"mem://", bytes].concat();
    let uri = OsStr::from_bytes(&uri);
    if vfs.put(uri, b"content").is_ok() {
        assert_eq!(vfs.read(uri).expect("it was written"), b"content");
        assert_eq!(vfs.size(uri).expect("it was written"), 7);
        vfs.write(uri, b" and more").expect("it was written");
        assert_eq!(vfs.read(uri).expect("it was written"), b"content and more");
        vfs.remove(uri).expect("it was written");
        assert!(!vfs.exists(uri).expect("its name was understood"));
    }
    let _ = vfs.finish();
}
