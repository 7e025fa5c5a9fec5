//! Where a close takes milliseconds (a virus scanner, a network), or opening and writing as well.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use manyfiles_testkit::{Call, Corpus, Need, Op, Preload, Rule};

use crate::checks::{SEED, holds};
use crate::contest::{self, Contest, Entrant, FEW, Goal, Outcome, Plan, Run};
use crate::mercurial::Mercurial;
use crate::peers::Peer;
use crate::place::Place;
use crate::process;
use crate::report::Book;
use Goal::Faster;
use Peer::{FastClose, Rayon, Std, Tokio64, TokioAll, TreeWriter};

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let one_folder = Work { name: "2,300 files, one folder", corpus: Arc::new(Corpus::w1(SEED)) };
    let folders = Work { name: "2,300 files, 100 folders", corpus: Arc::new(Corpus::spread(2_300, 23, SEED)) };
    if let Err(why) = Need::Fuse.check() {
        book.skip("slow", &why);
    } else {
        for ms in [2, 1, 5] {
            let place = Place::slow(&format!("close {ms} ms"), &[Op::Close], Duration::from_millis(ms))?;
            // The claims are for 2 ms.
            let claim = |least| if ms == 2 { Faster(least) } else { Goal::Shown };
            let claims = [(Std, claim(35.0)), (Rayon, claim(14.0)), (Tokio64, claim(1.0)), (TokioAll, claim(1.0))];
            let claims = [claims.to_vec(), best()].concat();
            book.enter(one_folder.contest(TreeWriter, &claims, &place, in_this_process, plan));
            book.enter(one_folder.contest(FastClose, &[(Std, claim(24.0))], &place, in_this_process, plan));
            if ms == 2 {
                against_mercurial(&one_folder, &place, plan, book);
            }
        }
        let place = Place::slow("open, write, close 2 ms", &[Op::Open, Op::Create, Op::Write, Op::Close], MS2)?;
        // The kernel holds the folder's lock while FUSE creates a file, so one folder's creations are one after the
        // other, whoever asks: no more than 3 times is possible there.
        book.enter(one_folder.contest(TreeWriter, &everybody(Goal::Shown), &place, in_this_process, plan));
        book.enter(folders.contest(TreeWriter, &everybody(Faster(30.0)), &place, in_this_process, plan));
    }
    match Need::Preload.check() {
        Err(why) => book.skip("slow, calls delayed in the process", &why),
        Ok(()) => {
            let mut place = Place::tmpfs()?;
            place.name = "tmpfs, calls delayed 2 ms".into();
            book.enter(one_folder.contest(TreeWriter, &everybody(Faster(30.0)), &place, in_a_delayed_process, plan));
        }
    }
    Ok(())
}

const MS2: Duration = Duration::from_millis(2);

fn everybody(against_std: Goal) -> Vec<(Peer, Goal)> {
    let shown = |peer| (peer, Goal::Shown);
    [vec![(Std, against_std), shown(Rayon), shown(Tokio64), shown(TokioAll)], best()].concat()
}

/// Those who have been set for such a place.
fn best() -> Vec<(Peer, Goal)> {
    Peer::BEST_WHERE_CALLS_WAIT.map(|peer| (peer, Faster(1.0))).to_vec()
}

struct Work {
    name: &'static str,
    corpus: Arc<Corpus>,
}

impl Work {
    fn contest(
        &self,
        ours: Peer,
        claims: &[(Peer, Goal)],
        place: &Place,
        how: for<'a> fn(Peer, &'a Arc<Corpus>) -> Run<'a>,
        plan: Plan,
    ) -> Option<Outcome> {
        let check = holds(&self.corpus);
        let entrants = std::iter::once((ours, Goal::Shown)).chain(claims.iter().copied()).map(|(peer, target)| {
            let few = matches!(peer, Std | Rayon).then_some(FEW);
            Entrant { rounds_at_most: few, ..Entrant::new(peer.name(), target, &check, how(peer, &self.corpus)) }
        });
        let entrants = entrants.collect();
        let what = match ours {
            FastClose => format!("{}, serial loop with FastClose", self.name),
            _ => self.name.to_owned(),
        };
        contest::run(Contest { group: "slow", what, place, entrants }, plan)
    }
}

/// Its closer, against FastClose in a plain loop, which works as it does.
fn against_mercurial(work: &Work, place: &Place, plan: Plan, book: &mut Book) {
    let mercurial = match Mercurial::with(&work.corpus) {
        Ok(mercurial) => mercurial,
        Err(why) => return book.skip("slow, Mercurial's background closer", &format!("{why:#}")),
    };
    let check = holds(&work.corpus);
    let his = |background| -> Run<'_> {
        let mercurial = &mercurial;
        Box::new(move |folder| mercurial.write(folder, background))
    };
    let few = |entrant| Entrant { rounds_at_most: Some(FEW), ..entrant };
    let entrants = vec![
        Entrant::new(FastClose.name(), Goal::Shown, &check, in_this_process(FastClose, &work.corpus)),
        Entrant::new("Mercurial's background closer", Goal::Shown, &check, his(true)),
        few(Entrant::new("Mercurial without it", Goal::Shown, &check, his(false))),
    ];
    let what = format!("{}, against Mercurial's vfs", work.name);
    book.enter(contest::run(Contest { group: "slow", what, place, entrants }, plan));
}

fn in_this_process(peer: Peer, corpus: &Arc<Corpus>) -> Run<'_> {
    Box::new(move |folder| peer.write(corpus, folder))
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
        process::timed_by_itself(preload.apply(child.arg(Job::ARGUMENT).arg(peer.name()).arg(folder))?)
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

    /// Writes, and prints the seconds and the processor's.
    pub fn run(self) -> Result<()> {
        let corpus = Arc::new(Corpus::w1(SEED));
        let sample = self.peer.write(&corpus, &self.folder)?;
        println!("{} {}", sample.seconds, sample.cpu_seconds);
        Ok(())
    }
}
