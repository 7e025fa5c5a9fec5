//! New files through TreeWriter, against loops over std, rayon and tokio.

use std::sync::Arc;

use anyhow::Result;
use manyfiles_testkit::Corpus;

use crate::checks::{SEED, holds};
use crate::contest::{self, Contest, Entrant, Goal, Plan};
use crate::peers::Peer;
use crate::place::Place;
use crate::report::Book;
use Goal::Faster;

type Claims = [(Peer, Goal); 4];

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let w1 = Arc::new(Corpus::w1(SEED));
    let w2 = Arc::new(Corpus::w2(SEED));
    for corpus in [&w1, &w2] {
        book.note(corpus.to_string());
    }
    // One run of W1 takes some twenty milliseconds, so it gets five times the rounds.
    let small = plan.times(5);
    let claims = |std, rayon, tokio| {
        [(Peer::TreeWriter, Goal::Shown), (Peer::Std, std), (Peer::Rayon, rayon), (Peer::Tokio64, tokio)]
    };
    let tmpfs = Place::tmpfs()?;
    enter(&w1, &tmpfs, claims(Faster(1.8), Faster(1.2), Faster(2.5)), small, book);
    enter(&w2, &tmpfs, claims(Faster(2.0), Faster(1.5), Faster(3.5)), plan, book);
    drop(tmpfs);
    if let Some(ext4) = book.place_or_skip("create, ext4", Place::ext4()) {
        enter(&w1, &ext4, claims(Faster(1.5), Faster(1.05), Faster(1.5)), small, book);
        enter(&w2, &ext4, claims(Faster(1.8), Faster(1.3), Faster(2.1)), plan, book);
    }
    if let Some(xfs) = book.place_or_skip("create, XFS", Place::xfs()) {
        enter(&w1, &xfs, claims(Goal::Shown, Faster(1.3), Goal::Shown), small, book);
    }
    Ok(())
}

fn enter(corpus: &Arc<Corpus>, place: &Place, claims: Claims, plan: Plan, book: &mut Book) {
    let check = holds(corpus);
    let entrant = |(peer, target): (Peer, Goal)| {
        Entrant::new(peer.name(), target, &check, Box::new(move |folder| peer.write(corpus, folder)))
    };
    let what = match corpus.files.len() {
        2_300 => "2,300 files, one folder",
        _ => "50,000 files, 2,954 folders",
    };
    // A short round is to fit on a small disk.
    let has_room = !plan.quick || corpus.files.len() < 10_000;
    let best = Peer::BEST_ON_TWO_CORES.into_iter().filter(|_| has_room).map(|peer| (peer, Goal::Faster(1.0)));
    let entrants = claims.into_iter().chain(best).map(entrant).collect();
    let contest = Contest { group: "create", what: what.into(), place, entrants };
    book.enter(contest::run(contest, plan));
}
