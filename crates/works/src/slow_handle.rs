//! [`SlowHandle`]: a file whose close takes longer.

use std::fs::File;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use manyfiles::FastCloseable;

/// Closes its file when it is dropped, and then waits, as a system does that looks at each file when it is closed.
pub(crate) struct SlowHandle {
    file: Option<File>,
    wait: Duration,
}

impl SlowHandle {
    pub(crate) fn new(file: File, wait: Duration) -> SlowHandle {
        SlowHandle { file: Some(file), wait }
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().expect("taken by drop alone").write_all(bytes)
    }
}

impl FastCloseable for SlowHandle {}

impl Drop for SlowHandle {
    fn drop(&mut self) {
        drop(self.file.take());
        thread::sleep(self.wait);
    }
}
