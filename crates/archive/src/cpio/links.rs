//! Files with several names. In the newer formats the content stands behind the last of them, and the others are
//! empty. In the older ones it stands behind each.
//!
//! The first name becomes the file, at the place where the content is, and the others become links to it.

use std::collections::{HashMap, VecDeque};

use super::header::Header;
use crate::error::{ErrorKind, Result};

/// The most memory for files of which not all names have come.
const MOST_MEMORY: usize = 256 << 20;

/// A file with several names.
struct Link {
    first: Vec<u8>,
    /// Names that wait for the content; `None`: it has come.
    waiting: Option<Waiting>,
    /// How many of its names have not come.
    missing: u64,
    /// About how much memory it takes.
    memory: usize,
}

struct Waiting {
    header: Header,
    others: Vec<Vec<u8>>,
}

/// An entry that was read before and is handed over now.
pub(super) enum Ready {
    /// A file without content.
    Empty(Vec<u8>, Header),
    /// A link of this name to that.
    Link(Vec<u8>, Vec<u8>),
    /// A file whose content stood where the archive is damaged.
    Lost(Vec<u8>),
}

/// What to do with an entry that is one of several names.
pub(super) enum Then {
    /// It is a file of this name, with the entry's content.
    File(Vec<u8>),
    /// It is a link of this name to that. Its content is that of the other one.
    Link(Vec<u8>, Vec<u8>),
    /// It waits for the content.
    Wait,
}

#[derive(Default)]
pub(super) struct Links {
    links: HashMap<(u64, u64), Link>,
    /// In which order they came that wait.
    order: Vec<(u64, u64)>,
    pub ready: VecDeque<Ready>,
    memory: usize,
}

impl Links {
    /// The next entry has several names, and this is one.
    pub(super) fn add(&mut self, name: Vec<u8>, header: Header) -> Result<Then, ErrorKind> {
        let identity = header.identity;
        let memory = 2 * name.len() + size_of::<Link>();
        self.memory += memory;
        if self.memory > MOST_MEMORY {
            let cause = "files of which not all names have come take more than 256 MiB; `cpio -i` may unpack it";
            return Err(ErrorKind::Unsupported(cause.into()));
        }
        let Some(link) = self.links.get_mut(&identity) else {
            let (missing, first) = (header.names - 1, name.clone());
            let (waiting, then) = if header.size > 0 {
                (None, Then::File(name))
            } else {
                self.order.push(identity);
                (Some(Waiting { header, others: Vec::new() }), Then::Wait)
            };
            self.links.insert(identity, Link { first, waiting, missing, memory });
            return Ok(then);
        };
        link.missing = link.missing.saturating_sub(1);
        link.memory += memory;
        let is_last = link.missing == 0;
        let then = match &mut link.waiting {
            None => Then::Link(name, link.first.clone()),
            Some(waiting) if header.size == 0 => {
                waiting.others.push(name);
                Then::Wait
            }
            Some(waiting) => {
                let others = std::mem::take(&mut waiting.others);
                link.waiting = None;
                let first = &link.first;
                self.ready.extend(others.into_iter().chain([name]).map(|name| Ready::Link(name, first.clone())));
                Then::File(first.clone())
            }
        };
        if is_last {
            // Another file may have the number after this: the old formats have few bits for it.
            self.give_up(identity);
            if let Some(link) = self.links.remove(&identity) {
                self.memory -= link.memory;
            }
        }
        Ok(then)
    }

    /// The archive has ended: what waits has no content, or lost it where the archive `was_damaged`.
    pub(super) fn end(&mut self, was_damaged: bool) {
        for identity in std::mem::take(&mut self.order) {
            if !was_damaged {
                self.give_up(identity);
            } else if let Some(link) = self.links.get(&identity).filter(|link| link.waiting.is_some()) {
                self.ready.push_back(Ready::Lost(link.first.clone()));
            }
        }
        self.links.clear();
        self.memory = 0;
    }

    fn give_up(&mut self, identity: (u64, u64)) {
        let Some(link) = self.links.get_mut(&identity) else { return };
        let Some(Waiting { header, others }) = link.waiting.take() else { return };
        self.ready.push_back(Ready::Empty(link.first.clone(), header));
        self.ready.extend(others.into_iter().map(|name| Ready::Link(name, link.first.clone())));
    }
}
