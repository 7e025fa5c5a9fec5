//! Content: what a source says of itself is a hint, what it does meanwhile is told, and nothing is lost when the source
//! is the target.
#![cfg(all(feature = "full", target_os = "linux"))]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use manyfiles::tree::{Content, MappedFile, Metadata, OnConflict, Report, TreeWriter};
use manyfiles_testkit::{Call, Disk, Need, Preload, Rule, skip_unless, symlink};

mod support;
use support::in_parent;

fn finished(tree: TreeWriter) -> Report {
    tree.finish().unwrap_or_else(|incomplete| incomplete.into_report())
}

/// In memory if there is such a place: where files can share blocks, nothing is read or written for a copy.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn policies() -> [OnConflict; 5] {
    let answer = std::sync::Arc::new(|_: &Path| manyfiles::tree::Answer::Overwrite);
    [OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical, OnConflict::Newer, OnConflict::Ask(answer)]
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_lie_about_their_length_are_read_to_their_end() {
    // Of `/proc` they say 0, of `/sys` 4096.
    let sources =
        ["/proc/version", "/proc/filesystems", "/proc/cmdline", "/sys/kernel/mm/transparent_hugepage/enabled"];
    let sources: Vec<_> = sources.into_iter().filter_map(|path| Some((path, std::fs::read(path).ok()?))).collect();
    if sources.is_empty() {
        return manyfiles_testkit::skip("needs /proc or /sys");
    }
    for policy in [OnConflict::Error, OnConflict::Overwrite, OnConflict::Replace, OnConflict::SkipIdentical] {
        for old in [None, Some(10), Some(5000)] {
            let temp = tempfile::tempdir().unwrap();
            let old = old.filter(|_| !matches!(policy, OnConflict::Error));
            let write = |skipped: usize| {
                let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
                for (n, (source, _)) in sources.iter().enumerate() {
                    tree.file(n.to_string(), Content::copy_of(source)).unwrap();
                }
                let report = tree.finish().unwrap();
                assert_eq!(report.skipped, skipped as u64);
                let bytes: usize = sources.iter().map(|(_, bytes)| bytes.len()).sum();
                assert_eq!(report.bytes, if skipped > 0 { 0 } else { bytes as u64 });
                for (n, (source, bytes)) in sources.iter().enumerate() {
                    let copy = std::fs::read(temp.path().join(n.to_string())).unwrap();
                    assert_eq!(String::from_utf8_lossy(&copy), String::from_utf8_lossy(bytes), "{source}");
                }
            };
            for (n, _) in sources.iter().enumerate() {
                let path = temp.path().join(n.to_string());
                old.into_iter().for_each(|len| std::fs::write(&path, vec![b'o'; len]).unwrap());
            }
            write(0);
            if matches!(policy, OnConflict::SkipIdentical) {
                write(sources.len());
            }
        }
    }
}

/// Writes a file of 3.5 MB, or with holes one of 9 MB, and returns its bytes.
fn make_source(path: &Path, holes: bool) -> Vec<u8> {
    write_source(path, holes);
    std::fs::read(path).unwrap()
}

fn write_source(path: &Path, holes: bool) {
    let mut file = File::create(path).unwrap();
    if holes {
        use std::io::{Seek, SeekFrom};
        file.seek(SeekFrom::Start(5 << 20)).unwrap();
        file.write_all(b"precious").unwrap();
        file.set_len(9 << 20).unwrap();
    } else {
        let bytes: Vec<u8> = (0..3_500_000_u32).map(|n| (n >> 5) as u8).collect();
        file.write_all(&bytes).unwrap();
    }
}

