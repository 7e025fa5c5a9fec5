//! What is kept of a file besides its bytes: one rule for copies, archives and mirrors.

use std::fmt;

/// What an entry keeps of its source besides bytes, permissions, modification time and links.
///
/// The default is nothing more than these. What is asked for by its name ([`xattrs`](Keep::xattrs),
/// [`acls`](Keep::acls), [`owners`](Keep::owners)) has to arrive: else it is a failure of the entry.
/// [`everything`](Keep::everything) asks for all, as far as the system and the file system have it and this process
/// may: what could not be kept is counted.
///
/// ```
/// use manyfiles::tree::Keep;
/// let keep = Keep::default().xattrs();
/// assert!(keep.keeps_attribute(b"user.comment"));
/// assert!(!keep.keeps_attribute(b"system.posix_acl_access"), "which is an access control list");
/// assert!(!Keep::everything().keeps_attribute(b"security.selinux"), "which belongs to the machine");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    wanted: Things,
    /// Of those wanted: what is a failure if it cannot be kept.
    required: Things,
    /// Whether this process may give files capabilities and the like.
    privileged: bool,
}

/// A set of what can be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Things(u8);

impl Things {
    pub(crate) const XATTRS: Things = Things(1);
    pub(crate) const ACLS: Things = Things(1 << 1);
    pub(crate) const OWNERS: Things = Things(1 << 2);
    pub(crate) const FLAGS: Things = Things(1 << 3);
    pub(crate) const SPACE: Things = Things(1 << 4);
    pub(crate) const ACCESS_TIMES: Things = Things(1 << 5);
    /// What a call tells that is made for nothing else.
    pub(crate) const ATTRIBUTES: Things = Things::XATTRS.with(Things::ACLS).with(Things::FLAGS);
    const ALL: Things = Things(0b11_1111);

    pub(crate) const fn with(self, more: Things) -> Things {
        Things(self.0 | more.0)
    }

