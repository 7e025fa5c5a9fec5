//! Whatever a system call answers: every byte is in its file, or whoever asks for that file is told, until somebody has
//! taken note; and no success comes after a failure.
#![cfg(all(target_os = "linux", feature = "full"))]

use std::path::Path;

use manyfiles::vfs::{CreateOptions, Vfs};
use manyfiles::writer::SyncPolicy;
use manyfiles::{Error, Operation};
use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, nofile_limit, skip_unless};

mod support;
use support::in_parent;

const NUMBERS: [i32; 3] = [libc::EIO, libc::ENOSPC, libc::EDQUOT];

fn is(error: &Error, operation: Operation, path: &Path, number: i32) {
    let found = (error.operation(), error.path(), error.raw_os_error());
    assert_eq!(found, (operation, Some(path), Some(number)), "{error}");
}

/// Runs `body` in a child process with these rules. False in the child.
fn in_a_process_with(test: &str, rules: impl IntoIterator<Item = Rule>) -> bool {
    in_parent(test, |command| {
        let preload = rules.into_iter().fold(Preload::new(), Preload::rule);
        preload.apply(command).unwrap();
    })
}

/// Rules for every number, for files in which the number is part of the name.
fn each_number(call: Call) -> impl Iterator<Item = Rule> {
    NUMBERS.into_iter().map(move |number| Rule::fail(call, number).path_contains(&format!("-{number}.")))
}

#[test]
fn a_failed_write_is_told_to_every_call_until_a_flush_has_returned_it() {
    skip_unless!(Need::Preload);
    // Each file's second write(2) fails, and only that.
    let rules = NUMBERS.iter().flat_map(|&number| {
        ["write", "append", "read", "size", "list", "sync", "close", "flush"]
            .map(|by| Rule::fail(Call::Write, number).path_contains(&format!("{by}-{number}.")).nth(2))
    });
    if in_a_process_with("a_failed_write_is_told_to_every_call_until_a_flush_has_returned_it", rules) {
        return;
    }
    for number in NUMBERS {
        for by in ["write", "append", "read", "size", "list", "sync", "close", "flush"] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join(format!("{by}-{number}.txt"));
            let other = temp.path().join("other");
            let vfs = Vfs::new();
            vfs.write(&path, b"1").unwrap();
            vfs.write(&path, b"2").unwrap(); // buffered
            vfs.write(&other, b"fine").unwrap();
            let first = match by {
                "write" => vfs.write(&path, &[b'3'; 300 << 10]),
                "append" => vfs.append(&path, b"3"),
                "read" => vfs.read(&path).map(drop),
                "size" => vfs.size(&path).map(drop),
                "list" => vfs.list(temp.path()).map(drop),
                "sync" => vfs.sync(&path),
                "flush" => vfs.flush(&path),
                _ => vfs.wait().map_err(|errors| {
                    assert_eq!(errors.len(), 1);
                    errors.into_iter().next().unwrap()
                }),
            };
            is(&first.unwrap_err(), Operation::Write, &path, number);
            if !matches!(by, "flush" | "close") {
                // Everybody is told, and nothing is written.
                for again in [
                    vfs.write(&path, b"4"),
                    vfs.append(&path, b"4"),
                    vfs.read(&path).map(drop),
                    vfs.size(&path).map(drop),
                    vfs.sync(&path),
                    vfs.rename(&path, temp.path().join("new")),
                    vfs.flush(&path),
                ] {
                    is(&again.unwrap_err(), Operation::Write, &path, number);
                }
            }
            assert_eq!(std::fs::read(&path).unwrap(), b"1");
            vfs.write(&path, b"5").unwrap();
            vfs.wait().expect("told, and taken note of");
            assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap()), (b"15".into(), b"fine".into()));
        }
    }
}

#[test]
fn a_write_that_was_interrupted_or_fell_short_goes_on() {
    skip_unless!(Need::Preload);
    let test = "a_write_that_was_interrupted_or_fell_short_goes_on";
    let rules = [
        Rule::fail(Call::Write, libc::EINTR).path_contains("target").nth(1),
        Rule::fail(Call::Write, libc::EINTR).path_contains("target").nth(3),
        Rule::short(Call::Write, 1_000).path_contains("target"),
    ];
    if in_a_process_with(test, rules) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    let piece: Vec<u8> = (0..70_000u32).map(|n| (n % 251) as u8).collect();
    for n in 0..9 {
        vfs.write(temp.path().join("target"), &piece[n * 7_000..(n + 1) * 7_000]).unwrap();
    }
    vfs.append(temp.path().join("target"), &piece[63_000..]).unwrap();
    assert!(vfs.read(temp.path().join("target")).unwrap() == piece);
}

