//! [`Unpacker`]: opens an archive, finds out what it is, and has it read.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use manyfiles::tree::TreeWriter;

use crate::ar;
use crate::cancel::Cancel;
use crate::cpio;
use crate::decode::{self, Blocks};
use crate::entry::Entry;
use crate::entry_filter::EntryFilter;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::format::{self, Format, HEAD, Inside};
use crate::iso;
use crate::joined::{Joined, Reader};
use crate::limits::Meter;
use crate::options::Options;
use crate::parts;
#[cfg(feature = "sevenz")]
use crate::sevenz;
use crate::single::{self, Named, Origin};
use crate::stamp::Stamp;
use crate::summary::{Summary, Trailing};
use crate::tar::{self, FileSource, StreamSource};
use crate::target::Target;
use crate::test::{Finding, Test, Tested};
use crate::zip;

/// Where an archive comes from.
pub enum Input {
    /// A file, recognised by its content. A pipe or a device is read as a stream.
    File(PathBuf),
    /// A stream that cannot be sought in: anything that [`Unpacker`] reads, recognised by its content; not zip, because a zip's
    /// directory is at its end. The stream is read on a thread of its own. A stream that neither ends nor sends keeps
    /// that thread waiting after the call has returned.
    Stream(Box<dyn Read + Send>),
}

/// Unpacks archives, each by one call of [`unpack`](Unpacker::unpack), [`list`](Unpacker::list) or
/// [`test`](Unpacker::test).
///
/// ```no_run
/// use manyfiles::tree::TreeWriter;
/// use manyfiles_archive::{Input, Unpacker};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tree = TreeWriter::open("linux")?;
/// let unpacker = Unpacker::options().strip_components(1).build();
/// let summary = unpacker.unpack(Input::File("linux-6.1.tar.xz".into()), &tree)?;
/// let report = tree.finish()?;
/// println!("{}: {} entries, {} files written", summary.format, summary.entries, report.files);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Unpacker {
    options: Options,
}

impl Options {
    /// The unpacker.
    pub fn build(self) -> Unpacker {
        Unpacker { options: self }
    }
}

impl Unpacker {
    /// With default [`Options`]: everything is unpacked but ownership, set-id bits, devices and FIFOs, within default
    /// [`Limits`](crate::Limits).
    pub fn new() -> Unpacker {
        Unpacker::default()
    }

    /// The choices, to be followed by [`build`](Options::build).
    pub fn options() -> Options {
        Options::default()
    }

    /// Reads `input` to its end and hands every entry to `tree`, as long as that is not cancelled.
    ///
    /// Entries that are refused or damaged are in the tree's report, with those that could not be written; an `Err`
    /// says that the archive could not be read, or not to its end. Entries that were handed over before stay.
    ///
    /// Entries are handed over in the archive's order, whichever thread has decoded them, so that the tree decides
    /// about a second entry of one path.
    pub fn unpack(&self, input: Input, tree: &TreeWriter) -> Result<Summary> {
        self.read(input, &mut Target::Tree(tree), Cancel(Some(tree.canceller())))
    }

