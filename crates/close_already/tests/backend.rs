//! What the chosen backend closes on. One test, for there is one global closer in a process.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use close_already::{FastClose, FastCloseable, close};

/// A handle whose close is slow, and that notes where it was made.
struct Slow(Arc<Mutex<Vec<String>>>);

impl FastCloseable for Slow {}

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(5));
        self.0.lock().unwrap().push(thread::current().name().unwrap_or_default().to_owned());
    }
}

#[test]
fn slow_closes_go_to_the_built_in_threads_whatever_the_backend() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let entered = cfg!(feature = "backend-tokio").then(|| runtime.enter());
    for _ in 0..20 {
        drop(FastClose::new(Slow(places.clone())));
    }
    drop(entered);
    close::wait().unwrap();
    let places = places.lock().unwrap();
    let elsewhere = places.iter().filter(|place| *place == "manyfiles-close").count();
    let asynchronous = cfg!(any(feature = "backend-tokio", feature = "backend-smol", feature = "backend-async-std"));
    // The first few are closed on the spot, until they are known to be slow; in async code none is.
    assert!(if asynchronous { elsewhere == 20 } else { (10..20).contains(&elsewhere) }, "{places:?}");
}
