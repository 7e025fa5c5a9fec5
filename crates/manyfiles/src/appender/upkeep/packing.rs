//! Compressing files that are not written to any more, on a thread.
//!
//! A file is compressed to one under a temporary name, which is read back and compared, and synced. It takes the name
//! `events.000003.zst`, durably, before the plain file is removed. Where a crash leaves both, the plain one is read,
//! and removed when both were found to be the same. Where another program's file has the name, the plain one stays.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Builder;

use crate::appender::file::temporary;
use crate::appender::log::packed;
use crate::appender::log::scan::{Scanner, Start};
use crate::appender::storage::{ReadAt, StoredFile};
use crate::appender::upkeep::Upkeep;
use crate::{Error, Operation, Result};

/// The library's default: on text about 400 MB each second, to a fourth or less.
const LEVEL: i32 = 3;
/// Compressing and reading keep so many bytes, as a power of two: 1 MiB.
const WINDOW: u32 = 20;
/// How much is compressed before it is asked again whether to stop.
const CHUNK: usize = 256 << 10;
const STACK: usize = 512 << 10;

/// What has the name that a compressed file is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    /// The compressed file itself: a crash left both.
    Whole,
    /// A beginning of it, or its ruins, or what the plain file was before a power cut took what no sync had covered:
    /// nothing that differs counts, since the plain file does.
    Stale,
}

impl Upkeep {
    pub(in crate::appender) fn start_packing(self: &Arc<Upkeep>, newest: u64) {
        if !self.packer.is_wanted {
            return;
        }
        let mut work = self.packer.work();
        work.newest = newest;
        if std::mem::replace(&mut work.is_running, true) {
            return; // it looks again before it ends
        }
        let upkeep = Arc::clone(self);
        let builder = Builder::new().name("manyfiles-pack".into()).stack_size(STACK);
        match builder.spawn(move || upkeep.pack_until_done()) {
            // The one before it has nothing to do any more.
            Ok(thread) => work.thread = Some(thread),
            Err(cause) => {
                work.is_running = false;
                drop(work);
                self.tell(Error::new(Operation::Create, self.series.base(), cause));
            }
        }
    }

    fn pack_until_done(&self) {
        loop {
            let newest = self.packer.work().newest;
            if let Err(error) = self.pack_before(newest) {
                self.tell(error);
            }
            let mut work = self.packer.work();
            if work.newest == newest || self.packer.is_stopped() {
                work.is_running = false;
                return;
            }
        }
    }

    /// Compresses all files before this one that are not. The first failure ends it: the next new file is the next
    /// attempt.
    pub(in crate::appender) fn pack_before(&self, newest: u64) -> Result<()> {
        let numbers = self.series.plain_numbers(&*self.storage)?;
        // A file without a number would get a name that anybody may have.
        for number in numbers.into_iter().filter(|&number| 0 < number && number < newest) {
            if self.packer.is_stopped() {
                break;
            }
            self.pack(number)?;
        }
        Ok(())
    }

    fn pack(&self, number: u64) -> Result<()> {
        let path = self.series.path(number);
        // To write, though nothing is written: only so it can be synced on every system.
        let file = match self.storage.open(&path) {
            // Removed meanwhile.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(|cause| Error::new(Operation::Open, &*path, cause))?,
        };
        // What a kill left may be with the system only. If a power cut brings the file back when it was removed, it is
        // to be what was compressed.
        file.sync().map_err(|cause| Error::new(Operation::Sync, &*path, cause))?;
        let there = match self.storage.open_to_read(&self.series.packed_path(number)) {
            Ok(there) => self.of_whom(&*file, there, number)?,
            Err(_) => There::Nothing, // what else is wrong is told when the name is given
        };
        if there == There::Whole {
            return self.remove_plain(&*file, number);
        }
        let (temporary, copy) = temporary::create(&*self.storage, &self.series)?;
        let packed = self
            .compress(&*file, &path, &*copy, &temporary)
            .and_then(|is_done| if is_done { self.take_place(&*file, &temporary, number, there) } else { Ok(false) });
        if !matches!(packed, Ok(true)) {
            self.storage.remove(&temporary).unwrap_or(());
        }
        packed?;
        copy.close().map_err(|cause| Error::new(Operation::Close, path, cause))
    }

    /// Returns false if it was stopped.
    fn compress(&self, file: &dyn StoredFile, path: &Path, copy: &dyn StoredFile, copy_path: &Path) -> Result<bool> {
        let read = |cause| Error::new(Operation::Read, path, cause);
        let write = |cause| Error::new(Operation::Write, copy_path, cause);
        let len = file.len().map_err(read)?;
        let mut encoder = zstd::Encoder::new(Sink { file: copy, at: 0 }, LEVEL).map_err(write)?;
        encoder.set_pledged_src_size(Some(len)).map_err(write)?;
        encoder.include_checksum(true).map_err(write)?;
        encoder.window_log(WINDOW).map_err(write)?;
        let (mut buffer, mut at) = (vec![0; CHUNK], 0);
        while at < len {
            if self.packer.is_stopped() {
                return Ok(false);
            }
            let has = file.read_full(&mut buffer, at).map_err(read)?;
            if has == 0 {
                return Err(read(io::ErrorKind::UnexpectedEof.into()));
            }
            encoder.write_all(&buffer[..has]).map_err(write)?;
            at += has as u64;
        }
        encoder.finish().map_err(write)?;
        copy.sync().map_err(|cause| Error::new(Operation::Sync, copy_path, cause))?;
        // Read from the page cache; what the disk makes of it the checksum tells at a later reading.
        let again =
            self.storage.open_to_read(copy_path).map_err(|cause| Error::new(Operation::Open, copy_path, cause))?;
        let again = packed::open(again).map_err(|cause| Error::new(Operation::Read, copy_path, cause))?;
        match self.is_same((file, path), (&*again, copy_path))? {
            Some(false) => {
                let cause = io::Error::new(io::ErrorKind::InvalidData, "what was compressed is not what comes back");
                Err(read(cause))
            }
            same => Ok(same.is_some()),
        }
    }

