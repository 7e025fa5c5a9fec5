//! Encrypted archives: the password from a file, from the environment, from the terminal, and never as an argument.
#![cfg(unix)] // needs a pseudo-terminal, and the programs that encrypt

mod common;

use std::path::Path;

use common::{Pty, manyfiles, names, read, shell, write};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::{TempDir, tempdir};

/// A zip with two files, of which one is encrypted.
fn encrypted() -> TempDir {
    let temp = tempdir().unwrap();
    write(temp.path().join("plain"), "for all");
    write(temp.path().join("secret"), "for few");
    write(temp.path().join("password"), "open sesame\r\nand this is not read");
    shell(temp.path(), "zip -q a.zip plain && zip -q -P 'open sesame' a.zip secret && rm plain secret").code(0);
    temp
}

fn assert_has_both(folder: &Path) {
    assert_eq!(names(folder), ["plain", "secret"]);
    assert_eq!((read(folder.join("plain")), read(folder.join("secret"))), ("for all".into(), "for few".into()));
}

#[test]
fn every_command_takes_the_password_from_a_file_or_from_the_environment() {
    skip_unless!(Need::Program("zip"));
    let temp = encrypted();
    let at = |args: &[&str]| manyfiles(temp.path(), args).code(0).out;
    at(&["unpack", "a.zip", "-C", "out", "--password-file", "password"]);
    assert_has_both(&temp.path().join("out"));
    assert!(at(&["test", "a.zip", "--password-file", "password"]).contains("sound: zip, 2 entries"));
    assert_eq!(at(&["cat", "a.zip", "secret", "--password-file", "password"]), "for few");
    shell(temp.path(), "MANYFILES_PASSWORD='open sesame' $M unpack a.zip -C again").code(0);
    assert_has_both(&temp.path().join("again"));
    // The file goes before the environment.
    shell(temp.path(), "MANYFILES_PASSWORD=wrong $M cat a.zip secret --password-file password").code(0);
}

#[test]
fn without_a_password_what_is_encrypted_is_a_failure_and_the_rest_arrives() {
    skip_unless!(Need::Program("zip"));
    let temp = encrypted();
    let ran = manyfiles(temp.path(), &["unpack", "a.zip", "-C", "out"]).code(1);
    ran.says("secret").says("it is encrypted").says("--password-file").says("MANYFILES_PASSWORD");
    assert_eq!(names(&temp.path().join("out")), ["plain"]);
    manyfiles(temp.path(), &["test", "a.zip"]).code(1);
    manyfiles(temp.path(), &["cat", "a.zip", "secret"]).code(1);
    let ran = shell(temp.path(), "MANYFILES_PASSWORD=sesame $M unpack a.zip -C wrong").code(1);
    ran.says("the password is wrong");
    assert_eq!(names(&temp.path().join("wrong")), ["plain"]);
}

#[test]
fn a_list_needs_no_password_and_shows_what_is_encrypted() {
    skip_unless!(Need::Program("zip"));
    let temp = encrypted();
    assert_eq!(manyfiles(temp.path(), &["list", "a.zip"]).code(0).out, "plain\nsecret\n");
    let long = manyfiles(temp.path(), &["list", "-l", "a.zip"]).code(0).out;
    let lines: Vec<_> = long.lines().map(|line| line.contains("(encrypted)")).collect();
    assert_eq!(lines, [false, true], "{long}");
    let json = manyfiles(temp.path(), &["list", "--json", "a.zip"]).code(0).out;
    let found: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((found[0].get("encrypted"), &found[1]["encrypted"]), (None, &true.into()));
}

#[test]
fn a_password_among_the_arguments_is_refused_and_not_repeated() {
    skip_unless!(Need::Program("zip"));
    let temp = encrypted();
    for args in [&["--password", "open sesame"][..], &["--password=open sesame"], &["--password"]] {
        let ran = manyfiles(temp.path(), &[&["unpack", "a.zip", "-C", "out"], args].concat()).code(2);
        ran.says("--password-file").does_not_say("open sesame");
    }
    manyfiles(temp.path(), &["test", "a.zip", "--password-file", "missing"]).code(2).says("missing");
    write(temp.path().join("empty"), "\nsecond");
    manyfiles(temp.path(), &["test", "a.zip", "--password-file", "empty"]).code(2).says("its first line is empty");
    assert!(!temp.path().join("out").exists());
}

#[test]
fn a_terminal_is_asked_up_to_three_times_and_shows_nothing_of_the_answer() {
    skip_unless!(Need::Program("zip"));
    let temp = encrypted();
    let mut pty = Pty::run(temp.path(), "unpack a.zip -C out");
    pty.wait_for("a.zip is encrypted. Password: ").send("nonsense\n");
    pty.wait_for("That is not the password. Password: ").send("x\x15open sesamy\x7fe\n");
    let (code, rest) = pty.end();
    assert_eq!(code, 0, "{rest}");
    assert!(!rest.contains("sesam"), "{rest}");
    assert_has_both(&temp.path().join("out"));

    let mut pty = Pty::run(temp.path(), "unpack a.zip -C wrong");
    pty.wait_for("Password: ").send("1\n");
    pty.wait_for("not the password. Password: ").send("2\n");
    pty.wait_for("not the password. Password: ").send("3\n");
    let (code, rest) = pty.end();
    assert_eq!(code, 1, "{rest}");
    assert!(rest.contains("the password is wrong"), "{rest}");
    assert_eq!(names(&temp.path().join("wrong")), ["plain"]);
}

#[test]
fn ctrl_c_at_the_password_ends_the_command_and_the_terminal_shows_what_is_typed_again() {
    skip_unless!(Need::Program("zip"));
    let temp = encrypted();
    for command in ["unpack a.zip -C out", "test a.zip"] {
        let mut pty = Pty::shell(temp.path(), &format!("$0 {command}; echo status $?; stty -a | grep -o '.echo '"));
        pty.wait_for("Password: ").send("\x03");
        pty.wait_for("status 130").wait_for(" echo ");
        pty.end();
    }
    assert!(names(&temp.path().join("out")).is_empty());
}
