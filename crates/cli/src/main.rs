//! The command `manyfiles`: arguments, checked, become a job; the job is done and told.

mod archive;
mod args;
mod bench;
mod cat;
mod copy;
mod dry_run;
mod explain;
mod filter;
mod generate;
mod human;
mod job;
mod list;
mod listed;
mod log;
mod measuring;
#[cfg(target_os = "linux")]
mod mount;
mod pack;
mod password;
mod probe;
mod read;
mod remove;
mod report;
mod session;
mod stop;
mod sys;
mod terminal;
mod test;
mod unpack;
mod walk;
mod words;
mod work;
#[cfg(unix)]
mod worktree;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command, Options};
use copy::Copy;
use session::Session;
use unpack::Unpack;
use words::{CannotBegin, Words};
use work::Work;

fn main() -> ExitCode {
    sys::fail_over_file_size_limit();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report::tell_usage(&error),
    };
    match cli.command {
        Command::Unpack(args) => run(unpack::WORDS, args.options.clone(), Unpack::check(args)),
        Command::Copy(args) if args.mirror => copy::mirror::run(&args),
        Command::Copy(args) => run(copy::WORDS, args.options.clone(), Copy::check(args)),
        Command::Pack(args) => pack::run(args),
        Command::Remove(args) => remove::run(&args),
        Command::List(args) => list::run(args),
        Command::Test(args) => test::run(&args),
        Command::Cat(args) => cat::run(&args),
        #[cfg(target_os = "linux")]
        Command::Mount(args) => mount::run(&args),
        #[cfg(unix)]
        Command::Worktree(args) => worktree::run(&args),
        Command::Explain(args) => explain::explain(args),
        Command::Probe(args) => probe::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Log(args) => log::run(&args),
        Command::Completions(args) => generate::completions(args.shell),
        Command::Man(_) => generate::man(),
    }
}

fn run<W: Work>(words: Words, options: Options, checked: Result<W, CannotBegin>) -> ExitCode {
    let job = match checked {
        Ok(job) if options.dry_run => return dry_run::dry_run(&job, &options),
        Ok(job) => job,
        Err(why) => return report::tell_cannot_begin(words, &why, options.json),
    };
    let session = match Session::begin(&job, &options) {
        Ok(session) => session,
        Err(why) => return report::tell_cannot_begin(words, &why, options.json),
    };
    let read = job.write(&session);
    session.finish(read).tell(&options)
}