    /// Whether one file has just what the other has. `None` if it was stopped.
    fn is_same(
        &self,
        (file, path): (&dyn ReadAt, &Path),
        (other, other_path): (&dyn ReadAt, &Path),
    ) -> Result<Option<bool>> {
        let (mut ours, mut theirs, mut at) = (vec![0; CHUNK], vec![0; CHUNK], 0);
        loop {
            if self.packer.is_stopped() {
                return Ok(None);
            }
            let has = file.read_full(&mut ours, at).map_err(|cause| Error::new(Operation::Read, path, cause))?;
            let same = other.read_full(&mut theirs, at);
            let same = same.map_err(|cause| Error::new(Operation::Read, other_path, cause))?;
            if has != same || ours[..has] != theirs[..same] {
                return Ok(Some(false));
            }
            if has == 0 {
                return Ok(Some(true));
            }
            at += has as u64;
        }
    }

    /// What has the name of the compressed file already. Another program's file is an error.
    fn of_whom(&self, file: &dyn StoredFile, there: Box<dyn StoredFile>, number: u64) -> Result<There> {
        let (path, packed_path) = (self.series.path(number), self.series.packed_path(number));
        /// No file is shorter that holds anything.
        const SHORTEST: usize = 9;
        let mut first = [0; SHORTEST];
        let has = there.read_full(&mut first, 0).unwrap_or(SHORTEST);
        let mut is_our_header = false;
        let (same, mut is_cut) = match packed::open(there) {
            // All of the log's say how long their content is.
            Ok(there) => {
                let is_as_long = there.len().is_ok_and(|len| file.len().is_ok_and(|own| own == len));
                is_our_header = has_same_header(file, &*there);
                (self.is_same((file, &path), (&*there, &packed_path)), is_as_long)
            }
            Err(cause) => (Err(Error::new(Operation::Read, &*packed_path, cause)), false),
        };
        is_cut |= has < SHORTEST && packed::MAGIC.iter().zip(&first[..has]).all(|(magic, byte)| magic == byte);
        match same {
            Ok(Some(true)) => Ok(There::Whole),
            Ok(Some(false)) if is_our_header => Ok(There::Stale),
            Ok(None) => Ok(There::Nothing), // the next step sees that it is to stop
            // What cannot be read is not known to be anything.
            Err(error) if error.path() != Some(&packed_path) || error.raw_os_error().is_some() => Err(error),
            Err(_) if is_cut => Ok(There::Stale),
            Ok(Some(false)) | Err(_) => {
                let message = "it has the name of the compressed file of a log, and something else is in it: the file \
                               of the log stays as it is until this one is gone";
                let cause = io::Error::new(io::ErrorKind::AlreadyExists, message);
                Err(Error::new(Operation::Create, packed_path, cause))
            }
        }
    }

    fn remove_plain(&self, file: &dyn StoredFile, number: u64) -> Result<()> {
        let first_left = self.lock_names();
        let path = self.series.path(number);
        if number < *first_left || !file.is_at(&path).map_err(|cause| Error::new(Operation::Metadata, &*path, cause))? {
            return Ok(()); // removed meanwhile, because no more files are kept
        }
        self.series.sync_folder(&*self.storage)?;
        self.storage.remove(&path).map_err(|cause| Error::new(Operation::Remove, path, cause))
    }

    /// The compressed file is in the log, and then the plain one is not. Returns false if that was removed meanwhile.
    fn take_place(&self, file: &dyn StoredFile, temporary: &Path, number: u64, over: There) -> Result<bool> {
        let first_left = self.lock_names();
        let (path, packed) = (self.series.path(number), self.series.packed_path(number));
        if number < *first_left || !file.is_at(&path).map_err(|cause| Error::new(Operation::Metadata, &*path, cause))? {
            return Ok(false);
        }
        let rename = |cause| Error::new(Operation::Rename, PathBuf::from(&packed), cause);
        match over {
            There::Stale => self.storage.replace(temporary, &packed),
            There::Nothing | There::Whole => self.storage.rename(temporary, &packed),
        }
        .map_err(rename)?;
        self.series.sync_folder(&*self.storage)?;
        self.storage.remove(&path).map_err(|cause| Error::new(Operation::Remove, path, cause))?;
        Ok(true)
    }
}

/// Whether both are the same file of a framed log: no two have the same header.
fn has_same_header(file: &dyn ReadAt, other: &dyn ReadAt) -> bool {
    let header = |file: &dyn ReadAt| match Scanner::start(file, file.len().ok()?) {
        Ok(Start::Header(header, _)) => Some(header),
        _ => None,
    };
    header(file).is_some_and(|own| header(other) == Some(own))
}

/// Writes a file from its beginning on.
struct Sink<'a> {
    file: &'a dyn StoredFile,
    at: u64,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
