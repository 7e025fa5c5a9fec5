//! [`Password`] of an encrypted archive, and where it comes from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A password, as the bytes it is. It is never shown, and its memory is overwritten when the last clone is dropped.
///
/// ```
/// use manyfiles_archive::{Password, Unpacker};
///
/// let unpacker = Unpacker::options().password(Password::new("correct horse")).build();
/// assert_eq!(format!("{:?}", Password::new("correct horse")), "Password(…)");
/// ```
#[derive(Clone)]
pub struct Password(Arc<Zeroizing<Vec<u8>>>);

impl Password {
    /// The bytes of a password. Most programs take the characters as UTF-8, for 7z as UTF-16, which is made of it.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Password {
        Password(Arc::new(Zeroizing::new(bytes.into())))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Is asked for the password of an archive, and told how many that it has given were wrong.
type Ask = Arc<dyn Fn(&Path, u32) -> Option<Password> + Send + Sync>;

/// Where a password comes from.
#[derive(Clone, Default)]
pub(crate) enum Secret {
    #[default]
    None,
    Known(Password),
    Asked(Ask),
}

/// What came of looking for a password.
pub(crate) enum Unlocked {
    Right(Password),
    /// None was given.
    Closed,
    /// Those that were given are wrong.
    Wrong,
}

impl Secret {
    /// Whether there may be a password.
    pub(crate) fn may_open(&self) -> bool {
        !matches!(self, Secret::None)
    }

    /// The password for which `is_right` says so. Asks until it does, or until no password comes.
    pub(crate) fn unlock<E>(
        &self,
        archive: &Path,
        mut is_right: impl FnMut(&Password) -> Result<bool, E>,
    ) -> Result<Unlocked, E> {
        match self {
            Secret::None => Ok(Unlocked::Closed),
            Secret::Known(password) if is_right(password)? => Ok(Unlocked::Right(password.clone())),
            Secret::Known(_) => Ok(Unlocked::Wrong),
            Secret::Asked(ask) => {
                for wrong in 0.. {
                    match ask(archive, wrong) {
                        Some(password) if is_right(&password)? => return Ok(Unlocked::Right(password)),
                        Some(_) => {}
                        None if wrong == 0 => return Ok(Unlocked::Closed),
                        None => break,
                    }
                }
                Ok(Unlocked::Wrong)
            }
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Secret::None => "None",
            Secret::Known(_) => "Known",
            Secret::Asked(_) => "Asked",
        })
    }
}

/// What an entry is, or an archive, for which no password was given.
pub(crate) const CLOSED: &str = "it is encrypted, and no password was given; give it with --password-file or \
    MANYFILES_PASSWORD, or on a terminal when asked";
pub(crate) const WRONG: &str = "the password is wrong";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_hears_how_often_it_was_wrong_and_can_give_up() {
        let right = |password: &Password| Ok::<_, ()>(password.bytes() == b"2");
        let ask = |most: u32| {
            Secret::Asked(Arc::new(move |_, wrong| (wrong < most).then(|| Password::new(wrong.to_string()))))
        };
        assert!(
            matches!(ask(3).unlock(Path::new("a.zip"), right), Ok(Unlocked::Right(password)) if password.bytes() == b"2")
        );
        assert!(matches!(ask(2).unlock(Path::new("a.zip"), right), Ok(Unlocked::Wrong)));
        assert!(matches!(ask(0).unlock(Path::new("a.zip"), right), Ok(Unlocked::Closed)));
        assert!(matches!(Secret::Known(Password::new("1")).unlock(Path::new("a.zip"), right), Ok(Unlocked::Wrong)));
        assert!(matches!(Secret::None.unlock(Path::new("a.zip"), right), Ok(Unlocked::Closed)));
    }
}