#[test]
fn a_failure_while_another_file_needs_the_handle_stays_with_its_own_file() {
    skip_unless!(Need::Preload);
    let test = "a_failure_while_another_file_needs_the_handle_stays_with_its_own_file";
    // Closing fails for some; for others writing what was buffered.
    let writes =
        NUMBERS.map(|number| Rule::fail(Call::Write, number).path_contains(&format!("write-{number}.")).nth(2));
    let closes =
        NUMBERS.map(|number| Rule::fail(Call::Close, number).path_contains(&format!("close-{number}.")).nth(1));
    if in_a_process_with(test, writes.into_iter().chain(closes)) {
        return;
    }
    for (kind, operation) in [("write", Operation::Write), ("close", Operation::Close)] {
        for number in NUMBERS {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join(format!("{kind}-{number}.txt"));
            let vfs = Vfs::options().handles(1).build();
            vfs.write(&path, b"1").unwrap();
            vfs.write(&path, b"2").unwrap();
            vfs.write(temp.path().join("other"), b"fine").expect("another file's failure is not ours");
            assert_eq!(vfs.read(temp.path().join("other")).unwrap(), b"fine");
            is(&vfs.write(&path, b"3").unwrap_err(), operation, &path, number);
            is(&vfs.write(&path, b"3").unwrap_err(), operation, &path, number);
            is(&vfs.flush(&path).unwrap_err(), operation, &path, number);
            vfs.flush(&path).expect("told once");
            vfs.write(&path, b"4").unwrap();
            vfs.wait().unwrap();
        }
    }
}

#[test]
fn a_failed_sync_is_never_followed_by_a_success() {
    skip_unless!(Need::Preload);
    let test = "a_failed_sync_is_never_followed_by_a_success";
    let numbers = [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EINTR];
    let rules = numbers.map(|number| Rule::fail(Call::Fsync, number).path_contains(&format!("-{number}.")).nth(1));
    if in_a_process_with(test, rules) {
        return;
    }
    for number in numbers {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(format!("file-{number}.txt"));
        let vfs = Vfs::new();
        vfs.write(&path, b"1").unwrap();
        is(&vfs.sync(&path).unwrap_err(), Operation::Sync, &path, number);
        is(&vfs.sync(&path).unwrap_err(), Operation::Sync, &path, number);
        is(&vfs.write(&path, b"2").unwrap_err(), Operation::Sync, &path, number);
        is(&vfs.flush(&path).unwrap_err(), Operation::Sync, &path, number);
        // Taken note of, it can be written again; but what is in it counts as durable no more, by whatever handle.
        vfs.write(&path, b"2").unwrap();
        is(&vfs.sync(&path).unwrap_err(), Operation::Sync, &path, number);
        vfs.wait().unwrap_err();
        is(&Vfs::new().sync(&path).unwrap_err(), Operation::Sync, &path, number);
        // A new file is another one.
        vfs.create_writer_with(&path, &CreateOptions::new().sync(SyncPolicy::OnClose)).unwrap().close().unwrap();
        vfs.write(&path, b"3").unwrap();
        vfs.sync(&path).unwrap();
        vfs.wait().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"3");
    }
}

#[test]
fn a_failed_close_is_told_by_flush_and_by_close() {
    skip_unless!(Need::Preload);
    if in_a_process_with("a_failed_close_is_told_by_flush_and_by_close", each_number(Call::Close)) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    let path = |name: &str, number: i32| temp.path().join(format!("{name}-{number}.txt"));
    for number in NUMBERS {
        vfs.write(path("flush", number), b"1").unwrap();
        is(&vfs.flush(path("flush", number)).unwrap_err(), Operation::Close, &path("flush", number), number);
        vfs.flush(path("flush", number)).unwrap();
        vfs.write(path("close", number), b"1").unwrap();
        vfs.write(temp.path().join(format!("fine{number}")), b"1").unwrap();
        let writer = vfs.create_writer(path("writer", number)).unwrap();
        is(&writer.close().unwrap_err(), Operation::Close, &path("writer", number), number);
        let removed = path("removed", number);
        vfs.write(&removed, b"1").unwrap();
        vfs.remove(&removed).expect("what was wrong with a removed file is nobody's loss");
    }
    let errors = vfs.wait().unwrap_err();
    assert_eq!(errors.len(), 3, "{errors:?}");
    for number in NUMBERS {
        let error = errors.iter().find(|error| error.path() == Some(&path("close", number))).unwrap();
        is(error, Operation::Close, &path("close", number), number);
    }
    assert!(errors.to_string().starts_with("3 failures; the first: cannot close "), "{errors}");
    vfs.finish().expect("told once");
}

