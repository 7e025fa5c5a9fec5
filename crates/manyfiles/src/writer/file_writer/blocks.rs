//! How pieces become blocks, and when the policy has them synced.

use std::time::Instant;

use super::FileWriter;
use crate::Result;
use crate::writer::SyncPolicy;

/// Blocks begin and end where pages do: the file system then need not read or fill a page twice.
const PAGE: u64 = 4096;

impl FileWriter {
    /// What is buffered for these places, if all of it is.
    pub(super) fn buffered_at(&mut self, offset: u64, len: usize) -> Option<&mut [u8]> {
        if self.failure().is_some() {
            return None;
        }
        let from = usize::try_from(offset.checked_sub(self.core.start)?).ok()?;
        self.core.buffer.as_mut_slice().get_mut(from..from.checked_add(len)?)
    }

    /// Lets records into the buffer if nothing else is to be done for them.
    pub(super) fn open_buffer(&mut self) {
        let since_sync = self.core.given - self.given_at_sync;
        let until = match self.policy {
            _ if self.failure().is_some() || self.elsewhere.is_some() => None,
            SyncPolicy::Every(_) => None,
            // The call that takes the last of so many bytes is the one to sync.
            SyncPolicy::EveryBytes(bytes) => Some(bytes.saturating_sub(1).saturating_sub(since_sync)),
            SyncPolicy::Never | SyncPolicy::OnClose => Some(u64::MAX),
        };
        match until {
            Some(until) => {
                let block = self.block();
                self.core.buffer.open_to(block.min(usize::try_from(until).unwrap_or(usize::MAX)));
            }
            None => self.core.buffer.close(),
        }
    }

    /// How long the block that the buffer holds is to become.
    pub(super) fn block(&self) -> usize {
        let beyond_page = (self.core.start % PAGE) as usize;
        if self.has_places && self.capacity as u64 > PAGE { self.capacity - beyond_page } else { self.capacity }
    }

    /// Takes bytes for the current position.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<()> {
        if let Some(elsewhere) = self.elsewhere.take()
            && elsewhere != self.behind_buffer()
        {
            self.core.write_block()?;
            self.core.start = elsewhere;
        }
        loop {
            let room = self.block() - self.core.buffer.len();
            if self.core.buffer.len() == 0
                && bytes.len() >= self.block()
                && !bytes.is_empty()
                && self.core.write_through(bytes)?
            {
                break;
            }
            if bytes.len() <= room {
                self.core.buffer.fill(bytes);
                break;
            }
            // A record goes whole into one block if it is to stay whole, and if one can hold it.
            if !self.keeps_records_whole || bytes.len() > self.capacity {
                let (now, later) = bytes.split_at(room);
                self.core.buffer.fill(now);
                bytes = later;
            }
            if self.second_thread {
                self.core.sink.move_to_second_thread(self.capacity);
            }
            self.core.write_block()?;
        }
        self.follow_policy()
    }

    pub(super) fn follow_policy(&mut self) -> Result<()> {
        let due = match self.policy {
            SyncPolicy::Never | SyncPolicy::OnClose => false,
            SyncPolicy::EveryBytes(bytes) => {
                let since_sync = self.core.given + self.core.buffer.len() as u64 - self.given_at_sync;
                since_sync >= bytes.max(1)
            }
            SyncPolicy::Every(interval) => self.last_sync.elapsed() >= interval,
        };
        if due {
            self.core.write_block()?;
            self.core.start_sync()?;
            self.note_sync();
        }
        Ok(())
    }

    pub(super) fn note_sync(&mut self) {
        self.given_at_sync = self.core.given;
        self.last_sync = Instant::now();
    }
}
