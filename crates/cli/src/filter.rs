//! Which entries are written: `--include` and `--exclude`.

use std::path::{Component, Path};

use globset::{Candidate, GlobSet, GlobSetBuilder};

use crate::args::Pattern;

/// The patterns, ready to match paths below the destination.
pub struct Filter {
    /// `None`: everything is included.
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Filter {
    /// Fails only if all patterns together are too large to compile.
    pub fn new(include: &[Pattern], exclude: &[Pattern]) -> Result<Filter, String> {
        Ok(Filter { include: compile(include, "--include")?, exclude: compile(exclude, "--exclude")? })
    }

    /// Whether every path is written, so that nobody needs to ask.
    pub fn is_open(&self) -> bool {
        self.include.is_none() && self.exclude.is_none()
    }

    /// Whether the entry at `path` is written.
    pub fn selects(&self, path: &Path) -> bool {
        !self.excludes(path) && self.include.as_ref().is_none_or(|include| matches(include, path))
    }

    /// Whether the entry at `path`, and all that is below it if it is a folder, is left out.
    pub fn excludes(&self, path: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|exclude| matches(exclude, path))
    }
}

fn compile(patterns: &[Pattern], option: &str) -> Result<Option<GlobSet>, String> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(pattern.glob().clone());
    }
    set.build().map(Some).map_err(|error| format!("{option}: {error}"))
}

/// Whether the path, or a folder that it is in, matches.
fn matches(set: &GlobSet, path: &Path) -> bool {
    // Archives made with `tar -c .` say "./name".
    let path: &Path = match path.components().next() {
        Some(Component::CurDir) => path.strip_prefix(".").unwrap_or(path),
        _ => path,
    };
    path.ancestors()
        .filter(|ancestor| !ancestor.as_os_str().is_empty() && *ancestor != Path::new("."))
        .any(|ancestor| set.is_match_candidate(&Candidate::new(ancestor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: &[&str], exclude: &[&str]) -> Filter {
        let patterns = |globs: &[&str]| globs.iter().map(|glob| glob.parse().unwrap()).collect::<Vec<Pattern>>();
        Filter::new(&patterns(include), &patterns(exclude)).unwrap()
    }

    fn selected<'a>(filter: &Filter, paths: &[&'a str]) -> Vec<&'a str> {
        paths.iter().copied().filter(|path| filter.selects(Path::new(path))).collect()
    }

    #[test]
    fn a_glob_without_a_slash_matches_a_name_at_any_depth() {
        let filter = filter(&["*.rs"], &[]);
        assert_eq!(
            selected(&filter, &["a.rs", "src/deep/b.rs", "./c.rs", "c.rst", "d/x"]),
            ["a.rs", "src/deep/b.rs", "./c.rs"]
        );
    }

    #[test]
    fn a_glob_with_a_slash_matches_from_the_top_and_stars_stay_within_a_name() {
        assert_eq!(selected(&filter(&["src/*.rs"], &[]), &["src/a.rs", "src/b/c.rs", "x/src/a.rs"]), ["src/a.rs"]);
        assert_eq!(selected(&filter(&["src/**/*.rs"], &[]), &["src/a.rs", "src/b/c.rs"]), ["src/a.rs", "src/b/c.rs"]);
        assert_eq!(selected(&filter(&["/a"], &[]), &["a", "b/a"]), ["a"]);
        assert_eq!(selected(&filter(&["./a"], &[]), &["a", "./a", "b/a"]), ["a", "./a"]);
    }

    #[test]
    fn a_folder_stands_for_all_that_is_below_it() {
        assert_eq!(
            selected(&filter(&["doc"], &[]), &["doc", "doc/a/b", "x/doc/y", "docs"]),
            ["doc", "doc/a/b", "x/doc/y"]
        );
        assert_eq!(selected(&filter(&[], &["target/"]), &["target", "target/a", "x/target/y", "t"]), ["t"]);
    }

    #[test]
    fn exclude_wins() {
        assert_eq!(selected(&filter(&["*.c"], &["test"]), &["a.c", "test/b.c", "a.h"]), ["a.c"]);
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_not_utf8_match_too() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        assert!(filter(&["*.jpg"], &[]).selects(Path::new(OsStr::from_bytes(b"caf\xe9.jpg"))));
    }

    #[test]
    fn an_empty_pattern_is_refused() {
        for empty in ["", "/", "./"] {
            assert!(empty.parse::<Pattern>().is_err(), "{empty:?}");
        }
    }
}