#[test]
fn a_writer_that_fails_stays_failed_and_one_that_is_dropped_leaves_its_error_to_the_vfs() {
    skip_unless!(Need::Preload);
    let test = "a_writer_that_fails_stays_failed_and_one_that_is_dropped_leaves_its_error_to_the_vfs";
    if in_a_process_with(test, each_number(Call::Write)) {
        return;
    }
    for number in NUMBERS {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(format!("file-{number}.txt"));
        let vfs = Vfs::new();
        let mut writer = vfs.create_writer(&path).unwrap();
        writer.write_all(b"1").unwrap();
        is(&writer.flush().unwrap_err(), Operation::Write, &path, number);
        is(&writer.write_all(b"2").unwrap_err(), Operation::Write, &path, number);
        is(&writer.write_all(b"").unwrap_err(), Operation::Write, &path, number);
        is(&writer.sync().unwrap_err(), Operation::Write, &path, number);
        is(&writer.close().unwrap_err(), Operation::Write, &path, number);
        vfs.flush(&path).expect("its owner was told");

        let mut dropped = vfs.create_writer(&path).unwrap();
        dropped.write_all(b"1").unwrap();
        drop(dropped);
        is(&vfs.write(&path, b"2").unwrap_err(), Operation::Write, &path, number);
        let errors = vfs.wait().unwrap_err();
        assert_eq!(errors.len(), 1);
        is(errors.iter().next().unwrap(), Operation::Write, &path, number);
    }
}

