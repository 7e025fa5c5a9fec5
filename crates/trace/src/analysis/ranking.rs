//! [`Ranking`]: sums for each of possibly millions of things, in bounded memory.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::handle::Handle;
use crate::report::{Sum, Top};

/// A thing with a weight: the heavier thing matters more.
pub(super) trait Weighed {
    fn weight(&self) -> u64;
}

/// A thing with calls and time, which are its weight.
pub(super) trait Summed {
    fn sum(&self) -> &Sum;
}

impl<V: Summed> Weighed for V {
    fn weight(&self) -> u64 {
        self.sum().weight()
    }
}

/// Counts each thing by itself, up to a number of things. When there are more, the lighter half is let go, and the
/// greatest weight that was let go is remembered: no thing's weight is short by more than the sum of these, and each
/// thing that outweighs that sum is there (the counting of Misra and Gries).
pub(super) struct Ranking<V> {
    table: HashTable<u32>,
    slots: Vec<Slot<V>>,
    hasher: DefaultHashBuilder,
    most: usize,
    /// How often things were let go, which makes handles stale.
    epoch: u32,
    missed: u64,
}

struct Slot<V> {
    key: Box<[u8]>,
    hash: u64,
    value: V,
}

impl<V: Weighed + Default> Ranking<V> {
    pub(super) fn new(most: usize) -> Ranking<V> {
        Ranking {
            table: HashTable::new(),
            slots: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            most,
            epoch: 0,
            missed: 0,
        }
    }

    /// The thing with this key, which is there from now on.
    pub(super) fn of(&mut self, key: &[u8]) -> Handle {
        let hash = self.hasher.hash_one(key);
        if let Some(&slot) = self.table.find(hash, |&slot| *self.slots[slot as usize].key == *key) {
            return Handle { epoch: self.epoch, slot };
        }
        if self.slots.len() >= self.most {
            self.let_go();
        }
        let slot = self.slots.len() as u32;
        self.slots.push(Slot { key: key.into(), hash, value: V::default() });
        self.table.insert_unique(hash, slot, |&slot| self.slots[slot as usize].hash);
        Handle { epoch: self.epoch, slot }
    }

    pub(super) fn get(&mut self, handle: Handle) -> Option<&mut V> {
        match handle.epoch == self.epoch {
            true => self.slots.get_mut(handle.slot as usize).map(|slot| &mut slot.value),
            false => None,
        }
    }

    /// Takes a thing out.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<V> {
        let at = self.slots.iter().position(|slot| *slot.key == *key)?;
        let removed = self.slots.swap_remove(at);
        self.index();
        Some(removed.value)
    }

    /// How many there are now.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().map(|slot| &slot.value)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], &V)> {
        self.slots.iter().map(|slot| (&*slot.key, &slot.value))
    }

    /// Whether every thing is there with all its weight.
    pub(super) fn is_exact(&self) -> bool {
        self.missed == 0
    }

    fn let_go(&mut self) {
        let mut weights: Vec<u64> = self.values().map(Weighed::weight).collect();
        let half = weights.len() / 2;
        let (_, &mut threshold, _) = weights.select_nth_unstable(half);
        self.slots.retain(|slot| slot.value.weight() > threshold);
        self.missed = self.missed.saturating_add(threshold.max(1));
        self.index();
    }

    fn index(&mut self) {
        self.table.clear();
        for (at, slot) in self.slots.iter().enumerate() {
            self.table.insert_unique(slot.hash, at as u32, |&slot| self.slots[slot as usize].hash);
        }
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// The heaviest, the heaviest first; of equals the first by name. The rest of `total` is with the others.
    pub(super) fn finish<R>(self, rows: usize, total: &Sum, row: impl Fn(&[u8], V) -> R) -> Top<R>
    where
        V: Summed,
    {
        let (seen, exact, missed) = (self.slots.len() as u64, self.is_exact(), self.missed);
        let mut slots = self.slots;
        slots.sort_unstable_by(|a, b| b.value.weight().cmp(&a.value.weight()).then_with(|| a.key.cmp(&b.key)));
        slots.truncate(rows);
        let mut shown = Sum::default();
        slots.iter().for_each(|slot| shown.plus(slot.value.sum()));
        Top {
            others: total.minus(&shown),
            seen,
            exact,
            missed_nanos: missed,
            rows: slots.into_iter().map(|slot| row(&slot.key, slot.value)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Weight(u64);

    impl Weighed for Weight {
        fn weight(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_heavy_ones_stay_and_nothing_is_short_by_more_than_is_said() {
        let mut ranking = Ranking::<Weight>::new(1000);
        let mut exact = std::collections::HashMap::<Vec<u8>, u64>::new();
        let mut seed = 7u64;
        for _ in 0..200_000 {
            // A few heavy ones among tens of thousands of light ones.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (key, weight) = match (seed >> 33) % 4 {
                0 => (format!("heavy {}", (seed >> 40) % 10), 1000),
                _ => (format!("light {}", (seed >> 40) % 50_000), 1 + (seed >> 50) % 5),
            };
            *exact.entry(key.clone().into()).or_default() += weight;
            let handle = ranking.of(key.as_bytes());
            ranking.get(handle).unwrap().0 += weight;
        }
        assert!(!ranking.is_exact());
        let found: std::collections::HashMap<_, _> =
            ranking.entries().map(|(key, value)| (key.to_vec(), value.0)).collect();
        assert!(found.len() <= 1000);
        for (key, weight) in exact {
            let found = found.get(&key).copied().unwrap_or(0);
            assert!(found <= weight && weight - found <= ranking.missed, "{}", String::from_utf8_lossy(&key));
            assert!(weight < ranking.missed * 2 || found > 0, "{} is gone", String::from_utf8_lossy(&key));
        }
        assert!(ranking.missed < 100_000, "the bound says something: {}", ranking.missed);
    }

    #[test]
    fn handles_of_what_was_let_go_find_nothing() {
        let mut ranking = Ranking::<Weight>::new(4);
        let first = ranking.of(b"0");
        ranking.get(first).unwrap().0 = 100;
        for n in 1..6u8 {
            let handle = ranking.of(&[n]);
            ranking.get(handle).unwrap().0 = 1;
        }
        assert!(ranking.get(first).is_none());
        let again = ranking.of(b"0");
        assert_eq!(ranking.get(again).unwrap().0, 100);
        assert_eq!(ranking.remove(b"0").unwrap().0, 100);
        assert!(ranking.remove(b"0").is_none());
    }
}
