//! Compressing that is stopped at any step, or fails at any call: no record is gone, and the next one finishes it.

use std::path::PathBuf;
use std::sync::Arc;

use super::disk::{Call, Disk, Fault, Random, Remains, Stop, base};
use crate::appender::care::leftovers;
use crate::appender::log::series::Series;
use crate::appender::upkeep::Upkeep;
use crate::appender::{Appender, Options, Records};

fn options() -> Options {
    Appender::options().framed(true).rotate_bytes(1_000).compress(true)
}

/// Three files of records.
fn made() -> Remains {
    let disk = Disk::default();
    let appender = Appender::new(&base(), options().compress(false), Arc::new(disk.clone())).unwrap();
    for n in 0..20_u8 {
        appender.append_durable(&[n; 80]).unwrap();
    }
    appender.close().unwrap();
    disk.cut(Random(1))
}

/// Compresses what an appender would that has the third file, and removes what others left, as its opening does.
fn pack(disk: &Disk) -> crate::Result<()> {
    let series = Series::new(disk, &base())?;
    leftovers::remove(disk, &series);
    Upkeep::new(Arc::new(disk.clone()), series, &options()).pack_before(3)
}

fn read(disk: &Disk, story: &str) -> Vec<u8> {
    let records = Records::open_in(Arc::new(disk.clone()), &base(), None).unwrap();
    records.map(|record| record.unwrap_or_else(|error| panic!("{story}: {error}"))[0]).collect()
}

fn is_done(disk: &Disk) -> bool {
    let names: Vec<String> =
        disk.names().iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names == ["records.000001.zst", "records.000002.zst", "records.000003"]
}

#[test]
fn compressing_that_is_stopped_at_any_step_loses_nothing_and_is_finished_later() {
    let (files, whole) = (made(), (0..20).collect::<Vec<u8>>());
    for step in 1.. {
        let mut is_over = false;
        for stop in [Stop::Kill, Stop::Cut] {
            let story = format!("{stop:?} at {step}");
            let mut disk = Disk::holding(&files);
            disk.seed(Random(step));
            disk.stop_at(step, stop);
            let told = pack(&disk);
            is_over |= disk.is_over();
            assert_eq!(told.is_err(), disk.is_over(), "{story}");
            if let Some(remains) = disk.remains() {
                disk = Disk::holding(&remains);
            }
            disk.next_process();
            assert_eq!(read(&disk, &story), whole, "{story}");
            pack(&disk).unwrap_or_else(|error| panic!("{story}: {error}"));
            assert!(is_done(&disk), "{story}: {:?}", disk.names());
            assert_eq!(read(&disk, &story), whole, "{story}");
            // And the power goes now.
            let disk = Disk::holding(&disk.cut(Random(step)));
            assert_eq!(read(&disk, &story), whole, "{story}");
        }
        if !is_over {
            assert!(step > 10);
            break;
        }
    }
}

#[test]
fn compressing_that_fails_is_told_and_leaves_the_plain_file() {
    let (files, whole) = (made(), (0..20).collect::<Vec<u8>>());
    for call in [Call::Create, Call::Write, Call::Sync, Call::Rename, Call::SyncFolder, Call::Remove] {
        let story = format!("{call:?}");
        let disk = Disk::holding(&files);
        disk.inject(call, 1, Fault::Fail { errno: 28, for_good: true });
        let error = pack(&disk).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(28), "{story}: {error}");
        assert!(error.path().is_some() && disk.names().contains(&base().with_extension("000001")), "{story}");
        assert_eq!(read(&disk, &story), whole, "{story}");
        disk.next_process();
        pack(&disk).unwrap();
        assert!(is_done(&disk), "{story}: {:?}", disk.names());
    }
    // An appender goes on all the same.
    let disk = Disk::holding(&files);
    disk.inject(Call::Remove, 1, Fault::Fail { errno: 28, for_good: true });
    let appender = Appender::new(&base(), options(), Arc::new(disk.clone())).unwrap();
    appender.append_durable(&[20; 80]).unwrap();
    while appender.group.upkeep.packer.is_running() {
        std::thread::yield_now();
    }
    assert_eq!(appender.take_upkeep_errors()[0].raw_os_error(), Some(28));
    appender.append_durable(&[21; 80]).unwrap();
    appender.close().unwrap();
    assert_eq!(read(&disk, "behind the failure").len(), 22);
}

/// Some systems keep the name of a removed file as long as it is open.
#[test]
fn a_file_that_was_removed_does_not_come_back_compressed_though_its_name_is_there() {
    let disk = Disk::holding(&made());
    let series = Series::new(&disk, &base()).unwrap();
    let upkeep = Upkeep::new(Arc::new(disk.clone()), series, &options().keep_files(2));
    upkeep.remove_old(3);
    assert!(upkeep.take_errors().is_empty());
    let removed = base().with_extension("000001");
    assert!(!disk.names().contains(&removed));
    disk.make(&removed).unwrap();
    upkeep.pack_before(3).unwrap();
    let names: Vec<PathBuf> = ["000001", "000002.zst", "000003"].map(|end| base().with_extension(end)).into();
    assert_eq!(disk.names(), names);
}
