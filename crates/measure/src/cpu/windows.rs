//! Windows: the times of the process, in units of 100 ns.
#![expect(unsafe_code, reason = "the system's calls")]

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

pub(super) fn cpu_seconds() -> f64 {
    let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut made, mut ended, mut kernel, mut user) = (zero, zero, zero, zero);
    // SAFETY: the handle of this process is always valid, and all four are live variables of the right type.
    let known = unsafe { GetProcessTimes(GetCurrentProcess(), &mut made, &mut ended, &mut kernel, &mut user) };
    assert_ne!(known, 0, "a process may ask for its own times");
    let seconds =
        |time: FILETIME| ((u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)) as f64 * 1e-7;
    seconds(kernel) + seconds(user)
}
