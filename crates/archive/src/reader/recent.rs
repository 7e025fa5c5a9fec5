//! What was decoded last, so that reads beside each other decode it once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How much is kept.
const MOST_BYTES: usize = 64 << 20;
const MOST: usize = 256;

/// Decoded bytes by the number of what they are; those used last are kept.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// The last used one last.
    kept: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
}

impl Recent {
    /// The bytes of this number, from what is kept or by `decode`. Two threads may decode the same at once.
    pub(super) fn get<E>(&self, number: u64, decode: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Arc<Vec<u8>>, E> {
        if let Some(bytes) = self.find(number) {
            return Ok(bytes);
        }
        let bytes = Arc::new(decode()?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|(other, _)| *other == number) {
            kept.push_back((number, Arc::clone(&bytes)));
        }
        let mut sum: usize = kept.iter().map(|(_, bytes)| bytes.len()).sum();
        while kept.len() > 1 && (sum > MOST_BYTES || kept.len() > MOST) {
            sum -= kept.pop_front().map_or(0, |(_, bytes)| bytes.len());
        }
        Ok(bytes)
    }

    fn find(&self, number: u64) -> Option<Arc<Vec<u8>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(other, _)| *other == number)?;
        let found = kept.remove(place)?;
        let bytes = Arc::clone(&found.1);
        kept.push_back(found);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept_and_the_rest_is_bounded() {
        let recent = Recent::default();
        let made = |number: u64| {
            let mut made = false;
            let bytes = recent.get(number, || {
                made = true;
                Ok::<_, ()>(vec![number as u8; 4 << 20])
            });
            assert_eq!(bytes.unwrap()[0], number as u8);
            made
        };
        for number in 0..16 {
            assert!(made(number));
        }
        assert!(!made(0), "16 times 4 MiB are kept");
        assert!(made(16));
        assert!(!made(0), "it was used since");
        assert!(made(1), "it was the one used longest ago");
        let small = Recent::default();
        for number in 0..1000 {
            small.get(number, || Ok::<_, ()>(vec![1])).unwrap();
        }
        assert_eq!(small.kept.lock().unwrap().len(), MOST);
    }
}