#[test]
fn a_file_that_is_copied_onto_itself_stays_as_it_is_and_is_told() {
    for policy in policies() {
        for holes in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            let root = temp.path().join("root");
            std::fs::create_dir_all(root.join("sub")).unwrap();
            let bytes = make_source(&root.join("sub/a"), holes);
            std::fs::hard_link(root.join("sub/a"), root.join("second name")).unwrap();
            let mut sources = vec![root.join("sub/a"), root.join("second name"), root.join("sub/../sub/./a")];
            if Need::Symlinks.check().is_ok() {
                symlink(root.join("sub"), temp.path().join("link")).unwrap();
                sources.push(temp.path().join("link/a"));
            }
            for source in sources {
                for target in ["sub/a", "second name"] {
                    let tree = TreeWriter::options().on_conflict(policy.clone()).open(&root).unwrap();
                    tree.file(target, Content::copy_of(&source)).unwrap();
                    let report = finished(tree);
                    let told = report.failures.first().map(ToString::to_string).unwrap_or_default();
                    match policy {
                        // It is identical, and as old.
                        OnConflict::SkipIdentical | OnConflict::Newer => assert_eq!(report.skipped, 1, "{told}"),
                        _ => assert!(told.contains("is the same file"), "{policy:?} {told}"),
                    }
                    assert!(std::fs::read(root.join("sub/a")).unwrap() == bytes, "{policy:?} holes {holes} {source:?}");
                    assert!(std::fs::read(root.join("second name")).unwrap() == bytes);
                    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 2, "nothing temporary is left");
                }
            }
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nor_is_it_lost_through_a_bind_mount_or_an_overlay() {
    skip_unless!(Need::Root);
    let mount = |args: &[&str]| std::process::Command::new("mount").args(args).status().unwrap().success();
    let umount = |path: &str| std::process::Command::new("umount").arg(path).status().unwrap().success();
    for policy in policies() {
        for holes in [false, true] {
            let disk = Disk::tmpfs().megabytes(64).mount().unwrap();
            let path = |name: &str| disk.path().join(name).to_str().unwrap().to_owned();
            for folder in ["lower", "upper", "work", "merged", "bound"] {
                std::fs::create_dir(path(folder)).unwrap();
            }
            assert!(mount(&["--bind", &path("upper"), &path("bound")]));
            let bytes = make_source(Path::new(&path("upper/a")), holes);
            // Through the bind mount both have the same identity.
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(path("bound")).unwrap();
            tree.file("a", Content::copy_of(path("upper/a"))).unwrap();
            drop(finished(tree));
            assert!(std::fs::read(path("upper/a")).unwrap() == bytes, "{policy:?} holes {holes}, a bind mount");
            assert!(umount(&path("bound")));
            let layers = format!("lowerdir={},upperdir={},workdir={}", path("lower"), path("upper"), path("work"));
            if !mount(&["-t", "overlay", "overlay", "-o", &layers, &path("merged")]) {
                manyfiles_testkit::skip("needs overlay mounts, for its second half");
                continue;
            }
            // Here they may have two: the order of the calls has to be safe.
            for (root, source) in [("merged", "upper/a"), ("upper", "merged/a")] {
                let tree = TreeWriter::options().on_conflict(policy.clone()).open(path(root)).unwrap();
                tree.file("a", Content::copy_of(path(source))).unwrap();
                drop(finished(tree));
                assert!(std::fs::read(path("merged/a")).unwrap() == bytes, "{policy:?} holes {holes}, {source}");
            }
            assert!(umount(&path("merged")));
        }
    }
}

#[test]
#[cfg(unix)]
fn an_archive_that_contains_its_own_name_is_read_to_the_end() {
    let temp = tempfile::tempdir().unwrap();
    let archive: Vec<u8> = (0..2_000_000_u32).map(|n| (n >> 7) as u8).collect();
    for policy in policies() {
        std::fs::write(temp.path().join("archive"), &archive).unwrap();
        let path = temp.path().join("archive");
        let mapped = MappedFile::new(File::open(&path).unwrap(), &path).unwrap();
        let tree = TreeWriter::options().on_conflict(policy.clone()).threads(1).open(temp.path()).unwrap();
        let later = Metadata::default().modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60));
        tree.file_with("archive", mapped.slice(500_000, 1_000_000).unwrap(), later.clone()).unwrap();
        tree.file_with("after", mapped.slice(0, 2_000_000).unwrap(), later).unwrap();
        assert_eq!(tree.finish().unwrap().files, 2);
        assert!(std::fs::read(temp.path().join("archive")).unwrap() == archive[500_000..1_500_000], "{policy:?}");
        assert!(std::fs::read(temp.path().join("after")).unwrap() == archive, "{policy:?}");
        std::fs::remove_file(temp.path().join("after")).unwrap();
    }
}

