//! Help, the manual page and the completions, which all come from one definition.

mod common;

use std::fs;

use common::{manyfiles, shell};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::tempdir;

#[test]
fn help_shows_examples_and_exit_statuses() {
    let temp = tempdir().unwrap();
    let help = manyfiles(temp.path(), &["explain", "--help"]).code(0).out;
    for part in ["Examples:", "Exit status:", "--html", "--json", "Process Monitor", "-- <COMMAND>"] {
        assert!(help.contains(part), "explain: {part}");
    }
    for command in ["cat", "tail", "check", "repair"] {
        let help = manyfiles(temp.path(), &["log", command, "--help"]).code(0).out;
        for part in ["Examples:", "Exit status:", "<LOG>", "--json", "manyfiles log "] {
            assert!(help.contains(part), "log {command}: {part}");
        }
    }
    let help = manyfiles(temp.path(), &["list", "--help"]).code(0).out;
    for part in ["Examples:", "Exit status:", "<ARCHIVE>", "--long", "--tree", "--sizes", "--include", "--json", "-0"] {
        assert!(help.contains(part), "list: {part}");
    }
    let help = manyfiles(temp.path(), &["test", "--help"]).code(0).out;
    for part in ["Examples:", "Exit status:", "<ARCHIVE>", "--json", "--quiet", "--ignore-zeros", "checksum"] {
        assert!(help.contains(part), "test: {part}");
    }
    for command in ["unpack", "copy"] {
        let help = manyfiles(temp.path(), &[command, "--help"]).code(0).out;
        for part in ["Examples:", "Exit status:", "--on-conflict", "--strip-components", "--include", "--json", "130"] {
            assert!(help.contains(part), "{command}: {part}");
        }
    }
    #[cfg(unix)]
    {
        let help = manyfiles(temp.path(), &["worktree", "--help"]).code(0).out;
        for part in ["Examples:", "Exit status:", "<REPO>", "<NEW>", "--branch", "--detach", "--with", "--json", "130"]
        {
            assert!(help.contains(part), "worktree: {part}");
        }
    }
    assert!(manyfiles(temp.path(), &["--version"]).code(0).out.starts_with("manyfiles "));
    manyfiles(temp.path(), &[]).code(2).says("Usage:");
}

#[test]
fn short_names_and_the_words_of_other_tools_lead_to_the_command() {
    let temp = tempdir().unwrap();
    common::Tar::new().file("f", "1").save(temp.path().join("a.tar"));
    for name in ["x", "extract"] {
        manyfiles(temp.path(), &[name, "a.tar", "-C", name]).code(0).says("unpacked 1 entry");
    }
    manyfiles(temp.path(), &["cp", "x", "copied"]).code(0).says("copied 2 entries");
    for args in [&["unpack", "x", "-xvf"][..], &["xvf", "a.tar"], &["-xf", "a.tar"]] {
        let ran = manyfiles(temp.path(), &[args, &["--json"]].concat()).code(2).says("manyfiles unpack ARCHIVE -C DIR");
        assert!(ran.json()["errors"][1].as_str().unwrap().contains("manyfiles unpack ARCHIVE"), "{ran:#?}");
    }
    manyfiles(temp.path(), &["a.tar"]).code(2).says("manyfiles unpack a.tar");
    manyfiles(temp.path(), &["x/."]).code(2).says("manyfiles copy x/. DST");
    manyfiles(temp.path(), &["unpack", "a.tar", "x"]).code(2).says("x: this is a folder").says("-C x");
    manyfiles(temp.path(), &["unpack", "a.tar", "new"]).code(2).says("into a folder of this name: -C new");
    manyfiles(temp.path(), &["unpack", "x"]).code(2).does_not_say("-C x");
}

#[test]
fn the_manual_page_has_every_option_and_renders_without_a_warning() {
    let temp = tempdir().unwrap();
    let page = manyfiles(temp.path(), &["man"]).code(0).out;
    for part in [
        "MANYFILES UNPACK",
        "MANYFILES COPY",
        "MANYFILES LIST",
        "MANYFILES TEST",
        "MANYFILES EXPLAIN",
        "MANYFILES LOG",
        "MANYFILES LOG TAIL",
        "MANYFILES LOG REPAIR",
        "MANYFILES COMPLETIONS",
        "max\\-ratio",
        "special\\-files",
        "EXAMPLES",
    ] {
        assert!(page.contains(part), "{part}");
    }
    skip_unless!(Need::Program("man"));
    shell(temp.path(), "$M man > m.1 && MANWIDTH=80 man --warnings -l m.1 > rendered").code(0).does_not_say("warning");
    assert!(common::read(temp.path().join("rendered")).contains("--strip-components"));
}

#[test]
fn completions_are_scripts_that_their_shells_can_read() {
    let temp = tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = manyfiles(temp.path(), &["completions", shell]).code(0).out;
        for option in ["special-files", "max-ratio", "follow"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
    manyfiles(temp.path(), &["completions", "tcsh"]).code(2).says("bash");
    skip_unless!(Need::Program("bash"));
    shell(temp.path(), "$M completions bash > c && bash -n c").code(0);
    // After -C a folder is wanted: as bash asks for it, without the part that needs a terminal.
    let script = "mkdir folder other; touch file; . ./c; compopt() { echo $*; };
    COMP_WORDS=(manyfiles unpack a.tar -C f); COMP_CWORD=4; _manyfiles manyfiles f -C; echo \"${COMPREPLY[*]}\"";
    fs::write(temp.path().join("ask"), script).unwrap();
    let asked = shell(temp.path(), "bash ask").code(0);
    assert!(asked.out.contains("plusdirs") && !asked.out.contains("file"), "{asked:#?}");
    skip_unless!(Need::Program("zsh"));
    shell(temp.path(), "$M completions zsh > c && zsh -n c").code(0);
    skip_unless!(Need::Program("fish"));
    shell(temp.path(), "$M completions fish > c && fish -n c").code(0);
}
