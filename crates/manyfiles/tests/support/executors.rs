//! The table of executors: each with a runtime in which a test's code runs, so that one test goes over all of them.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use manyfiles::close::{Closer, Executor, Options};

pub type Work = Box<dyn FnOnce() + Send>;

/// An executor.
pub struct Row {
    pub name: &'static str,
    /// Options that choose it.
    pub options: Box<dyn Fn() -> Options + Send + Sync>,
    /// Runs code inside of its runtime, and waits for it.
    pub inside: Box<dyn Fn(Work) + Send + Sync>,
    /// Inside, it closes on threads of its own, and not on the closer's.
    pub closes: bool,
    /// Other work goes on while closes hang.
    pub goes_on: bool,
}

impl Row {
    fn new(
        name: &'static str,
        options: impl Fn() -> Options + Send + Sync + 'static,
        inside: impl Fn(Work) + Send + Sync + 'static,
    ) -> Row {
        Row { name, options: Box::new(options), inside: Box::new(inside), closes: true, goes_on: true }
    }
}

/// An executor from outside of the crate: threads that take work from a channel.
pub struct Own(Mutex<Sender<Work>>, usize);

impl Own {
    pub fn new(threads: usize) -> Own {
        let (sender, receiver) = channel::<Work>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..threads {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || {
                loop {
                    let work = receiver.lock().unwrap().recv();
                    match work {
                        Ok(work) => work(),
                        Err(_) => break,
                    }
                }
            });
        }
        Own(Mutex::new(sender), threads)
    }
}

impl Executor for Own {
    fn execute(&self, work: Work) {
        self.0.lock().unwrap().send(work).expect("the threads end after the sender");
    }

    fn workers(&self) -> usize {
        self.1
    }
}

/// What a broken executor does with its work.
struct Broken(fn(Work));

impl Executor for Broken {
    fn execute(&self, work: Work) {
        (self.0)(work);
    }
}

fn on_a_thread(work: Work) {
    if let Err(panic) = thread::spawn(work).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Every executor that this build has.
pub fn table() -> Vec<Row> {
    let panics = |_| std::panic::resume_unwind(Box::new("the executor is broken"));
    let rows = [
        Row { closes: false, ..Row::new("built-in", Closer::options, on_a_thread) },
        Row::new("own", || Closer::options().executor(Own::new(3)), on_a_thread),
        Row { closes: false, ..Row::new("drops", || Closer::options().executor(Broken(drop)), on_a_thread) },
        Row { closes: false, ..Row::new("panics", move || Closer::options().executor(Broken(panics)), on_a_thread) },
        Row { closes: false, ..Row::new("no workers", || Closer::options().executor(Own::new(0)), on_a_thread) },
        Row {
            goes_on: false,
            ..Row::new("at once", || Closer::options().executor(Broken(|work| work())), on_a_thread)
        },
    ];
    #[allow(unused_mut, reason = "for builds without any runtime")]
    let mut rows = Vec::from(rows);
    #[cfg(feature = "tokio")]
    rows.extend(on_tokio());
    rows
}

#[cfg(feature = "tokio")]
fn on_tokio() -> Vec<Row> {
    use manyfiles::close::executor::Tokio;
    use tokio::runtime::{Builder, Runtime};

    fn spawned(runtime: &Runtime) -> impl Fn(Work) + use<> {
        let handle = runtime.handle().clone();
        move |work| handle.block_on(handle.spawn(async { work() })).unwrap()
    }
    let threads = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let one_thread = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let one_blocking = Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap();
    let ended = Builder::new_multi_thread().worker_threads(1).build().unwrap().handle().clone();
    // A runtime waits for the closes that it runs when it is dropped, so this one must live longer than a test's code.
    let current_thread = Builder::new_current_thread().build().unwrap();
    let handle = one_thread.handle().clone();
    let rows = vec![
        Row::new("tokio", || Closer::options().executor(Tokio::new()), spawned(&threads)),
        Row::new(
            "tokio, by handle",
            move || Closer::options().executor(Tokio::with_handle(handle.clone())),
            spawned(&one_thread),
        ),
        Row::new("tokio, one blocking thread", || Closer::options().executor(Tokio::new()), spawned(&one_blocking)),
        Row::new(
            "tokio, on the current thread",
            || Closer::options().executor(Tokio::new()),
            move |work| current_thread.block_on(async { work() }),
        ),
        Row {
            closes: false,
            ..Row::new(
                "tokio, ended",
                move || Closer::options().executor(Tokio::with_handle(ended.clone())),
                on_a_thread,
            )
        },
    ];
    // They serve as long as the process lives.
    [threads, one_thread, one_blocking].into_iter().for_each(std::mem::forget);
    rows
}
