//! One GLOB of `--include` or `--exclude`.

use std::str::FromStr;

use globset::{Glob, GlobBuilder};

/// A glob that matches whole paths: one that was given without a `/` matches a name at any depth.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    glob: Glob,
    is_name: bool,
}

impl Pattern {
    pub(crate) fn glob(&self) -> &Glob {
        &self.glob
    }

    /// As it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches names at any depth, and not paths from the top.
    pub(crate) fn is_name(&self) -> bool {
        self.is_name
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Pattern, String> {
        // A leading '/' or './' says "from the top", a trailing one "a folder": paths of entries have neither.
        let anchored = text.trim_start_matches("./").trim_start_matches('/');
        let name = anchored.trim_end_matches('/');
        if name.is_empty() {
            return Err("the pattern is empty; '**' matches everything".into());
        }
        let from_the_top = name.contains('/') || anchored.len() < text.len();
        let whole = if from_the_top { name.to_string() } else { format!("**/{name}") };
        GlobBuilder::new(&whole)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map(|glob| Pattern { text: text.into(), glob, is_name: !from_the_top })
            .map_err(|error| error.kind().to_string())
    }
}
