//! How many bytes and entries each folder has, with all that is below it.

use std::cmp::Reverse;
use std::path::Path;

use manyfiles_archive::Entry;
use serde_json::Map;

use super::folders::{Folders, TOP};
use super::form::Form;
use super::json::{print, print_error};
use crate::human::{bytes, entries, one_line};
use crate::report::{Lines, json_path};

pub(super) struct Sizes<'a> {
    depth: usize,
    folders: Folders,
    /// The archive's path, if objects are printed.
    json: Option<&'a Path>,
}

impl<'a> Sizes<'a> {
    pub(super) fn new(depth: Option<usize>, json: Option<&'a Path>) -> Sizes<'a> {
        Sizes { depth: depth.unwrap_or(usize::MAX), folders: Folders::new(), json }
    }

    /// The folders that are shown, each with the number of its parent, the largest first.
    fn rows(&self) -> Vec<usize> {
        let nodes = &self.folders.nodes;
        let mut rows = vec![TOP];
        let mut level = vec![TOP];
        for _ in 0..self.depth {
            let below = level.iter().flat_map(|&at| nodes[at].children.values().copied());
            level = below.filter(|&at| nodes[at].is_folder).collect();
            if level.is_empty() {
                break;
            }
            rows.extend(&level);
        }
        // Of equal ones those above come first, and then the order of names: the sort is stable.
        rows.sort_by_key(|&at| Reverse(nodes[at].bytes));
        rows
    }

    /// For each node the node above it.
    fn parents(&self) -> Vec<usize> {
        let mut parents = vec![TOP; self.folders.nodes.len()];
        for (at, node) in self.folders.nodes.iter().enumerate() {
            node.children.values().for_each(|&child| parents[child] = at);
        }
        parents
    }

    fn path(&self, parents: &[usize], mut at: usize) -> Vec<u8> {
        let mut names = Vec::new();
        while at != TOP {
            names.push(self.folders.nodes[at].name.as_slice());
            at = parents[at];
        }
        match names.pop() {
            None => b".".to_vec(),
            Some(first) => {
                let mut path = first.to_vec();
                for name in names.into_iter().rev() {
                    if path != b"/" {
                        path.push(b'/');
                    }
                    path.extend_from_slice(name);
                }
                path
            }
        }
    }
}

impl Form for Sizes<'_> {
    fn entry(&mut self, entry: &Entry<'_>, _out: &mut Lines) {
        self.folders.add(entry);
    }

    fn end(&mut self, error: Option<&str>, out: &mut Lines) {
        let (rows, parents) = (self.rows(), self.parents());
        let counts = rows.iter().map(|&at| entries(self.folders.nodes[at].entries).len());
        let width = counts.max().unwrap_or(0);
        for at in rows {
            let (node, path) = (&self.folders.nodes[at], self.path(&parents, at));
            match self.json {
                None => {
                    let (size, count) = (bytes(node.bytes), entries(node.entries));
                    let path = String::from_utf8_lossy(&path);
                    out.print(format!("{size:>8}  {count:>width$}  {}\n", one_line(&path)));
                }
                Some(archive) => {
                    let mut object = Map::new();
                    json_path(&mut object, "archive", archive);
                    json_path(&mut object, "folder", &crate::sys::path(&path));
                    object.insert("bytes".into(), node.bytes.into());
                    object.insert("entries".into(), node.entries.into());
                    print(object, out);
                }
            }
        }
        if let Some(archive) = self.json {
            print_error(archive, error, out);
        }
    }
}
