//! The entries as a tree of folders.

use manyfiles_archive::Entry;

use super::folders::{Folders, TOP};
use super::form::Form;
use crate::human::{bytes, entries, one_line};
use crate::report::Lines;

pub(super) struct Tree {
    depth: usize,
    folders: Folders,
}

impl Tree {
    pub(super) fn new(depth: Option<usize>) -> Tree {
        Tree { depth: depth.unwrap_or(usize::MAX), folders: Folders::new() }
    }
}

impl Form for Tree {
    fn entry(&mut self, entry: &Entry<'_>, _out: &mut Lines) {
        self.folders.add(entry);
    }

    fn end(&mut self, _error: Option<&str>, out: &mut Lines) {
        let nodes = &self.folders.nodes;
        // The names still to be shown of each folder that is open, from the top on.
        let mut open = Vec::new();
        if self.depth > 0 {
            open.push(nodes[TOP].children.values().peekable());
        }
        // What stands before a name: the branches of the folders above it.
        let mut branches = String::new();
        while let Some(level) = open.last_mut() {
            let Some(&at) = level.next() else {
                open.pop();
                if open.len() > 1 {
                    // Four characters for each folder below the top.
                    let end = branches.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
                    branches.truncate(end);
                }
                continue;
            };
            let is_last = level.peek().is_none();
            let is_at_top = open.len() == 1;
            let branch = match (is_at_top, is_last) {
                (true, _) => "",
                (false, true) => "└── ",
                (false, false) => "├── ",
            };
            let node = &nodes[at];
            let name = String::from_utf8_lossy(&node.name);
            let slash = if node.is_folder && !node.name.ends_with(b"/") { "/" } else { "" };
            let link = node.link.as_deref().unwrap_or_default();
            let is_shut = open.len() >= self.depth && !node.children.is_empty();
            let sum = is_shut.then(|| format!("  ({}, {})", entries(node.entries), bytes(node.bytes)));
            let (name, link) = (one_line(&name), one_line(link));
            out.print(format!("{branches}{branch}{name}{slash}{link}{}\n", sum.unwrap_or_default()));
            if !is_shut && !node.children.is_empty() {
                match (is_at_top, is_last) {
                    (true, _) => {}
                    (false, true) => branches += "    ",
                    (false, false) => branches += "│   ",
                }
                open.push(node.children.values().peekable());
            }
        }
        let top = &nodes[TOP];
        out.print(format!("{}, {}\n", entries(top.entries), bytes(top.bytes)));
    }
}
