use std::ffi::OsStr;
use std::sync::Arc;

use super::*;
use crate::tree::engine::Work;
use crate::tree::engine::job::Link;

fn job(name: &str) -> Job {
    Job::new(OsStr::new(name), Work::MakeFolder)
}

fn queue() -> (Queue, FolderId) {
    let mut queue = Queue::new(2, false);
    let id = queue.folder(OsStr::new(""));
    (queue, id)
}

fn names(batch: &VecDeque<Job>) -> Vec<&str> {
    batch.iter().map(|job| job.name.to_str().unwrap()).collect()
}

/// Ends a batch as a thread does.
fn end(queue: &mut Queue, batch: Batch) {
    let mut done = Done::default();
    batch.jobs.iter().for_each(|job| done.count(job));
    queue.done(batch.folder.id, &done);
    queue.leave(batch.folder.id);
}

#[test]
fn more_of_a_folder_is_for_those_who_hold_its_names() {
    for is_known_to_be_fast in [false, true] {
        let (mut queue, id) = queue();
        if is_known_to_be_fast {
            queue.learn(Duration::from_micros(5), Some(Duration::ZERO));
        }
        (0..500).for_each(|n| queue.push(id, job(&n.to_string())));
        let batch = queue.take(0).unwrap();
        // One that has the folder to itself holds no names, and a second thread could write one of them at the same
        // time.
        assert_eq!((batch.hot, batch.jobs[0].holds), (is_known_to_be_fast, is_known_to_be_fast));
        let more = queue.take_more(id, 4);
        assert_eq!(more.as_ref().map(VecDeque::len), batch.hot.then_some(4));
        for job in more.iter().flatten() {
            assert!(queue.claim(id, &job.name).is_none(), "its name is held");
        }
    }
}

#[test]
fn what_waits_for_a_stream_holds_up_no_other_name_and_comes_after_it() {
    let (mut queue, id) = queue();
    let key = queue.claim(id, OsStr::new("видео")).expect("the name is free");
    assert!(queue.claim(id, OsStr::new("видео")).is_none(), "a stream has it now");
    for name in ["видео", "музыка", "видео", "x"] {
        queue.push(id, job(name));
    }
    let batch = queue.take(0).unwrap();
    assert_eq!(names(&batch.jobs), ["музыка", "x"]);
    end(&mut queue, batch);
    assert!(queue.take(0).is_none(), "the others wait for the stream");
    assert_eq!(queue.unfinished, 2);
    queue.release(id, key);
    let first = queue.take(0).unwrap();
    assert_eq!(names(&first.jobs), ["видео"]);
    assert!(queue.take(0).is_none(), "the second waits for the first");
    end(&mut queue, first);
    let second = queue.take(0).unwrap();
    end(&mut queue, second);
    assert_eq!((queue.unfinished, queue.unfinished_weight), (0, 0));
    assert!(queue.claim(id, OsStr::new("видео")).is_some(), "the name is free again");
}

#[test]
fn a_stream_gets_no_name_that_waits_or_that_a_thread_has() {
    let (mut queue, id) = queue();
    queue.push(id, job("a"));
    assert!(queue.claim(id, OsStr::new("a")).is_none(), "it waits");
    let batch = queue.take(0).unwrap();
    assert!(queue.claim(id, OsStr::new("a")).is_none(), "a thread has it");
    assert!(queue.claim(id, OsStr::new("A")).is_some(), "this folder does not fold");
    end(&mut queue, batch);
    assert!(queue.claim(id, OsStr::new("a")).is_some());
}

#[test]
fn names_that_fold_to_one_wait_for_each_other_where_the_folder_folds() {
    let mut queue = Queue::new(2, true);
    let id = queue.folder(OsStr::new("below"));
    assert!(queue.claim(id, OsStr::new("ReadMe")).is_some());
    assert!(queue.claim(id, OsStr::new("README")).is_none());
    assert!(queue.claim(id, OsStr::new("read")).is_some());
}

fn link(queue: &mut Queue, name: &str, existing: &str) {
    let parts =
        |path: &str| path.rsplit_once('/').map_or(("".into(), path.into()), |(a, b)| (a.to_owned(), b.to_owned()));
    let ((to, name), (from, existing)) = (parts(name), parts(existing));
    let (to, from) = (queue.folder(OsStr::new(&to)), queue.folder(OsStr::new(&from)));
    let [in_to, in_from] = [to, from].map(|id| queue.folders.get(id).clone());
    let link = Arc::new(Link::new(in_to, OsStr::new(&name), in_from, OsStr::new(&existing), None));
    queue.push_source(from, Job::new(OsStr::new(&existing), Work::Link(link.clone())));
    queue.push(to, Job::new(OsStr::new(&name), Work::Link(link)));
}

/// Takes and ends all there is, one batch after the other, and returns what was done in which order.
fn drain(queue: &mut Queue) -> Vec<String> {
    let mut order = Vec::new();
    while let Some(batch) = queue.take(0) {
        for job in &batch.jobs {
            order.push(match &job.work {
                Work::Link(link) => {
                    let [to, from] = [link.to.join(&link.name), link.from.join(&link.existing)];
                    format!("{} -> {}", to.display(), from.display())
                }
                _ => batch.folder.join(&job.name).display().to_string(),
            });
            // Which way the separators lean is the system's.
            let last = order.last_mut().unwrap();
            *last = last.replace('\\', "/");
        }
        end(queue, batch);
    }
    assert_eq!((queue.unfinished, queue.unfinished_weight, queue.waiting), (0, 0, 0));
    order
}

