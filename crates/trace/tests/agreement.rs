//! Traces recorded on the spot: calls and seconds agree with a count by awk, to the last digit.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::report;
use manyfiles_testkit::{Need, skip, skip_unless};
use manyfiles_trace::human::seconds;
use tempfile::{TempDir, tempdir};

/// Counts an strace's calls and microseconds by name, in a way of its own.
const AWK: &str = r#"
{
    line = $0
    sub(/^\[pid +[0-9]+\] +/, "", line) || sub(/^[0-9]+ +/, "", line)
    sub(/^([0-9]+:[0-9:.]+|[0-9]+\.[0-9]+) +/, "", line)
    if (line ~ /<unfinished \.\.\.>$/) next
    if (match(line, /^<\.\.\. [a-z0-9_]+ resumed>/)) { name = substr(line, 6); sub(/ .*/, "", name) }
    else if (match(line, /^[a-z0-9_]+\(/)) name = substr(line, 1, RLENGTH - 1)
    else next
    calls[name]++
    if (match(line, /<[0-9]+\.[0-9]+>$/)) {
        time = substr(line, RSTART + 1, RLENGTH - 2)
        split(time, part, ".")
        micros[name] += part[1] * 1000000 + part[2]
    }
}
END { for (name in calls) printf "%s %d %d.%06d\n", name, calls[name], int(micros[name] / 1000000), micros[name] % 1000000 }
"#;

/// Records `script` with strace and compares, with and without what makes lines harder to read.
#[track_caller]
fn agrees(folder: &Path, script: &str, undo: &str) {
    for (at, options) in
        [&["-f", "-T", "-ttt"][..], &["-f", "-T", "-tt", "-yy"], &["-f", "-T", "-r", "-s", "9"], &["-f", "-T"]]
            .iter()
            .enumerate()
    {
        run(folder, undo);
        let trace = folder.join(format!("trace-{at}"));
        let status = Command::new("strace")
            .args(*options)
            .arg("-o")
            .arg(&trace)
            .args(["sh", "-e", "-c", script])
            .current_dir(folder)
            .status()
            .unwrap();
        assert!(status.success(), "strace {options:?} {script}");
        let report = report(&fs::read(&trace).unwrap());
        assert_eq!(report.damage.lines, 0, "{options:?}: {:?}", report.damage);
        let mut told: Vec<String> = report
            .operations
            .iter()
            .map(|operation| format!("{} {} {}", operation.name, operation.sum.calls, seconds(operation.sum.nanos, 6)))
            .collect();
        told.sort();
        let awk = Command::new("awk").arg(AWK).arg(&trace).output().unwrap();
        let mut counted: Vec<String> = String::from_utf8(awk.stdout).unwrap().lines().map(String::from).collect();
        counted.sort();
        assert!(counted.len() > 10, "awk counted: {counted:?}");
        assert_eq!(told, counted, "{options:?}");
        assert_eq!(report.digits, 6);
    }
}

#[track_caller]
fn run(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-e", "-c", script]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{script}");
}

/// A folder to work in, if strace may be used.
fn place() -> Option<TempDir> {
    let may = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    match may {
        Ok(output) if output.status.success() => Some(tempdir().unwrap()),
        Ok(output) => {
            skip(format_args!("strace may not trace: {}", String::from_utf8_lossy(&output.stderr).trim()));
            None
        }
        Err(error) => {
            skip(format_args!("needs strace: {error}"));
            None
        }
    }
}

#[test]
fn gnu_tar_unpacking_agrees_with_awk() {
    skip_unless!(Need::Program("tar"), Need::Program("awk"));
    let Some(temp) = place() else { return };
    run(
        temp.path(),
        "mkdir src; for d in a b c; do mkdir src/$d; for n in $(seq 100); do echo $d $n > src/$d/$n; done; done; tar czf a.tgz src",
    );
    agrees(temp.path(), "mkdir out; tar xzf a.tgz -C out", "rm -rf out");
}

#[test]
fn python_writing_2300_files_agrees_with_awk() {
    skip_unless!(Need::Program("python3"), Need::Program("awk"));
    let Some(temp) = place() else { return };
    fs::write(
        temp.path().join("many.py"),
        "import os\nos.mkdir('font')\nfor n in range(2300):\n    with open(f'font/{n}.glif', 'wb') as f:\n        f.write(b'x' * 1500)\n",
    )
    .unwrap();
    agrees(temp.path(), "python3 many.py", "rm -rf font");
    let trace = fs::read(temp.path().join("trace-1")).unwrap();
    let report = report(&trace);
    assert_eq!(report.made.files, 2300);
    assert_eq!(report.closes.appended.calls, 2300);
    let font = fs::canonicalize(temp.path().join("font")).unwrap();
    let found = report.folders.rows.iter().find(|folder| folder.path.ends_with(font.as_os_str().as_encoded_bytes()));
    assert!(found.is_some_and(|folder| folder.sum.calls >= 3 * 2300), "{:?}", report.folders.rows);
}

#[test]
fn mercurial_cloning_a_repository_agrees_with_awk() {
    skip_unless!(Need::Program("hg"), Need::Program("awk"));
    let Some(temp) = place() else { return };
    run(
        temp.path(),
        "hg init repo; cd repo; for n in $(seq 50); do echo $n > f$n; done; hg add -q; hg commit -u test -m one; \
         for n in $(seq 20); do echo more >> f$n; done; hg commit -u test -m two",
    );
    agrees(temp.path(), "hg clone --pull -q repo copy", "rm -rf copy");
}
