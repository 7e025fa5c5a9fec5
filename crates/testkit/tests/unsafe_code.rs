//! docs/unsafe.md lists every piece of unsafe code in the published crates, with its reason and the tests that run it.
//!
//! The page is made of the sources and of [`TESTS`]. After a change: `MANYFILES_WRITE=1 cargo test -p manyfiles-testkit
//! --test unsafe_code`.

#![cfg(unix)] // the page is the same everywhere

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The published crates: folder, and what their tests are called in the page.
const CRATES: [&str; 6] = ["archive", "cli", "manyfiles", "measure", "probe", "works"];

/// The tests that run through the unsafe code of a file. Names of one word are integration tests of the file's crate;
/// `unit` are those in the file or its module.
const TESTS: &[(&str, &str)] = &[
    ("cli/src/sys/unix/mod.rs", "interruption, pack"),
    ("cli/src/sys/unix/trash/info.rs", "trash"),
    ("manyfiles/src/close/dropping.rs", "close_drops"),
    ("manyfiles/src/close/fast_close.rs", "close_fast_close"),
    ("manyfiles/src/fs/file/raw.rs", "fs_surface; under wine: fs_on_windows"),
    ("manyfiles/src/sys/name.rs", "unit, tree_paths; under miri"),
    ("manyfiles/src/sys/unix/data.rs", "tree_content, tree_given_up; `F_PREALLOCATE` is macOS's: compiled only"),
    ("manyfiles/src/sys/unix/handle.rs", "close_errors"),
    ("manyfiles/src/sys/unix/mapping.rs", "tree_content, tree_given_up"),
    ("manyfiles/src/sys/unix/process.rs", "close_process"),
    ("manyfiles/src/sys/unix/rename.rs", "macOS's: compiled only"),
    ("manyfiles/src/sys/unix/space.rs", "tree_keep"),
    ("manyfiles/src/sys/unix/sync.rs", "writer_files, writer_failures"),
    ("manyfiles/src/sys/unix/thread.rs", "tree_interrupted, tree_neighbours"),
    ("manyfiles/src/sys/windows/clock.rs", "under wine: tree"),
    ("manyfiles/src/sys/windows/control.rs", "under wine: tree_content, tree_links"),
    ("manyfiles/src/sys/windows/data.rs", "under wine: tree_content, writer_files"),
    ("manyfiles/src/sys/windows/dir.rs", "under wine: tree_conflicts"),
    ("manyfiles/src/sys/windows/handle.rs", "unit, close_errors; both under wine"),
    ("manyfiles/src/sys/windows/identity.rs", "under wine: fs_order, vfs_aliases"),
    ("manyfiles/src/sys/windows/information.rs", "under wine: tree_permissions"),
    ("manyfiles/src/sys/windows/links.rs", "under wine: tree_links"),
    ("manyfiles/src/sys/windows/listing.rs", "unit, tree_on_windows, tree_removal; all under wine"),
    ("manyfiles/src/sys/windows/location.rs", "under wine: fs_order, appender_names"),
    ("manyfiles/src/sys/windows/native.rs", "under wine: tree"),
    ("manyfiles/src/sys/windows/process.rs", "under wine: close_windows"),
    ("manyfiles/src/sys/windows/rename.rs", "under wine: appender"),
    ("manyfiles/src/sys/windows/sync.rs", "under wine: sync"),
    ("manyfiles/src/sys/windows/system_path.rs", "under wine: fs_on_windows"),
    ("manyfiles/src/sys/windows/thread.rs", "under wine: tree"),
    ("manyfiles/src/writer/buffer.rs", "unit, writer_model; under miri"),
    ("measure/src/cpu/windows.rs", "unit, under wine"),
    ("measure/src/place/windows.rs", "unit, under wine"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

/// One piece of unsafe code: the line, and why it is right.
struct Piece {
    code: String,
    reason: String,
}

/// The pieces of a file. Those that are only declared so (`unsafe fn`, `unsafe trait`) have their condition as reason.
fn pieces(text: &str) -> Vec<Piece> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let is_unsafe = |line: &str| {
        !line.starts_with("//")
            && ["unsafe {", "unsafe impl", "unsafe fn", "unsafe extern", "unsafe trait"]
                .iter()
                .any(|what| line.contains(what))
    };
    let mut pieces = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| is_unsafe(line)) {
        // The nearest comment above that says why. Of a declaration only its own: what its user promises.
        let is_declaration = !line.contains("unsafe {") && !line.contains("unsafe impl");
        let far = if is_declaration { 0 } else { 12 };
        let says_why = |line: &&&str| line.contains("SAFETY:") || line.contains("# Safety");
        let is_close = |line: &&&str| line.starts_with("//") || line.starts_with("#[");
        let above = lines[..number].iter().rev();
        let near = above.clone().take_while(is_close).count();
        let start = above.take(near.max(far)).position(|line| says_why(&line));
        let reason = start.map(|back| {
            let from = number - 1 - back;
            let said = lines[from..number].iter().take_while(|line| line.starts_with("//"));
            let said = said.map(|line| line.trim_start_matches('/').trim()).collect::<Vec<_>>().join(" ");
            said.replace("SAFETY: ", "").replace("# Safety ", "")
        });
        let begins_block = *line == "unsafe {" || line.ends_with("= unsafe {");
        let line = if begins_block { &format!("{line} {} …", lines[number + 1]) } else { *line };
        pieces.push(Piece { code: line.to_owned(), reason: reason.unwrap_or_default() });
    }
    pieces
}

