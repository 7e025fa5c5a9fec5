//! How many calls there are, and in which order.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::disk::{Disk, base};
use crate::appender::log::frame::{FRAME, MARK};
use crate::appender::log::header::HEADER;
use crate::appender::storage::{Measure, ReadAt, Storage, StoredFile};
use crate::appender::{Appender, Options, State};

fn open(disk: &Disk, options: Options) -> Appender {
    Appender::new(&base(), options, Arc::new(disk.clone())).unwrap()
}

#[test]
fn many_records_are_one_write_and_one_sync() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options());
    let before = disk.steps();
    let receipts: Vec<_> = (0..1000).map(|n| appender.append(format!("{n}\n").as_bytes()).unwrap()).collect();
    assert_eq!(disk.steps(), before, "nothing is done before a thread waits");
    receipts[10].wait_durable().unwrap();
    // The model counts a sync as two steps.
    assert_eq!(disk.steps() - before, 3);
    assert!(receipts.iter().all(|receipt| receipt.state() == State::Durable));
    for receipt in &receipts {
        receipt.wait_durable().unwrap();
        receipt.wait_written().unwrap();
    }
    assert_eq!(disk.steps() - before, 3);
}

#[test]
fn a_new_file_is_durable_before_it_has_a_record_and_the_old_one_is_too() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().framed(true).rotate_bytes(300));
    for n in 0..20 {
        appender.append(&[n; 50]).unwrap().wait_written().unwrap();
        let names = disk.durable_names();
        for (at, name) in names.iter().enumerate() {
            let (now, durable) = disk.file(name).unwrap();
            assert!(durable.len() >= HEADER, "{name:?}");
            if at + 1 < names.len() {
                assert_eq!(now, durable, "{name:?} was left, and is not durable");
            }
            assert!(now.len() <= 300);
        }
        assert_eq!(disk.durable_names().len(), 1 + usize::from(n) / 2, "{n}");
    }
}

#[test]
fn a_record_longer_than_a_file_may_be_has_one_of_its_own() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().rotate_bytes(100));
    for len in [10, 500, 10, 0, 90, 1] {
        appender.append(&vec![b'x'; len]).unwrap();
    }
    appender.close().unwrap();
    let lengths: Vec<usize> = disk.durable_names().iter().map(|name| disk.file(name).unwrap().1.len()).collect();
    assert_eq!(lengths, [10, 500, 100, 1]);
}

#[test]
fn a_file_is_left_when_it_is_old_enough_and_a_record_comes() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().rotate_age(Duration::from_secs(60)));
    let files = || disk.durable_names().len();
    disk.advance(Duration::from_secs(600));
    appender.append_durable(b"first").unwrap();
    assert_eq!(files(), 1, "an empty file is never left, and is as old as its first record");
    disk.advance(Duration::from_secs(59));
    appender.append_durable(b"second").unwrap();
    assert_eq!(files(), 1);
    disk.advance(Duration::from_secs(1));
    assert_eq!(files(), 1, "not before there is a record");
    appender.append_durable(b"third").unwrap();
    assert_eq!(files(), 2);
    disk.advance(Duration::from_secs(60));
    appender.append_durable(b"fourth").unwrap();
    assert_eq!(files(), 3);
}

#[test]
fn frames_cost_what_the_documentation_says() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options().framed(true));
    appender.append(b"12345").unwrap();
    appender.append(b"").unwrap();
    appender.sync().unwrap();
    let (now, durable) = disk.file(&base()).unwrap();
    assert!(now == durable);
    let (records, room) = now.split_at(HEADER + MARK + 5 + 2 * FRAME);
    assert!(records.last() != Some(&0) && !room.is_empty() && room.iter().all(|&byte| byte == 0), "room is zeros");
    appender.close().unwrap();
    assert_eq!(disk.file(&base()).unwrap().1.len(), HEADER + 2 * MARK + 5 + 2 * FRAME);
}

#[test]
fn a_torn_tail_is_left_where_it_is_and_what_only_the_page_cache_had_is_durable_before_the_first_append() {
    let disk = Disk::default();
    let options = Appender::options().framed(true);
    let appender = open(&disk, options.clone());
    for n in 0..3 {
        appender.append_durable(&[b'a' + n; 50]).unwrap();
    }
    appender.append(&[b'x'; 50]).unwrap().wait_written().unwrap();
    std::mem::forget(appender);
    let (mut torn, _) = disk.file(&base()).unwrap();
    torn.truncate(torn.iter().rposition(|&byte| byte != 0).unwrap() + 1);
    torn.extend(b"half of a record");
    let disk = Disk::holding(&BTreeMap::from([(base(), torn.clone())]));
    let appender = open(&disk, options.clone());
    assert_eq!((appender.recovery().records, appender.recovery().torn_bytes), (4, 16));
    assert!(disk.file(&base()).unwrap().1 == torn, "nothing is changed there");
    let (now, durable) = disk.file(&base().with_extension("000001")).unwrap();
    assert!(now == durable, "durable before the first append");
    // The last one: of the others, its mark says that they are durable.
    let has = |byte: u8| now.windows(50).any(|window| window.iter().all(|&other| other == byte));
    assert!(!has(b'a') && !has(b'b') && !has(b'c') && has(b'x'));
    assert_eq!(disk.durable_names().len(), 2);
    // It was closed in order now: nothing is begun.
    appender.append_durable(b"behind").unwrap();
    appender.close().unwrap();
    drop(open(&disk, options));
    assert_eq!(disk.names().len(), 2);
}

#[test]
fn dropping_an_appender_makes_all_durable() {
    let disk = Disk::default();
    let appender = open(&disk, Appender::options());
    let receipt = appender.append(b"the last words").unwrap();
    drop(appender);
    assert_eq!(receipt.state(), State::Durable);
    receipt.wait_durable().unwrap();
    assert_eq!(disk.file(&base()).unwrap().1, b"the last words");
}

/// A disk that counts bytes and keeps none. It takes 1 GiB at a time, as a system may.
#[derive(Clone, Default)]
struct Scales {
    weight: Arc<AtomicU64>,
    is_note: bool,
}

impl Storage for Scales {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        if path.extension().is_some() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(self.clone()))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        // The note beside the file is not weighed.
        Ok(Box::new(Scales { is_note: path.extension().is_some(), ..self.clone() }))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.open(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn unique(&self) -> u64 {
        0
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn replace(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn measure(&self, _: &Path) -> io::Result<Measure> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<OsString>> {
        Ok(Vec::new())
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl ReadAt for Scales {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(if self.is_note { 0 } else { self.weight.load(Ordering::Relaxed) })
    }

    fn is_at(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }
}

impl StoredFile for Scales {
    fn serial(&self) -> io::Result<u64> {
        Ok(1)
    }

    fn age(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let len = bytes.len().min(1 << 30) as u64;
        if !self.is_note {
            assert_eq!(self.weight.fetch_add(len, Ordering::Relaxed), offset, "not behind what is there");
        }
        Ok(len as usize)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_record_of_four_gigabytes_is_one_record_where_there_are_no_frames() {
    let scales = Scales::default();
    let appender = Appender::new(&base(), Appender::options(), Arc::new(scales.clone())).unwrap();
    appender.append(b"before").unwrap();
    // Zeros that are never written take no memory.
    let receipt = appender.append(&vec![0; 1 << 32]).unwrap();
    assert_eq!(receipt.state(), State::Written);
    appender.append_durable(b"behind").unwrap();
    appender.close().unwrap();
    assert_eq!(scales.weight.load(Ordering::Relaxed), (1 << 32) + 12);
}
