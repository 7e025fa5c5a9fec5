//! Unix: a clock of its own.

use rustix::time::{ClockId, clock_gettime};

pub(super) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
