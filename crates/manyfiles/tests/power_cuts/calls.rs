//! The system calls of this test program, which go to the model of a disk first: what the C library offers under these
//! names is never called, because a program's own functions come before those of a shared library.
//!
//! Files are real ones, in memory, so that everything that only asks or reads needs nothing from here. Calls for files that
//! are no part of a [`World`] go straight to the kernel.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libc::{c_char, c_int, c_long, c_uint, c_void, iovec, mode_t, off64_t, size_t, ssize_t};
use manyfiles_testkit::model::{Disk, FileId, HandleAge};

/// A folder of real files whose changes a model follows, and which the model makes fail.
pub struct World {
    pub disk: Disk,
    /// The folder, without links.
    root: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    files: HashMap<(u64, u64), FileId>,
    handles: HashMap<c_int, HandleAge>,
}

static WORLD: Mutex<Option<Arc<World>>> = Mutex::new(None);
/// Whether there is a world, so that other programs' parts pay for one look only.
static IS_THERE: AtomicBool = AtomicBool::new(false);

/// Tests that run at the same time wait for one another's worlds.
static TURN: Mutex<()> = Mutex::new(());

/// The world, which is this test's until it is dropped.
pub struct Inside(Arc<World>, #[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

impl Inside {
    /// Files in `root`, which is empty: as the model has them. `folders` and `links` are there beside them.
    pub fn enter(disk: Disk, root: &Path, folders: &[&str], links: &[(&str, &str)]) -> Inside {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let root = fs::canonicalize(root).unwrap();
        for folder in folders {
            fs::create_dir(root.join(folder)).unwrap();
        }
        for (name, target) in links {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let mut known = Known::default();
        let mut first_names: HashMap<FileId, PathBuf> = HashMap::new();
        for (name, id) in disk.all_names() {
            let path = root.join(name.strip_prefix("/").unwrap());
            if let Some(first) = first_names.get(&id) {
                fs::hard_link(first, &path).unwrap();
                continue;
            }
            disk.read(id, |bytes| fs::write(&path, bytes)).unwrap();
            let metadata = fs::metadata(&path).unwrap();
            known.files.insert((metadata.dev(), metadata.ino()), id);
            first_names.insert(id, path);
        }
        let world = Arc::new(World { disk, root, known: Mutex::new(known) });
        let mut place = WORLD.lock().unwrap();
        assert!(place.is_none(), "one world at a time");
        *place = Some(Arc::clone(&world));
        IS_THERE.store(true, Ordering::SeqCst);
        Inside(world, turn)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_THERE.store(false, Ordering::SeqCst);
        *WORLD.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl std::ops::Deref for Inside {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

fn world() -> Option<Arc<World>> {
    if !IS_THERE.load(Ordering::SeqCst) {
        return None;
    }
    WORLD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What an error of the model is to a program.
fn number(error: &io::Error) -> c_int {
    error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::AlreadyExists => libc::EEXIST,
        io::ErrorKind::NotFound => libc::ENOENT,
        // The process is gone, and nobody hears this.
        _ => libc::EIO,
    })
}

fn fail(number: c_int) -> c_int {
    // SAFETY: the place is this thread's own.
    unsafe { *libc::__errno_location() = number };
    -1
}

/// What a call returns that the kernel has answered.
macro_rules! kernel {
    ($($arguments:expr),*) => {{
        // SAFETY: the caller's arguments, as they came; or numbers and live buffers of ours.
        unsafe { libc::syscall($($arguments),*) }
    }};
}

fn status(fd: c_int) -> Option<libc::stat64> {
    // SAFETY: all zeros are a `stat64`.
    let mut status: libc::stat64 = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is live and of that type. glibc's function is not one of those replaced here.
    (unsafe { libc::fstat64(fd, &raw mut status) } == 0).then_some(status)
}

fn flags(fd: c_int) -> c_int {
    kernel!(libc::SYS_fcntl, fd, libc::F_GETFL) as c_int
}

impl World {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name that the model has for a path in the root. Its last part is not followed.
    fn name(&self, folder: c_int, path: &Path) -> Option<PathBuf> {
        let path = if path.is_absolute() || folder == libc::AT_FDCWD {
            path.to_owned()
        } else {
            fs::read_link(format!("/proc/self/fd/{folder}")).ok()?.join(path)
        };
        let above = fs::canonicalize(path.parent()?).ok()?;
        Some(Path::new("/").join(above.strip_prefix(&self.root).ok()?).join(path.file_name()?))
    }

    /// The file behind a handle.
    fn file(&self, fd: c_int) -> Option<(FileId, libc::stat64)> {
        let status = status(fd)?;
        let id = *self.known().files.get(&(status.st_dev, status.st_ino))?;
        Some((id, status))
    }

    /// Gives the real file the bytes that programs see in the model.
    fn show(&self, id: FileId, fd: c_int) {
        // The handle may be one that appends, or only reads.
        let Ok(file) = fs::File::options().write(true).open(format!("/proc/self/fd/{fd}")) else { return };
        let file = file.into_raw_fd();
        self.disk.read(id, |bytes| {
            kernel!(libc::SYS_ftruncate, file, bytes.len() as c_long);
            kernel!(libc::SYS_pwrite64, file, bytes.as_ptr(), bytes.len(), 0 as c_long);
        });
        // Not a close of the program's.
        kernel!(libc::SYS_close, file);
    }

    fn open(&self, folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        let real = |flags: c_int| kernel!(libc::SYS_openat, folder, path, flags | libc::O_LARGEFILE, mode) as c_int;
        // SAFETY: the caller's path.
        let mut given = PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        // What a link leads to is what is made.
        if flags & (libc::O_EXCL | libc::O_NOFOLLOW) == 0
            && let Ok(target) = fs::read_link(&given)
        {
            given = given.parent().unwrap_or(&given).join(target);
        }
        let Some(name) = self.name(folder, &given).filter(|_| flags & libc::O_DIRECTORY == 0) else {
            return real(flags);
        };
        let found = self.disk.find(&name);
        let (id, fd) = match found {
            Some(id) => {
                let fd = real(flags & !libc::O_TRUNC);
                if fd >= 0 && flags & libc::O_TRUNC != 0 && self.disk.read(id, |bytes| !bytes.is_empty()) {
                    if let Err(error) = self.disk.set_len(id, 0) {
                        kernel!(libc::SYS_close, fd);
                        return fail(number(&error));
                    }
                    kernel!(libc::SYS_ftruncate, fd, 0 as c_long);
                }
                (id, fd)
            }
            None if flags & libc::O_CREAT == 0 => return real(flags),
            None => match self.disk.make(&name) {
                Ok(id) => (id, real(flags)),
                Err(error) => return fail(number(&error)),
            },
        };
        if let Some(status) = status(fd).filter(|_| fd >= 0) {
            let mut known = self.known();
            known.files.insert((status.st_dev, status.st_ino), id);
            known.handles.insert(fd, self.disk.open_handle(id));
        }
        fd
    }

    fn write(&self, fd: c_int, bytes: &[u8], offset: Option<i64>) -> Option<ssize_t> {
        let (id, status) = self.file(fd)?;
        let at = match offset {
            _ if flags(fd) & libc::O_APPEND != 0 => status.st_size,
            Some(offset) => offset,
            None => kernel!(libc::SYS_lseek, fd, 0 as c_long, libc::SEEK_CUR) as i64,
        };
        match self.disk.write(id, bytes, at as usize) {
            Ok(len) => Some(match offset {
                Some(offset) => kernel!(libc::SYS_pwrite64, fd, bytes.as_ptr(), len, offset) as ssize_t,
                None => kernel!(libc::SYS_write, fd, bytes.as_ptr(), len) as ssize_t,
            }),
            Err(error) => {
                self.show(id, fd);
                Some(fail(number(&error)) as ssize_t)
            }
        }
    }

    fn sync(&self, fd: c_int) -> Option<c_int> {
        let synced = match self.file(fd) {
            Some((id, _)) => {
                let known = self.known().handles.get(&fd).copied();
                let mut age = known.unwrap_or_else(|| self.disk.open_handle(id));
                let synced = self.disk.sync_by(id, &mut age);
                self.known().handles.insert(fd, age);
                synced
            }
            None if status(fd)?.st_mode & libc::S_IFMT == libc::S_IFDIR => {
                let folder = fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
                self.disk.sync_names(&Path::new("/").join(folder.strip_prefix(&self.root).ok()?))
            }
            None => return None,
        };
        Some(synced.map_or_else(|error| fail(number(&error)), |()| 0))
    }

    fn set_len(&self, fd: c_int, len: off64_t) -> Option<c_int> {
        let (id, _) = self.file(fd)?;
        Some(match self.disk.set_len(id, len as usize) {
            Ok(()) => kernel!(libc::SYS_ftruncate, fd, len) as c_int,
            Err(error) => fail(number(&error)),
        })
    }

    fn close(&self, fd: c_int) -> Option<c_int> {
        let (id, _) = self.file(fd)?;
        let is_written = flags(fd) & libc::O_ACCMODE != libc::O_RDONLY;
        self.known().handles.remove(&fd);
        let closed = kernel!(libc::SYS_close, fd) as c_int;
        if !is_written {
            return Some(closed);
        }
        Some(self.disk.close(id).map_or_else(|error| fail(number(&error)), |()| closed))
    }

    fn rename(&self, from: (c_int, *const c_char), to: (c_int, *const c_char), flags: c_uint) -> Option<c_int> {
        // SAFETY: the caller's paths.
        let path = |path| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        let (old, new) = (self.name(from.0, path(from.1))?, self.name(to.0, path(to.1))?);
        self.disk.find(&old)?;
        Some(match self.disk.move_name(&old, &new, flags & libc::RENAME_NOREPLACE == 0) {
            Ok(()) => kernel!(libc::SYS_renameat2, from.0, from.1, to.0, to.1, flags) as c_int,
            Err(error) => fail(number(&error)),
        })
    }

    fn link(&self, from: (c_int, *const c_char), to: (c_int, *const c_char), flags: c_int) -> Option<c_int> {
        // SAFETY: the caller's paths.
        let path = |path| Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        let (old, new) = (self.name(from.0, path(from.1))?, self.name(to.0, path(to.1))?);
        self.disk.find(&old)?;
        Some(match self.disk.add_name(&old, &new) {
            Ok(()) => kernel!(libc::SYS_linkat, from.0, from.1, to.0, to.1, flags) as c_int,
            Err(error) => fail(number(&error)),
        })
    }

    fn remove(&self, folder: c_int, path: *const c_char, flags: c_int) -> Option<c_int> {
        // SAFETY: the caller's path.
        let given = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        let name = self.name(folder, given)?;
        self.disk.find(&name)?;
        Some(match self.disk.remove_name(&name) {
            Ok(()) => kernel!(libc::SYS_unlinkat, folder, path, flags) as c_int,
            Err(error) => fail(number(&error)),
        })
    }

    fn forget_cached(&self, fd: c_int, from: off64_t) -> Option<c_int> {
        let (id, _) = self.file(fd)?;
        self.disk.forget_cached(id, from as usize);
        self.show(id, fd);
        Some(0)
    }
}

/// Defines functions that the model answers, or else the kernel.
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $world:expr, $number:ident($($passed:expr),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let ask: fn(&World, $($type),*) -> Option<$result> = $world;
            let answer = world().and_then(|world| ask(&world, $($argument),*));
            answer.unwrap_or_else(|| kernel!(libc::$number, $($passed),*) as $result)
        }
    )*};
}

fn slice<'a>(bytes: *const c_void, len: size_t) -> &'a [u8] {
    // SAFETY: the caller's buffer, which is live until its call returns, and no longer used than that.
    unsafe { std::slice::from_raw_parts(bytes.cast(), len) }
}

calls! {
    open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        |world, path, flags, mode| Some(world.open(libc::AT_FDCWD, path, flags, mode)),
        SYS_openat(libc::AT_FDCWD, path, flags, mode);
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        |world, path, flags, mode| Some(world.open(libc::AT_FDCWD, path, flags, mode)),
        SYS_openat(libc::AT_FDCWD, path, flags, mode);
    openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        |world, folder, path, flags, mode| Some(world.open(folder, path, flags, mode)),
        SYS_openat(folder, path, flags, mode);
    openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int =
        |world, folder, path, flags, mode| Some(world.open(folder, path, flags, mode)),
        SYS_openat(folder, path, flags, mode);
    write(fd: c_int, bytes: *const c_void, len: size_t) -> ssize_t =
        |world, fd, bytes, len| world.write(fd, slice(bytes, len), None), SYS_write(fd, bytes, len);
    pwrite64(fd: c_int, bytes: *const c_void, len: size_t, offset: off64_t) -> ssize_t =
        |world, fd, bytes, len, offset| world.write(fd, slice(bytes, len), Some(offset)),
        SYS_pwrite64(fd, bytes, len, offset);
    writev(fd: c_int, buffers: *const iovec, count: c_int) -> ssize_t =
        |world, fd, buffers, count| {
            world.file(fd)?;
            // SAFETY: the caller's buffers.
            let buffers = unsafe { std::slice::from_raw_parts(buffers, count as usize) };
            let all: Vec<u8> = buffers.iter().flat_map(|one| slice(one.iov_base, one.iov_len)).copied().collect();
            world.write(fd, &all, None)
        },
        SYS_writev(fd, buffers, count);
    ftruncate64(fd: c_int, len: off64_t) -> c_int = World::set_len, SYS_ftruncate(fd, len);
    fdatasync(fd: c_int) -> c_int = World::sync, SYS_fdatasync(fd);
    fsync(fd: c_int) -> c_int = World::sync, SYS_fsync(fd);
    close(fd: c_int) -> c_int = World::close, SYS_close(fd);
    rename(from: *const c_char, to: *const c_char) -> c_int =
        |world, from, to| world.rename((libc::AT_FDCWD, from), (libc::AT_FDCWD, to), 0),
        SYS_renameat2(libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0);
    renameat(old: c_int, from: *const c_char, new: c_int, to: *const c_char) -> c_int =
        |world, old, from, new, to| world.rename((old, from), (new, to), 0), SYS_renameat2(old, from, new, to, 0);
    renameat2(old: c_int, from: *const c_char, new: c_int, to: *const c_char, flags: c_uint) -> c_int =
        |world, old, from, new, to, flags| world.rename((old, from), (new, to), flags),
        SYS_renameat2(old, from, new, to, flags);
    linkat(old: c_int, from: *const c_char, new: c_int, to: *const c_char, flags: c_int) -> c_int =
        |world, old, from, new, to, flags| world.link((old, from), (new, to), flags),
        SYS_linkat(old, from, new, to, flags);
    link(from: *const c_char, to: *const c_char) -> c_int =
        |world, from, to| world.link((libc::AT_FDCWD, from), (libc::AT_FDCWD, to), 0),
        SYS_linkat(libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0);
    unlink(path: *const c_char) -> c_int =
        |world, path| world.remove(libc::AT_FDCWD, path, 0), SYS_unlinkat(libc::AT_FDCWD, path, 0);
    unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int =
        World::remove, SYS_unlinkat(folder, path, flags);
    posix_fadvise64(fd: c_int, from: off64_t, len: off64_t, advice: c_int) -> c_int =
        |world, fd, from, _, advice| (advice == libc::POSIX_FADV_DONTNEED).then(|| world.forget_cached(fd, from))?,
        SYS_fadvise64(fd, from, len, advice);
    // The standard library then copies by reading and writing.
    copy_file_range(from: c_int, _a: *mut off64_t, to: c_int, _b: *mut off64_t, len: size_t, flags: c_uint) -> ssize_t =
        |_, _, _, _, _, _, _| Some(fail(libc::ENOSYS) as ssize_t),
        SYS_copy_file_range(from, _a, to, _b, len, flags);
    sendfile64(to: c_int, from: c_int, offset: *mut off64_t, len: size_t) -> ssize_t =
        |_, _, _, _, _| Some(fail(libc::ENOSYS) as ssize_t), SYS_sendfile(to, from, offset, len);
}
