//! What a probe says of fast, slow, full and read-only file systems, and that it leaves nothing behind.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use manyfiles_probe::{Failure, Findings, Observer, Options, Step};

/// Stops after this many looks.
struct StopAfter(AtomicUsize);

impl StopAfter {
    fn never() -> StopAfter {
        StopAfter(AtomicUsize::new(usize::MAX))
    }
}

impl Observer for StopAfter {
    fn begins(&self, _step: Step, _threads: usize, _done: f64) {}

    fn stopped(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

const SHORT: Options = Options::new().time(Duration::from_millis(700));

fn look(dir: &Path) -> Findings {
    SHORT.run(dir, &StopAfter::never()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn every_step_is_measured_and_nothing_is_left_behind() {
    let temp = tempfile::tempdir().unwrap();
    let findings = look(temp.path());
    assert_eq!(findings.series.len(), 11);
    for series in &findings.series {
        assert!(series.files > 0, "{series:?}");
        for (name, samples) in &series.operations {
            assert_eq!(samples.count() as u64, series.files, "{name} of {:?}", series.step);
        }
    }
    assert!(is_empty(temp.path()));
    let json = findings.to_json();
    assert_eq!(json["series"][0]["operations"][2]["operation"], "close");
    assert_eq!(json["series"].as_array().unwrap().len(), 11);
    assert!(findings.to_text().contains("new file, synced, 16 threads"));
    let svg = findings.to_svg();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("overwritten in place"));
}

#[test]
fn stopped_at_any_moment_it_leaves_nothing_behind() {
    // On a busy machine, or under wine, a run has less than a thousand looks in that time.
    for looks in [0, 1, 5, 100, 200] {
        let temp = tempfile::tempdir().unwrap();
        let stopped = SHORT.run(temp.path(), &StopAfter(AtomicUsize::new(looks)));
        assert!(matches!(stopped, Err(Failure::Stopped)), "after {looks} looks");
        assert!(is_empty(temp.path()), "after {looks} looks");
    }
}

#[test]
fn what_is_no_folder_or_not_there_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let (file, missing) = (temp.path().join("file"), temp.path().join("missing"));
    fs::write(&file, "").unwrap();
    for path in [&file, &missing] {
        let Err(Failure::Failed(error)) = SHORT.run(path, &StopAfter::never()) else { panic!("{path:?}") };
        assert_eq!(error.path(), Some(path.as_path()));
    }
}

#[cfg(target_os = "linux")]
mod on_mounts {
    use super::*;
    use manyfiles_testkit::{Disk, Need, Op, SlowMount, skip_unless};

    #[test]
    fn where_a_close_takes_2_ms_it_says_so_and_that_threads_help() {
        skip_unless!(Need::Fuse);
        let delay = Duration::from_millis(2);
        let mount = SlowMount::options().delay(Op::Close, delay).mount().unwrap();
        let findings = look(mount.path());
        let close = findings.series[0].of("close").unwrap();
        assert!(close.median() >= delay, "{close:?}");
        let advice = findings.advice.iter().find(|advice| advice.slow.starts_with("closing a new file takes "));
        let advice = advice.unwrap_or_else(|| panic!("no advice: {}", findings.to_text()));
        assert!(advice.use_this.contains("FastClose") && advice.factor > 2.0, "{advice:?}");
        assert!(is_empty(mount.path()));
        assert!(findings.place.file_system.is_some_and(|name| name.starts_with("fuse")));
    }

    #[test]
    fn on_tmpfs_nothing_is_slow() {
        skip_unless!(Need::Root);
        let disk = Disk::tmpfs().mount().unwrap();
        // A machine that is busy with other things slows some calls down, in one run these and in another those.
        let mut findings = look(disk.path());
        for _ in 0..4 {
            if findings.advice.is_empty() {
                break;
            }
            findings = look(disk.path());
        }
        assert_eq!(findings.place.file_system.as_deref(), Some("tmpfs"));
        assert!(findings.advice.is_empty(), "five times: {}", findings.to_text());
    }

    #[test]
    fn a_disk_without_room_is_refused_before_anything_is_written() {
        skip_unless!(Need::Root);
        let disk = Disk::tmpfs().megabytes(8).mount().unwrap();
        disk.fill(1 << 20).unwrap();
        let before = fs::read_dir(disk.path()).unwrap().count();
        let refused = SHORT.run(disk.path(), &StopAfter::never());
        assert!(matches!(refused, Err(Failure::NoSpace(free)) if free <= 1 << 20), "{refused:?}");
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), before);
    }

    #[test]
    fn a_read_only_disk_is_named_with_the_reason() {
        skip_unless!(Need::Root);
        let disk = Disk::tmpfs().mount().unwrap();
        disk.make_read_only().unwrap();
        let Err(Failure::Failed(error)) = SHORT.run(disk.path(), &StopAfter::never()) else { panic!() };
        assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(
            error.path(),
            Some(&*disk.path().join(".manyfiles-probe-XXXXXX")),
            "what could not be made, not what is there"
        );
    }

    #[test]
    fn a_disk_that_fills_up_meanwhile_is_named_and_left_empty() {
        skip_unless!(Need::Fuse);
        let mount = SlowMount::options().fail(Op::Write, 28, "/first/000020").mount().unwrap();
        let Err(Failure::Failed(error)) = SHORT.run(mount.path(), &StopAfter::never()) else { panic!() };
        assert_eq!((error.raw_os_error(), error.operation()), (Some(28), manyfiles::Operation::Write));
        assert!(error.path().unwrap().ends_with("first/000020"));
        assert!(is_empty(mount.path()));
    }
}
