//! The standard library's locks, or loom's, which run a test once for every order its threads can take.

#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64};
#[cfg(not(loom))]
pub(super) use std::sync::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
pub(super) use std::sync::{Mutex as FileMutex, MutexGuard, MutexGuard as FileGuard};

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64};
#[cfg(loom)]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(loom)]
pub(super) use model::{FileGuard, FileMutex};

/// What finds a file by its path. In a model it has to be gone through in the same order each time.
#[cfg(not(loom))]
pub(super) type Map<K, V> = std::collections::HashMap<K, V>;
#[cfg(loom)]
pub(super) type Map<K, V> = std::collections::BTreeMap<K, V>;

/// Milliseconds on a clock that costs next to nothing and never goes back.
#[cfg(not(loom))]
pub(super) fn now() -> u64 {
    crate::sys::coarse_milliseconds()
}

/// A model has to run the same way each time: no time passes in it.
#[cfg(loom)]
pub(super) fn now() -> u64 {
    0
}

/// A mutex whose `try_lock` never waits. Loom's own waits if another thread takes the lock meanwhile.
#[cfg(loom)]
mod model {
    use std::ops::{Deref, DerefMut};
    use std::sync::{LockResult, TryLockError, TryLockResult};

    use loom::sync::{Condvar, Mutex};

    /// What it guards is away while it is locked.
    pub(in crate::vfs) struct FileMutex<T> {
        value: Mutex<Option<T>>,
        unlocked: Condvar,
    }

    pub(in crate::vfs) struct FileGuard<'a, T> {
        value: Option<T>,
        mutex: &'a FileMutex<T>,
    }

    impl<T> FileMutex<T> {
        pub(in crate::vfs) fn new(value: T) -> FileMutex<T> {
            FileMutex { value: Mutex::new(Some(value)), unlocked: Condvar::new() }
        }

        pub(in crate::vfs) fn lock(&self) -> LockResult<FileGuard<'_, T>> {
            let mut value = self.value.lock().unwrap();
            while value.is_none() {
                value = self.unlocked.wait(value).unwrap();
            }
            Ok(FileGuard { value: value.take(), mutex: self })
        }

        pub(in crate::vfs) fn try_lock(&self) -> TryLockResult<FileGuard<'_, T>> {
            match self.value.lock().unwrap().take() {
                None => Err(TryLockError::WouldBlock),
                value => Ok(FileGuard { value, mutex: self }),
            }
        }
    }

    impl<T> Deref for FileGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.value.as_ref().expect("there until the guard is dropped")
        }
    }

    impl<T> DerefMut for FileGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.value.as_mut().expect("there until the guard is dropped")
        }
    }

    impl<T> Drop for FileGuard<'_, T> {
        fn drop(&mut self) {
            *self.mutex.value.lock().unwrap() = self.value.take();
            self.mutex.unlocked.notify_one();
        }
    }
}
