//! A JSON object for each entry, one a line.

use std::path::Path;

use manyfiles::tree::Node;
use manyfiles_archive::{Attribute, Entry, Kind};
use serde_json::{Map, Value, json};

use super::form::{Form, refusal};
use crate::human::utc;
use crate::report::{Lines, json_path};

pub(super) struct Json<'a> {
    archive: &'a Path,
}

impl<'a> Json<'a> {
    pub(super) fn new(archive: &'a Path) -> Json<'a> {
        Json { archive }
    }
}

impl Form for Json<'_> {
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Lines) {
        let mut object = Map::new();
        json_path(&mut object, "archive", self.archive);
        json_path(&mut object, "path", entry.path);
        object.insert("kind".into(), kind(entry.kind).into());
        object.insert("bytes".into(), entry.size.into());
        if let Some(mode) = entry.mode {
            object.insert("mode".into(), format!("{mode:04o}").into());
        }
        if let Some(modified) = entry.modified.and_then(utc) {
            object.insert("modified".into(), modified.into());
        }
        if let Some((user, group)) = entry.owner {
            object.insert("user".into(), user.into());
            object.insert("group".into(), group.into());
        }
        for (key, text) in [
            ("user_name", entry.user_name),
            ("group_name", entry.group_name),
            ("acl", entry.acl),
            ("default_acl", entry.default_acl),
        ] {
            if let Some(text) = text {
                object.insert(key.into(), String::from_utf8_lossy(text).into());
            }
        }
        if !entry.attributes.is_empty() {
            object.insert("xattrs".into(), entry.attributes.iter().map(xattr).collect());
        }
        if let Kind::Symlink(target) | Kind::HardLink(target) = entry.kind {
            json_path(&mut object, "target", target);
        }
        if let Kind::Node(Node::CharDevice(major, minor) | Node::BlockDevice(major, minor)) = entry.kind {
            object.insert("major".into(), major.into());
            object.insert("minor".into(), minor.into());
        }
        if entry.is_encrypted {
            object.insert("encrypted".into(), true.into());
        }
        if let Some(why) = refusal(entry) {
            object.insert("refused".into(), why.into());
        }
        print(object, out);
    }

    fn end(&mut self, error: Option<&str>, out: &mut Lines) {
        print_error(self.archive, error, out);
    }
}

/// Prints an object as a line.
pub(super) fn print(object: Map<String, Value>, out: &mut Lines) {
    out.print(format!("{}\n", Value::from(object)));
}

/// Prints why the archive could not be read to its end, if that is so.
pub(super) fn print_error(archive: &Path, error: Option<&str>, out: &mut Lines) {
    if let Some(error) = error {
        let mut object = Map::new();
        json_path(&mut object, "archive", archive);
        object.insert("error".into(), error.into());
        print(object, out);
    }
}

fn xattr(attribute: &Attribute) -> Value {
    let hex: String = attribute.value.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "name": String::from_utf8_lossy(&attribute.name), "value_hex": hex })
}

fn kind(kind: Kind<'_>) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::Symlink(_) => "symlink",
        Kind::HardLink(_) => "hard_link",
        Kind::Node(Node::Fifo) => "fifo",
        Kind::Node(Node::CharDevice(..)) => "char_device",
        Kind::Node(Node::BlockDevice(..)) => "block_device",
        _ => "other",
    }
}
