//! An archive as a folder: read-only, by FUSE.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyXattr, Request, SessionACL,
};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{getegid, geteuid};

use crate::entry::{Attribute, time};
use crate::reader::{Archive, Child, Node, Type};

/// What the kernel is told stays as it is: the archive is read as it was when it was opened.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const LONGEST_NAME: usize = 255;
/// How long the end of a mount is waited for that nobody uses.
const PATIENCE: Duration = Duration::from_millis(500);
/// What a block is for `st_blocks`.
const BLOCK: u64 = 512;

/// How an archive is mounted: choices, to be followed by [`mount`](MountOptions::mount).
#[derive(Clone, Copy, Debug, Default)]
pub struct MountOptions {
    allow_other: bool,
}

impl MountOptions {
    /// Lets other users look into the folder, as far as the entries' permissions let them. They need
    /// `user_allow_other` in `/etc/fuse.conf`, unless root mounts. Default: no; then the user who mounts reads
    /// everything, whatever the permissions say, and nobody else anything, not even root.
    #[must_use]
    pub fn allow_other(mut self, allow_other: bool) -> Self {
        self.allow_other = allow_other;
        self
    }

    /// Mounts an archive on an existing folder, as [`Archive::mount`] does.
    pub fn mount(self, archive: &Archive, folder: impl AsRef<Path>) -> io::Result<Mount> {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::Subtype("manyfiles".into()),
            // A comma would end the name.
            MountOption::FSName(archive.path().to_string_lossy().replace([',', '\\'], "_")),
        ];
        if self.allow_other {
            config.acl = SessionACL::All;
            config.mount_options.push(MountOption::DefaultPermissions);
        }
        config.n_threads = Some(std::thread::available_parallelism().map_or(2, NonZeroUsize::get).clamp(2, 16));
        config.clone_fd = true;
        let folder = folder.as_ref().canonicalize()?;
        // These threads are started before the folder is mounted: where none can be had, nothing is to be undone.
        let idle = Builder::new().spawn(|| Ok(()))?;
        let (to, server) = channel();
        let session = Arc::<Mutex<Option<Session>>>::default();
        let watched = Arc::clone(&session);
        let watch = Builder::new().name("mount".into()).spawn(move || watch(&server, &watched))?;
        let mut fuse = {
            // Who has closed the standard streams would get one of their numbers for the mount, and fuser panics.
            let _low = low_descriptors()?;
            fuser::spawn_mount(Folder::new(archive.clone()), &folder, &config)?
        };
        let server = std::mem::replace(&mut fuse.guard, idle);
        let id = mount_at(&folder)?;
        *lock(&session) = Some(Session { fuse, folder: folder.clone(), id, process: process::id() });
        // It waits for that.
        drop(to.send(server));
        // Nothing in the folder is looked at to see whether it works: a process that is killed while it waits for its own
        // answer never ends.
        Ok(Mount { watch: Some(watch), session, folder })
    }
}

/// Opens so many files that the next one is no standard stream.
fn low_descriptors() -> io::Result<Vec<File>> {
    let mut low = Vec::new();
    loop {
        let file = File::open("/dev/null")?;
        if file.as_raw_fd() > 2 {
            return Ok(low);
        }
        low.push(file);
    }
}

/// What is mounted on a folder, as a text that no other mount has. `None`: nothing.
///
/// The kernel's list says it. A look at the folder would ask whoever serves it, or the folder above, and they may hang.
fn mount_at(folder: &Path) -> io::Result<Option<String>> {
    const LIST: &str = "/proc/self/mountinfo";
    let list = std::fs::read(LIST).map_err(|error| io::Error::new(error.kind(), format!("{LIST}: {error}")))?;
    // The last is on top of the others.
    let line = list.split(|&byte| byte == b'\n').rfind(|line| {
        line.split(|&byte| byte == b' ').nth(4).is_some_and(|place| unescaped(place) == folder.as_os_str().as_bytes())
    });
    // Its number, that of the one above, and the device.
    let words = |line: &[u8]| line.split(|&byte| byte == b' ').take(3).collect::<Vec<_>>().join(&b' ');
    Ok(line.map(|line| String::from_utf8_lossy(&words(line)).into_owned()))
}

/// The bytes of a path in the kernel's list, where spaces and the like are octal numbers: `\040`.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|digits| byte == b'\\' && digits.iter().all(u8::is_ascii_digit));
        let number = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(number.unwrap_or(byte));
        rest = if number.is_some() { &behind[3..] } else { behind };
    }
    bytes
}

