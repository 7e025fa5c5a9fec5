//! `manyfiles unpack ARCHIVE… -C DIR`.

use std::path::Path;
use std::sync::Arc;

use manyfiles::tree::{Keep, Symlink};
use manyfiles_archive::{Entry, ErrorKind, Finding, InputProgress, Kind as ArchiveKind, Summary, Unpacker};

use crate::archive::{Archive, read_twice};
use crate::args::{self, Keeping};
use crate::dry_run::{self, Is, Plan};
use crate::filter::Filter;
use crate::job::Job;
use crate::password::{Asker, Known};
use crate::read::{Read, Source};
use crate::session::Session;
use crate::stop::Stop;
use crate::sys;
use crate::terminal::{AboutEntry, InputRead, Screen};
use crate::words::{CannotBegin, Words};
use crate::work::Work;

pub(crate) const WORDS: Words = Words { command: "unpack", done: "unpacked", sources: "archives" };

/// Archives that are there and can be opened, and how they are to be unpacked.
pub(crate) struct Unpack {
    archives: Vec<Archive>,
    filter: Arc<Filter>,
    progress: InputProgress,
    password: Known,
    args: args::Unpack,
}

impl Unpack {
    /// Checks all arguments, and touches nothing.
    pub(crate) fn check(args: args::Unpack) -> Result<Unpack, CannotBegin> {
        let filter = args.options.filter().map_err(CannotBegin::because)?;
        let password = Known::of(&args.unlock)?;
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
        if args.keep_directory_symlink && cfg!(windows) {
            wrong.push("no links are followed on Windows; leave out --keep-directory-symlink".into());
        }
        if !wrong.is_empty() {
            return Err(CannotBegin(wrong));
        }
        Ok(Unpack { archives, filter: Arc::new(filter), progress: InputProgress::new(), password, args })
    }

    /// `name` is told the path of each entry that is selected.
    fn unpacker(&self, name: Option<impl Fn(&Path) + Send + Sync + 'static>, asker: Asker) -> Unpacker {
        let options = &self.args.options;
        let mut choices = Unpacker::options()
            .strip_components(options.strip_components)
            .limits(self.args.reading.limits())
            .special_files(options.special_files || self.args.archive)
            .numeric_owner(self.args.numeric_owner)
            .set_id(options.set_id || self.args.archive) // Without their owner, files lose them again.
            .keep(self.keep())
            .strip_root(self.args.strip_root)
            .ignore_zeros(self.args.reading.ignore_zeros)
            .progress(self.progress.clone());
        choices = self.password.give(choices, asker);
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
        self.args.archive || sys::is_privileged()
    }

    fn keep(&self) -> Keep {
        let args::Unpack { archive, xattrs, acls, options, .. } = &self.args;
        let keeping = Keeping { archive: *archive, xattrs: *xattrs, acls: *acls };
        keeping.keep(options.same_owner)
    }

    fn follows_folder_links(&self) -> bool {
        self.args.keep_directory_symlink
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
        let unpacker = self.unpacker(session.namer(), session.asker());
        let mut seen = Seen::default();
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
                    seen.add(&summary);
                    let warning = archive.warning(&summary);
                    session.warn(warning.as_deref());
                    Source { warning, damage, ..Source::whole(&archive.path) }
                }
                Err(error) => session.cannot_read(&archive.path, error),
            }
        };
        let sources = self.archives.iter().take_while(|_| !session.stop().is_set()).map(unpack).collect();
        self.read(sources, seen)
    }

    fn list(&self, plan: &mut Plan) -> Read {
        let unpacker = self.unpacker(None::<fn(&Path)>, Asker::on(&Arc::new(Screen::default())));
        let mut seen = Seen::default();
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
                    seen.add(&summary);
                    Source { warning: archive.warning(&summary), ..source }
                }
                Err(error) => Source { error: Some(error), ..source },
            }
        };
        let sources = self.archives.iter().map(list).collect();
        self.read(sources, seen)
    }
}

/// What the archives' summaries say together.
#[derive(Default)]
struct Seen {
    with_attributes: u64,
    rooted: u64,
}

impl Seen {
    fn add(&mut self, summary: &Summary) {
        self.with_attributes += summary.with_attributes;
        self.rooted += summary.rooted;
    }
}

impl Unpack {
    fn read(&self, sources: Vec<Source>, seen: Seen) -> Read {
        let Seen { with_attributes, rooted } = seen;
        let unmatched = self.filter.unmatched();
        let keeps_attributes = self.args.archive || self.args.xattrs && self.args.acls;
        Read { sources, unmatched, with_attributes, rooted, keeps_attributes, ..Read::default() }
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
