//! Several entrants do the same work in interleaved rounds, so that a busy machine hurts all alike.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::cpu_seconds;

/// What one run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Seconds until all was written and closed.
    pub seconds: f64,
    /// Processor time, in user space and in the kernel, of the process that did it. It says more than the clock does
    /// where others use the machine too.
    pub cpu_seconds: f64,
    /// Peak resident memory of the process that did it, in bytes, where it was a process of its own.
    pub peak_memory: Option<u64>,
    /// What was counted, where that is compared: failures, handles.
    pub count: Option<u64>,
}

/// A run: writes to the folder, which is not there yet, and says what it took.
pub type Run<'a> = Box<dyn FnMut(&Path) -> Result<Sample> + 'a>;

/// Checks what a run left in its folder.
pub type Check<'a> = Box<dyn Fn(&Path) -> Result<()> + 'a>;

/// What wins a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// This many times as fast as the entrant, at least.
    Faster(f64),
    /// This many times the entrant's time, at most.
    AtMost(f64),
    /// This many are counted in each round, at most.
    NoMoreThan(u64),
    /// How many times as fast, and nothing claimed.
    Shown,
    /// How many times the entrant's time, and nothing claimed.
    ShownTime,
}

impl Goal {
    /// Whether it is about our time as a multiple of the entrant's, and not about how many times as fast ours is.
    pub fn is_of_time(self) -> bool {
        matches!(self, Goal::AtMost(_) | Goal::ShownTime)
    }
}

/// One of the compared programs.
pub struct Entrant<'a> {
    /// As tables show it.
    pub name: String,
    /// What the first entrant is to reach against this one.
    pub goal: Goal,
    /// A slow one takes part in this many rounds only, the first of them.
    pub rounds_at_most: Option<usize>,
    /// Whether it has a run that does not count before all others.
    pub warms_up: bool,
    /// Whether its output is right.
    pub check: &'a Check<'a>,
    /// The work.
    pub run: Run<'a>,
}

impl fmt::Debug for Entrant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entrant { name, goal, rounds_at_most, warms_up, check: _, run: _ } = self;
        f.debug_struct("Entrant")
            .field("name", name)
            .field("goal", goal)
            .field("rounds_at_most", rounds_at_most)
            .field("warms_up", warms_up)
            .finish_non_exhaustive()
    }
}

impl<'a> Entrant<'a> {
    /// An entrant that takes part in every round.
    pub fn new(name: impl Into<String>, goal: Goal, check: &'a Check<'a>, run: Run<'a>) -> Entrant<'a> {
        Entrant { name: name.into(), goal, rounds_at_most: None, warms_up: true, check, run }
    }
}

/// Where runs write.
pub trait Site {
    /// As tables show it.
    fn name(&self) -> &str;

    /// A folder that is not there yet, for one run.
    ///
    /// # Errors
    /// Where the place cannot be made ready for a run.
    fn fresh(&self) -> Result<PathBuf>;

    /// Where the files of a run can be read without the place's delays.
    fn behind(&self, folder: &Path) -> PathBuf {
        folder.to_owned()
    }

    /// The run is over and checked.
    ///
    /// # Errors
    /// Where what it left cannot be removed.
    fn done_with(&self, folder: &Path) -> Result<()>;
}

/// Hears how far a contest is, and may end it.
pub trait Watch {
    /// Whether there is to be this round; round 0 warms up. The contest ends with the first that is not wanted.
    fn wants_round(&self, _round: usize) -> bool {
        true
    }

    /// An entrant's run begins.
    fn begins(&self, _round: usize, _entrant: &str) {}

    /// A run failed, or left wrong output.
    fn failed(&self, _error: &anyhow::Error) {}

    /// Whether the contest has to end now, in the middle of a round. Asked before each run and after one that failed.
    fn is_over(&self) -> bool {
        false
    }
}

/// What is compared. In a group of claims the first entrant is ours.
pub struct Contest<'a> {
    /// The group's name.
    pub group: &'static str,
    /// The work, as tables show it.
    pub what: String,
    /// Where.
    pub place: &'a dyn Site,
    /// The entrants, in the order of tables. Who begins a round is drawn.
    pub entrants: Vec<Entrant<'a>>,
}

impl fmt::Debug for Contest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contest { group, what, place, entrants } = self;
        f.debug_struct("Contest")
            .field("group", group)
            .field("what", what)
            .field("place", &place.name())
            .field("entrants", entrants)
            .finish()
    }
}

