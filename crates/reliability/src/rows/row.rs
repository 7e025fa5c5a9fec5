//! A row of the matrix, and the tables that rows are in.

use std::path::Path;
use std::process::Command;

use crate::scene::Scene;
use crate::told::Tale;

/// How an operation is run.
pub enum How {
    /// By a child process of this program, which tells what its caller was told.
    Call(fn(&Path, &mut Tale)),
    /// By a program, which tells on standard error and by its status. `None`: the program is not here.
    Program(fn(&Path) -> Option<Command>),
}

/// A row.
pub struct Row {
    /// The table it is in.
    pub group: &'static str,
    pub name: &'static str,
    /// Not a peer.
    pub is_ours: bool,
    pub how: How,
    pub scene: fn() -> Scene,
    /// It promises that no link on the disk leads it out of its folder.
    pub stays_inside: bool,
}

pub(super) fn ours(group: &'static str, name: &'static str, scene: fn() -> Scene, call: fn(&Path, &mut Tale)) -> Row {
    Row { group, name, is_ours: true, how: How::Call(call), scene, stays_inside: false }
}

pub(super) fn peer(group: &'static str, name: &'static str, scene: fn() -> Scene, call: fn(&Path, &mut Tale)) -> Row {
    Row { is_ours: false, ..ours(group, name, scene, call) }
}

impl Row {
    pub(super) fn inside(mut self) -> Row {
        self.stays_inside = true;
        self
    }
}

pub const TREE: &str = "TreeWriter";
pub const REMOVAL: &str = "Trees, removed";
pub const MIRRORS: &str = "Trees, made equal";
pub const FILES: &str = "Files, one at a time";
pub const BUFFERED: &str = "FileWriter and Vfs";
pub const DURABLE: &str = "Durable: Appender and SyncBatch";
pub const ARCHIVES: &str = "Archives, read in place";
pub const COMMANDS: &str = "Commands";
/// The order of the tables.
pub const TABLES: [&str; 8] = [TREE, REMOVAL, MIRRORS, FILES, BUFFERED, DURABLE, ARCHIVES, COMMANDS];
