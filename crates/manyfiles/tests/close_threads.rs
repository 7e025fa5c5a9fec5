//! How many threads there are. A test binary of its own, because it counts those of the whole process.
#![cfg(target_os = "linux")]

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use manyfiles::close::{Closer, Policy};

/// A handle whose close takes until the channel's sender is dropped.
struct Held(Receiver<()>);

impl Drop for Held {
    fn drop(&mut self) {
        assert!(self.0.recv().is_err());
    }
}

fn closing_threads() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    // A thread may end while the folder is read.
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "manyfiles-close").count()
}

/// Gives it a minute, which no machine needs.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < limit, "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn threads_come_with_the_backlog_and_leave_when_nothing_is_left() {
    let closer = Closer::options().policy(Policy::Always).capacity(200).build();
    assert_eq!(closing_threads(), 0);

    for round in [10, 200] {
        let releases: Vec<_> = (0..round)
            .map(|_| {
                let (release, released) = channel::<()>();
                closer.close(Held(released));
                release
            })
            .collect();
        let expected = round.min(64);
        eventually("one thread for each pending close, up to 64", || closing_threads() == expected);
        assert_eq!(closer.pending(), round);
        drop(releases);
        closer.wait().unwrap();
    }
    eventually("all threads have left", || closing_threads() == 0);

    closer.close(());
    closer.wait().expect("and come again");
}
