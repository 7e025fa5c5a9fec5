//! What compiles with `std::fs` compiles with `manyfiles::fs`: the same lines are compiled against both, and do the
//! same.
#![allow(clippy::permissions_set_readonly_false, clippy::unused_io_amount, reason = "only that it compiles matters")]

/// Examples of std's documentation, and what std's files can be made of and be made into.
macro_rules! lines {
    ($name:ident, $($fs:ident)::+) => {
        mod $name {
            use $($fs)::+ as fs;

            use std::io::{self, BufReader, BufWriter, IoSlice, Read, Seek, SeekFrom, Write};
            use std::path::Path;
            use std::process::Stdio;
            use std::sync::Arc;
            use std::time::SystemTime;

            use fs::{DirBuilder, File, FileTimes, OpenOptions, TryLockError};

            pub fn files(folder: &Path) -> io::Result<String> {
                let path = folder.join("foo.txt");
                let mut file = File::create(&path)?;
                file.write_all(b"Hello, world!")?;
                let mut buffer = BufWriter::new(File::create_new(folder.join("new.txt"))?);
                writeln!(buffer, "{}", 1)?;
                buffer.into_inner().map_err(|error| error.into_error())?.sync_all()?;
                let mut contents = String::new();
                BufReader::new(File::open(&path)?).read_to_string(&mut contents)?;
                assert_eq!(contents, "Hello, world!");

                let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
                file.set_len(10)?;
                file.sync_data()?;
                let dest = FileTimes::new().set_accessed(SystemTime::now()).set_modified(SystemTime::now());
                file.set_times(dest)?;
                file.set_modified(SystemTime::UNIX_EPOCH)?;
                let mut perms = file.metadata()?.permissions();
                perms.set_readonly(false);
                file.set_permissions(perms)?;
                let copy: File = file.try_clone()?;
                // On Windows a lock keeps the file's own clone out: there these lines are only compiled.
                if cfg!(unix) {
                    file.lock()?;
                    file.unlock()?;
                    file.lock_shared()?;
                    file.unlock()?;
                    match file.try_lock() {
                        Ok(()) => {}
                        Err(TryLockError::WouldBlock) => {}
                        Err(TryLockError::Error(error)) => return Err(error),
                    }
                    file.try_lock_shared().ok();
                }
                drop(copy);
                let mut through: &File = &file;
                through.seek(SeekFrom::Start(1))?;
                through.write_vectored(&[IoSlice::new(b"a"), IoSlice::new(b"b")])?;
                through.flush()?;
                let shared = Arc::new(file);
                (&*shared).rewind()?;
                let mut text = String::new();
                (&*shared).read_to_string(&mut text)?;
                io::copy(&mut File::open(&path)?, &mut File::create(folder.join("copied"))?)?;
                let _output: Stdio = File::create(folder.join("output"))?.into();
                Ok(text)
            }

            pub fn functions(folder: &Path) -> io::Result<Vec<String>> {
                let path = |name: &str| folder.join(name);
                fs::create_dir_all(path("some/dir"))?;
                fs::create_dir(path("another"))?;
                DirBuilder::new().recursive(true).create(path("a/b"))?;
                fs::write(path("bar.txt"), b"dolor sit")?;
                fs::copy(path("bar.txt"), path("some/copy"))?;
                fs::hard_link(path("bar.txt"), path("some/link"))?;
                fs::rename(path("some/copy"), path("some/renamed"))?;
                assert_eq!(fs::read(path("some/link"))?, b"dolor sit");
                assert_eq!(fs::read_to_string(path("some/renamed"))?, "dolor sit");
                assert!(fs::exists(path("bar.txt"))? && fs::metadata(path("some"))?.is_dir());
                let mut perms = fs::symlink_metadata(path("bar.txt"))?.permissions();
                perms.set_readonly(true);
                fs::set_permissions(path("bar.txt"), perms.clone())?;
                perms.set_readonly(false);
                fs::set_permissions(path("bar.txt"), perms)?;
                let mut entries = fs::read_dir(path("some"))?
                    .map(|res| res.map(|entry: fs::DirEntry| entry.file_name().into_string().unwrap()))
                    .collect::<Result<Vec<_>, io::Error>>()?;
                entries.sort();
                fs::canonicalize(path("some/../bar.txt"))?;
                fs::remove_file(path("bar.txt"))?;
                fs::remove_dir(path("another"))?;
                fs::remove_dir_all(path("some"))?;
                Ok(entries)
            }

            #[cfg(unix)]
            pub fn unix(folder: &Path) -> io::Result<u32> {
                use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
                use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
                fn private<O: OpenOptionsExt>(options: &mut O) -> &mut O {
                    options.mode(0o600).custom_flags(0)
                }
                let path = folder.join("unix");
                let file = private(OpenOptions::new().write(true).create(true)).open(&path)?;
                file.write_all_at(b"abc", 1)?;
                assert!(file.as_raw_fd() >= 0 && file.as_fd().as_raw_fd() >= 0);
                let fd: OwnedFd = file.into();
                let raw = File::from(fd).into_raw_fd();
                // SAFETY: a file owned it a moment ago, and nothing owns it now.
                let file = unsafe { File::from_raw_fd(raw) };
                Ok(file.metadata()?.permissions().mode())
            }

            #[cfg(windows)]
            pub fn windows(folder: &Path) -> io::Result<u64> {
                use std::os::windows::fs::{FileExt, OpenOptionsExt};
                use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, IntoRawHandle, OwnedHandle};
                fn shared<O: OpenOptionsExt>(options: &mut O) -> &mut O {
                    options.share_mode(7).attributes(0x80).custom_flags(0)
                }
                let file = shared(OpenOptions::new().write(true).create(true)).open(folder.join("windows"))?;
                file.seek_write(b"abc", 1)?;
                assert!(!file.as_raw_handle().is_null() && !file.as_handle().as_raw_handle().is_null());
                let handle: OwnedHandle = file.into();
                let raw = File::from(handle).into_raw_handle();
                // SAFETY: a file owned it a moment ago, and nothing owns it now.
                let file = unsafe { File::from_raw_handle(raw) };
                Ok(file.metadata()?.len())
            }
        }
    };
}

lines!(with_std, std::fs);
lines!(with_manyfiles, manyfiles::fs);

#[test]
fn the_same_lines_compile_and_do_the_same() {
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    // First with std, to see whether the lines are right.
    let files = with_std::files(other.path()).unwrap();
    let functions = with_std::functions(other.path()).unwrap();
    assert_eq!(with_manyfiles::files(one.path()).unwrap(), files);
    assert_eq!(with_manyfiles::functions(one.path()).unwrap(), functions);
    #[cfg(unix)]
    assert_eq!(with_manyfiles::unix(one.path()).unwrap(), with_std::unix(other.path()).unwrap());
    #[cfg(windows)]
    assert_eq!(with_manyfiles::windows(one.path()).unwrap(), with_std::windows(other.path()).unwrap());
    manyfiles::close::wait().unwrap();
}
