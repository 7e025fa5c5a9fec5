//! What a name may have.

use std::fmt::{self, Debug};
use std::path::Path;

use super::story::digest;

/// What may be found under a name.
#[derive(Clone)]
pub enum Content {
    /// One of these; `None`: there is no file.
    OneOf(Vec<Option<Vec<u8>>>),
    /// After an error anything, or nothing; but what was taken since then is at its end.
    EndsWith(Vec<u8>),
}

impl Content {
    pub fn nothing() -> Content {
        Content::OneOf(vec![None])
    }

    pub fn is(bytes: Vec<u8>) -> Content {
        Content::OneOf(vec![Some(bytes)])
    }

    pub fn anything() -> Content {
        Content::EndsWith(Vec::new())
    }

    /// It may also be as the other.
    pub fn or(self, other: Content) -> Content {
        match (self, other) {
            (Content::OneOf(mut some), Content::OneOf(more)) => {
                some.extend(more);
                Content::OneOf(some)
            }
            _ => Content::anything(),
        }
    }

    /// `None`: there may be a file or not.
    pub fn is_there(&self) -> Option<bool> {
        match self {
            Content::OneOf(all) if all.iter().all(Option::is_some) => Some(true),
            Content::OneOf(all) if all.iter().all(Option::is_none) => Some(false),
            Content::EndsWith(end) if !end.is_empty() => Some(true),
            _ => None,
        }
    }

    pub fn allows(&self, found: Option<&[u8]>) -> bool {
        match self {
            Content::OneOf(all) => all.iter().any(|one| one.as_deref() == found),
            Content::EndsWith(end) => end.is_empty() || found.is_some_and(|found| found.ends_with(end)),
        }
    }

    /// Says what is wrong with the file at `path`.
    pub fn compare(&self, path: &Path) -> Option<String> {
        let found = std::fs::read(path).ok();
        let shown = |bytes: Option<&[u8]>| bytes.map_or("no file".into(), digest);
        (!self.allows(found.as_deref()))
            .then(|| format!("{}: {} in place of {self:?}", path.display(), shown(found.as_deref())))
    }
}

impl Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, all) = match self {
            Content::OneOf(all) => ("one of", all.clone()),
            Content::EndsWith(end) => ("what ends with", vec![Some(end.clone())]),
        };
        let all: Vec<_> = all.iter().map(|one| one.as_deref().map_or("no file".into(), digest)).collect();
        write!(f, "{word} {all:?}")
    }
}