fn page() -> String {
    let mut page = String::from(
        "# Unsafe code\n\n\
         Every piece of unsafe code in the published crates, with its reason, as the sources say it, and the tests that\n\
         run it. A test compares this page with the sources, and clippy refuses unsafe code without a reason\n\
         (`undocumented_unsafe_blocks`). The other crates and most modules of the library have none: `forbid` or `deny`\n\
         stands at their top. What needs no system call runs under miri (`scripts/miri`).\n",
    );
    for name in CRATES {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for file in files {
            let pieces = pieces(&fs::read_to_string(&file).unwrap());
            if pieces.is_empty() {
                continue;
            }
            let path = file.strip_prefix(root().join("crates")).unwrap().to_str().unwrap();
            let tests = TESTS.iter().find(|(of, _)| *of == path).map(|(_, tests)| *tests);
            let tests = tests.unwrap_or_else(|| panic!("{path} has unsafe code: say in TESTS which tests run it"));
            writeln!(
                page,
                "\n## [{path}](../crates/{path})\n\nTests: {tests}.\n\n| code | why it is right |\n|---|---|"
            )
            .unwrap();
            for Piece { code, reason } in pieces {
                let code = code.replace('|', "\\|");
                writeln!(
                    page,
                    "| `{code}` | {} |",
                    if reason.is_empty() { "declares what its user promises" } else { &reason }
                )
                .unwrap();
            }
        }
    }
    page
}

#[test]
fn the_list_of_unsafe_code_is_that_of_the_sources() {
    let path = root().join("docs/unsafe.md");
    let page = page();
    if std::env::var_os("MANYFILES_WRITE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    assert!(
        there == page,
        "docs/unsafe.md is out of date: MANYFILES_WRITE=1 cargo test -p manyfiles-testkit --test unsafe_code"
    );
}

#[test]
fn every_test_that_is_named_exists() {
    for (file, tests) in TESTS {
        let path = root().join("crates").join(file);
        assert!(path.is_file(), "{file}");
        let own = file.split('/').next().unwrap();
        for word in tests.split([' ', ',', ';', ':', '.']) {
            let is_name = word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            let folder = root().join("crates").join(own).join("tests");
            assert!(!is_name || folder.join(format!("{word}.rs")).is_file(), "{file}: {word}");
        }
    }
}
