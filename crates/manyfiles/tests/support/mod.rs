//! Running a test's body in a process of its own, where limits and injected errors hit nothing else.

use std::process::Command;

const CHILD: &str = "MANYFILES_TEST_CHILD";

/// Runs the test `name` of this file again, alone in a child process that `prepare` has set up, and expects it to pass there.
/// Returns false in that child: there the caller runs the body.
pub fn in_parent(name: &str, prepare: impl FnOnce(&mut Command)) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return false;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    prepare(&mut command);
    let output = manyfiles_testkit::started(|| command.output()).unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} in a child process: {}\n{out}\n{err}", output.status);
    assert!(out.contains("1 passed"), "the child ran no test {name}:\n{out}");
    true
}
