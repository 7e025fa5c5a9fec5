//! The processor time of this process.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

/// Seconds that this process's threads have had a processor so far, in user space and in the kernel.
pub fn cpu_seconds() -> f64 {
    system::cpu_seconds()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::cpu_seconds;

    #[test]
    fn work_takes_processor_time() {
        let (before, begun) = (cpu_seconds(), Instant::now());
        // Windows counts in steps of a sixty-fourth of a second.
        while begun.elapsed().as_millis() < 100 {
            black_box((0..10_000).sum::<u64>());
        }
        assert!(cpu_seconds() > before);
    }
}
