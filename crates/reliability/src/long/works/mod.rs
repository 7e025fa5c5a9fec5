//! The works.

mod archives;
mod closes;
mod files;
mod records;
mod trees;

use super::work::Work;

/// All of them, in the order of the page.
pub fn all() -> Vec<&'static dyn Work> {
    vec![
        &trees::Folders { name: "one-folder", folders: 1 },
        &trees::Folders { name: "many-folders", folders: 100_000 },
        &trees::Deep,
        &trees::Refused,
        &closes::Closes,
        &closes::Writers,
        &records::Followed,
        &records::Kept,
        &files::Names,
        &files::Puts,
        &archives::Pack { name: "pack-tar-zst", file: "a.tar.zst" },
        &archives::Pack { name: "pack-zip", file: "a.zip" },
        &archives::Unpack { name: "unpack-tar", file: "a.tar" },
        &archives::Unpack { name: "unpack-tar-zst", file: "a.tar.zst" },
        &archives::Unpack { name: "unpack-zip", file: "a.zip" },
    ]
}
