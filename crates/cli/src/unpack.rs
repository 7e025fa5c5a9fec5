//! `manyfiles unpack ARCHIVE… -C DIR`.

use std::path::Path;
use std::sync::Arc;

use manyfiles::tree::Symlink;
use manyfiles_archive::{Entry, ErrorKind, Finding, InputProgress, Kind as ArchiveKind, Unpacker};

use crate::archive::{Archive, read_twice};
use crate::args;
use crate::dry_run::{self, Is, Plan};
use crate::filter::Filter;
use crate::job::Job;
use crate::read::{Read, Source};
use crate::session::Session;
use crate::stop::Stop;
use crate::sys;
use crate::terminal::{AboutEntry, InputRead};
use crate::words::{CannotBegin, Words};
use crate::work::Work;

pub(crate) const WORDS: Words = Words { command: "unpack", done: "unpacked", sources: "archives" };

/// Archives that are there and can be opened, and how they are to be unpacked.
pub(crate) struct Unpack {
    archives: Vec<Archive>,
    filter: Arc<Filter>,
    progress: InputProgress,
    args: args::Unpack,
}

impl Unpack {
    /// Checks all arguments, and touches nothing.
    pub(crate) fn check(args: args::Unpack) -> Result<Unpack, CannotBegin> {
        let filter = Filter::new(&args.options.include, &args.options.exclude).map_err(CannotBegin::because)?;
        let (mut archives, mut wrong) = (Vec::new(), Vec::new());
        for (number, path) in args.archives.iter().enumerate() {
            let meant_as_destination =
                number > 0 && number + 1 == args.archives.len() && args.directory == Path::new(".");
            match Archive::check(path) {
                Ok(archive) => archives.push(archive),
                // As `cp` and `unzip -d` have it: the last is where to.
                Err(why) if meant_as_destination && (path.is_dir() || !path.exists()) => {
                    wrong.push(format!("{why}; to unpack into a folder of this name: -C {}", path.display()));
                }
                Err(why) => wrong.push(why),
            }
        }
        wrong.extend(read_twice(&args.archives));
        if !wrong.is_empty() {
            return Err(CannotBegin(wrong));
        }
        Ok(Unpack { archives, filter: Arc::new(filter), progress: InputProgress::new(), args })
    }

    /// `name` is told the path of each entry that is selected.
    fn unpacker(&self, name: Option<impl Fn(&Path) + Send + Sync + 'static>) -> Unpacker {
        let options = &self.args.options;
        let mut choices = Unpacker::options()
            .strip_components(options.strip_components)
            .limits(self.args.reading.limits())
            .special_files(options.special_files)
            .ownership(options.same_owner)
            .set_id(options.set_id)
            .xattrs(self.args.xattrs)
            .ignore_zeros(self.args.reading.ignore_zeros)
            .progress(self.progress.clone());
        if options.jobs > 0 {
            choices = choices.threads(options.jobs);
        }
        if !self.filter.is_open() || name.is_some() {
            let filter = self.filter.clone();
            choices = choices.select(Arc::new(move |path| {
                let selected = filter.selects(path);
                if let Some(name) = name.as_ref().filter(|_| selected) {
                    name(path);
                }
                selected
            }));
        }
        choices.build()
    }
}

impl Job for Unpack {
    fn words(&self) -> Words {
        WORDS
    }

    fn root(&self) -> &Path {
        &self.args.directory
    }

    fn keeps_permissions(&self) -> bool {
        sys::is_privileged()
    }

    fn input_read(&self) -> Box<dyn Fn() -> InputRead + Send> {
        let progress = self.progress.clone();
        let total = self.archives.iter().map(|archive| archive.size).sum();
        Box::new(move || InputRead::Bytes(progress.read(), total))
    }

    fn last_wins(&self) -> bool {
        true
    }

    fn about(&self) -> AboutEntry {
        Box::new(|_| None) // an entry that was read is known to the tree alone
    }
}

impl Work for Unpack {
    fn write(&self, session: &Session) -> Read {
        let unpacker = self.unpacker(session.namer());
        let mut with_attributes = 0;
        let unpack = |archive: &Archive| {
            let mut damage = 0;
            let mut tell = |finding: &Finding| {
                damage += 1;
                session.warn(Some(&archive.cannot(finding)));
            };
            let unpacked = match archive.open(session.stop()) {
                Ok(input) if self.args.salvage => unpacker.salvage(input, session.tree(), &mut tell),
                Ok(input) => unpacker.unpack(input, session.tree()),
                Err(error) => return session.cannot_read(&archive.path, archive.cannot(error)),
            };
            let advice = |kind: &ErrorKind| match kind {
                ErrorKind::Damaged { .. } if !self.args.salvage => "; --salvage goes on behind the damage",
                _ => "",
            };
            match unpacked.map_err(|error| archive.cannot(error.kind()) + advice(error.kind())) {
                Ok(summary) => {
                    with_attributes += summary.with_attributes;
                    let warning = archive.warning(&summary);
                    session.warn(warning.as_deref());
                    Source { warning, damage, ..Source::whole(&archive.path) }
                }
                Err(error) => session.cannot_read(&archive.path, error),
            }
        };
        let sources = self.archives.iter().take_while(|_| !session.stop().is_set()).map(unpack).collect();
        self.read(sources, with_attributes)
    }

    fn list(&self, plan: &mut Plan) -> Read {
        let unpacker = self.unpacker(None::<fn(&Path)>);
        let mut with_attributes = 0;
        let list = |archive: &Archive| {
            let listed = match archive.open(&Stop::default()) {
                Ok(input) => {
                    unpacker.list(input, &mut |entry| add(entry, plan)).map_err(|error| archive.cannot(error.kind()))
                }
                Err(error) => Err(archive.cannot(error)),
            };
            let source = Source::whole(&archive.path);
            match listed {
                Ok(summary) => {
                    with_attributes += summary.with_attributes;
                    Source { warning: archive.warning(&summary), ..source }
                }
                Err(error) => Source { error: Some(error), ..source },
            }
        };
        let sources = self.archives.iter().map(list).collect();
        self.read(sources, with_attributes)
    }
}

impl Unpack {
    fn read(&self, sources: Vec<Source>, with_attributes: u64) -> Read {
        let (unmatched, keeps_xattrs) = (self.filter.unmatched(), self.args.xattrs);
        Read { sources, unmatched, with_attributes, keeps_xattrs, ..Read::default() }
    }
}

fn add(entry: &Entry, plan: &mut Plan) {
    if let Some(refusal) = &entry.refusal {
        return plan.refuse_or_fail(refusal);
    }
    let link;
    let is = match entry.kind {
        ArchiveKind::Folder => Is::Folder,
        ArchiveKind::Symlink(target) => {
            link = Symlink::from(target);
            Is::Symlink(&link)
        }
        ArchiveKind::HardLink(existing) => Is::HardLink { existing, or_file: false },
        ArchiveKind::Node(node) => Is::Node(node),
        _ => Is::File,
    };
    plan.entry(dry_run::Entry { path: entry.path, is, bytes: entry.size, modified: entry.modified });
}