#[test]
fn errors_that_nobody_took_are_printed_when_the_vfs_goes_and_told_ones_are_not() {
    skip_unless!(Need::Preload);
    const CHILD: &str = "MANYFILES_VFS_DROPS";
    let test = "errors_that_nobody_took_are_printed_when_the_vfs_goes_and_told_ones_are_not";
    if let Some(folder) = std::env::var_os(CHILD) {
        let folder = Path::new(&folder);
        let vfs = Vfs::new();
        vfs.write(folder.join("told-5.txt"), b"1").unwrap_err();
        let mut writer = vfs.create_writer(folder.join("writer-5.txt")).unwrap();
        writer.write_all(b"1").unwrap();
        let mut late = vfs.create_writer(folder.join("late-5.txt")).unwrap();
        late.write_all(b"1").unwrap();
        drop(writer);
        drop(vfs);
        drop(late);
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(CHILD, temp.path());
    let preload = each_number(Call::Write).fold(Preload::new(), Preload::rule);
    let output = preload.apply(&mut command).unwrap().output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let lines: Vec<_> = printed.lines().filter(|line| line.starts_with("manyfiles: cannot write ")).collect();
    assert_eq!(lines.len(), 2, "{printed}");
    assert!(lines[0].contains("writer-5.txt: ") && lines[1].contains("late-5.txt: "), "{printed}");
}

#[test]
fn with_64_descriptors_hundreds_of_files_are_written_in_turns() {
    let test = "with_64_descriptors_hundreds_of_files_are_written_in_turns";
    let limited = |command: &mut std::process::Command| {
        nofile_limit(command, 64);
    };
    if in_parent(test, limited) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let path = |n: usize| temp.path().join(n.to_string());
    // The default knows the limit; the other learns it.
    for vfs in [Vfs::new(), Vfs::options().handles(10_000).build()] {
        for round in 0..3 {
            for n in 0..300 {
                vfs.write(path(n), format!("{round}").as_bytes()).unwrap();
            }
        }
        // What opens a file of its own finds room as well, though all that is left is kept.
        for n in (0..300).step_by(50) {
            assert_eq!(vfs.read(path(n)).unwrap(), b"012");
            vfs.create_writer(path(1_000)).unwrap().close().unwrap();
            vfs.sync(path(1_000)).unwrap();
            vfs.list(temp.path()).unwrap();
        }
        vfs.wait().unwrap();
        assert!((0..300).all(|n| std::fs::read(path(n)).unwrap() == b"012"));
        // Where nothing is left to close, the system's own answer arrives.
        let hoard: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
        let error = vfs.write(path(0), b"x").unwrap_err();
        assert_eq!((error.raw_os_error(), error.operation()), (Some(libc::EMFILE), Operation::Open));
        drop(hoard);
        vfs.write(path(0), b"").expect("a file that could not be opened is not incomplete");
        vfs.wait().unwrap();
        (0..300).for_each(|n| std::fs::remove_file(path(n)).unwrap());
    }
}

#[test]
fn a_full_disk_is_reported_and_what_is_there_has_no_gap() {
    skip_unless!(Need::Root);
    let disk = Disk::tmpfs().megabytes(4).mount().unwrap();
    let path = disk.path().join("log");
    let vfs = Vfs::new();
    let record = |n: u32| [n.to_le_bytes(); 25].concat();
    let failed = (0..1_000_000u32).find_map(|n| vfs.write(&path, &record(n)).err()).unwrap();
    is(&failed, Operation::Write, &path, libc::ENOSPC);
    is(&vfs.flush(&path).unwrap_err(), Operation::Write, &path, libc::ENOSPC);
    let there = std::fs::read(&path).unwrap();
    assert!(there.len() > 3 << 20);
    for (n, found) in there.chunks(100).enumerate() {
        assert_eq!(found, &record(n as u32)[..found.len()], "record {n}");
    }
}

#[test]
fn the_end_says_what_is_left_and_a_wait_says_it_once() {
    let temp = tempfile::tempdir().unwrap();
    let (lost, fine) = (temp.path().join("gone/file"), temp.path().join("fine"));
    let lose = |vfs: &Vfs| {
        std::fs::create_dir(temp.path().join("gone")).unwrap();
        vfs.write(&lost, b"1").unwrap();
        vfs.write(&lost, b"2").unwrap(); // buffered
        std::fs::rename(temp.path().join("gone"), temp.path().join("away")).unwrap();
        std::fs::remove_dir_all(temp.path().join("away")).unwrap();
    };
    let vfs = Vfs::new();
    lose(&vfs);
    let errors = vfs.wait().unwrap_err();
    assert_eq!(
        errors.into_iter().map(|error| error.path().map(Path::to_owned)).collect::<Vec<_>>(),
        [Some(lost.clone())]
    );
    vfs.wait().expect("told once");
    vfs.write(&fine, b"on").unwrap();
    lose(&vfs);
    vfs.write(&fine, b" and on").unwrap();
    let errors = vfs.finish().unwrap_err();
    assert_eq!(
        errors.into_iter().map(|error| error.path().map(Path::to_owned)).collect::<Vec<_>>(),
        [Some(lost.clone())]
    );
    assert_eq!(std::fs::read(&fine).unwrap(), b"on and on");
}

#[test]
fn a_listing_of_one_folder_does_not_take_the_error_of_a_file_in_another() {
    skip_unless!(Need::Preload);
    let rules = [Rule::fail(Call::Write, libc::ENOSPC).path_contains("full.txt").nth(2)];
    if in_a_process_with("a_listing_of_one_folder_does_not_take_the_error_of_a_file_in_another", rules) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let (folder, other) = (temp.path().join("a"), temp.path().join("b"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&other).unwrap();
    let path = folder.join("full.txt");
    let vfs = Vfs::new();
    vfs.write(&path, b"1").unwrap();
    vfs.write(&path, b"2").unwrap(); // buffered
    assert!(vfs.list(&other).unwrap().is_empty()); // writes it, and returns nothing of it
    // Another program puts a new file there: that has no part in the failure once somebody knows of it, and not before.
    std::fs::write(temp.path().join("new"), b"").unwrap();
    std::fs::rename(temp.path().join("new"), &path).unwrap();
    is(&vfs.write(&path, b"3").unwrap_err(), Operation::Write, &path, libc::ENOSPC);
    vfs.write(&path, b"4").unwrap();
    vfs.flush(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"4");
    assert!(vfs.finish().is_err());
}
