use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::{Facts, link_target};
use crate::Kind;

pub(crate) fn facts(path: &Path, meta: &Metadata) -> io::Result<Facts> {
    let kind = match meta.file_type() {
        kind if kind.is_file() => Kind::File { len: meta.len(), hash: 0 },
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_symlink() => link_target(path)?,
        kind if kind.is_fifo() => Kind::Fifo,
        kind if kind.is_socket() => Kind::Socket,
        _ => Kind::Device,
    };
    Ok(Facts {
        kind,
        mode: meta.mode() & 0o7777,
        modified: (meta.mtime(), meta.mtime_nsec()),
        shared: (meta.nlink() > 1).then(|| (meta.dev(), meta.ino())),
        allocated: meta.blocks() * 512,
    })
}