#[test]
fn a_link_comes_after_what_was_before_it_under_either_name_and_before_what_comes_after() {
    let (mut queue, root) = queue();
    let d = queue.folder(OsStr::new("d"));
    queue.push(root, job("a"));
    queue.push(d, job("b"));
    link(&mut queue, "d/b", "a");
    queue.push(root, job("a"));
    queue.push(d, job("b"));
    link(&mut queue, "d/c", "d/b");
    let order = drain(&mut queue);
    let at = |what: &str| order.iter().position(|it| it == what).unwrap_or_else(|| panic!("{what} in {order:?}"));
    let last = |what: &str| order.iter().rposition(|it| it == what).unwrap();
    assert_eq!(order.len(), 6);
    assert!(at("a") < at("d/b -> a") && at("d/b") < at("d/b -> a"), "{order:?}");
    assert!(at("d/b -> a") < last("a") && at("d/b -> a") < last("d/b"), "{order:?}");
    assert!(last("d/b") < at("d/c -> d/b"), "{order:?}");
}

#[test]
fn links_that_go_back_and_forth_never_wait_for_each_other_for_ever() {
    for wide in [false, true] {
        let (mut queue, root) = queue();
        if wide {
            (0..16).for_each(|_| queue.learn(Duration::from_millis(2), Some(Duration::from_millis(2))));
            assert!(queue.is_wide());
        }
        for n in 0..200 {
            let (a, b) = (format!("d{}/f{}", n % 3, n % 5), format!("d{}/f{}", n % 2, n % 7));
            if n % 4 == 0 {
                let folder = queue.folder(OsStr::new(a.split('/').next().unwrap()));
                queue.push(folder, job(a.split('/').next_back().unwrap()));
            }
            if a != b {
                link(&mut queue, &a, &b);
            }
        }
        queue.push(root, job("end"));
        assert!(drain(&mut queue).len() > 200);
    }
}

#[test]
fn a_cancellation_counts_a_link_once_and_leaves_nothing() {
    let (mut queue, root) = queue();
    let key = queue.claim(root, OsStr::new("a")).unwrap();
    link(&mut queue, "d/b", "a");
    queue.push(root, job("a"));
    // The half in d holds its name; the other is parked behind the stream.
    assert!(queue.take(0).is_none());
    assert_eq!(queue.drop_waiting(), 2);
    queue.release(root, key);
    assert_eq!((queue.unfinished, queue.unfinished_weight), (0, 0));
}

#[test]
fn a_link_to_itself_behind_another_link_waits_for_nobody() {
    for wide in [false, true] {
        let (mut queue, _) = queue();
        if wide {
            (0..16).for_each(|_| queue.learn(Duration::from_millis(2), Some(Duration::from_millis(2))));
        }
        link(&mut queue, "b", "a");
        link(&mut queue, "a", "a");
        link(&mut queue, "a", "b");
        assert_eq!(drain(&mut queue), ["b -> a", "a -> a", "a -> b"]);
    }
}

#[test]
fn a_folder_comes_in_the_order_of_its_name() {
    let (mut queue, root) = queue();
    // What is in it waits for the file of its name.
    queue.push(root, job("a"));
    let below = queue.folder(OsStr::new("a/b"));
    queue.push(below, job("c"));
    assert!(queue.is_blocked(below));
    assert_eq!((queue.waiting, queue.parked), (2, 2), "the file, and what makes the folder after it");
    // A file of its name waits for the folder, if that is not made yet.
    let d = queue.folder(OsStr::new("d"));
    queue.push(d, job("e"));
    queue.push(root, job("d"));
    let order = drain(&mut queue);
    let at = |what: &str| order.iter().position(|it| it == what).unwrap_or_else(|| panic!("{what} in {order:?}"));
    let last = |what: &str| order.iter().rposition(|it| it == what).unwrap();
    assert!(at("a") < last("a") && last("a") < at("a/b") && at("a/b") < at("a/b/c"), "{order:?}");
    assert!(at("d") < last("d"), "the folder is reached, and then comes the file: {order:?}");
}

#[test]
fn what_is_below_the_name_of_a_stream_waits_for_that_stream() {
    let (mut queue, root) = queue();
    let key = queue.claim(root, OsStr::new("a")).unwrap();
    let below = queue.folder(OsStr::new("a/b"));
    queue.push(below, job("c"));
    assert!(queue.take(0).is_none());
    assert!(queue.waits_for_streams(), "no caller has to wait for room");
    queue.release(root, key);
    assert_eq!(drain(&mut queue), ["a", "a/b", "a/b/c"]);
}

#[test]
fn of_folders_that_are_done_with_nothing_is_kept() {
    for wide in [false, true] {
        let (mut queue, _) = queue();
        if wide {
            (0..16).for_each(|_| queue.learn(Duration::from_millis(5), Some(Duration::from_millis(5))));
            assert!(queue.is_wide());
        }
        for n in 0..500 {
            let id = queue.folder(OsStr::new(&format!("above/{}/{n}", n % 7)));
            (0..200).for_each(|n| queue.push(id, job(&n.to_string())));
            let stream = queue.claim(id, OsStr::new("stream")).unwrap();
            while let Some(batch) = queue.take(0) {
                // The thread makes the folder, and those above it.
                let above = std::iter::successors(Some(&*batch.folder), |folder| folder.parent.as_deref());
                above.for_each(|folder| folder.made.store(true, std::sync::atomic::Ordering::Relaxed));
                end(&mut queue, batch);
            }
            queue.release(id, stream);
            assert_eq!((queue.unfinished, queue.pending.len()), (0, 0), "folder {n}");
        }
        assert_eq!(queue.folders.len(), 1 + 1 + 7 + 500);
    }
}
