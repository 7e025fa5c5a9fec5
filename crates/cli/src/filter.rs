//! Which entries are written: `--include` and `--exclude`.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use globset::{Candidate, GlobSet, GlobSetBuilder};

use crate::args::Pattern;
use crate::listed;

/// The patterns, ready to match entries.
pub(crate) struct Filter {
    /// `None`: everything is included.
    include: Option<Include>,
    exclude: Option<Patterns>,
}

/// Where an entry is, as patterns see it.
#[derive(Clone, Copy)]
pub(crate) struct EntryPath<'a> {
    /// The name of the folder that it is copied with: patterns of names match that, too.
    with: Option<&'a Path>,
    /// Its path in the archive, or below the source.
    path: &'a Path,
}

struct Include {
    patterns: Patterns,
    texts: Vec<String>,
    /// The patterns that matched something so far, and how many have not.
    matched: Vec<AtomicBool>,
    unmatched: AtomicUsize,
}

struct Patterns {
    all: GlobSet,
    /// The patterns that match names at any depth.
    names: GlobSet,
    /// Their places in `all`.
    numbers: Vec<usize>,
}

impl Filter {
    /// Fails only if all patterns together are too large to compile.
    pub(crate) fn new(include: &[Pattern], exclude: &[Pattern]) -> Result<Filter, String> {
        let include = Patterns::compile(include, "--include")?.map(|patterns| Include {
            patterns,
            texts: include.iter().map(|pattern| pattern.text().into()).collect(),
            matched: include.iter().map(|_| AtomicBool::new(false)).collect(),
            unmatched: AtomicUsize::new(include.len()),
        });
        Ok(Filter { include, exclude: Patterns::compile(exclude, "--exclude")? })
    }

    /// Of the patterns that were given, and those in files.
    pub(crate) fn listed(
        include: (&[Pattern], &[PathBuf]),
        exclude: (&[Pattern], &[PathBuf]),
    ) -> Result<Filter, String> {
        listed::read_once(include.1.iter().chain(exclude.1))?;
        let include = listed::patterns(include.0, include.1, "--include-from")?;
        let exclude = listed::patterns(exclude.0, exclude.1, "--exclude-from")?;
        Filter::new(&include, &exclude)
    }

    /// Whether every path is written, so that paths need not be matched.
    pub(crate) fn is_open(&self) -> bool {
        self.include.is_none() && self.exclude.is_none()
    }

    /// Whether the entry is written.
    pub(crate) fn selects<'a>(&self, entry: impl Into<EntryPath<'a>>) -> bool {
        let entry = entry.into();
        // In this order: a pattern that matches what is left out is no typing error.
        self.include.as_ref().is_none_or(|include| include.matches(entry)) && !self.excludes(entry)
    }

    /// Whether the entry, and all that is below it if it is a folder, is left out.
    pub(crate) fn excludes<'a>(&self, entry: impl Into<EntryPath<'a>>) -> bool {
        self.exclude.as_ref().is_some_and(|exclude| exclude.matches(entry.into()))
    }

    /// The patterns of `--include` that nothing matched until now, as they were given.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let Some(include) = &self.include else { return Vec::new() };
        let unmatched = include.texts.iter().zip(&include.matched).filter(|(_, matched)| !matched.load(Relaxed));
        unmatched.map(|(text, _)| text.clone()).collect()
    }
}

impl<'a> EntryPath<'a> {
    /// `path` below the folder `with`, which is copied under that name; or below one that only its content is copied
    /// of.
    pub(crate) fn below(with: Option<&'a Path>, path: &'a Path) -> EntryPath<'a> {
        EntryPath { with, path }
    }

    /// The path and the folders that it is in.
    fn ancestors(self) -> impl Iterator<Item = &'a Path> {
        // Archives made with `tar -c .` say "./name".
        let path: &Path = match self.path.components().next() {
            Some(Component::CurDir) => self.path.strip_prefix(".").unwrap_or(self.path),
            _ => self.path,
        };
        path.ancestors().filter(|ancestor| !ancestor.as_os_str().is_empty() && *ancestor != Path::new("."))
    }
}

impl<'a> From<&'a Path> for EntryPath<'a> {
    fn from(path: &'a Path) -> EntryPath<'a> {
        EntryPath { with: None, path }
    }
}

impl Include {
    fn matches(&self, entry: EntryPath<'_>) -> bool {
        if self.unmatched.load(Relaxed) > 0 {
            self.patterns.each_match(entry, |number| {
                if !self.matched[number].swap(true, Relaxed) {
                    self.unmatched.fetch_sub(1, Relaxed);
                }
            });
        }
        self.patterns.matches(entry)
    }
}

impl Patterns {
    fn compile(patterns: &[Pattern], option: &str) -> Result<Option<Patterns>, String> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let (mut all, mut names, mut numbers) = (GlobSetBuilder::new(), GlobSetBuilder::new(), Vec::new());
        for (number, pattern) in patterns.iter().enumerate() {
            all.add(pattern.glob().clone());
            if pattern.is_name() {
                names.add(pattern.glob().clone());
                numbers.push(number);
            }
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|error| format!("{option}: {error}"));
        Ok(Some(Patterns { all: build(all)?, names: build(names)?, numbers }))
    }

    /// Whether the entry, or a folder that it is in, matches.
    fn matches(&self, entry: EntryPath<'_>) -> bool {
        entry.with.is_some_and(|name| self.names.is_match(name))
            || entry.ancestors().any(|ancestor| self.all.is_match_candidate(&Candidate::new(ancestor)))
    }

    /// Shows the number of each pattern that matches, some more than once.
    fn each_match(&self, entry: EntryPath<'_>, mut show: impl FnMut(usize)) {
        if let Some(name) = entry.with {
            self.names.matches(name).into_iter().for_each(|number| show(self.numbers[number]));
        }
        for ancestor in entry.ancestors() {
            self.all.matches(ancestor).into_iter().for_each(&mut show);
        }
    }
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
    fn the_folder_that_is_copied_is_matched_by_its_name_and_no_path_begins_with_it() {
        let place = |path| EntryPath::below(Some(Path::new("src")), Path::new(path));
        assert!(filter(&[], &["src"]).excludes(place("a/b")));
        assert!(filter(&[], &["a/b"]).excludes(place("a/b")));
        assert!(filter(&[], &["/a"]).excludes(place("a/b")));
        assert!(!filter(&[], &["src/a"]).excludes(place("a/b")));
        assert!(!filter(&[], &["/src"]).excludes(place("a/b")));
    }

    #[test]
    fn a_pattern_that_nothing_matches_is_known_and_one_that_only_matches_what_is_left_out_is_not() {
        let filter = filter(&["*.jpg", "typo", "a/b", "src", "raw"], &["raw"]);
        assert_eq!(filter.unmatched(), ["*.jpg", "typo", "a/b", "src", "raw"]);
        assert!(filter.selects(Path::new("x/1.jpg")));
        assert!(filter.selects(Path::new("a/b/c")));
        assert!(!filter.selects(Path::new("raw/2")));
        assert!(filter.selects(EntryPath::below(Some(Path::new("src")), Path::new("."))));
        assert_eq!(filter.unmatched(), ["typo"]);
    }

    #[test]
    fn an_empty_pattern_is_refused() {
        for empty in ["", "/", "./"] {
            assert!(empty.parse::<Pattern>().is_err(), "{empty:?}");
        }
    }
}