    pub(crate) const fn has(self, any: Things) -> bool {
        self.0 & any.0 != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Never kept: labels of SELinux belong to the policy of the machine that they were read on, the seal of EVM holds for
/// the file with one number alone, and what overlayfs writes leads to other files there.
const OF_THE_MACHINE: [&[u8]; 4] = [b"security.selinux", b"security.evm", b"trusted.overlay.", b"user.overlay."];

/// Access control lists, in the kernel's form.
const LISTS: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

impl Keep {
    /// All that can be kept: owners, extended attributes (capabilities among them), access control lists, file flags,
    /// the time of the last access, reserved space. What cannot be kept is counted, but for what is also asked for by its
    /// name.
    pub fn everything() -> Keep {
        Keep { wanted: Things::ALL, required: Things::default(), privileged: super::is_privileged() }
    }

    /// Also extended attributes: those that begin with `user.`, and as root `security.` (capabilities) and `trusted.`.
    /// Not labels of SELinux, not the seal of EVM (`security.evm`), and not what overlayfs writes (`trusted.overlay.`,
    /// `user.overlay.`): they are of use only where they were made. On macOS all but those of the system.
    #[must_use]
    pub fn xattrs(self) -> Keep {
        self.requires(Things::XATTRS)
    }

    /// Also access control lists: `system.posix_acl_access` and, of folders, `system.posix_acl_default`. An entry whose
    /// source has no list gets none from the folder that it is written in either.
    #[must_use]
    pub fn acls(self) -> Keep {
        self.requires(Things::ACLS)
    }

    /// Also the user and group, by number. Needs privileges that most processes lack.
    #[must_use]
    pub fn owners(self) -> Keep {
        self.requires(Things::OWNERS)
    }

    fn requires(self, thing: Things) -> Keep {
        let privileged = super::is_privileged();
        Keep { wanted: self.wanted.with(thing), required: self.required.with(thing), privileged }
    }

    /// Whether the extended attribute of this name is kept.
    pub fn keeps_attribute(&self, name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        match Keep::thing(name) {
            Some(Things::XATTRS) => self.wanted.has(Things::XATTRS) && (self.privileged || is_any_users(name)),
            Some(thing) => self.wanted.has(thing),
            None => false,
        }
    }

    /// Whether an entry that has the extended attribute of this name loses something by not keeping it: it is not kept,
    /// and does not belong to the machine that it was read on.
    pub fn loses_attribute(&self, name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        Keep::thing(name).is_some() && !self.keeps_attribute(name)
    }

    /// Whether it is a failure of an entry if the attribute of this name cannot be set. So it is with one that is given
    /// and was not asked for.
    pub(crate) fn requires_attribute(&self, name: &[u8]) -> bool {
        Keep::thing(name).is_none_or(|thing| self.required.has(thing) || !self.wanted.has(thing))
    }

    /// Gives an owner by `give`, or the group alone where this user may not and need not: false. Who asked for owners by
    /// name is told the error.
    #[cfg(any(unix, windows))]
    pub(crate) fn give_owner(
        &self,
        (user, group): (u32, u32),
        give: impl Fn(Option<u32>, u32) -> std::io::Result<()>,
    ) -> std::io::Result<bool> {
        match give(Some(user), group) {
            Err(error) if self.may_lose(Things::OWNERS) && super::cannot_be_kept(&error) => {
                give(None, group).unwrap_or(()); // It is lost with the user.
                Ok(false)
            }
            given => given.map(|()| true),
        }
    }

    pub(crate) fn wants(&self, any: Things) -> bool {
        self.wanted.has(any)
    }

    #[cfg_attr(windows, allow(dead_code, reason = "nothing is read there that may fail"))]
    pub(crate) fn demands(&self, any: Things) -> bool {
        self.required.has(any)
    }

    pub(crate) fn wanted(&self) -> Things {
        self.wanted
    }

    /// Whether this is kept as far as it can be.
    pub(crate) fn may_lose(&self, thing: Things) -> bool {
        self.wanted.has(thing) && !self.required.has(thing)
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.wanted.is_empty()
    }

    /// What the attribute of this name is. `None`: nothing that could be kept.
    pub(crate) fn thing(name: &[u8]) -> Option<Things> {
        let begins = |with: &[u8]| name.starts_with(with);
        if OF_THE_MACHINE.into_iter().any(begins) {
            None
        } else if LISTS.contains(&name) {
            Some(Things::ACLS)
        } else if begins(b"btrfs.") {
            Some(Things::FLAGS) // how btrfs compresses the file
        } else if is_any_users(name) || begins(b"security.") || begins(b"trusted.") {
            Some(Things::XATTRS)
        } else {
            None
        }
    }
}

/// Whether it needs no privileges to set.
fn is_any_users(name: &[u8]) -> bool {
    const OF_LINUX: [&[u8]; 4] = [b"security.", b"trusted.", b"system.", b"btrfs."];
    if cfg!(target_vendor = "apple") {
        return !name.starts_with(b"com.apple.system.") && !OF_LINUX.into_iter().any(|space| name.starts_with(space));
    }
    name.starts_with(b"user.")
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(&str, Things); 6] = [
            ("xattrs", Things::XATTRS),
            ("acls", Things::ACLS),
            ("owners", Things::OWNERS),
            ("flags", Things::FLAGS),
            ("space", Things::SPACE),
            ("access times", Things::ACCESS_TIMES),
        ];
        let kept = NAMES.into_iter().filter(|(_, thing)| self.wanted.has(*thing));
        let how = |thing| if self.required.has(thing) { "required" } else { "if it can be" };
        f.debug_map().entries(kept.map(|(name, thing)| (name, how(thing)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(privileged: bool, keep: Keep) -> Keep {
        Keep { privileged, ..keep }
    }

    #[test]
    fn what_belongs_to_the_machine_is_neither_kept_nor_missed() {
        for keep in [Keep::default(), of(true, Keep::everything()), of(true, Keep::default().xattrs().acls())] {
            for name in ["security.selinux", "security.evm", "trusted.overlay.opaque", "user.overlay.redirect"] {
                assert!(!keep.keeps_attribute(name) && !keep.loses_attribute(name), "{name}");
            }
        }
    }

    #[test]
    fn capabilities_need_privileges_and_are_missed_without() {
        for keep in [Keep::default().xattrs(), Keep::everything()] {
            assert!(of(true, keep).keeps_attribute("security.capability"));
            assert!(of(false, keep).loses_attribute("security.capability"));
            assert!(of(false, keep).keeps_attribute("user.comment"));
        }
        assert!(Keep::default().loses_attribute("user.comment"));
    }

    #[test]
    fn lists_are_kept_by_their_own_name_and_required_only_then() {
        let list = b"system.posix_acl_access";
        assert!(Keep::default().xattrs().loses_attribute(list));
        assert!(Keep::default().acls().keeps_attribute(list) && Keep::default().acls().requires_attribute(list));
        assert!(Keep::everything().keeps_attribute(list) && !Keep::everything().requires_attribute(list));
        assert!(Keep::everything().acls().requires_attribute(list));
        assert!(!Keep::everything().acls().requires_attribute(b"user.comment"));
    }

    #[test]
    fn what_is_given_without_being_asked_for_is_required() {
        assert!(Keep::default().requires_attribute(b"user.comment"));
    }
}
