//! Mapped files, for the kernel to read from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use rustix::mm::Advice;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Some pages of a file, which stays open. They are only for system calls: reading them here would end the process if the
/// file got shorter.
#[derive(Debug)]
pub(crate) struct Mapping {
    file: Arc<File>,
    address: NonNull<u8>,
    start: u64,
    len: usize,
}

// SAFETY: the pages are read-only, and nothing but `drop` changes the mapping.
unsafe impl Send for Mapping {}

// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Offsets of mappings are multiples of this.
    pub(crate) fn granularity() -> u64 {
        rustix::param::page_size() as u64
    }

    /// `start` is a multiple of the granularity.
    pub(crate) fn new(file: &Arc<File>, start: u64, len: usize) -> io::Result<Mapping> {
        // SAFETY: with a null hint the kernel chooses an address that nothing uses.
        let address = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, &**file, start)? };
        let address = NonNull::new(address.cast::<u8>()).expect("the kernel maps nothing at address zero");
        #[cfg(target_os = "linux")]
        {
            // One call instead of a fault for every 16 pages, and reading ahead from a disk while others write. A hint:
            // where it fails (before Linux 5.14, or the file has become shorter), the pages come one by one or not at
            // all. SAFETY: it changes nothing but which pages are present.
            let populated = unsafe { rustix::mm::madvise(address.as_ptr().cast(), len, Advice::LinuxPopulateRead) };
            populated.unwrap_or(());
        }
        Ok(Mapping { file: file.clone(), address, start, len })
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.address.as_ptr()
    }

    /// Copies what is at `offset` of the mapping: from the file, which fails where reading the pages would end the
    /// process. (`process_vm_readv` would read them, but sandboxes forbid it.)
    pub(crate) fn copy_to(&self, offset: usize, to: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(to, self.start + offset as u64)
    }

    pub(crate) fn covers(&self, offset: u64, len: usize) -> bool {
        offset >= self.start && offset - self.start + len as u64 <= self.len as u64
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and every user of it borrowed the value that is dropped now.
        if let Err(errno) = unsafe { munmap(self.address.as_ptr().cast(), self.len) } {
            debug_assert!(false, "unmapping what was mapped failed: {errno}");
        }
    }
}
