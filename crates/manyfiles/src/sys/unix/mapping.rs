//! Mapped files, for the kernel to read from.

use std::fs::File;
use std::io;
use std::ptr::NonNull;

#[cfg(target_os = "linux")]
use rustix::mm::Advice;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Some pages of a file. They are only for system calls: reading them here would end the process if the file got
/// shorter.
#[derive(Debug)]
pub(crate) struct Mapping {
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
    pub(crate) fn new(file: &File, start: u64, len: usize) -> io::Result<Mapping> {
        // SAFETY: with a null hint the kernel chooses an address that nothing uses.
        let address = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, start)? };
        let address = NonNull::new(address.cast::<u8>()).expect("the kernel maps nothing at address zero");
        #[cfg(target_os = "linux")]
        {
            // One call instead of a fault for every 16 pages, and reading ahead from a disk while others write. A hint:
            // where it fails (before Linux 5.14, or the file has become shorter), the pages come one by one or not at
            // all. SAFETY: it changes nothing but which pages are present.
            let populated = unsafe { rustix::mm::madvise(address.as_ptr().cast(), len, Advice::LinuxPopulateRead) };
            populated.unwrap_or(());
        }
        Ok(Mapping { address, start, len })
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.address.as_ptr()
    }

    /// Copies from the mapping, by a system call that fails where reading would end the process. False if it did.
    #[cfg(target_os = "linux")]
    pub(crate) fn copy_to(&self, offset: usize, to: &mut [u8]) -> bool {
        if offset.checked_add(to.len()).is_none_or(|end| end > self.len) {
            return false;
        }
        let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let remote = libc::iovec { iov_base: self.address.as_ptr().wrapping_add(offset).cast(), iov_len: to.len() };
        // SAFETY: `local` is memory that this function may write; `remote` is an address of this very process that the
        // kernel checks; one of each is passed.
        let copied = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        usize::try_from(copied).is_ok_and(|copied| copied == to.len())
    }

    /// Needs Linux.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn copy_to(&self, _offset: usize, _to: &mut [u8]) -> bool {
        false
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
