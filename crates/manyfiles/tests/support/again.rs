//! A test that needs a process of its own runs itself again: with other limits, another environment, or its output
//! captured.

use std::process::{Command, Output};

const AGAIN: &str = "MANYFILES_TEST_AGAIN";

/// Whether this is the second process.
pub fn is_again() -> bool {
    std::env::var_os(AGAIN).is_some()
}

/// Runs `test` in a process of its own, and passes on what it says if it fails.
pub fn again(test: &str, configure: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(AGAIN, test);
    configure(&mut command);
    let output = manyfiles_testkit::started(|| command.output()).unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "{test} is not the name of a test\n{stdout}");
    output
}
