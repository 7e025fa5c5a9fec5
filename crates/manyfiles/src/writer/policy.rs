//! When a writer makes its bytes durable by itself.

use std::time::Duration;

/// When a [`FileWriter`](super::FileWriter) syncs without being asked. [`sync`](super::FileWriter::sync) can be called
/// under each of them.
///
/// What a crash can lose, of the bytes that a call has taken with `Ok`:
///
/// | policy | the process crashes | the machine crashes, or loses power |
/// |---|---|---|
/// | [`Never`](SyncPolicy::Never) | what is buffered | everything since the last `sync` |
/// | [`OnClose`](SyncPolicy::OnClose) | what is buffered | everything since the last `sync`; nothing once `close` has returned `Ok` |
/// | [`EveryBytes(n)`](SyncPolicy::EveryBytes) | what is buffered, less than `n` bytes | the last `n - 1` bytes; nothing once `close` has returned `Ok` |
/// | [`Every(t)`](SyncPolicy::Every) | what is buffered | what was taken since the last call that found `t` passed; nothing once `close` has returned `Ok` |
///
/// With a [second thread](super::Options::second_thread) a sync that a policy wants is made there, and the caller goes
/// on: add the blocks that are on their way, at most four, and what is taken while the sync runs.
///
/// What the process had handed to the operating system ([`flush`](super::FileWriter::flush)) survives its crash. A
/// record may be cut in two by a crash of either kind: a process that is killed ends in the middle of the call that
/// writes a buffer, and then a part of that buffer is in the file. Records that have to be whole or absent are what
/// [`Appender`](crate::appender::Appender) is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Only when asked. What the system writes out by itself is durable after some 30 seconds, as a rule.
    #[default]
    Never,
    /// Before the file closes, in `close` and in a drop.
    OnClose,
    /// As soon as so many bytes have been taken since the last sync, in the call that takes the last of them; and
    /// before the file closes. 0 is as 1: every call syncs.
    EveryBytes(u64),
    /// In the first call that comes so long after the last sync, and before the file closes. Every call looks at the
    /// clock (a monotonic one, which setting the time does not move), some 30 ns. A writer that is not called does not
    /// sync: what was taken last may stay in the buffer for as long as that lasts.
    Every(Duration),
}

impl SyncPolicy {
    /// Whether a file is synced before it closes.
    pub(super) fn syncs_at_the_end(self) -> bool {
        self != SyncPolicy::Never
    }
}
