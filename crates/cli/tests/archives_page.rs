//! docs/archives.md: what it shows is what is printed. With `MANYFILES_WRITE=1` the page is written anew.
#![cfg(target_os = "linux")] // the page mounts an archive

mod common;

use std::fs;
use std::path::Path;

use common::shell;
use manyfiles_testkit::{Need, skip_unless};
use tempfile::tempdir;

/// What stands before the number of each command in the output.
const MARK: &str = "@@@ ";

/// The commands of a page, in their order.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).collect()
}

/// The page with what its commands have printed.
fn filled(page: &str, printed: &[String]) -> String {
    let mut printed = printed.iter();
    let (mut text, mut in_console) = (String::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_console = line == "```console";
        }
        let is_command = in_console && line.starts_with("$ ");
        // What a command has printed is not kept.
        if !in_console || is_command || line.starts_with("```") {
            text += line;
            text += "\n";
        }
        if is_command {
            text += printed.next().map_or("", String::as_str);
        }
    }
    text
}

/// Without how long something took: `in 1.2 ms`, and what was done in a second.
fn timeless(text: &str) -> String {
    let without = |line: &str| -> Option<String> {
        let (before, rest) = line.split_once(" in ").filter(|(before, _)| before.starts_with("manyfiles: "))?;
        let (_, rest) = rest.split_once(' ')?;
        let end = rest.split_once(" into ")?.1;
        Some(format!("{before} into {end}"))
    };
    text.lines().map(|line| without(line).unwrap_or_else(|| line.into()) + "\n").collect()
}

#[test]
fn the_page_shows_what_the_commands_print() {
    skip_unless!(Need::Root, Need::Fuse);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/archives.md");
    let page = fs::read_to_string(&path).unwrap();
    let temp = tempdir().unwrap();
    let mut script = String::from(
        "exec 2>&1; umask 022; export LC_ALL=C TZ=UTC XDG_CACHE_HOME=$PWD/../cache; manyfiles() { \"$M\" \"$@\"; }\n",
    );
    let commands = commands(&page);
    assert!(commands.len() > 15, "{commands:?}");
    for (number, command) in commands.iter().enumerate() {
        script += &format!("echo '{MARK}{number}'\n{command}\n");
        if command.ends_with('&') {
            script += "until [ -d shown/site ]; do kill -0 $! || break; sleep 0.01; done\n";
        }
        // The program that shows the folder ends after `umount` has returned.
        if command.starts_with("umount") {
            script += "wait\n";
        }
    }
    let folder = temp.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let ran = shell(&folder, &script).code(0);
    assert!(!folder.join("shown").exists());
    let printed: Vec<String> = ran.out.split(MARK).skip(1).map(|it| it.split_once('\n').unwrap().1.into()).collect();
    assert_eq!(printed.len(), commands.len(), "{}", ran.out);
    let now = filled(&page, &printed);
    if std::env::var_os("MANYFILES_WRITE").is_some() {
        fs::write(&path, now).unwrap();
    } else {
        assert_eq!(timeless(&page), timeless(&now), "MANYFILES_WRITE=1 writes {}", path.display());
    }
}
