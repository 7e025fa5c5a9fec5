//! A mount that behaves as NFS and plain FUSE file systems do: closes take 2 ms, the kernel keeps what is written until
//! then, removed files that are open live on.
#![allow(dead_code, reason = "not every test uses all")]

use std::path::Path;
use std::time::Duration;

use manyfiles::{close, fs};
use manyfiles_testkit::{Op, SlowMount, SlowOptions};

pub fn server() -> SlowOptions {
    SlowMount::options().write_back().keep_removed().delay(Op::Close, Duration::from_millis(2))
}

/// Enough closes that they are handed over from now on.
pub fn warm_up(folder: &Path) {
    for n in 0..10 {
        fs::write(folder.join(format!("warm-{n}")), "x").unwrap();
    }
    close::wait().unwrap();
    assert!(close::metrics().handed_over > 0, "{:?}", close::metrics());
}