/// What came of a contest.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The group's name.
    pub group: &'static str,
    /// The work.
    pub what: String,
    /// Where.
    pub place: String,
    /// The entrants in their order, each with its runs.
    pub entrants: Vec<Score>,
    /// How many counted rounds were played to their end.
    pub rounds: usize,
}

/// An entrant's runs.
#[derive(Clone, Debug)]
pub struct Score {
    /// As tables show it.
    pub name: String,
    /// What the first entrant was to reach against this one.
    pub goal: Goal,
    /// The runs that counted, each with its round.
    pub samples: Vec<(usize, Sample)>,
    /// What was wrong with an output, or why a run failed; such runs don't count.
    pub problems: Vec<String>,
}

impl Score {
    /// A figure of each round in which both have it: this one's, and the other's beside it.
    pub fn beside(&self, other: &Score, figure: impl Fn(&Sample) -> Option<f64>) -> Vec<(f64, f64)> {
        let of_round = |round| other.samples.iter().find(|(it, _)| *it == round).and_then(|(_, sample)| figure(sample));
        self.samples.iter().filter_map(|(round, sample)| Some((figure(sample)?, of_round(*round)?))).collect()
    }

    /// One figure of each run.
    pub fn each(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(|(_, sample)| figure(sample)).collect()
    }
}

/// All entrants do the work in turn, `rounds` times, and once before to warm up. The order is drawn anew for each round:
/// whoever comes after another in every round is measured in what that one leaves behind. It is the same in every call.
/// No run of an unfinished round counts.
pub fn run(contest: Contest<'_>, rounds: usize, watch: &dyn Watch) -> Outcome {
    let Contest { group, what, place, mut entrants } = contest;
    let mut scores: Vec<Score> = entrants
        .iter()
        .map(|it| Score { name: it.name.clone(), goal: it.goal, samples: vec![], problems: vec![] })
        .collect();
    let mut played = 0;
    let mut order: Vec<usize> = (0..entrants.len()).collect();
    let mut draws = fastrand::Rng::with_seed(ORDER);
    for round in 0..=rounds {
        draws.shuffle(&mut order);
        if !watch.wants_round(round) || !play(round, &order, &mut entrants, &mut scores, place, watch) {
            break;
        }
        played = round;
    }
    for score in &mut scores {
        score.samples.retain(|&(round, _)| round <= played);
    }
    Outcome { group, what, place: place.name().to_owned(), entrants: scores, rounds: played }
}

/// What the orders of rounds are drawn with.
const ORDER: u64 = 1;

