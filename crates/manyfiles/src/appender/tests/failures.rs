//! Each call fails in turn, in every way, while threads wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::disk::{Call, Disk, Fault, base};
use crate::appender::{Appender, Receipt, State};
use crate::{Error, Operation};

const EIO: i32 = 5;
const EINTR: i32 = 4;
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// What a record's thread was told, in the order of asking.
type Told = Vec<(Vec<u8>, Receipt, Result<(), Error>)>;

/// Four threads append and wait, each until it is told of a failure.
fn threads(appender: &Appender) -> Told {
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let told = &told;
            scope.spawn(move || {
                for n in 0..12 {
                    let record = format!("<{thread} {n}>").into_bytes();
                    let receipt = match appender.append(&record) {
                        Ok(receipt) => receipt,
                        Err(_) => return,
                    };
                    let result = receipt.wait_durable();
                    let failed = result.is_err();
                    told.lock().unwrap().push((record, receipt, result));
                    if failed {
                        return;
                    }
                }
            });
        }
    });
    told.into_inner().unwrap()
}

#[test]
fn a_failed_call_reaches_every_waiter_with_its_number_and_no_success_follows() {
    let calls = [
        (Call::Write, Operation::Write),
        (Call::Sync, Operation::Sync),
        (Call::Create, Operation::Create),
        (Call::SyncFolder, Operation::Sync),
        (Call::Close, Operation::Close),
    ];
    for (call, operation) in calls {
        for errno in [EIO, ENOSPC, EDQUOT, EINTR] {
            for nth in 1..=6 {
                for for_good in [false, true] {
                    let story = format!("{call:?} number {nth} fails with {errno}, for good: {for_good}");
                    let disk = Disk::default();
                    let options = Appender::options().framed(true).rotate_bytes(150);
                    let appender = Appender::new(&base(), options, Arc::new(disk.clone())).unwrap();
                    disk.inject(call, nth, Fault::Fail { errno, for_good });
                    let told = threads(&appender);
                    let failed: Vec<&Error> = told.iter().filter_map(|(_, _, result)| result.as_ref().err()).collect();
                    for error in &failed {
                        assert_eq!(error.raw_os_error(), Some(errno), "{story}: {error}");
                        assert_eq!(error.operation(), operation, "{story}: {error}");
                        assert!(error.path().is_some(), "{story}");
                    }
                    let everything: Vec<u8> =
                        disk.durable_names().iter().flat_map(|name| disk.file(name).unwrap().1).collect();
                    let has = |record: &[u8]| everything.windows(record.len()).any(|window| window == record);
                    for (record, receipt, result) in &told {
                        let record_text = String::from_utf8_lossy(record);
                        // What was told stays so, at each call, however often.
                        for _ in 0..2 {
                            assert_eq!(receipt.wait_durable().is_ok(), result.is_ok(), "{story}: {record_text}");
                        }
                        if result.is_ok() {
                            assert_eq!(receipt.state(), State::Durable, "{story}");
                            assert!(has(record), "{story}: {record_text} was acknowledged and is gone");
                        } else {
                            assert_ne!(receipt.state(), State::Durable, "{story}");
                        }
                    }
                    if failed.is_empty() {
                        assert_eq!(told.len(), 48, "{story}");
                        continue;
                    }
                    for _ in 0..2 {
                        assert_eq!(appender.append(b"late").unwrap_err().raw_os_error(), Some(errno), "{story}");
                        assert_eq!(
                            appender.append_durable(b"late").unwrap_err().raw_os_error(),
                            Some(errno),
                            "{story}"
                        );
                        assert_eq!(appender.sync().unwrap_err().raw_os_error(), Some(errno), "{story}");
                    }
                    assert_eq!(appender.close().unwrap_err().raw_os_error(), Some(errno), "{story}");
                }
            }
        }
    }
}

#[test]
fn short_writes_are_gone_on_with() {
    for nth in 1..=10 {
        let disk = Disk::default();
        let appender = Appender::new(&base(), Appender::options(), Arc::new(disk.clone())).unwrap();
        disk.inject(Call::Write, nth, Fault::Short);
        for n in 0..10 {
            appender.append_durable(format!("<{n}>").as_bytes()).unwrap();
        }
        appender.close().unwrap();
        let expected: String = (0..10).map(|n| format!("<{n}>")).collect();
        assert_eq!(disk.file(&base()).unwrap().1, expected.as_bytes());
    }
}

