//! The wrapper: the size and the abilities of what it wraps.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::mem::size_of;

use manyfiles::close::{self, FastClose, FastCloseable};

#[test]
fn it_has_the_size_of_the_handle() {
    assert_eq!(size_of::<FastClose<File>>(), size_of::<File>());
    assert_eq!(size_of::<FastClose<Calls>>(), size_of::<Calls>());
    assert_eq!(size_of::<Option<FastClose<File>>>(), size_of::<Option<File>>());
}

#[test]
fn its_debug_output_is_the_handles() {
    let file = tempfile::tempfile().unwrap();
    let plain = format!("{file:?}");
    assert_eq!(format!("{:?}", FastClose::new(file)), plain);
}

#[test]
fn a_file_can_be_written_and_read_through_it() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let options = File::options().read(true).write(true).create(true).truncate(true).clone();
    let file_number = 1;
    let mut file: FastClose<File> = options.open(&path).unwrap().into();
    write!(file, "formatted {file_number}").unwrap();
    file.write_all(b", whole").unwrap();
    let written = file.write_vectored(&[IoSlice::new(b", in"), IoSlice::new(b" parts")]).unwrap();
    assert_eq!(written, if cfg!(windows) { 4 } else { 10 }); // as std's File does it
    file.write_all(&b", in parts"[written..]).unwrap();
    file.flush().unwrap();
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "formatted 1, whole, in parts");
    assert_eq!(file.stream_position().unwrap(), 28);
    assert_eq!(file.seek(SeekFrom::Start(10)).unwrap(), 10);
    assert_eq!(file.metadata().unwrap().len(), 28); // File's own methods
    drop(file);
    close::wait().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn its_descriptor_is_the_handles_and_closed_once() {
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    let (mut reader, writer) = io::pipe().unwrap();
    let writer = FastClose::new(OwnedFd::from(writer));
    assert_eq!(writer.as_fd().as_raw_fd(), writer.as_raw_fd());
    let unwrapped = writer.into_inner();
    rustix::io::write(&unwrapped, b"open after into_inner").unwrap();
    drop(unwrapped.fast_close());
    close::wait().unwrap();
    let mut read = String::new();
    reader.read_to_string(&mut read).unwrap(); // ends only because every writer is closed
    assert_eq!(read, "open after into_inner");
}

#[test]
fn a_handle_taken_out_is_closed_by_its_own_drop() {
    struct Here(std::thread::ThreadId, std::sync::mpsc::Sender<bool>);
    impl FastCloseable for Here {}
    impl Drop for Here {
        fn drop(&mut self) {
            self.1.send(self.0 == std::thread::current().id()).unwrap();
        }
    }
    let (closed, is_closed) = std::sync::mpsc::channel();
    let handle = FastClose::new(Here(std::thread::current().id(), closed)).into_inner();
    assert!(is_closed.try_recv().is_err(), "closed by into_inner");
    drop(handle);
    assert!(is_closed.try_recv().unwrap());
    assert!(is_closed.recv().is_err(), "closed twice");
}

#[test]
fn it_compares_as_its_handle_does() {
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Numbered(u32);
    impl FastCloseable for Numbered {}
    let (one, two) = (FastClose::new(Numbered(1)), FastClose::new(Numbered(2)));
    assert!(one < two && one == one.clone() && one == Numbered(1) && two > Numbered(1));
}

