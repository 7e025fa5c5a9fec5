//! `manyfiles log tail`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::common::{BINARY, Ran, manyfiles};
use crate::made::{Made, framed, lines, record, rotated};

/// No wait takes that long unless something hangs.
const HANGS: Duration = Duration::from_secs(60);

fn tail(folder: &Path, args: &[&str]) -> Ran {
    manyfiles(folder, &[&["log", "tail"], args].concat())
}

/// A reader that follows.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(folder: &Path, args: &[&str]) -> Following {
        let mut command = Command::new(BINARY);
        command.args(["log", "tail", "events", "--follow"]).args(args).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        crate::common::with_default_hang_up();
        #[cfg(windows)]
        // A group of its own, for Ctrl-Break.
        std::os::windows::process::CommandExt::creation_flags(&mut command, 0x200);
        let mut child = manyfiles_testkit::started(|| command.spawn()).unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        Following { child, lines }
    }

    #[track_caller]
    fn shows(&self, expected: &str) {
        match self.lines.recv_timeout(HANGS) {
            Ok(line) => assert_eq!(line, expected),
            Err(error) => panic!("{expected:?} never came: {error}"),
        }
    }

    /// Ctrl-C. Its last output, or `None` where a test cannot send Ctrl-C.
    fn interrupt(mut self) -> Option<String> {
        #[cfg(unix)]
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::INT)
            .unwrap();
        #[cfg(windows)]
        if let Err(why) = manyfiles_testkit::send_ctrl_break(&self.child) {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
            manyfiles_testkit::skip(format_args!("needs a console: {why}"));
            return None;
        }
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(130), "{err}");
        Some(err)
    }
}

fn lines_of(out: ChildStdout) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            if send.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    lines
}

#[test]
fn the_last_records_are_ten_or_as_many_as_asked_for() {
    for options in [framed(), rotated()] {
        let made = Made::of(options, 40);
        assert_eq!(tail(made.folder(), &["events"]).code(0).out, lines(30..40));
        for n in [0, 1, 3, 25, 40, 41] {
            let ran = tail(made.folder(), &["events", "-n", &n.to_string()]).code(0);
            assert_eq!((ran.out, ran.err), (lines(40_usize.saturating_sub(n)..40), String::new()), "{n}");
        }
        let from = made.positions[17].0.to_string();
        assert_eq!(tail(made.folder(), &["events", "--from", &from]).code(0).out, lines(17..40));
        for file in made.files() {
            assert_eq!(tail(made.folder(), &[&file, "-n", "2"]).code(0).out, lines(38..40), "{file}");
        }
    }
}

#[test]
fn damage_and_torn_tails_are_told_as_cat_tells_them() {
    let made = Made::of(framed(), 20);
    made.damage(12);
    let ran = tail(made.folder(), &["events"]).code(1).says("damaged");
    assert_eq!(ran.out, lines(9..12) + &lines(13..20));
    assert_eq!(tail(made.folder(), &["events", "-n", "7"]).code(0).out, lines(13..20));
    let torn = Made::torn(5);
    let ran = tail(torn.folder(), &["events", "-n", "2"]).code(0).says("left out: 12 bytes").does_not_say("damage");
    assert_eq!(ran.out, lines(3..5));
    let json = tail(torn.folder(), &["events", "-n", "1", "--json"]).code(0).json();
    assert_eq!((&json["position"], &json["text"]), (&torn.positions[4].0.into(), &record(4).into()));
    tail(torn.folder(), &["missing"]).code(2).says("missing");
    tail(torn.folder(), &["missing", "-f"]).code(2).says("missing");
    tail(torn.folder(), &["events", "-n", "1", "--from", "0"]).code(2).says("cannot be used with");
}

#[test]
fn who_follows_sees_what_comes_across_files_and_programs_until_ctrl_c() {
    for options in [framed(), rotated()] {
        let made = Made::of(options.clone(), 5);
        let following = Following::start(made.folder(), &["-n", "2"]);
        following.shows(&record(3));
        following.shows(&record(4));
        for program in 0..3 {
            let appender = options.clone().open(made.path()).unwrap();
            for n in 0..20 {
                appender.append(record(5 + program * 20 + n).as_bytes()).unwrap().wait_written().unwrap();
                // Each is shown before the next one is there.
                following.shows(&record(5 + program * 20 + n));
            }
            appender.close().unwrap();
        }
        if let Some(err) = following.interrupt() {
            assert_eq!(err, "");
        }
    }
}

#[test]
fn who_follows_from_a_position_begins_there() {
    let made = Made::of(rotated(), 40);
    let following = Following::start(made.folder(), &["--from", &made.positions[37].0.to_string()]);
    for n in 37..40 {
        following.shows(&record(n));
    }
    let appender = rotated().open(made.path()).unwrap();
    appender.append(b"new").unwrap().wait_written().unwrap();
    following.shows("new");
    following.interrupt();
}

#[test]
fn what_cannot_be_read_is_told_once_however_long_it_is_waited_for() {
    let made = Made::of(rotated(), 10);
    let next = made.folder().join(format!("events.{:06}", made.files().len() + 1));
    let following = Following::start(made.folder(), &["-n", "1"]);
    following.shows(&record(9));
    crate::common::write(
        &next,
        "this is a file of another program, and longer than a header, so that it is not taken for a log that was begun",
    );
    // It is asked for several times meanwhile; whatever is said, is said by then or never.
    thread::sleep(Duration::from_millis(400));
    if let Some(err) = following.interrupt() {
        assert_eq!(err.matches("does not begin as a file of framed records does").count(), 1, "{err}");
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Instant;

    use super::*;
    use crate::common::shell;

    #[test]
    fn it_ends_when_its_reader_is_gone_though_no_record_comes() {
        let made = Made::of(framed(), 5);
        // It would wait for ever, and the shell for it.
        let ran = shell(made.folder(), "{ $M log tail events -f; echo $? >&2; } | head -n 2").code(0);
        assert_eq!((ran.out, ran.err.as_str()), (lines(0..2), "0\n"));
    }

    #[test]
    fn waiting_takes_no_processor() {
        let made = Made::of(framed(), 5);
        let following = Following::start(made.folder(), &["-n", "1"]);
        following.shows(&record(4));
        let begin = (Instant::now(), processor_time(&following.child));
        thread::sleep(Duration::from_secs(1));
        let (waited, took) = (begin.0.elapsed(), processor_time(&following.child) - begin.1);
        // Some hundredths of the processor are enough for twenty looks. A loop that spins takes all of it, or on a busy
        // machine all that is free.
        assert!(took < waited / 4, "{took:?} of {waited:?}");
        following.interrupt();
    }

    fn processor_time(child: &Child) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }
}