    /// Reads `input` to its end and shows every entry that [`unpack`](Unpacker::unpack) would hand over or refuse. Of a
    /// zip only the directory is read, so that damaged content is not noticed.
    pub fn list(&self, input: Input, visit: &mut dyn FnMut(&Entry<'_>)) -> Result<Summary> {
        self.read(input, &mut Target::List(visit), Cancel::default())
    }

    /// Decodes all of `input`, compares it with every checksum that it has, and writes nothing. Each thing that is
    /// wrong is told. What is behind damage is tested as far as it can be found: the other entries of a zip, and the
    /// entries of a tar that has no compression, or whose compression is whole.
    ///
    /// What is compared: the checksums of gzip, zstd, xz, bzip2, lz4 and lzip; the sums of a tar's headers, their
    /// numbers, and the end of the tar; the sums of a cpio archive of the format "crc", and its end; the control archive
    /// of a `.deb`; a zip's lengths and checksums, and each entry's own header with the directory. A tar
    /// without compression has no checksum of content, nor have lzma and compress(1), nor a zstd, xz or lz4 that was made
    /// without: changed bytes
    /// there cannot be noticed, and [`unproven`](Tested::unproven) says so of compressed ones. What stands behind the
    /// archive or between a zip's entries, and is not read, counts as wrong if it is an entry, or if it follows the
    /// archive. A zip whose directory is missing has no entries that are found.
    ///
    /// Every entry is tested, selected or not. The limits hold as for [`unpack`](Unpacker::unpack).
    ///
    /// An `Err` says that `input` cannot be read, is no archive, or goes over a limit; damage is no `Err`.
    pub fn test(&self, input: Input, tell: &mut (dyn FnMut(&Finding) + Send)) -> Result<Tested> {
        let all = Options { filter: EntryFilter::default(), ..self.options.clone() };
        let mut target = Target::Test(Test::new(tell));
        let summary = all.build().read(input, &mut target, Cancel::default())?;
        let Target::Test(test) = target else { unreachable!("a target stays what it is") };
        Ok(test.done(summary.format))
    }

    /// Unpacks what can be had of a damaged archive. Each damage is told, and reading goes on behind it:
    ///
    /// - a tar and a cpio archive at the next header; what is compressed ends at damage of the compressed data, but for
    ///   the members behind it, which are not looked for;
    /// - a zip whose directory is missing, or does not fit what is before it, by the headers that the entries have
    ///   themselves. Where the directory does not know them, nothing says which entries are links and what permissions
    ///   they have: links become files with their target in them.
    ///
    /// A file whose content is cut short or damaged stays, as far as it could be decoded, and is in the tree's report
    /// as a failure. What has no checksum may have wrong bytes; compressed data has its checksum at its end, so where
    /// it is damaged, files before that place may have wrong bytes as well. A tar that is stored in a damaged tar may
    /// be taken for its entries.
    ///
    /// An `Err` says that `input` cannot be read, is no archive, or goes over a limit; damage is no `Err`.
    pub fn salvage(&self, input: Input, tree: &TreeWriter, tell: &mut (dyn FnMut(&Finding) + Send)) -> Result<Summary> {
        self.read(input, &mut Target::Salvage(tree, Test::new(tell)), Cancel(Some(tree.canceller())))
    }

    fn read(&self, input: Input, target: &mut Target<'_>, cancel: Cancel) -> Result<Summary> {
        let name = match &input {
            Input::File(path) => path.clone(),
            Input::Stream(_) => "-".into(),
        };
        match input {
            Input::File(path) => self.read_file(&path, target, cancel).map_err(|kind| parts::explain(&path, kind)),
            Input::Stream(stream) => self.read_stream(stream, target, cancel),
        }
        .map_err(|kind| Error::new(name, kind))
    }

    fn read_file(&self, path: &Path, target: &mut Target<'_>, cancel: Cancel) -> Result<Summary, ErrorKind> {
        let file = match File::open(path) {
            Ok(file) => file,
            // Windows does not open folders.
            Err(_) if path.is_dir() => return Err(ErrorKind::Folder),
            Err(error) => return Err(ErrorKind::Open(error)),
        };
        let stamp = Stamp::of(&file).map_err(ErrorKind::Open)?;
        let metadata = file.metadata().map_err(ErrorKind::Open)?;
        if metadata.is_dir() {
            return Err(ErrorKind::Folder);
        }
        if !metadata.is_file() {
            return self.read_stream(Box::new(file), target, cancel);
        }
        if stamp.len == 0 {
            return Err(ErrorKind::Empty);
        }
        self.read_open(parts::join(path, file, stamp)?, path, target, cancel)
    }

    /// Reads a file that has some bytes.
    pub(crate) fn read_open(
        &self,
        mut joined: Joined,
        path: &Path,
        target: &mut Target<'_>,
        cancel: Cancel,
    ) -> Result<Summary, ErrorKind> {
        let remark = joined.remark.take();
        self.read_joined(joined, path, target, cancel).map_err(|kind| parts::remark(kind, remark))
    }

    fn read_joined(
        &self,
        joined: Joined,
        path: &Path,
        target: &mut Target<'_>,
        cancel: Cancel,
    ) -> Result<Summary, ErrorKind> {
        let len = joined.len();
        let mut head = vec![0; len.min(HEAD as u64) as usize];
        joined.fill(&mut head, 0)?;
        self.options.progress.opened(Some(len));
        let has_header = format::detect(&head) == Some(Format::Tar(None)) && head[0] != 0;
        match format::detect(&head) {
            #[cfg(feature = "sevenz")]
            Some(Format::SevenZ) => self.read_sevenz(&joined, path, target, &cancel, None),
            // Before its beginning an image has room for anything.
            None | Some(Format::Tar(None)) if !has_header && iso::is_image(&joined)? => {
                self.read_iso(&joined, target, &cancel)
            }
            // A file that begins with zeros may be anything, for example zeros with a zip behind them.
            Some(Format::Tar(None)) if head[0] == 0 && zip::has_end(&joined)? => {
                self.read_zip(joined, path, target, &cancel)
            }
            Some(format) if format != Format::Zip && !joined.is_one() => {
                // The number of a part is none of the name.
                let origin = Origin::of(&path.with_extension(""), joined.last());
                let input = decode::Input::new(Box::new(Reader::new(joined)), self.options.progress.clone());
                self.read_blocks(input, &origin, target, cancel)
            }
            Some(format @ (Format::Tar(None) | Format::Cpio(None) | Format::Ar)) => {
                let (file, _) = joined.into_last();
                let source = FileSource::new(file, path, self.options.progress.clone()).map_err(ErrorKind::Open)?;
                let inside = Inside::of(format, &head, |_| Named::Nothing);
                self.read_inside(source, &inside, format, target, &cancel).1
            }
            Some(Format::Tar(_) | Format::Cpio(_) | Format::Single(_) | Format::Deb | Format::Rpm) => {
                let (mut file, _) = joined.into_last();
                let origin = Origin::of(path, &file);
                // On Windows a read by position moves the position.
                file.rewind().map_err(ErrorKind::Read)?;
                let input = decode::Input::new(Box::new(file), self.options.progress.clone());
                self.read_blocks(input, &origin, target, cancel)
            }
            Some(Format::Zip) => self.read_zip(joined, path, target, &cancel),
            // A zip may have any bytes before it, for example a program that unpacks it.
            None if zip::has_end(&joined)? => self.read_zip(joined, path, target, &cancel),
            _ => Err(ErrorKind::NotAnArchive { looks_like: format::looks_like(&head), compression: None }),
        }
    }

    fn read_stream(
        &self,
        stream: Box<dyn Read + Send>,
        target: &mut Target<'_>,
        cancel: Cancel,
    ) -> Result<Summary, ErrorKind> {
        self.options.progress.opened(None);
        let input = decode::Input::new(stream, self.options.progress.clone());
        self.read_blocks(input, &Origin::default(), target, cancel)
    }

    /// Reads an input that may keep its reader waiting, on another thread.
    fn read_blocks(
        &self,
        input: decode::Input,
        origin: &Origin,
        target: &mut Target<'_>,
        cancel: Cancel,
    ) -> Result<Summary, ErrorKind> {
        let mut input = input.with_threads(self.options.threads);
        if let Target::Salvage(..) = target {
            input = input.in_small_steps();
        }
        let mut blocks = Blocks::start(input).map_err(ErrorKind::Read)?;
        let (detected, head) = blocks.format(&cancel)?;
        let format = match detected {
            Some(Format::Zip) => return Err(ErrorKind::ZipStream),
            Some(Format::SevenZ | Format::Iso) => {
                let cause = "a 7z archive cannot be read from a stream, because its directory is at its end; save it \
                             to a file first";
                return Err(ErrorKind::Unsupported(cause.into()));
            }
            Some(format) => format,
            None if head.is_empty() => return Err(ErrorKind::Empty),
            None => {
                return Err(ErrorKind::NotAnArchive { looks_like: format::looks_like(&head), compression: None });
            }
        };
        let compression = format.compression();
        let limits = format.is_packed().then_some(self.options.limits);
        let mut source = StreamSource::new(blocks, limits, cancel.clone());
        let content = source.peek();
        let inside = Inside::of(format, content, |compression| Named::of(origin, compression, &head));
        if let Err(kind) = format::check_package(format, content) {
            // Behind this there is nothing.
            match target.tolerant() {
                Some(test) => test.damage(kind)?,
                None => return Err(kind),
            }
            return Ok(summary(format, &Meter::new(self.options.limits), None));
        }
        let (source, summary) = self.read_inside(source, &inside, format, target, &cancel);
        let mut summary = summary.map_err(|kind| match compression {
            Some(compression) => kind.in_compressed(compression),
            None => kind,
        })?;
        if source.trailing_garbage() {
            summary.trailing.get_or_insert(Trailing::AfterCompressed);
            if let Target::Test(test) = target {
                let at = Position::Archive(source.used());
                test.tell(None, Some(at), Trailing::AfterCompressed.to_string());
            }
        }
        if let Target::Test(test) = target {
            if source.odd_package() {
                test.tell(None, None, "what the package has before its files (debian-binary, control.tar) is damaged, or is not all there");
            }
            let at = Some(Position::Archive(source.used()));
            if source.odd_padding() {
                test.tell(None, at, "zeros stand behind compressed data, which this compression does not allow");
            }
            if source.unknown_check() {
                test.tell(
                    None,
                    None,
                    "its checksums are of a kind that is not known, so nothing was compared with them",
                );
            }
            test.is_unchecked = source.unchecked();
        }
        Ok(summary)
    }

    /// Reads what stands in a file of this `format`.
    pub(crate) fn read_inside<S: tar::Source>(
        &self,
        mut source: S,
        inside: &Inside,
        format: Format,
        target: &mut Target<'_>,
        cancel: &Cancel,
    ) -> (S, Result<Summary, ErrorKind>) {
        let mut meter = Meter::new(self.options.limits);
        let (filter, ignore_zeros) = (&self.options.filter, self.options.ignore_zeros);
        let (source, read) = match inside {
            Inside::Tar => tar::read(tar::Scanner::new(source), filter, ignore_zeros, &mut meter, target, cancel),
            Inside::Cpio => tar::read(cpio::Scanner::new(source), filter, ignore_zeros, &mut meter, target, cancel),
            Inside::Ar => tar::read(ar::Scanner::new(source), filter, ignore_zeros, &mut meter, target, cancel),
            Inside::Single(single) => {
                let read = single::read(&mut source, single, filter, &mut meter, target, cancel);
                (source, read.map(|()| None))
            }
        };
        if let (Ok(Some(trailing)), Target::Test(test)) = (&read, target) {
            test.tell(None, None, trailing.to_string());
        }
        let summary = read.map(|trailing| summary(inside.format(format), &meter, trailing));
        (source, summary.map_err(|kind| kind.after(meter.entries)))
    }

    #[cfg(feature = "sevenz")]
    pub(crate) fn read_sevenz(
        &self,
        file: &Joined,
        path: &Path,
        target: &mut Target<'_>,
        cancel: &Cancel,
        spool: Option<&mut dyn std::io::Write>,
    ) -> Result<Summary, ErrorKind> {
        let Options { limits, filter, progress, secret, .. } = &self.options;
        let archive = sevenz::Archive { path, file, secret, limits, filter, progress };
        let mut meter = Meter::new(*limits);
        let read = sevenz::read(&archive, &mut meter, target, cancel, spool);
        by_entries(Format::SevenZ, read, &meter, target)
    }

    fn read_iso(&self, file: &Joined, target: &mut Target<'_>, cancel: &Cancel) -> Result<Summary, ErrorKind> {
        let Options { limits, filter, progress, .. } = &self.options;
        let mut meter = Meter::new(*limits);
        let read = iso::read(&iso::Archive { file, limits, filter, progress }, &mut meter, target, cancel);
        by_entries(Format::Iso, read, &meter, target)
    }

    fn read_zip(
        &self,
        file: Joined,
        path: &Path,
        target: &mut Target<'_>,
        cancel: &Cancel,
    ) -> Result<Summary, ErrorKind> {
        let mut meter = Meter::new(self.options.limits);
        let archive = zip::Archive {
            path,
            file,
            secret: &self.options.secret,
            password: None,
            limits: &self.options.limits,
            filter: &self.options.filter,
            progress: &self.options.progress,
        };
        let trailing = match (zip::read(archive, self.options.threads, &mut meter, target, cancel), target) {
            (Ok(trailing), Target::Test(test)) => {
                if let Some(trailing) = trailing {
                    test.tell(None, None, trailing.to_string());
                }
                None
            }
            (Err(kind), Target::Test(test) | Target::Salvage(_, test)) => {
                test.damage(kind)?;
                None
            }
            (trailing, _) => trailing.map_err(|kind| kind.after(meter.entries))?,
        };
        Ok(summary(Format::Zip, &meter, trailing))
    }
}

/// What came of reading an archive an entry after the other.
fn by_entries(
    format: Format,
    read: Result<(), ErrorKind>,
    meter: &Meter,
    target: &mut Target<'_>,
) -> Result<Summary, ErrorKind> {
    match (read.map_err(|kind| kind.after(meter.entries)), target.tolerant()) {
        (Err(kind), Some(test)) => test.damage(kind)?,
        (read, _) => read?,
    }
    Ok(summary(format, meter, None))
}

fn summary(format: Format, meter: &Meter, trailing: Option<Trailing>) -> Summary {
    let &Meter { entries, left_out, stripped, bytes, with_attributes, rooted, .. } = meter;
    Summary { format, entries, left_out, stripped, bytes, with_attributes, rooted, trailing }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Input::File(path) => f.debug_tuple("File").field(path).finish(),
            Input::Stream(_) => f.write_str("Stream"),
        }
    }
}