/// Copies a source that `change` is made to again and again, from before the copy begins until it ended. Reading is so
/// slow that the change surely happens in between.
#[cfg(target_os = "linux")]
fn copy_while(name: &str, holes: bool, change: impl Fn(&File) + Send + Sync) {
    skip_unless!(Need::Preload);
    let slow = std::time::Duration::from_millis(30);
    if in_parent(name, |command| {
        let slow = |call, path| Rule::delay(call, slow).path_contains(path);
        let rules = Preload::new().rule(slow(Call::Read, "the source")).rule(slow(Call::Copy, "root/"));
        rules.apply(command).unwrap();
    }) {
        return;
    }
    for there in [None, Some(OnConflict::Overwrite), Some(OnConflict::Replace)] {
        let temp = in_memory();
        let (source, root) = (temp.path().join("the source"), temp.path().join("root"));
        make_source(&source, holes);
        std::fs::create_dir(&root).unwrap();
        there.iter().for_each(|_| std::fs::write(root.join("copy"), "old").unwrap());
        let done = AtomicBool::new(false);
        let report = std::thread::scope(|scope| {
            let (source, root, change, done) = (&source, &root, &change, &done);
            scope.spawn(move || {
                let file = File::options().append(true).open(source).unwrap();
                // When the target is there, the source was looked at.
                let begun = || {
                    let names = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
                    names.count() > usize::from(there_is(root)) || written_over(root)
                };
                while !begun() {
                    std::thread::yield_now();
                }
                while !done.load(Relaxed) {
                    change(&file);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
            });
            let tree = TreeWriter::options().on_conflict(there.clone().unwrap_or_default()).open(root).unwrap();
            tree.file("copy", Content::copy_of(source)).unwrap();
            let report = finished(tree);
            done.store(true, Relaxed);
            report
        });
        let [failure] = &report.failures[..] else { panic!("{report:?}") };
        let told = failure.to_string();
        assert_eq!((failure.path(), report.files), (Some(Path::new("copy")), 0));
        assert!(told.contains("the source: it changed while it was being copied"), "{told}");
        let damaged = matches!(there, Some(OnConflict::Overwrite)) && !holes;
        assert_eq!(told.contains("damaged"), damaged, "{told}");
        match there {
            None => assert!(!root.join("copy").exists(), "a copy of a source that changed is removed"),
            Some(_) if !damaged => assert_eq!(std::fs::read(root.join("copy")).unwrap(), b"old"),
            Some(_) => {}
        }
    }
}

#[cfg(target_os = "linux")]
fn there_is(root: &Path) -> bool {
    root.join("copy").metadata().is_ok_and(|stat| stat.len() == 3)
}

#[cfg(target_os = "linux")]
fn written_over(root: &Path) -> bool {
    root.join("copy").metadata().is_ok_and(|stat| stat.len() > 3)
}

#[test]
#[cfg(target_os = "linux")]
fn a_source_that_grows_is_told() {
    copy_while("a_source_that_grows_is_told", false, |mut file| file.write_all(b"more").unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn a_source_that_is_cut_short_is_told() {
    copy_while("a_source_that_is_cut_short_is_told", false, |file| file.set_len(700_000).unwrap());
}

#[test]
#[cfg(target_os = "linux")]
fn a_source_with_holes_that_is_cut_short_is_no_tail_of_zeros() {
    copy_while("a_source_with_holes_that_is_cut_short_is_no_tail_of_zeros", true, |file| {
        file.set_len((5 << 20) + 3).unwrap();
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_source_whose_bytes_change_is_told() {
    copy_while("a_source_whose_bytes_change_is_told", false, |file| {
        file.set_modified(std::time::SystemTime::now()).unwrap();
    });
}

#[cfg(target_os = "linux")]
fn with_rules(name: &str, rules: &[Rule]) -> bool {
    in_parent(name, |command| {
        let preload = rules.iter().fold(Preload::new(), |preload, rule| preload.rule(rule.clone()));
        preload.apply(command).unwrap();
    })
}

/// Copies that arrive whole.
#[cfg(target_os = "linux")]
fn copies_whole(name: &str, rules: &[Rule]) {
    skip_unless!(Need::Preload);
    if with_rules(name, rules) {
        return;
    }
    for holes in [false, true] {
        let temp = in_memory();
        let bytes = make_source(&temp.path().join("the source"), holes);
        for policy in [OnConflict::Error, OnConflict::Overwrite, OnConflict::Replace] {
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path().join("root")).unwrap();
            tree.file("copy", Content::copy_of(temp.path().join("the source"))).unwrap();
            assert_eq!(tree.finish().unwrap().files, 1);
            assert!(std::fs::read(temp.path().join("root/copy")).unwrap() == bytes, "{policy:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_kernel_that_copies_less_than_it_is_asked_for_is_asked_again() {
    let name = "a_kernel_that_copies_less_than_it_is_asked_for_is_asked_again";
    copies_whole(
        name,
        &[Rule::short(Call::Copy, 70_001), Rule::short(Call::Read, 9999), Rule::short(Call::Write, 7777)],
    );
}

#[test]
#[cfg(target_os = "linux")]
fn what_the_kernel_cannot_copy_is_read_and_written() {
    copies_whole("what_the_kernel_cannot_copy_is_read_and_written", &[Rule::fail(Call::Copy, libc::EIO).after(1)]);
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_of_the_source_is_told_with_the_sources_path_and_one_of_the_target_is_not() {
    skip_unless!(Need::Preload);
    let name = "an_error_of_the_source_is_told_with_the_sources_path_and_one_of_the_target_is_not";
    let (copy, read) =
        (Rule::fail(Call::Copy, libc::EIO), Rule::fail(Call::Read, libc::EIO).path_contains("the source"));
    let write = Rule::fail(Call::Write, libc::EFBIG).path_contains("second");
    if with_rules(name, &[copy, read, write]) {
        return;
    }
    for holes in [false, true] {
        let temp = in_memory();
        write_source(&temp.path().join("the source"), holes);
        write_source(&temp.path().join("good"), holes);
        let tree = TreeWriter::open(temp.path().join("root")).unwrap();
        tree.file("first", Content::copy_of(temp.path().join("the source"))).unwrap();
        tree.file("second", Content::copy_of(temp.path().join("good"))).unwrap();
        let mut told: Vec<_> = finished(tree).failures.iter().map(ToString::to_string).collect();
        told.sort();
        let source = temp.path().join("the source").display().to_string();
        assert!(told[0].starts_with(&format!("cannot write first: cannot read {source}: ")), "{told:?}");
        assert!(told[1].starts_with("cannot write second: ") && !told[1].contains("read"), "{told:?}");
        assert_eq!(std::fs::read_dir(temp.path().join("root")).unwrap().count(), 0);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_says_that_a_file_is_damaged_only_if_it_was_written_over_in_place() {
    skip_unless!(Need::Root);
    for policy in [OnConflict::Overwrite, OnConflict::Replace] {
        let disk = Disk::tmpfs().megabytes(1).mount().unwrap();
        std::fs::write(disk.path().join("f"), "old").unwrap();
        let tree = TreeWriter::options().on_conflict(policy.clone()).open(disk.path()).unwrap();
        tree.file("f", vec![b'n'; 4 << 20]).unwrap();
        tree.file("new", vec![b'n'; 4 << 20]).unwrap();
        let report = finished(tree);
        let in_place = matches!(policy, OnConflict::Overwrite);
        for failure in &report.failures {
            let is_f = failure.path() == Some(Path::new("f"));
            assert_eq!(failure.raw_os_error(), Some(libc::ENOSPC));
            assert_eq!(failure.to_string().contains("is damaged"), in_place && is_f, "{failure}");
        }
        assert_eq!(report.failures.len(), 2);
        assert_eq!(std::fs::read(disk.path().join("f")).unwrap() == b"old", !in_place);
        assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_relative_source_is_the_one_of_the_folder_that_was_current_when_it_was_named() {
    let name = "a_relative_source_is_the_one_of_the_folder_that_was_current_when_it_was_named";
    if in_parent(name, |_| {}) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    for folder in ["A", "B"] {
        std::fs::create_dir(temp.path().join(folder)).unwrap();
        std::fs::write(temp.path().join(folder).join("source"), folder).unwrap();
    }
    std::env::set_current_dir(temp.path().join("A")).unwrap();
    let of_a = Content::copy_of("source");
    std::env::set_current_dir(temp.path().join("B")).unwrap();
    let tree = TreeWriter::open(temp.path().join("root")).unwrap();
    tree.file("a", of_a).unwrap();
    tree.file("b", Content::copy_of("./source")).unwrap();
    std::env::set_current_dir(temp.path()).unwrap();
    assert_eq!(tree.finish().unwrap().files, 2);
    assert_eq!(std::fs::read(temp.path().join("root/a")).unwrap(), b"A");
    assert_eq!(std::fs::read(temp.path().join("root/b")).unwrap(), b"B");
    if cfg!(unix) {
        let gone = temp.path().join("gone");
        std::fs::create_dir(&gone).unwrap();
        std::env::set_current_dir(&gone).unwrap();
        std::fs::remove_dir(&gone).unwrap();
        let tree = TreeWriter::open(temp.path().join("root")).unwrap();
        tree.file("c", Content::copy_of("source")).unwrap();
        let report = finished(tree);
        let told = report.failures[0].to_string();
        assert_eq!(report.failures[0].path(), Some(Path::new("c")));
        assert!(told.starts_with("cannot create c: cannot open source: the current folder"), "{told}");
    }
}

#[test]
fn whatever_owns_bytes_is_content_and_is_dropped_when_they_are_written() {
    use std::sync::Arc;
    struct Shared(Arc<Vec<u8>>);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let temp = tempfile::tempdir().unwrap();
    let bytes = Arc::new((0..3_000_000_u32).map(|n| n as u8).collect::<Vec<_>>());
    let tree = TreeWriter::open(temp.path()).unwrap();
    for n in 0..20 {
        tree.file(n.to_string(), Content::from_owner(Shared(bytes.clone()))).unwrap();
    }
    let pieces = [(1 << 20, Content::from_owner("in a hole"))];
    tree.file("holes", Content::sparse(4 << 20, pieces)).unwrap();
    let report = tree.finish().unwrap();
    assert_eq!((report.files, report.bytes), (21, 60_000_009));
    assert_eq!(Arc::strong_count(&bytes), 1);
    for n in 0..20 {
        assert!(std::fs::read(temp.path().join(n.to_string())).unwrap() == *bytes);
    }
    assert_eq!(&std::fs::read(temp.path().join("holes")).unwrap()[1 << 20..][..9], b"in a hole");
}
