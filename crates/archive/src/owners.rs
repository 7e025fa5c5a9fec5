//! Users and groups: from name to number, and back. Each is looked up once: the system may ask a server for it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::acl::Owner;
use crate::sys;

/// The longest name that is looked up. Those of Linux have 32 bytes; longer ones come from servers of names.
const LONGEST: usize = 256;

/// How many answers are kept in memory. What comes after these is asked for each time.
const MOST: usize = 1 << 16;

/// The numbers that users and groups have on this system.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    users: HashMap<Vec<u8>, Option<u32>>,
    groups: HashMap<Vec<u8>, Option<u32>>,
    /// A number counts more than a name.
    pub numeric: bool,
}

impl Ids {
    pub(crate) fn new(numeric: bool) -> Ids {
        Ids { numeric, ..Ids::default() }
    }

    /// The number of the user of this name. `None`: there is none.
    pub(crate) fn user(&mut self, name: &[u8]) -> Option<u32> {
        found(&mut self.users, name, sys::user_id)
    }

    /// The number of the group of this name. `None`: there is none.
    pub(crate) fn group(&mut self, name: &[u8]) -> Option<u32> {
        found(&mut self.groups, name, sys::group_id)
    }

    /// That knows these, and no others.
    #[cfg(test)]
    pub(crate) fn fixed(users: &[(&str, u32)], groups: &[(&str, u32)]) -> Ids {
        let known = |of: &[(&str, u32)]| of.iter().map(|(name, id)| (name.as_bytes().to_vec(), Some(*id))).collect();
        Ids { users: known(users), groups: known(groups), numeric: false }
    }
}

fn found(known: &mut HashMap<Vec<u8>, Option<u32>>, name: &[u8], look: fn(&str) -> Option<u32>) -> Option<u32> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    if let Some(id) = known.get(name) {
        return *id;
    }
    let id = std::str::from_utf8(name).ok().filter(|name| !name.contains('\0')).and_then(look);
    keep(known, name.to_vec(), id)
}

/// The names that users and groups have on this system. Shared by the threads.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<HashMap<Owner, Option<String>>>);

impl Names {
    /// The name, if there is one.
    pub(crate) fn of(&self, owner: Owner) -> Option<String> {
        // Nothing panics while it is locked.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(&owner) {
            return name.clone();
        }
        let name = match owner {
            Owner::User(id) => sys::user_name(id),
            Owner::Group(id) => sys::group_name(id),
        };
        // What a name cannot be in a header that ends it with a zero, and what was no text.
        let name = name.filter(|name| !name.is_empty() && !name.contains(['\0', '\u{fffd}']));
        keep(&mut known, owner, name)
    }
}

fn keep<K: Eq + Hash, V: Clone>(known: &mut HashMap<K, V>, key: K, value: V) -> V {
    if known.len() < MOST {
        known.insert(key, value.clone());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_name_is_not_looked_up_and_numbers_are_no_names() {
        let mut ids = Ids::default();
        for name in [&b""[..], b"\0", b"root\0", b"\xff\xfe", &[b'n'; 300]] {
            assert_eq!((ids.user(name), ids.group(name)), (None, None), "{name:?}");
        }
        assert_eq!(ids.user(b"no user of this name, surely"), None);
        assert_eq!(Names::default().of(Owner::User(u32::MAX - 7)), None);
    }

    #[test]
    #[cfg(unix)]
    fn root_has_the_number_0() {
        assert_eq!(Ids::default().user(b"root"), Some(0));
        assert_eq!(Names::default().of(Owner::User(0)).as_deref(), Some("root"));
    }
}
