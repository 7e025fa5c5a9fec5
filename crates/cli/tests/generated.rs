//! Help, the manual page and the completions, which all come from one definition.

mod common;

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
    for command in ["unpack", "copy"] {
        let help = manyfiles(temp.path(), &[command, "--help"]).code(0).out;
        for part in ["Examples:", "Exit status:", "--on-conflict", "--strip-components", "--include", "--json", "130"] {
            assert!(help.contains(part), "{command}: {part}");
        }
    }
    assert!(manyfiles(temp.path(), &["--version"]).code(0).out.starts_with("manyfiles "));
    manyfiles(temp.path(), &[]).code(2).says("Usage:");
}

#[test]
fn the_manual_page_has_every_option_and_renders_without_a_warning() {
    let temp = tempdir().unwrap();
    let page = manyfiles(temp.path(), &["man"]).code(0).out;
    for part in [
        "MANYFILES UNPACK",
        "MANYFILES COPY",
        "MANYFILES EXPLAIN",
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
        assert!(script.contains("special-files") && script.contains("max-ratio"), "{shell}");
    }
    manyfiles(temp.path(), &["completions", "tcsh"]).code(2).says("bash");
    skip_unless!(Need::Program("bash"));
    shell(temp.path(), "$M completions bash > c && bash -n c").code(0);
    skip_unless!(Need::Program("zsh"));
    shell(temp.path(), "$M completions zsh > c && zsh -n c").code(0);
    skip_unless!(Need::Program("fish"));
    shell(temp.path(), "$M completions fish > c && fish -n c").code(0);
}