/// An archive that is mounted. Dropping it ends that, as [`unmount`](Mount::unmount) does.
pub struct Mount {
    /// The thread that ends when nobody answers any more. Until the mount is ended.
    watch: Option<Server>,
    session: Arc<Mutex<Option<Session>>>,
    folder: PathBuf,
}

type Server = JoinHandle<io::Result<()>>;

/// What unmounts. Whoever takes it out of its place ends it.
struct Session {
    /// Unmounts by path when it is dropped, whatever is there.
    fuse: BackgroundSession,
    folder: PathBuf,
    /// What was mounted.
    id: Option<String>,
    /// Whose it is: a forked child has a copy, and no thread that answers.
    process: u32,
}

impl Session {
    /// Takes the folder away, if it is there.
    fn end(self) -> io::Result<()> {
        if self.process != process::id() || !self.is_there().unwrap_or(true) {
            self.leave();
            return Ok(());
        }
        let Session { fuse, folder, id, .. } = self;
        // Unmounts, by fusermount3 without root's rights. It is done by path and once only: a second time would take
        // away what was mounted on the folder before.
        drop(fuse);
        if geteuid().is_root() && mount_at(&folder)? == id {
            // A folder that is in use goes when it is not any more.
            unmount(&folder, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?;
        }
        Ok(())
    }

    /// For what is not ours: the parent's, or what is at the path now that somebody has unmounted it, perhaps while
    /// something in it is open. A drop would unmount that. One descriptor is lost.
    fn leave(self) {
        std::mem::forget(self.fuse);
    }

    /// Whether it is what the path leads to.
    fn is_there(&self) -> io::Result<bool> {
        Ok(mount_at(&self.folder)? == self.id)
    }
}

fn lock(session: &Mutex<Option<Session>>) -> MutexGuard<'_, Option<Session>> {
    // Nothing panics while it is locked.
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the end of the threads that answer. If they fail, nobody would answer and the kernel would wait for ever,
/// as this process has the mount's descriptor open; so the mount is ended.
fn watch(server: &Receiver<Server>, session: &Mutex<Option<Session>>) -> io::Result<()> {
    // No server: it was not mounted.
    let Ok(server) = server.recv() else { return Ok(()) };
    let end = server.join().unwrap_or_else(|_| Err(io::Error::other("the thread that served it panicked")));
    match (&end, lock(session).take()) {
        (Ok(()), Some(session)) => session.leave(),
        (Err(_), Some(session)) => session.end()?,
        // It is being ended.
        (_, None) => {}
    }
    end
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("folder", &self.folder).field("is_over", &self.is_over()).finish()
    }
}

impl Mount {
    /// Whether somebody has unmounted it.
    pub fn is_over(&self) -> bool {
        self.watch.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until somebody unmounts it.
    pub fn wait(mut self) -> io::Result<()> {
        self.watch.take().map_or(Ok(()), end_of)
    }

    /// Takes the folder away. What is open there can be read as long as this process lives, and is not waited for.
    pub fn unmount(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(watch) = self.watch.take() else { return Ok(()) };
        let session = lock(&self.session).take();
        let ended = session.map_or(Ok(()), Session::end);
        let begun = Instant::now();
        while !watch.is_finished() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if watch.is_finished() { end_of(watch).and(ended) } else { ended }
    }
}

fn end_of(watch: Server) -> io::Result<()> {
    watch.join().unwrap_or_else(|_| Err(io::Error::other("the thread that watched it panicked")))
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Who wants to know calls `unmount`.
        drop(self.end());
    }
}

impl Archive {
    /// Shows the archive as a read-only folder of the system, for programs that want paths. Returns when the folder can
    /// be used; threads of this process answer for it from then on, until the [`Mount`] is dropped or somebody calls
    /// `umount`.
    ///
    /// Hard links, symbolic links, holes, permissions, times and the extended attributes of a tar are those of the
    /// archive; access control lists are not shown. Owners are too if root mounts; otherwise everything belongs to the
    /// user who does. Set-id bits, capabilities and devices have no effect.
    ///
    /// An archive that is changed meanwhile gives `EIO` for what was not read before.
    ///
    /// Needs `/dev/fuse` and, unless root mounts, `fusermount3` (Debian's package fuse3).
    pub fn mount(&self, folder: impl AsRef<Path>) -> io::Result<Mount> {
        MountOptions::default().mount(self, folder)
    }
}

struct Folder {
    archive: Archive,
    /// The owner of what has none, or none that counts.
    owner: (u32, u32),
    keeps_owners: bool,
    mounted: SystemTime,
    /// Whether the kernel lets `open` be left out: then a file takes one request less.
    needs_no_open: bool,
    needs_no_open_folder: bool,
}

