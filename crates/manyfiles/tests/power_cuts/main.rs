//! Killed at any step, the power cut at any step with sectors in any order, calls that fail, write-backs that fail unseen:
//! what `Vfs` and `FileWriter` have promised is there after each of these ends, up to three in a row.
//!
//! `MANYFILES_SEED=n` lives one series of them again, and prints its calls.
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", feature = "full"))]

mod calls;
mod links;
mod program;
mod promises;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use calls::Inside;
use manyfiles::close::Closer;
use manyfiles::vfs::Vfs;
use manyfiles_testkit::model::{Call, Disk, Fault, Random, Stop};
use manyfiles_testkit::seeds;
use program::{FOLDERS, LINKS, Program};
use promises::Promises;

const SERIES: u32 = 1_500;
const ENDS: u64 = 3;
const SEED: u64 = 20_261_122;

/// How a life ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Closed,
    Killed,
    PowerCut,
}

/// What goes wrong meanwhile.
fn injure(disk: &Disk, random: &mut Random) -> Option<(Call, i32)> {
    if random.one_in(3) {
        return None;
    }
    use Call::{Close, Create, Remove, Rename, SetLen, Sync, SyncFolder, Write};
    let calls = [Sync, Sync, Sync, SyncFolder, Write, Write, Write, Close, Create, Rename, SetLen, Remove];
    let call = calls[random.below(calls.len() as u64) as usize];
    let (nth, errno) = (1 + random.below(8), if random.one_in(2) { 5 } else { 28 });
    if call == Write && random.one_in(2) {
        disk.inject(call, nth, Fault::Short);
    }
    disk.inject(call, nth + 1, Fault::Fail { errno, for_good: random.one_in(3) });
    Some((call, errno))
}

/// Says which series it was, whatever fails.
struct Series(u64);

impl Drop for Series {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("MANYFILES_SEED={} lives it again", self.0);
        }
    }
}

/// Lives one program after the other on one disk.
fn one_series(seed: u64, counts: &mut BTreeMap<String, u64>) {
    let _series = Series(seed);
    let mut random = Random(seed);
    let disk = Disk::default();
    disk.seed(random.clone());
    let mut promises = Promises::default();
    let (mut so_far, mut pieces) = (Vec::new(), 0);
    for _ in 0..ENDS {
        let end = [End::Closed, End::Killed, End::PowerCut, End::PowerCut][random.below(4) as usize];
        let steps = [20, 150, 400][random.below(3) as usize];
        match end {
            End::Closed => {}
            End::Killed => disk.stop_at(1 + random.below(steps), Stop::Kill),
            End::PowerCut => disk.stop_at(1 + random.below(steps), Stop::Cut),
        }
        let injury = injure(&disk, &mut random);
        so_far.push((end, injury));
        let story = format!("MANYFILES_SEED={seed}, {so_far:?}");
        let told = one_life(&disk, &mut promises, &mut random, &mut pieces, &story);
        *counts.entry(format!("{end:?}")).or_default() += 1;
        *counts.entry("errors told".to_owned()).or_default() += told;
        let is_cut = end == End::PowerCut || random.one_in(2);
        if is_cut {
            disk.next_start();
        } else {
            disk.next_process();
        }
        promises.check(&disk, &format!("{story}, cut: {is_cut}"));
        if is_cut {
            promises.start_again(&disk);
        }
    }
    *counts.entry("promises".to_owned()).or_default() += promises.made;
}

/// Returns how many errors were told.
fn one_life(disk: &Disk, promises: &mut Promises, random: &mut Random, pieces: &mut u64, story: &str) -> u64 {
    // In memory where that can be had: the disk is imagined.
    let temp = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let root = std::fs::canonicalize(temp.path()).unwrap();
    let inside = Inside::enter(disk.clone(), &root, &FOLDERS, &LINKS);
    promises.begin(disk);
    let vfs = Vfs::options().handles(1 + random.below(4) as usize).build();
    let (disk, random) = (disk.clone(), random.clone());
    let failed = disk.failed();
    let story = story.to_owned();
    let closer = Arc::new(Closer::new());
    let (told, in_hand) = (Vec::new(), Vec::new());
    let shows = std::env::var_os("MANYFILES_SEED").is_some();
    let mut program = Program {
        vfs,
        disk,
        root: &root,
        random,
        promises,
        told,
        story,
        pieces,
        in_hand,
        closer,
        forgave: false,
        shows,
    };
    let most = 5 + program.random.below(40);
    let goes_on = (0..most).all(|_| program.step());
    let closed = program.vfs.wait();
    let Program { vfs, disk, mut told, story, in_hand, closer, forgave, .. } = program;
    if let Err(errors) = closed {
        told.extend(errors);
    }
    let are_injected = |error: &manyfiles::Error| error.raw_os_error().is_some_and(|number| [5, 28].contains(&number));
    let is_told = told.iter().any(are_injected) || forgave || disk.failed() == failed || disk.is_over();
    assert!(is_told, "{story}: nobody was told");
    assert!(vfs.wait().is_ok() || disk.is_over(), "{story}: told again");
    // What has no name any more is nobody's loss.
    let ids: BTreeSet<_> = disk.all_names().into_iter().map(|(_, id)| id).collect();
    for id in ids.into_iter().filter(|id| goes_on || !in_hand.contains(id)) {
        match goes_on && told.is_empty() {
            true => promises.is_written(&disk, id, &story),
            false => promises.may_be_written(&disk, id, &story),
        }
    }
    drop(vfs);
    let _ = closer.wait(); // what a process that is gone would have been told
    drop(inside);
    told.len() as u64
}

#[test]
fn what_was_promised_is_there_after_any_three_ends() {
    let seeds = seeds(SEED, SERIES);
    let mut counts = BTreeMap::new();
    for seed in seeds.clone() {
        one_series(seed, &mut counts);
    }
    println!("{counts:?} from seed {}", seeds.start);
    if seeds.count() > 1 {
        // Nothing would be tried if nothing went wrong, or nothing were promised.
        assert!(["Closed", "Killed", "PowerCut", "errors told", "promises"].iter().all(|kind| counts[*kind] > 1_000));
    }
}
