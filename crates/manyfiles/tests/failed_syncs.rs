//! A sync that failed, on a file system whose device really runs full: nothing becomes durable by being read or appended to.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::fs;
use std::path::Path;
use std::process::Command;

use manyfiles::sync::SyncBatch;
use manyfiles::vfs::Vfs;
use manyfiles::writer::{FileWriter, SyncPolicy};
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Need, skip_unless};

#[path = "support/thin.rs"]
mod thin;
use thin::ThinDisk;

/// Ends in the middle of a block, as the lost part does.
const FIRST: [u8; 5_056] = [b'0'; 5_056];
static LOST: [u8; 40_008] = [b'L'; 40_008];
const NEXT: [u8; 5_024] = [b'N'; 5_024];

fn is_refused(error: &Error, path: &Path) {
    assert_eq!((error.operation(), error.path()), (Operation::Sync, Some(path)), "{error}");
    assert!(error.to_string().contains("has failed before"), "{error}");
}

#[test]
fn a_vfs_never_calls_durable_what_follows_a_failed_sync_and_goes_on_in_a_copy() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("dumpe2fs"));
    let disk = ThinDisk::new();
    let path = disk.path().join("log");
    let vfs = Vfs::new();
    vfs.append(&path, &FIRST).unwrap();
    vfs.sync(&path).unwrap();
    disk.run_full();
    vfs.append(&path, &LOST).unwrap();
    assert_eq!(vfs.sync(&path).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    vfs.flush(&path).unwrap_err();
    disk.make_room();

    vfs.append(&path, &NEXT).unwrap();
    is_refused(&vfs.sync(&path).unwrap_err(), &path);
    // Nor by another name, another Vfs, another kind of writer.
    let alias = disk.path().join(".").join("alias");
    fs::hard_link(&path, &alias).unwrap();
    is_refused(&Vfs::new().sync(&alias).unwrap_err(), &alias);
    let mut writer = FileWriter::append(&alias).unwrap();
    writer.write_all(b"more").unwrap();
    is_refused(&writer.sync().unwrap_err(), &alias);
    is_refused(&writer.close().unwrap_err(), &alias);
    let batch = SyncBatch::new();
    batch.add(fs::File::open(&path).unwrap(), &path);
    is_refused(batch.finish().unwrap_err().errors().iter().next().unwrap(), &path);
    vfs.wait().unwrap_err();

    // What reads show goes into another file, which has no past.
    let shown = vfs.read(&path).unwrap();
    vfs.put(&path, &shown).unwrap();
    vfs.append(&path, &NEXT).unwrap();
    vfs.sync(&path).unwrap();
    vfs.wait().unwrap();
    disk.remount();
    let found = fs::read(&path).unwrap();
    assert!(found == [&shown[..], &NEXT].concat(), "what was synced is there");
    assert!(found.starts_with(&FIRST));
}

#[test]
fn a_file_writer_s_file_is_durable_again_when_it_is_empty() {
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("dumpe2fs"));
    let disk = ThinDisk::new();
    let path = disk.path().join("log");
    let mut writer = FileWriter::create(&path).unwrap();
    writer.write_all(&FIRST).unwrap();
    writer.sync().unwrap();
    disk.run_full();
    writer.write_all(&LOST).unwrap();
    let error = writer.sync().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(writer.close().unwrap_err().to_string(), error.to_string());
    disk.make_room();
    for open in [FileWriter::append, |path| FileWriter::open_at(path, 5_056)] {
        let mut writer = open(&path).unwrap();
        writer.write_all(&NEXT).unwrap();
        writer.flush().unwrap();
        is_refused(&writer.sync().unwrap_err(), &path);
        is_refused(&writer.sync().unwrap_err(), &path);
        drop(writer);
    }
    // Cut to nothing, and written anew.
    let mut writer = FileWriter::open_at(&path, 0).unwrap();
    writer.set_len(0).unwrap();
    writer.write_all(&FIRST).unwrap();
    writer.write_all(&NEXT).unwrap();
    writer.sync().unwrap();
    writer.close().unwrap();
    disk.remount();
    assert!(fs::read(&path).unwrap() == [&FIRST[..], &NEXT].concat());
    manyfiles::close::wait().expect("every error was told");
}

/// What one process leaves behind, and another finds.
#[test]
fn a_process_that_comes_after_a_failed_sync_loses_nothing_of_its_own() {
    const PATH: &str = "MANYFILES_FAILED_SYNC_PATH";
    const WAY: &str = "MANYFILES_FAILED_SYNC_WAY";
    if let (Some(path), Ok(way)) = (std::env::var_os(PATH), std::env::var(WAY)) {
        let path = Path::new(&path);
        match &*way {
            "fails" => {
                let mut writer = FileWriter::append(path).unwrap();
                writer.write_all(&LOST).unwrap();
                writer.sync().unwrap_err();
            }
            "vfs" => {
                let vfs = Vfs::new();
                vfs.write(path, &NEXT).unwrap();
                vfs.sync(path).unwrap();
            }
            "policy" => {
                let mut writer = FileWriter::options().sync(SyncPolicy::OnClose).append(path).unwrap();
                writer.write_all(&NEXT).unwrap();
                writer.close().unwrap();
            }
            _ => {
                let end = fs::metadata(path).unwrap().len();
                let mut writer = FileWriter::open_at(path, end).unwrap();
                writer.write_all(&NEXT).unwrap();
                writer.sync().unwrap();
            }
        }
        return;
    }
    skip_unless!(Need::Root, Need::LoopDevices, Need::Program("dumpe2fs"));
    for way in ["vfs", "policy", "open_at"] {
        let disk = ThinDisk::new();
        let path = disk.path().join("log");
        fs::write(&path, FIRST).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        let process = |way: &str| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["a_process_that_comes_after_a_failed_sync_loses_nothing_of_its_own", "--exact"]);
            let output = command.env(PATH, &path).env(WAY, way).output().unwrap();
            assert!(output.status.success(), "{way}: {}", String::from_utf8_lossy(&output.stdout));
        };
        disk.run_full();
        process("fails");
        disk.make_room();
        process(way);
        disk.remount();
        let found = fs::read(&path).unwrap();
        assert!(found.starts_with(&FIRST) && found.ends_with(&NEXT), "{way}");
    }
}