impl Folder {
    fn new(archive: Archive) -> Folder {
        Folder {
            archive,
            owner: (geteuid().as_raw(), getegid().as_raw()),
            keeps_owners: geteuid().is_root(),
            mounted: SystemTime::now(),
            needs_no_open: false,
            needs_no_open_folder: false,
        }
    }

    fn node(&self, ino: INodeNo) -> Result<(u32, &Node), Errno> {
        let number = u64::from(ino).checked_sub(1).and_then(|number| u32::try_from(number).ok());
        let nodes = &self.archive.index().nodes;
        let number = number.filter(|&number| (number as usize) < nodes.len()).ok_or(Errno::ENOENT)?;
        Ok((number, &nodes[number as usize]))
    }

    fn attributes(&self, number: u32) -> FileAttr {
        let index = self.archive.index();
        let node = index.node(number);
        let usual_mode = match node.is {
            Type::File | Type::Fifo => 0o644,
            Type::Folder => 0o755,
            Type::Symlink => 0o777,
            Type::CharDevice | Type::BlockDevice => 0o600,
        };
        let modified = node.modified.and_then(|(seconds, nanos)| time(seconds, nanos)).unwrap_or(self.mounted);
        let (uid, gid) = node.owner.filter(|_| self.keeps_owners).unwrap_or(self.owner);
        let stored = match node.is_sparse {
            true => index.pieces(node).iter().map(|piece| piece.len).sum(),
            false => node.size,
        };
        let is_device = matches!(node.is, Type::CharDevice | Type::BlockDevice);
        let size = if node.is == Type::Symlink { u64::from(node.count) } else { node.size };
        FileAttr {
            ino: inode(number),
            size,
            blocks: stored.div_ceil(BLOCK),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind: kind(node.is),
            perm: node.mode.unwrap_or(usual_mode),
            nlink: if node.is == Type::Folder { 2 } else { node.names },
            uid,
            gid,
            rdev: if is_device { rustix::fs::makedev((node.place >> 32) as u32, node.place as u32) as u32 } else { 0 },
            blksize: 128 << 10,
            flags: 0,
        }
    }

