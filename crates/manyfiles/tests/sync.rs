//! The syncs of one file and one folder tell what went wrong, with the number that the system gave.
#![cfg(feature = "full")]

#[cfg(target_os = "linux")]
mod support;

use std::fs::{self, File};
use std::io::Write;

use manyfiles::Operation;
use manyfiles::sync::{sync_all, sync_data, sync_folder};

#[test]
fn a_file_and_its_folder_can_be_made_durable() {
    let temp = tempfile::tempdir().unwrap();
    let mut file = File::create(temp.path().join("file")).unwrap();
    file.write_all(b"bytes").unwrap();
    sync_data(&file).unwrap();
    sync_all(&file).unwrap();
    sync_folder(temp.path()).unwrap();
}

#[test]
fn what_is_no_folder_is_an_error_with_its_path() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [&file, &temp.path().join("none")] {
        let error = sync_folder(path).unwrap_err();
        assert_eq!((error.operation(), error.path()), (Operation::Sync, Some(&**path)));
        assert!(error.raw_os_error().is_some(), "{error}");
    }
}

#[cfg(target_os = "linux")]
mod injected {
    use super::*;
    use crate::support;
    use manyfiles_testkit::{Call, Need, Preload, Rule, skip_unless};

    /// An interrupted sync too: a second call is not told what the first one had found.
    #[test]
    fn a_failed_sync_is_told_and_not_made_again() {
        skip_unless!(Need::Preload);
        const NUMBERS: [i32; 4] = [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EINTR];
        let preload = || {
            NUMBERS.iter().fold(Preload::new(), |preload, &number| {
                preload.rule(Rule::fail(Call::Fsync, number).path_contains(&format!("number-{number}-")).nth(1))
            })
        };
        let name = "injected::a_failed_sync_is_told_and_not_made_again";
        if support::in_parent(name, |child| {
            preload().apply(child).unwrap();
        }) {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        for number in NUMBERS {
            let file = File::create(temp.path().join(format!("number-{number}-"))).unwrap();
            let error = sync_data(&file).unwrap_err();
            assert_eq!((error.operation(), error.raw_os_error()), (Operation::Sync, Some(number)));
            sync_data(&file).expect("only the first call was to fail");
        }
    }

    /// Some network and shared folders answer so; there is nothing else to call.
    #[test]
    fn a_folder_that_knows_no_sync_is_left_to_its_file_system() {
        skip_unless!(Need::Preload);
        let preload = || {
            Preload::new()
                .rule(Rule::fail(Call::Fsync, libc::EINVAL).path_contains("without"))
                .rule(Rule::fail(Call::Fsync, libc::EIO).path_contains("broken"))
        };
        let name = "injected::a_folder_that_knows_no_sync_is_left_to_its_file_system";
        if support::in_parent(name, |child| {
            preload().apply(child).unwrap();
        }) {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        for name in ["without", "broken"] {
            fs::create_dir(temp.path().join(name)).unwrap();
        }
        sync_folder(temp.path().join("without")).unwrap();
        assert_eq!(sync_folder(temp.path().join("broken")).unwrap_err().raw_os_error(), Some(libc::EIO));
    }
}
