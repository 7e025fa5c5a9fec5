//! What the documents say of files: links lead to files that exist, and the map of CONTRIBUTING.md names every folder.

#![cfg(unix)] // documents are the same everywhere

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folders in this one, except build output.
fn folders(of: &Path) -> Vec<PathBuf> {
    let is_made = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with('.') || name == "target" || name.starts_with("bench-results")
    };
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir() && !is_made(path)).collect();
    folders.sort();
    folders
}

fn documents(below: &Path, found: &mut Vec<PathBuf>) {
    let files = fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    found.extend(files.filter(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "md")));
    folders(below).iter().for_each(|folder| documents(folder, found));
}

/// The targets of `[text](target)`, outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let ends = line.match_indices("](").map(|(at, _)| &line[at + 2..]);
        found.extend(ends.filter_map(|rest| rest.split_once(')').map(|(target, _)| target)));
    }
    found
}

/// The anchor that a heading has on the usual hosts: small letters, hyphens for spaces, no other signs.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut all = Vec::new();
    documents(&root(), &mut all);
    assert!(all.len() > 10, "{all:?}");
    let mut broken = Vec::new();
    let mut count = 0;
    for document in &all {
        let text = fs::read_to_string(document).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { document.clone() } else { document.parent().unwrap().join(path) };
            let has_heading = || {
                let text = fs::read_to_string(&target).unwrap();
                text.lines().any(|line| line.starts_with('#') && anchor(line) == heading)
            };
            let is_document = target.extension().is_some_and(|extension| extension == "md");
            if !target.exists() || !heading.is_empty() && is_document && !has_heading() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(count > 30, "only {count} links were found");
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_map_names_every_folder_of_the_project_and_no_other() {
    let root = root();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let mut named: Vec<&str> = rows.map(|(folder, _)| folder).filter(|folder| folder.starts_with("crates/")).collect();
    named.sort_unstable();
    let library = root.join("crates/manyfiles/src");
    let mut there: Vec<String> = folders(&root.join("crates"))
        .iter()
        .filter(|folder| !library.starts_with(folder))
        .chain(&folders(&library))
        .map(|folder| folder.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/"))
        .collect();
    there.sort_unstable();
    assert_eq!(named, there, "the table of CONTRIBUTING.md and the folders differ");
}