    fn folder(&self, ino: INodeNo) -> Result<(u32, &[Child]), Errno> {
        let (number, node) = self.node(ino)?;
        match node.is {
            Type::Folder => Ok((number, self.archive.index().children(number))),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// The extended attributes. `ENOSYS`: the archive has none at all, and the kernel asks no more.
    fn extended(&self, ino: INodeNo) -> Result<&[Attribute], Errno> {
        let index = self.archive.index();
        match index.attributes.len() {
            // The first set is that of the nodes that have none.
            0 | 1 => Err(Errno::ENOSYS),
            _ => Ok(index.attributes(self.node(ino)?.1)),
        }
    }

    /// The children from a place on, each with the place behind it. No system call can name the ones with longer names,
    /// and the kernel takes a folder that has one for broken.
    fn listed<'a>(&'a self, children: &'a [Child], offset: u64) -> impl Iterator<Item = (u64, &'a OsStr, &'a Child)> {
        let index = self.archive.index();
        let from = children.iter().enumerate().skip(offset.saturating_sub(DOTS) as usize);
        from.filter(|(_, child)| usize::from(child.name_len) <= LONGEST_NAME)
            .map(|(at, child)| (at as u64 + DOTS + 1, crate::sys::path(index.name(child)).as_os_str(), child))
    }
}

fn inode(number: u32) -> INodeNo {
    INodeNo(u64::from(number) + 1)
}

fn kind(is: Type) -> FileType {
    match is {
        Type::File => FileType::RegularFile,
        Type::Folder => FileType::Directory,
        Type::Symlink => FileType::Symlink,
        Type::Fifo => FileType::NamedPipe,
        Type::CharDevice => FileType::CharDevice,
        Type::BlockDevice => FileType::BlockDevice,
    }
}

/// `.` and `..` stand before the children.
const DOTS: u64 = 2;

impl Filesystem for Folder {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for flag in [InitFlags::FUSE_PARALLEL_DIROPS, InitFlags::FUSE_CACHE_SYMLINKS, InitFlags::FUSE_DO_READDIRPLUS] {
            // What an older kernel lacks only makes it slower.
            let (Ok(()) | Err(_)) = config.add_capabilities(flag);
        }
        self.needs_no_open = config.add_capabilities(InitFlags::FUSE_NO_OPEN_SUPPORT).is_ok();
        self.needs_no_open_folder = config.add_capabilities(InitFlags::FUSE_NO_OPENDIR_SUPPORT).is_ok();
        // The kernel takes as much as it allows.
        let (Ok(_) | Err(_)) = config.set_max_readahead(1 << 20);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (parent, _) = match self.folder(parent) {
            Ok(folder) => folder,
            Err(errno) => return reply.error(errno),
        };
        match self.archive.index().child(parent, name.as_encoded_bytes()) {
            Some(number) => reply.entry(&FOR_EVER, &self.attributes(number), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _file: Option<FileHandle>, reply: ReplyAttr) {
        match self.node(ino) {
            Ok((number, _)) => reply.attr(&FOR_EVER, &self.attributes(number)),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _request: &Request, ino: INodeNo, reply: ReplyData) {
        match self.node(ino) {
            Ok((_, node)) if node.is == Type::Symlink => reply.data(self.archive.index().target(node)),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, _request: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.needs_no_open {
            // The kernel asks no more, and keeps what was read.
            return reply.error(Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn opendir(&self, _request: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.needs_no_open_folder {
            return reply.error(Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR);
    }

    fn read(
        &self,
        _request: &Request,
        ino: INodeNo,
        _file: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let number = match self.node(ino) {
            Ok((number, node)) if node.is == Type::File => number,
            Ok(_) => return reply.error(Errno::EINVAL),
            Err(errno) => return reply.error(errno),
        };
        let mut buffer = vec![0; size as usize];
        match self.archive.read_node(number, &mut buffer, offset) {
            Ok(len) => reply.data(&buffer[..len]),
            Err(error) => reply.error(error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)),
        }
    }

    fn readdir(&self, _request: &Request, ino: INodeNo, _file: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let (number, children) = match self.folder(ino) {
            Ok(folder) => folder,
            Err(errno) => return reply.error(errno),
        };
        let index = self.archive.index();
        let mut is_full = false;
        for (at, name) in [".", ".."].iter().enumerate().skip(offset as usize) {
            // The kernel knows the folder above by itself.
            is_full = is_full || reply.add(inode(number), at as u64 + 1, FileType::Directory, name);
        }
        for (next, name, child) in self.listed(children, offset) {
            if is_full {
                break;
            }
            is_full = reply.add(inode(child.node), next, kind(index.node(child.node).is), name);
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _request: &Request,
        ino: INodeNo,
        _file: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let (number, children) = match self.folder(ino) {
            Ok(folder) => folder,
            Err(errno) => return reply.error(errno),
        };
        let own = self.attributes(number);
        let mut is_full = false;
        for (at, name) in [".", ".."].iter().enumerate().skip(offset as usize) {
            is_full = is_full || reply.add(inode(number), at as u64 + 1, name, &FOR_EVER, &own, Generation(0));
        }
        for (next, name, child) in self.listed(children, offset) {
            if is_full {
                break;
            }
            let attributes = self.attributes(child.node);
            is_full = reply.add(inode(child.node), next, name, &FOR_EVER, &attributes, Generation(0));
        }
        reply.ok();
    }

    fn getxattr(&self, _request: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let attributes = match self.extended(ino) {
            Ok(attributes) => attributes,
            Err(errno) => return reply.error(errno),
        };
        match attributes.binary_search_by(|attribute| attribute.name.as_slice().cmp(name.as_bytes())) {
            Ok(place) => answer(&attributes[place].value, size, reply),
            Err(_) => reply.error(Errno::ENODATA),
        }
    }

    fn listxattr(&self, _request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        match self.extended(ino) {
            Ok(attributes) => {
                let names: Vec<u8> =
                    attributes.iter().flat_map(|attribute| [&attribute.name[..], &[0]].concat()).collect();
                answer(&names, size, reply);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn statfs(&self, _request: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let index = self.archive.index();
        // Holes are counted, and sizes are only claimed.
        let blocks = index.nodes.iter().fold(0_u64, |sum, node| sum.saturating_add(node.size.div_ceil(BLOCK)));
        reply.statfs(blocks, 0, 0, index.nodes.len() as u64, 0, BLOCK as u32, 255, BLOCK as u32);
    }
}

/// Answers with an attribute's bytes, or with their number if no place for them is given.
fn answer(bytes: &[u8], place: u32, reply: ReplyXattr) {
    match place as usize {
        0 => reply.size(bytes.len() as u32),
        place if place < bytes.len() => reply.error(Errno::ERANGE),
        _ => reply.data(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_the_kernel_lists_them() {
        assert_eq!(unescaped(b"/a\\040b\\134\\011c\\012"), b"/a b\\\tc\n");
        assert_eq!(unescaped(b"/a\\04\\999\\"), b"/a\\04\\999\\");
        assert_eq!(mount_at(Path::new("/proc")).unwrap().as_deref().map(|id| id.split(' ').count()), Some(3));
        assert_eq!(mount_at(Path::new("/no/such folder")).unwrap(), None);
    }
}
