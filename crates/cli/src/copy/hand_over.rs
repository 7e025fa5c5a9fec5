//! [`HandOver`]: gives what the walk found to the tree.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use manyfiles::tree::{self, Content, Keep, Metadata, Refusal, Symlink};
use manyfiles::{Error, Operation};

use super::hard_links::{self, HardLinks};
use crate::args::{self, Keeping, Link, Options};
use crate::session::Session;
use crate::sys;
use crate::walk::Found;

/// Turns entries into calls of the tree.
pub(super) struct HandOver<'a> {
    session: &'a Session,
    options: &'a Options,
    keeping: &'a Keeping,
    keep: Keep,
    link: Option<Link>,
    links: HardLinks,
    acls: sys::Acls,
    /// The user and group of this process's files, if it could also make files of other owners.
    own_ids: Option<(u32, u32)>,
    /// Sockets, which are not copied.
    pub sockets: Vec<PathBuf>,
    /// Entries that belong to others in the source, and will not in the copy.
    pub other_owners: u64,
}

impl<'a> HandOver<'a> {
    pub(super) fn new(session: &'a Session, args: &'a args::Copy, keep: Keep) -> HandOver<'a> {
        HandOver {
            session,
            options: &args.options,
            keeping: &args.keeping,
            keep,
            link: args.link,
            links: HardLinks::default(),
            acls: sys::Acls::default(),
            own_ids: sys::is_privileged().then(sys::own_ids),
            sockets: Vec::new(),
            other_owners: 0,
        }
    }

    /// Entries with an access control list that is not kept, as far as that was seen.
    pub(super) fn with_attributes(&self) -> u64 {
        self.acls.found()
    }

    /// Hands one entry over. Errors of the tree are in its report.
    pub(super) fn entry(&mut self, found: &Found) {
        if sys::is_socket(&found.metadata) {
            return self.sockets.push(found.source.clone());
        }
        let root = self.session.tree().root();
        let stands = |found: &Found| hard_links::stands(found, root, self.options.on_conflict);
        let first = if self.is_wanted(found) { self.links.earlier_name(found, stands) } else { None };
        let Some(first) = first else { return self.whole(found) };
        let tree = self.session.tree();
        let handed_over = match found.metadata.is_file() {
            true => tree.hard_link_or(&found.path, first, self.content(found), self.own_metadata(found)),
            false => tree.hard_link(&found.path, first),
        };
        drop(handed_over); // an error of these calls is in the report
    }

    fn content(&self, found: &Found) -> Content {
        let source = &found.absolute;
        match self.link {
            None => Content::copy_of(source),
            Some(Link::Reflink) => Content::clone_of(source),
            Some(Link::Auto) => Content::link_to(source),
            Some(Link::Hard) => Content::hard_link_to(source),
        }
    }

    fn is_wanted(&self, found: &Found) -> bool {
        let kind = found.metadata.file_type();
        kind.is_dir() || kind.is_file() || kind.is_symlink() || self.node(found).is_some()
    }

    fn node(&self, found: &Found) -> Option<tree::Node> {
        sys::node(&found.metadata).filter(|_| self.options.special_files)
    }

    /// Hands over an entry with its content.
    fn whole(&mut self, found: &Found) {
        let tree = self.session.tree();
        let kind = found.metadata.file_type();
        let mut metadata = self.own_metadata(found);
        // What a file has is read where it is opened for its bytes.
        if !kind.is_file() && self.is_wanted(found) && self.keep != Keep::default() {
            match self.with_attributes_of(found, metadata) {
                Ok(with) => metadata = with,
                Err(error) => return tree.fail(Error::new(Operation::Metadata, &found.source, error)),
            }
        }
        if kind.is_file() && sys::is_too_long(&found.source) {
            if let Err(error) = self.stream(found, metadata) {
                tree.fail(Error::new(Operation::Read, &found.source, error));
            }
            return;
        }
        let handed_over = match self.node(found) {
            Some(node) => tree.node(&found.path, node, metadata),
            None if kind.is_dir() => tree.folder(&found.path, metadata),
            None if kind.is_file() => tree.file_with(&found.path, self.content(found), metadata),
            None if kind.is_symlink() => {
                match sys::reach(found.at()).and_then(|reached| Symlink::read(reached.path())) {
                    Ok(link) => tree.symlink(&found.path, link, metadata),
                    Err(error) => {
                        tree.fail(Error::new(Operation::Read, &found.source, error));
                        Ok(())
                    }
                }
            }
            None => {
                tree.fail(unwanted(found));
                Ok(())
            }
        };
        drop(handed_over); // an error of these calls is in the report
    }

    /// Hands over a file with a path that is longer than the system takes. It is read here, piece by piece. An error is
    /// one of the source; errors of the tree are in its report.
    fn stream(&self, found: &Found, metadata: Metadata) -> io::Result<()> {
        let mut source = File::open(sys::reach(found.at())?.path())?;
        let metadata = metadata.attributes_of_file(&source, self.keep)?;
        let Ok(mut copy) = self.session.tree().create(&found.path, metadata) else { return Ok(()) };
        let has_holes = sys::has_holes(&found.metadata);
        let mut buffer = vec![0; 256 << 10];
        loop {
            let piece = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => &buffer[..len],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error), // the copy is not closed, and so removed
            };
            let taken = match has_holes && piece.iter().all(|&byte| byte == 0) {
                true => copy.skip(piece.len() as u64).map_err(io::Error::from),
                false => io::Write::write_all(&mut copy, piece),
            };
            if taken.is_err() {
                break;
            }
        }
        drop(copy.close());
        Ok(())
    }

    /// What it has of all that is kept and that a look at it does not show.
    fn with_attributes_of(&self, found: &Found, metadata: Metadata) -> io::Result<Metadata> {
        metadata.attributes_of(sys::reach(&found.source)?.path(), self.keep)
    }

    /// Permissions, times and owner.
    fn own_metadata(&mut self, found: &Found) -> Metadata {
        let of = &found.metadata;
        let bits = if self.options.set_id { 0o7777 } else { 0o1777 };
        let keeps_lists = self.keeping.archive || self.keeping.acls;
        let mode = if keeps_lists { sys::mode(of) } else { self.acls.mode(&found.source, of) };
        let mut metadata = Metadata::default().mode(mode & bits);
        if let Ok(modified) = of.modified() {
            metadata = metadata.modified(modified);
        }
        if let Ok(accessed) = of.accessed()
            && self.keeping.archive
        {
            metadata = metadata.accessed(accessed);
        }
        if let Some((user, group)) = sys::owner(of) {
            if self.options.same_owner || self.keeping.archive {
                metadata = metadata.owner(user, group);
            } else if self.own_ids.is_some_and(|own| own != (user, group)) {
                self.other_owners += 1;
            }
        }
        metadata
    }
}

/// The refusal of something that is neither file, folder nor link.
pub(crate) fn unwanted(found: &Found) -> Error {
    Error::refused(Operation::CreateNode, &found.source, Refusal::UnwantedKind)
}