#[test]
fn a_disk_that_fills_in_the_middle_of_a_group_leaves_whole_records_only() {
    let disk = Disk::default();
    let appender = Appender::new(&base(), Appender::options(), Arc::new(disk.clone())).unwrap();
    appender.append(b"<one>").unwrap();
    appender.append(b"<two>").unwrap();
    appender.sync().unwrap();
    let receipts = [appender.append(b"<three>").unwrap(), appender.append(b"<four>").unwrap()];
    // Half of the group fits; what is left finds the disk full.
    disk.inject(Call::Write, 1, Fault::Short);
    disk.inject(Call::Write, 2, Fault::Fail { errno: ENOSPC, for_good: true });
    for receipt in &receipts {
        let error = receipt.wait_durable().unwrap_err();
        assert_eq!((error.raw_os_error(), error.operation()), (Some(ENOSPC), Operation::Write));
        assert_eq!(receipt.state(), State::Failed);
    }
    assert_eq!(disk.file(&base()).unwrap().0, b"<one><two>", "cut back to where the group began");
}

#[test]
fn after_a_failed_sync_what_was_with_the_system_counts_as_written_no_more() {
    let disk = Disk::default();
    let appender = Appender::new(&base(), Appender::options(), Arc::new(disk.clone())).unwrap();
    let durable = appender.append(b"durable").unwrap();
    appender.sync().unwrap();
    let written = appender.append(b"written").unwrap();
    written.wait_written().unwrap();
    disk.inject(Call::Sync, 1, Fault::Fail { errno: EIO, for_good: false });
    appender.append_durable(b"synced").unwrap_err();
    written.wait_written().unwrap_err();
    assert_eq!(written.state(), State::Failed);
    durable.wait_durable().unwrap();
    durable.wait_written().unwrap();
    assert_eq!(appender.flush().unwrap_err().operation(), Operation::Sync);
}

#[test]
fn a_failed_write_leaves_what_was_written_before_it_written() {
    let disk = Disk::default();
    let appender = Appender::new(&base(), Appender::options(), Arc::new(disk.clone())).unwrap();
    let written = appender.append(b"written").unwrap();
    written.wait_written().unwrap();
    disk.inject(Call::Write, 1, Fault::Fail { errno: EDQUOT, for_good: false });
    let failed = appender.append(b"failed").unwrap();
    assert_eq!(failed.wait_written().unwrap_err().raw_os_error(), Some(EDQUOT));
    written.wait_written().unwrap();
    written.wait_durable().unwrap_err();
    // Its state says what waiting says: it will never be durable.
    assert_eq!((written.state(), failed.state()), (State::Failed, State::Failed));
    failed.wait_written().unwrap_err();
}

#[test]
fn a_failure_while_opening_is_the_answer_and_the_next_opening_goes_on() {
    for call in [Call::Create, Call::Write, Call::Sync, Call::SyncFolder] {
        let disk = Disk::default();
        disk.inject(call, 1, Fault::Fail { errno: EIO, for_good: false });
        let open = |disk: &Disk| {
            let options = Appender::options().framed(true).max_delay(Duration::ZERO);
            Appender::new(&base(), options, Arc::new(disk.clone()))
        };
        assert_eq!(open(&disk).unwrap_err().raw_os_error(), Some(EIO), "{call:?}");
        let appender = open(&disk).unwrap();
        appender.append_durable(b"goes on").unwrap();
        appender.close().unwrap();
    }
}

/// A thread that does the work of all and panics: the others are told, and do not wait for it for ever.
#[test]
fn a_panic_of_the_thread_that_writes_or_syncs_reaches_every_waiter() {
    for call in [Call::Write, Call::Sync, Call::Create, Call::Rename, Call::SyncFolder, Call::Close] {
        for nth in 1..=4 {
            let story = format!("{call:?} number {nth}");
            let disk = Disk::default();
            let options = Appender::options().framed(true).rotate_bytes(150);
            let appender = Arc::new(Appender::new(&base(), options, Arc::new(disk.clone())).unwrap());
            disk.inject(call, nth, Fault::Panic);
            let (sender, ended) = std::sync::mpsc::channel();
            for thread in 0..4 {
                let (appender, sender) = (Arc::clone(&appender), sender.clone());
                std::thread::spawn(move || {
                    let appends =
                        || (0..12).try_for_each(|n| appender.append_durable(format!("<{thread} {n}>").as_bytes()));
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(appends));
                    sender.send(result.map_err(drop)).unwrap();
                });
            }
            let told: Vec<_> = (0..4)
                .map(|_| ended.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{story}: it hangs")))
                .collect();
            assert_eq!(told.iter().filter(|result| result.is_err()).count(), 1, "{story}: one has panicked");
            for error in told.into_iter().flatten().filter_map(Result::err) {
                assert!(error.to_string().contains("has panicked"), "{story}: {error}");
            }
            let error = appender.append_durable(b"late").unwrap_err();
            assert!(error.path().is_some() && error.to_string().contains("has panicked"), "{story}: {error}");
            appender.sync().unwrap_err();
        }
    }
}
