//! Where the password of an encrypted archive comes from: a file, the environment, or the terminal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use manyfiles_archive::{ArchiveOptions, Options, Password};

use crate::args::Unlock;
use crate::human::one_line;
use crate::stop::Stop;
use crate::sys;
use crate::terminal::{Question, Screen, Waiting};
use crate::words::CannotBegin;

/// How many wrong passwords are taken from a terminal.
const TRIES: u32 = 3;
/// More than a line of a password has: another file was meant.
const LONGEST: u64 = 64 << 10;
const VARIABLE: &str = "MANYFILES_PASSWORD";

/// The password, if it is known without asking.
#[derive(Clone)]
pub(crate) struct Known(Option<Password>);

impl Known {
    pub(crate) fn of(args: &Unlock) -> Result<Known, CannotBegin> {
        if args.password.is_some() {
            let why = "every user can see arguments (ps), so a password is none: --password-file FILE takes it from \
                       the first line of a file, the environment may have it (MANYFILES_PASSWORD), or it is asked for \
                       on the terminal";
            return Err(CannotBegin::because(why));
        }
        if let Some(path) = &args.password_file {
            let cannot = |why: &dyn std::fmt::Display| {
                CannotBegin::because(format!("cannot read the password from {}: {why}", path.display()))
            };
            return first_line(path).map_err(|error| cannot(&error)).and_then(|line| match line {
                line if line.is_empty() => Err(cannot(&"its first line is empty")),
                line => Ok(Known(Some(Password::new(line)))),
            });
        }
        let given = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        Ok(Known(given.map(|value| Password::new(value.into_encoded_bytes()))))
    }

    /// Gives it to an unpacker, or has it ask.
    pub(crate) fn give(&self, options: Options, asker: Asker) -> Options {
        match &self.0 {
            Some(password) => options.password(password.clone()),
            None if Question::can_be_asked() => options.ask_password(move |archive, wrong| asker.ask(archive, wrong)),
            None => options,
        }
    }

    /// Gives it to an archive that is opened, or has it ask.
    pub(crate) fn open(&self, options: ArchiveOptions, asker: Asker) -> ArchiveOptions {
        match &self.0 {
            Some(password) => options.password(password.clone()),
            None if Question::can_be_asked() => options.ask_password(move |archive, wrong| asker.ask(archive, wrong)),
            None => options,
        }
    }
}

fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).take(LONGEST).read_until(b'\n', &mut line)?;
    let end = line.strip_suffix(b"\n").map_or(&*line, |line| line.strip_suffix(b"\r").unwrap_or(line)).len();
    line.truncate(end);
    Ok(line)
}

/// Asks on the terminal.
pub(crate) struct Asker {
    screen: Arc<Screen>,
    /// The job, if one has begun that Ctrl-C stops.
    stop: Option<Stop>,
    waiting: Waiting,
}

impl Asker {
    pub(crate) fn of_job(screen: Arc<Screen>, stop: Stop, waiting: Waiting) -> Asker {
        Asker { screen, stop: Some(stop), waiting }
    }

    /// One for a command that has nothing to tidy up.
    pub(crate) fn on(screen: &Arc<Screen>) -> Asker {
        Asker { screen: Arc::clone(screen), stop: None, waiting: Waiting::default() }
    }

    /// `None`: nobody answers, or `wrong` answers were enough.
    fn ask(&self, archive: &Path, wrong: u32) -> Option<Password> {
        if wrong == TRIES || self.stop.as_ref().is_some_and(Stop::is_set) {
            return None;
        }
        self.screen.pause(|| self.waiting.during(|| self.converse(archive, wrong)))
    }

    fn converse(&self, archive: &Path, wrong: u32) -> Option<Password> {
        let name = archive.to_string_lossy();
        let question = match wrong {
            0 => format!("manyfiles: {} is encrypted. Password: ", one_line(&name)),
            _ => "That is not the password. Password: ".into(),
        };
        let line = sys::read_hidden(&self.stop.clone().unwrap_or_default(), || self.screen.write(&question));
        // The end of the line was not shown either.
        self.screen.write("\n");
        if line.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            match &self.stop {
                Some(stop) => stop.quit(),
                None => sys::interrupt(),
            }
        }
        line.ok().flatten().filter(|line| !line.is_empty()).map(Password::new)
    }
}