#[cfg(any(unix, windows))]
#[test]
fn bytes_at_an_offset_are_the_handles_own_business_too() {
    use std::sync::Mutex;

    #[cfg(unix)]
    use std::os::unix::fs::FileExt;
    #[cfg(windows)]
    use std::os::windows::fs::FileExt;

    /// Says which of its methods was called, and with which offset.
    struct Offsets(Mutex<Vec<(&'static str, u64)>>);
    impl FastCloseable for Offsets {}
    impl Offsets {
        fn called<T: Default>(&self, method: &'static str, offset: u64) -> io::Result<T> {
            self.0.lock().unwrap().push((method, offset));
            Ok(T::default())
        }
    }
    #[cfg(unix)]
    impl FileExt for Offsets {
        fn read_at(&self, _: &mut [u8], offset: u64) -> io::Result<usize> {
            self.called("read_at", offset)
        }
        fn read_exact_at(&self, _: &mut [u8], offset: u64) -> io::Result<()> {
            self.called("read_exact_at", offset)
        }
        fn write_at(&self, _: &[u8], offset: u64) -> io::Result<usize> {
            self.called("write_at", offset)
        }
        fn write_all_at(&self, _: &[u8], offset: u64) -> io::Result<()> {
            self.called("write_all_at", offset)
        }
    }
    #[cfg(windows)]
    impl FileExt for Offsets {
        fn seek_read(&self, _: &mut [u8], offset: u64) -> io::Result<usize> {
            self.called("seek_read", offset)
        }
        fn seek_write(&self, _: &[u8], offset: u64) -> io::Result<usize> {
            self.called("seek_write", offset)
        }
    }

    fn call(file: &impl FileExt) -> io::Result<()> {
        #[cfg(unix)]
        {
            file.read_at(&mut [0], 1)?;
            file.read_exact_at(&mut [0], 2)?;
            file.write_at(b"a", 3)?;
            file.write_all_at(b"a", 4)
        }
        #[cfg(windows)]
        {
            file.seek_read(&mut [0], 1)?;
            file.seek_write(b"a", 2).map(drop)
        }
    }
    let file = FastClose::new(Offsets(Mutex::default()));
    call(&file).unwrap();
    let called = file.0.lock().unwrap();
    #[cfg(unix)]
    assert_eq!(*called, [("read_at", 1), ("read_exact_at", 2), ("write_at", 3), ("write_all_at", 4)]);
    #[cfg(windows)]
    assert_eq!(*called, [("seek_read", 1), ("seek_write", 2)]);
}

/// Says which of its methods was called.
#[derive(Default)]
struct Calls(Vec<&'static str>);

impl FastCloseable for Calls {}

impl Calls {
    fn called<T: Default>(&mut self, method: &'static str) -> io::Result<T> {
        self.0.push(method);
        Ok(T::default())
    }
}

impl Read for Calls {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.called("read")
    }
    fn read_vectored(&mut self, _: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.called("read_vectored")
    }
    fn read_to_end(&mut self, _: &mut Vec<u8>) -> io::Result<usize> {
        self.called("read_to_end")
    }
    fn read_to_string(&mut self, _: &mut String) -> io::Result<usize> {
        self.called("read_to_string")
    }
    fn read_exact(&mut self, _: &mut [u8]) -> io::Result<()> {
        self.called("read_exact")
    }
}

impl Write for Calls {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.called("write")
    }
    fn write_vectored(&mut self, _: &[IoSlice<'_>]) -> io::Result<usize> {
        self.called("write_vectored")
    }
    fn flush(&mut self) -> io::Result<()> {
        self.called("flush")
    }
    fn write_all(&mut self, _: &[u8]) -> io::Result<()> {
        self.called("write_all")
    }
    fn write_fmt(&mut self, _: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.called("write_fmt")
    }
}

impl Seek for Calls {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        self.called("seek")
    }
    fn rewind(&mut self) -> io::Result<()> {
        self.called("rewind")
    }
    fn stream_position(&mut self) -> io::Result<u64> {
        self.called("stream_position")
    }
    fn seek_relative(&mut self, _: i64) -> io::Result<()> {
        self.called("seek_relative")
    }
}

#[test]
fn every_method_is_the_handles_own_and_none_the_traits_default() {
    fn call(file: &mut (impl Read + Write + Seek)) -> io::Result<()> {
        assert_eq!(file.read(&mut [0])?, 0);
        assert_eq!(file.read_vectored(&mut [])?, 0);
        file.read_to_end(&mut Vec::new())?;
        file.read_to_string(&mut String::new())?;
        file.read_exact(&mut [0])?;
        assert_eq!(file.write(b"a")?, 0);
        assert_eq!(file.write_vectored(&[])?, 0);
        file.flush()?;
        file.write_all(b"a")?;
        file.write_fmt(format_args!("a"))?;
        file.seek(SeekFrom::Start(0))?;
        file.rewind()?;
        file.stream_position()?;
        file.seek_relative(1)
    }
    let (mut plain, mut wrapped) = (Calls::default(), FastClose::new(Calls::default()));
    call(&mut plain).unwrap();
    call(&mut wrapped).unwrap();
    assert_eq!(plain.0.len(), 14);
    assert_eq!(wrapped.0, plain.0);
}
