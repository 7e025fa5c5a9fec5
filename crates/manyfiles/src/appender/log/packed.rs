//! Reading a file that was compressed when it was not written to any more.

use std::io;

use crate::appender::storage::{ReadAt, StoredFile};

/// What a compressed file begins with.
pub(in crate::appender) const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// What is in a compressed file, as if it were not.
#[cfg(not(feature = "zstd"))]
pub(in crate::appender) fn open(_file: Box<dyn StoredFile>) -> io::Result<Box<dyn ReadAt>> {
    let message = "it is compressed: to read it this program has to be built with manyfiles' feature `zstd`";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

/// What is in a compressed file, as if it were not.
#[cfg(feature = "zstd")]
pub(in crate::appender) fn open(file: Box<dyn StoredFile>) -> io::Result<Box<dyn ReadAt>> {
    Ok(Box::new(unpacking::Unpacked::new(file)?))
}

#[cfg(feature = "zstd")]
mod unpacking {
    use std::io::{self, BufReader, Read};
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError};

    use super::{MAGIC, ReadAt, StoredFile};

    /// So much is unpacked at once, and kept: a reader that goes on in order unpacks everything once.
    const CHUNK: usize = 256 << 10;
    /// The longest header of a compressed file.
    const LONGEST_HEADER: usize = 18;

    /// Unpacks what is asked for. Going back begins anew.
    pub(in crate::appender) struct Unpacked {
        file: Arc<dyn StoredFile>,
        len: u64,
        at: Mutex<Option<At>>,
    }

    struct At {
        decoder: zstd::Decoder<'static, BufReader<Source>>,
        /// The bytes that were unpacked last, and their place.
        chunk: Vec<u8>,
        begin: u64,
    }

    impl Unpacked {
        pub(in crate::appender) fn new(file: Box<dyn StoredFile>) -> io::Result<Unpacked> {
            let mut header = [0; LONGEST_HEADER];
            let has = file.read_full(&mut header, 0)?;
            let header = &header[..has];
            let len = zstd::zstd_safe::get_frame_content_size(header).ok().flatten();
            let (true, Some(len)) = (header.starts_with(&MAGIC), len) else {
                let message = "it is no compressed file that says how long it is when it is unpacked";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            };
            Ok(Unpacked { file: file.into(), len, at: Mutex::new(None) })
        }

        fn begin(&self) -> io::Result<At> {
            let source = Source { file: Arc::clone(&self.file), at: 0 };
            let decoder = zstd::Decoder::new(source)?.single_frame();
            Ok(At { decoder, chunk: Vec::new(), begin: 0 })
        }
    }

    impl ReadAt for Unpacked {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            if offset >= self.len {
                return Ok(0);
            }
            let mut kept = self.at.lock().unwrap_or_else(PoisonError::into_inner);
            // What has failed once is begun anew.
            let mut at = match kept.take() {
                Some(at) if at.begin <= offset => at,
                _ => self.begin()?,
            };
            loop {
                let end = at.begin + at.chunk.len() as u64;
                if offset < end {
                    break;
                }
                at.begin = end;
                at.chunk.clear();
                let chunk = &mut at.chunk;
                if at.decoder.by_ref().take(CHUNK as u64).read_to_end(chunk).map_err(explained)? == 0 {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "it is cut short: the rest of the file is lost",
                    ));
                }
            }
            let bytes = &at.chunk[(offset - at.begin) as usize..];
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            *kept = Some(at);
            Ok(len)
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.len)
        }

        fn is_at(&self, path: &Path) -> io::Result<bool> {
            self.file.is_at(path)
        }
    }

    /// What the system says stays; what the decoder says is about bytes.
    fn explained(cause: io::Error) -> io::Error {
        match cause.kind() {
            io::ErrorKind::Other if cause.raw_os_error().is_none() => {
                let message = format!("what is compressed there is damaged, so the rest of the file is lost: {cause}");
                io::Error::new(io::ErrorKind::InvalidData, message)
            }
            _ => cause,
        }
    }

    /// Reads a file from its beginning on.
    struct Source {
        file: Arc<dyn StoredFile>,
        at: u64,
    }

    impl Read for Source {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.file.read_at(buffer, self.at)?;
            self.at += read as u64;
            Ok(read)
        }
    }
}
