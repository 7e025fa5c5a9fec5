//! Closes on a program's own threads: an `Executor` of a dozen lines. `own_executor FOLDER [FILES]`.
//!
//! Any runtime can be plugged in like this. One that shuts down early may drop the work it was given; the closer notices.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use manyfiles::close::{Closer, Executor};

type Work = Box<dyn FnOnce() + Send>;

/// A program's thread pool, as it might have been there before.
struct Threads {
    sender: Mutex<Sender<Work>>,
    count: usize,
}

impl Threads {
    fn start(count: usize) -> Threads {
        let (sender, receiver) = mpsc::channel::<Work>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..count {
            let receiver = Arc::clone(&receiver);
            thread::spawn(move || {
                // The lock is only held while waiting for work.
                while let Ok(work) = { receiver.lock().expect("no thread panics with it") }.recv() {
                    work();
                }
            });
        }
        Threads { sender: Mutex::new(sender), count }
    }
}

impl Executor for Threads {
    fn execute(&self, work: Work) {
        // If the threads are gone, the refused work comes back in the error, and is dropped with it: that says so.
        drop(self.sender.lock().expect("no thread panics with it").send(work));
    }

    fn workers(&self) -> usize {
        self.count
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().ok_or("usage: own_executor FOLDER [FILES]")?;
    let files: usize = match args.next() {
        Some(files) => files.to_str().ok_or("FILES is a number")?.parse()?,
        None => 1000,
    };
    fs::create_dir_all(&folder)?;

    let closer = Closer::options().executor(Threads::start(8)).build();
    for n in 0..files {
        let path = Path::new(&folder).join(format!("{n}.txt"));
        let mut file = File::create(&path)?;
        writeln!(file, "This is file number {n}.")?;
        closer.close_at(file, path);
    }
    closer.wait()?; // every close that failed is in this error

    let metrics = closer.metrics();
    println!("{} files closed on the spot, {} handed over", metrics.closed_inline, metrics.handed_over);
    println!("closing took {:?} here and {:?} in the pool", metrics.time_in_callers, metrics.time_in_pool);
    Ok(())
}