/// One round; `false` if it was not played to its end.
fn play(
    round: usize,
    order: &[usize],
    entrants: &mut [Entrant<'_>],
    scores: &mut [Score],
    place: &dyn Site,
    watch: &dyn Watch,
) -> bool {
    for &number in order {
        if watch.is_over() {
            return false;
        }
        let (entrant, score) = (&mut entrants[number], &mut scores[number]);
        let warms_up = round == 0;
        if warms_up && !entrant.warms_up || entrant.rounds_at_most.is_some_and(|most| round > most) {
            continue;
        }
        watch.begins(round, &entrant.name);
        match run_once(entrant, place) {
            Ok(sample) if !warms_up => score.samples.push((round, sample)),
            Ok(_) => (),
            Err(error) => {
                watch.failed(&error);
                if watch.is_over() {
                    return false;
                }
                score.problems.push(format!("round {round}: {error:#}"));
            }
        }
    }
    true
}

fn run_once(entrant: &mut Entrant<'_>, place: &dyn Site) -> Result<Sample> {
    let folder = place.fresh()?;
    let result = (entrant.run)(&folder);
    let sample =
        result.and_then(|sample| (entrant.check)(&place.behind(&folder)).context("wrong output").map(|()| sample));
    place.done_with(&folder)?;
    sample
}

/// Times `work`, on this thread and those it starts.
///
/// # Errors
/// Those of `work`.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<Sample> {
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    work()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Sample { seconds, cpu_seconds: cpu_seconds() - cpu_before, peak_memory: None, count: None })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use anyhow::{bail, ensure};

    use super::*;

    struct Nowhere;

    impl Site for Nowhere {
        fn name(&self) -> &str {
            "nowhere"
        }

        fn fresh(&self) -> Result<PathBuf> {
            Ok("run".into())
        }

        fn done_with(&self, _folder: &Path) -> Result<()> {
            Ok(())
        }
    }

    /// Ends a contest after this many runs.
    struct After(usize, RefCell<Vec<String>>);

    impl Watch for After {
        fn begins(&self, round: usize, entrant: &str) {
            self.1.borrow_mut().push(format!("{round}{entrant}"));
        }

        fn is_over(&self) -> bool {
            self.1.borrow().len() >= self.0
        }
    }

    fn contest<'a>(runs: Vec<Run<'a>>, check: &'a Check<'a>) -> Contest<'a> {
        let named = |(n, run)| Entrant::new(["a", "b", "c"][n], Goal::Shown, check, run);
        let entrants = runs.into_iter().enumerate().map(named).collect();
        Contest { group: "test", what: "work".into(), place: &Nowhere, entrants }
    }

    fn fine<'a>() -> Run<'a> {
        Box::new(|_| Ok(Sample::default()))
    }

    #[test]
    fn every_order_comes_and_each_round_has_everybody_once() {
        let check: Check<'_> = Box::new(|_| Ok(()));
        let order_of = |rounds| {
            let watch = After(usize::MAX, RefCell::default());
            let outcome = run(contest(vec![fine(), fine(), fine()], &check), rounds, &watch);
            assert_eq!(outcome.rounds, rounds);
            let counted = outcome.entrants.iter().all(|score| score.samples.len() == rounds);
            assert!(counted, "warming up does not count: {outcome:?}");
            watch.1.into_inner()
        };
        let order = order_of(30);
        assert_eq!(order, order_of(30), "the same orders in every call");
        let mut orders = std::collections::BTreeSet::new();
        for (round, runs) in order.chunks(3).enumerate() {
            let names: Vec<_> = runs.iter().map(|run| run.strip_prefix(&round.to_string()).unwrap()).collect();
            orders.insert(names.concat());
        }
        assert_eq!(orders.into_iter().collect::<Vec<_>>(), ["abc", "acb", "bac", "bca", "cab", "cba"]);
    }

    #[test]
    fn a_slow_entrant_leaves_early_and_is_compared_in_the_rounds_that_it_was_in() {
        let check: Check<'_> = Box::new(|_| Ok(()));
        let runs = Cell::new(0.0);
        let counting: Run<'_> = Box::new(|_| {
            runs.set(runs.get() + 1.0);
            Ok(Sample { seconds: runs.get(), ..Sample::default() })
        });
        let mut contest = contest(vec![counting, fine()], &check);
        contest.entrants[1].rounds_at_most = Some(2);
        let outcome = run(contest, 5, &After(usize::MAX, RefCell::default()));
        let [first, second] = &outcome.entrants[..] else { panic!("two entrants: {outcome:?}") };
        assert_eq!((first.samples.len(), second.samples.len()), (5, 2));
        // Its first run warmed up.
        assert_eq!(first.beside(second, |it| Some(it.seconds)), [(2.0, 0.0), (3.0, 0.0)]);
        assert_eq!(second.beside(first, |it| Some(it.seconds)), [(0.0, 2.0), (0.0, 3.0)]);
    }

    #[test]
    fn a_round_that_did_not_end_does_not_count() {
        let check: Check<'_> = Box::new(|_| Ok(()));
        let outcome = run(contest(vec![fine(), fine()], &check), 9, &After(7, RefCell::default()));
        assert_eq!(outcome.rounds, 2);
        assert_eq!(outcome.entrants.iter().map(|score| score.samples.len()).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn wrong_output_and_failed_runs_are_told_and_do_not_count() {
        let runs = Cell::new(0);
        let check: Check<'_> = Box::new(|_| {
            runs.set(runs.get() + 1);
            ensure!(runs.get() != 2, "a file is missing");
            Ok(())
        });
        let outcome =
            run(contest(vec![fine(), Box::new(|_| bail!("no room"))], &check), 3, &After(99, RefCell::default()));
        assert_eq!(outcome.entrants[0].samples.len(), 2);
        assert_eq!(outcome.entrants[0].problems, ["round 1: wrong output: a file is missing"]);
        assert_eq!((outcome.entrants[1].samples.len(), outcome.entrants[1].problems.len()), (0, 4));
    }
}
