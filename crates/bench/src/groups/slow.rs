//! Where a close takes milliseconds (a virus scanner, a network), or opening and writing as well.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use manyfiles_testkit::{Call, Corpus, Need, Op, Preload, Rule};

use super::{SEED, holds};
use crate::contest::{self, Contest, Entrant, Plan, Run, Sample, Target, timed};
use crate::peers::Peer;
use crate::place::Place;
use crate::report::Book;
use Target::Faster;

/// Rounds of what takes seconds a run.
const FEW: usize = 3;

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let w1 = Arc::new(Corpus::w1(SEED));
    let spread = Arc::new(Corpus::spread(2_300, 23, SEED));
    if let Err(why) = Need::Fuse.check() {
        book.skip("slow", &why);
    } else {
        for ms in [2, 1, 5] {
            let place = Place::slow(&format!("close {ms} ms"), &[Op::Close], Duration::from_millis(ms))?;
            // The claims are for 2 ms.
            let claim = |target| if ms == 2 { target } else { Target::None };
            let claims = [
                (Peer::Std, claim(Faster(35.0))),
                (Peer::Rayon, claim(Faster(14.0))),
                (Peer::Tokio64, claim(Faster(1.0))),
                (Peer::TokioAll, claim(Faster(1.0))),
            ];
            enter("2,300 files, one folder", &w1, &place, &claims, plan, book, &in_this_process);
        }
        let place = Place::slow("open, write, close 2 ms", &[Op::Open, Op::Create, Op::Write, Op::Close], MS2)?;
        // The kernel holds the folder's lock while FUSE creates a file, so one folder's creations are one after the other,
        // whoever asks: no more than 3 times is possible there.
        enter("2,300 files, one folder", &w1, &place, &everybody(Target::None), plan, book, &in_this_process);
        enter("2,300 files, 100 folders", &spread, &place, &everybody(Faster(30.0)), plan, book, &in_this_process);
    }
    match Need::Preload.check() {
        Err(why) => book.skip("slow, calls delayed in the process", &why),
        Ok(()) => {
            let mut place = Place::tmpfs()?;
            place.name = "tmpfs, calls delayed 2 ms".into();
            enter("2,300 files, one folder", &w1, &place, &everybody(Faster(30.0)), plan, book, &in_a_delayed_process);
        }
    }
    Ok(())
}

const MS2: Duration = Duration::from_millis(2);

fn everybody(against_std: Target) -> [(Peer, Target); 4] {
    let shown = |peer| (peer, Target::None);
    [(Peer::Std, against_std), shown(Peer::Rayon), shown(Peer::Tokio64), shown(Peer::TokioAll)]
}

type How = dyn for<'a> Fn(Peer, &'a Arc<Corpus>) -> Run<'a>;

fn enter(
    what: &str,
    corpus: &Arc<Corpus>,
    place: &Place,
    claims: &[(Peer, Target)],
    plan: Plan,
    book: &mut Book,
    how: &How,
) {
    let check = holds(corpus);
    let ours = [(Peer::TreeWriter, Target::None)];
    let entrants = ours.iter().chain(claims).map(|&(peer, target)| {
        let few = matches!(peer, Peer::Std | Peer::Rayon).then_some(FEW);
        Entrant { rounds_at_most: few, ..Entrant::new(peer.name(), target, &check, how(peer, corpus)) }
    });
    let entrants = entrants.collect();
    let contest = Contest { group: "slow", what: what.into(), place, entrants };
    book.enter(contest::run(contest, plan));
}

fn in_this_process(peer: Peer, corpus: &Arc<Corpus>) -> Run<'_> {
    Box::new(move |folder| timed(|| peer.write(corpus, folder)))
}

/// A child process of this program, whose every open, write and close below the folder waits 2 ms first. No lock of the
/// kernel is held meanwhile. Only the writing is timed, by the child itself.
fn in_a_delayed_process(peer: Peer, _: &Arc<Corpus>) -> Run<'_> {
    Box::new(move |folder| {
        let name = folder.file_name().and_then(|name| name.to_str()).context("the run's folder has a plain name")?;
        let preload = [Call::Open, Call::Write, Call::Close]
            .into_iter()
            .fold(Preload::new(), |preload, call| preload.rule(Rule::delay(call, MS2).path_contains(name)));
        let mut child = Command::new(std::env::current_exe()?);
        let output = preload.apply(child.arg(Job::ARGUMENT).arg(peer.name()).arg(folder))?.output()?;
        if !output.status.success() {
            bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        let seconds = String::from_utf8_lossy(&output.stdout).trim().parse().context("the child prints its seconds")?;
        Ok(Sample { seconds, peak_memory: None })
    })
}

/// What that child does.
pub struct Job {
    peer: Peer,
    folder: PathBuf,
}

impl Job {
    /// The first argument that makes this program the child.
    pub const ARGUMENT: &str = "--write-delayed";

    /// Reads the arguments that come after it.
    pub fn from_args(arguments: &[String]) -> Result<Job> {
        match arguments {
            [peer, folder] => Ok(Job { peer: Peer::by_name(peer)?, folder: Path::new(folder).to_owned() }),
            _ => bail!("expected a peer and a folder"),
        }
    }

    /// Writes, and prints the seconds.
    pub fn run(self) -> Result<()> {
        let corpus = Arc::new(Corpus::w1(SEED));
        let sample = timed(|| self.peer.write(&corpus, &self.folder))?;
        println!("{}", sample.seconds);
        Ok(())
    }
}
