//! What can be chosen.

use std::fmt;
use std::sync::Arc;

use super::Backend;
use super::files::Files;
use super::memory::Memory;
use super::uri::FILE;

/// Options of a [`Vfs`](super::Vfs).
#[derive(Clone)]
#[must_use]
pub struct Options {
    pub(super) handles: Option<usize>,
    pub(super) buffer_memory: usize,
    pub(super) backends: Vec<(String, Arc<dyn Backend>)>,
}

impl Options {
    /// How many handles are kept open at most, for [`write`](super::Vfs::write), [`append`](super::Vfs::append) and
    /// [`read_at`](super::Vfs::read_at); 0 counts as 1. One that is only read makes room before one that is written.
    /// The writers of [`create_writer`](super::Vfs::create_writer) are their owners' and not counted. A program that
    /// goes round and round more files than that gains nothing: each write then opens and closes, for up to twice the
    /// price of doing so by hand. Default: a quarter of the process's limit (RLIMIT_NOFILE), at most 512.
    pub fn handles(mut self, handles: usize) -> Options {
        self.handles = Some(handles);
        self
    }

    /// How many bytes the buffers of kept handles may have together. A file's own grows with use, up to 256 KiB: what
    /// is written once has none. Where there is no more, files are written with what they have, down to a system call
    /// for each write. Default: 16 MiB.
    pub fn buffer_memory(mut self, bytes: usize) -> Options {
        self.buffer_memory = bytes;
        self
    }

    /// The backend of URIs that begin with `scheme://`. Default: `mem`, and the local files for plain paths and `file`;
    /// each may be replaced. `file` URIs are made paths of before their backend sees them.
    ///
    /// # Panics
    /// If `scheme` is not one: two or more letters, digits, `+`, `-` or `.`, the first of them a letter.
    pub fn backend(mut self, scheme: &str, backend: impl Backend + 'static) -> Options {
        let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let is_scheme =
            scheme.len() > 1 && scheme.as_bytes()[0].is_ascii_alphabetic() && scheme.bytes().all(is_of_scheme);
        assert!(is_scheme, "{scheme:?} cannot be the scheme of a URI");
        let backend = Arc::new(backend);
        match self.backends.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(scheme)) {
            Some((_, known)) => *known = backend,
            None => self.backends.push((scheme.to_ascii_lowercase(), backend)),
        }
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        let backends: [(String, Arc<dyn Backend>); 2] =
            [(FILE.into(), Arc::new(Files::default())), ("mem".into(), Arc::new(Memory::default()))];
        Options { handles: None, buffer_memory: 16 << 20, backends: backends.into() }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes: Vec<_> = self.backends.iter().map(|(scheme, _)| scheme).collect();
        f.debug_struct("Options")
            .field("handles", &self.handles)
            .field("buffer_memory", &self.buffer_memory)
            .field("schemes", &schemes)
            .finish()
    }
}
