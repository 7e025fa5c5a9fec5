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
        self.0.lock().unwrap().push(place());
    }
}

/// What kind of thread this is.
fn place() -> String {
    if rayon::current_thread_index().is_some() {
        return "rayon".to_owned();
    }
    if tokio::runtime::Handle::try_current().is_ok() {
        return "tokio".to_owned();
    }
    match thread::current().name() {
        Some("manyfiles-close") => "built-in".to_owned(),
        Some(name) if name.starts_with("blocking-") => "blocking".to_owned(),
        name => format!("{name:?}"),
    }
}

/// With several backends on, the last in this order.
fn expected() -> &'static str {
    if cfg!(feature = "backend-tokio") {
        "tokio"
    } else if cfg!(any(feature = "backend-smol", feature = "backend-async-std", feature = "backend-blocking")) {
        // The runtimes share that crate's threads.
        "blocking"
    } else if cfg!(feature = "backend-rayon") {
        "rayon"
    } else {
        "built-in"
    }
}

#[test]
fn slow_closes_go_to_the_chosen_backend() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let entered = cfg!(feature = "backend-tokio").then(|| runtime.enter());
    for _ in 0..20 {
        drop(FastClose::new(Slow(places.clone())));
    }
    // Waiting before the wait, which helps: else this thread might close them all.
    while close::metrics().handed_over == 0 || places.lock().unwrap().len() < 20 {
        thread::sleep(Duration::from_millis(1));
    }
    drop(entered);
    close::wait().unwrap();
    let places = places.lock().unwrap();
    // The first few are closed on the spot, until they are known to be slow.
    let elsewhere: Vec<_> = places.iter().skip_while(|place| *place != expected()).collect();
    assert!(elsewhere.len() > 10, "expected {}: {places:?}", expected());
    assert!(elsewhere.iter().all(|place| *place == expected()), "{places:?}");
}
