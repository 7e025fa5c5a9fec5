//! [`Giver`]: hands entries over one after the other, in the archive's order, with content that is read once.

use std::io::{self, Read, Write};

use manyfiles::tree::{TreeFile, TreeWriter};
use manyfiles::{Error, Operation};

use crate::cancel::Cancel;
use crate::entry::{Entry, Kind};
use crate::entry_filter::EntryFilter;
use crate::error::{ErrorKind, Result};
use crate::limits::{Limits, Meter, check_ratio};
use crate::reader::Place;
use crate::target::{Target, in_the_report, keep_part};
use crate::test::Test;

/// Content up to this length is written only when it is whole, and its checksum right.
const SMALL: u64 = 512 << 10;
const BUFFER: usize = 128 << 10;

pub(crate) struct Giver<'g, 't> {
    pub filter: &'g EntryFilter,
    pub limits: &'g Limits,
    pub meter: &'g mut Meter,
    pub target: &'g mut Target<'t>,
    pub cancel: &'g Cancel,
    /// How long the archive is.
    pub len: u64,
}

impl Giver<'_, '_> {
    /// The next entry. `content` has as many bytes as a file's size, or fails, and is read if it is needed. `place`:
    /// where an index finds it.
    pub(crate) fn give(&mut self, entry: Entry<'_>, place: Place<'_>, content: &mut dyn Read) -> Result<(), ErrorKind> {
        self.cancel.check()?;
        self.meter.entry()?;
        if !self.filter.selects(entry.path) {
            self.meter.left_out += 1;
            return Ok(());
        }
        let Some(mut entry) = self.filter.reduce(entry) else {
            self.meter.stripped();
            return Ok(());
        };
        entry.check_target();
        if entry.kind == Kind::File && entry.refusal.is_none() {
            self.meter.content(entry.size)?;
            check_ratio(self.limits, self.meter.bytes, self.len)?;
        }
        match self.target {
            Target::Tree(tree) => write(&mut entry, content, tree, false, self.cancel)?,
            Target::Salvage(tree, _) => write(&mut entry, content, tree, true, self.cancel)?,
            Target::List(visit) => {
                entry.check_paths();
                visit(&entry);
            }
            Target::Index(builder) => builder.add(&entry, place)?,
            Target::Test(test) => check(&entry, content, test, self.cancel)?,
        }
        Ok(())
    }
}

/// Reads all content. What a tree would refuse by its name or its kind is no damage.
fn check(entry: &Entry<'_>, content: &mut dyn Read, test: &mut Test<'_>, cancel: &Cancel) -> Result<(), ErrorKind> {
    let mut lost = entry.refusal.as_ref().filter(|it| it.refusal().is_none()).map(|it| it.io_error().to_string());
    let mut bytes = 0;
    if entry.kind == Kind::File && entry.refusal.is_none() {
        let mut buffer = vec![0; BUFFER];
        while lost.is_none() {
            cancel.check()?;
            match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => bytes += len as u64,
                Err(error) => lost = Some(error.to_string()),
            }
        }
    }
    if let Some(cause) = &lost {
        let cause = cause.strip_prefix("the archive is damaged here: ").unwrap_or(cause);
        test.tell(Some(entry.path), None, cause);
    }
    test.entry(if lost.is_none() { bytes } else { 0 }, lost.is_none());
    Ok(())
}

/// Hands an entry over to a tree. What fails is in its report.
fn write(
    entry: &mut Entry<'_>,
    content: &mut dyn Read,
    tree: &TreeWriter,
    keeps_part: bool,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    if let Some(refusal) = entry.refusal.take() {
        tree.fail(refusal);
        return Ok(());
    }
    let (path, metadata) = (entry.path, entry.metadata());
    match entry.kind {
        Kind::File if entry.size <= SMALL && !keeps_part => {
            let mut bytes = Vec::with_capacity(entry.size as usize);
            match content.read_to_end(&mut bytes) {
                Ok(_) => tree.file_with(path, bytes, metadata),
                Err(error) => {
                    tree.fail(Error::new(Operation::Read, path, error));
                    Ok(())
                }
            }
        }
        Kind::File => return stream(entry, content, tree, keeps_part, cancel),
        Kind::Folder => tree.folder(path, metadata),
        Kind::Symlink(target) => tree.symlink(path, target, metadata),
        Kind::HardLink(existing) => tree.hard_link(path, existing),
        Kind::Node(node) => tree.node(path, node, metadata),
        Kind::Other => Ok(()),
    }
    .unwrap_or_else(in_the_report);
    cancel.check()
}

fn stream(
    entry: &Entry<'_>,
    content: &mut dyn Read,
    tree: &TreeWriter,
    keeps_part: bool,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let mut file: TreeFile = match tree.create(entry.path, entry.metadata()) {
        Ok(file) => file,
        Err(error) => {
            in_the_report(error);
            return cancel.check();
        }
    };
    let mut copy = || -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            cancel.check().map_err(|kind| kind.of_entry())?;
            match content.read(&mut buffer)? {
                0 => return Ok(()),
                len => file.write_all(&buffer[..len])?,
            }
        }
    };
    match copy() {
        Ok(()) => file.close().map_or_else(in_the_report, |_| ()),
        Err(error) if keeps_part && error.kind() == io::ErrorKind::InvalidData => keep_part(file, error, entry, tree),
        Err(error) => file.abandon(error),
    }
    cancel.check()
}
