//! What a repair would do is what it does; and what it must not do: take the better one of two files away.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use manyfiles::appender::{Appender, Misfit, OnDamage, Options, Records, RepairPlan, check, plan_repair, repair};
use tempfile::TempDir;

fn options() -> Options {
    Appender::options().framed(true).rotate_bytes(600)
}

fn record(n: usize) -> Vec<u8> {
    format!("record {n} {}", "x".repeat(n * 13 % 90)).into_bytes()
}

struct Made {
    temp: TempDir,
    path: PathBuf,
}

impl Made {
    fn of(options: Options, records: usize) -> Made {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let appender = options.open(&path).unwrap();
        for n in 0..records {
            appender.append(&record(n)).unwrap();
        }
        appender.close().unwrap();
        Made { temp, path }
    }

    fn file(&self, number: usize) -> PathBuf {
        self.temp.path().join(format!("log.{number:06}"))
    }

    /// The numbers of the first file and the last one.
    fn numbers(&self) -> (usize, usize) {
        let number = |path: &Path| path.extension()?.to_str()?.parse().ok();
        let names = fs::read_dir(self.temp.path()).unwrap().filter_map(|entry| number(&entry.unwrap().path()));
        let numbers: Vec<usize> = names.collect();
        (*numbers.iter().min().unwrap(), *numbers.iter().max().unwrap())
    }

    fn all(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let names = fs::read_dir(self.temp.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = names.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
        all.sort();
        all
    }

    fn plan(&self) -> manyfiles::Result<RepairPlan> {
        let before = self.all();
        let mut last = 0.0;
        let plan = plan_repair(&self.path, |part| {
            assert!((0.0..=1.0).contains(&part));
            last = part;
        });
        assert!(self.all() == before, "a plan changes nothing");
        plan
    }

    /// Plans a repair and makes it: both say the same.
    fn agrees(&self, story: &str) -> bool {
        let before = self.all();
        match (self.plan(), repair(&self.path)) {
            (Ok(plan), Ok(repaired)) => {
                let planned: Vec<_> = plan.repairs.into_iter().map(|one| (one.path, one.damage, one.misfit)).collect();
                let done: Vec<_> = repaired.into_iter().map(|one| (one.path, one.damage, one.misfit)).collect();
                assert_eq!(planned, done, "{story}");
                let report = check(&self.path).unwrap();
                let left: Vec<_> = report.files.iter().flat_map(|file| &file.errors).map(|e| e.to_string()).collect();
                let expected: Vec<_> = plan.errors.iter().map(|error| error.to_string()).collect();
                assert_eq!(expected, left, "{story}");
                assert!(report.files.iter().all(|file| file.damage.is_empty() && file.misfit.is_none()), "{story}");
                true
            }
            (Err(planned), Err(told)) => {
                assert_eq!(planned.to_string(), told.to_string(), "{story}");
                assert!(self.all() == before, "{story}: nothing is changed where the end cannot be mended");
                false
            }
            (planned, done) => panic!("{story}: planned {planned:?}, done {done:?}"),
        }
    }
}

#[test]
fn an_older_file_with_a_gap_in_front_of_it_leaves_no_error_behind() {
    let made = Made::of(options(), 30);
    let (_, last) = made.numbers();
    fs::copy(made.file(2), made.file(last + 20)).unwrap();
    let plan = made.plan().unwrap();
    assert_eq!((plan.repairs[0].misfit, plan.errors.len()), (Some(Misfit::Older), 0));
    assert!(made.agrees("an older file"));
}

#[test]
fn a_file_that_no_repair_mends_fails_both_and_changes_nothing_though_others_could_be_mended() {
    let made = Made::of(options(), 30);
    let (_, last) = made.numbers();
    let mut bytes = fs::read(made.file(last)).unwrap();
    bytes[..96].fill(0);
    fs::write(made.file(last), bytes).unwrap();
    assert!(!made.agrees("a last file without a header"));
    fs::write(made.file(last + 1), "").unwrap();
    assert!(!made.agrees("and an empty one behind it"));
}

#[test]
fn a_plan_says_what_a_repair_does_whatever_became_of_the_files() {
    let (mut mended, mut told) = (0, 0);
    let mut random = 20_261_123_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit
    };
    for round in 0..if cfg!(windows) { 20 } else { 100 } {
        let made = Made::of(options(), 6 + below(30));
        let (_, last) = made.numbers();
        let mut story = vec![(last, 0, 0)];
        for _ in 0..1 + below(3) {
            let (what, from, to) = (below(6), 1 + below(last + 2), 1 + below(last + 2));
            story.push((what, from, to));
            let there = fs::read(made.file(from));
            match (what, there) {
                (0, Ok(mut bytes)) if !bytes.is_empty() => {
                    let at = below(bytes.len());
                    bytes[at] ^= 1 << below(8);
                    fs::write(made.file(from), bytes).unwrap();
                }
                (1, Ok(bytes)) => fs::write(made.file(to), bytes).unwrap(),
                (2, Ok(bytes)) => fs::write(made.file(from), &bytes[..below(bytes.len() + 1)]).unwrap(),
                (3, Ok(_)) => fs::remove_file(made.file(from)).unwrap(),
                (4, _) => fs::write(made.file(to), "").unwrap(),
                (5, _) => fs::write(made.file(to), "x".repeat(below(300))).unwrap(),
                _ => {}
            }
        }
        if check(&made.path).is_ok() {
            let is_mended = made.agrees(&format!("round {round}: {story:?}"));
            *if is_mended { &mut mended } else { &mut told } += 1;
        }
    }
    assert!(cfg!(windows) || mended > 20 && told > 5, "{mended} mended, {told} told");
}

/// Two files are left of each log, and the first one of them is the other log's.
fn with_a_foreign_file_in_front() -> (Made, Vec<Vec<u8>>) {
    let other = Made::of(options(), 300);
    let made = Made::of(options().keep_files(2), 30);
    let (first, last) = made.numbers();
    assert_eq!((last, made.all().len()), (first + 1, 2));
    let own = fs::read(made.file(last)).unwrap();
    fs::copy(other.file(other.numbers().1 - 1), made.file(first)).unwrap();
    (made, vec![own])
}

#[test]
fn a_foreign_file_in_front_of_the_last_one_takes_that_away_from_nobody() {
    let (made, own) = with_a_foreign_file_in_front();
    let (first, last) = made.numbers();
    let before = made.all();
    for refused in [
        options().open(&made.path).unwrap_err(),
        options().on_damage(OnDamage::SetAside).open(&made.path).unwrap_err(),
        repair(&made.path).unwrap_err(),
        made.plan().unwrap_err(),
    ] {
        assert_eq!((refused.kind(), refused.misfit()), (ErrorKind::InvalidData, None), "{refused}");
        assert_eq!(refused.path(), Some(&*made.file(last)));
        let names = made.file(first).file_name().unwrap().to_str().unwrap().to_owned();
        assert!(refused.to_string().contains(&names), "it names one only: {refused}");
    }
    assert!(made.all() == before);
    // Which one is wrong is for people to say.
    fs::remove_file(made.file(first)).unwrap();
    assert!(made.agrees("without the foreign file"));
    options().open(&made.path).unwrap().close().unwrap();
    assert!(fs::read(made.file(last)).unwrap().starts_with(&own[0][..own[0].len() - 16]));
}

#[test]
fn of_two_copies_the_one_that_has_all_of_the_other_stays() {
    for has_grown in [false, true] {
        let made = Made::of(Appender::options().framed(true).rotate_bytes(1 << 20).keep_files(1), 5);
        let (only, _) = made.numbers();
        let base = fs::read(made.file(only)).unwrap();
        // The log's only file is no first one any more: what is in front of it was removed.
        let appender = Appender::options().framed(true).rotate_bytes(200).keep_files(1).open(&made.path).unwrap();
        for n in 0..30 {
            appender.append(&record(n)).unwrap();
        }
        appender.close().unwrap();
        let (only, last) = made.numbers();
        assert!(only == last && only > 1 && fs::read(made.file(only)).unwrap() != base);
        let older = fs::read(made.file(only)).unwrap();
        if has_grown {
            // The better one has the higher number: nothing takes it away.
            let appender = Appender::options().framed(true).rotate_bytes(1 << 20).open(&made.path).unwrap();
            appender.append_durable(b"and on").unwrap();
            appender.close().unwrap();
            fs::rename(made.file(only), made.file(only + 1)).unwrap();
            fs::write(made.file(only), older).unwrap();
            assert_eq!(repair(&made.path).unwrap_err().misfit(), None);
            assert!(!made.agrees("a copy that has grown"));
        } else {
            fs::write(made.file(only + 1), older).unwrap();
            assert_eq!(made.plan().unwrap().repairs[0].misfit, Some(Misfit::Older));
            assert!(made.agrees("an equal copy"));
        }
    }
}

#[test]
fn a_missing_file_that_had_no_records_of_its_own_is_no_error() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("log");
    let framed = || Appender::options().framed(true);
    for n in 0..3 {
        let appender = framed().open(&path).unwrap();
        if n != 1 {
            appender.append(&record(n)).unwrap().wait_written().unwrap();
            appender.append(&record(n + 5)).unwrap().wait_written().unwrap();
        }
        // As a process that is killed leaves it, but for the lock.
        killed(appender, &path);
    }
    framed().open(&path).unwrap().close().unwrap();
    let read = || Records::open(&path).unwrap().collect::<Result<Vec<_>, _>>();
    let all = [0, 5, 2, 7].map(record).to_vec();
    assert_eq!(read().unwrap(), all);
    // It repeats what the first one has, and nothing else.
    fs::remove_file(path.with_extension("000001")).unwrap();
    assert_eq!(read().unwrap(), all, "nothing is told, and nothing is there twice");
    assert!(check(&path).unwrap().is_sound(), "{:?}", check(&path).unwrap());
    assert!(repair(&path).unwrap().is_empty());
    // One that had records of its own is told.
    append_one_in_each(&path, 8..10);
    fs::remove_file(path.with_extension("000002")).unwrap();
    let error = read().unwrap_err();
    let missing = error.missing().unwrap();
    assert!(missing.to.unwrap() > missing.from, "{error}");
    assert!(!check(&path).unwrap().is_sound());
}

fn append_one_in_each(path: &Path, records: std::ops::Range<usize>) {
    let appender = Appender::options().framed(true).rotate_bytes(1).open(path).unwrap();
    for n in records {
        appender.append(&record(n)).unwrap();
    }
    appender.close().unwrap();
}

/// Leaves the last file as it is now: closing it would end it in order.
fn killed(appender: Appender, path: &Path) {
    let files = || {
        let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|name| name.to_str().unwrap().starts_with(path.to_str().unwrap())).collect::<Vec<_>>()
    };
    let last = files().into_iter().max().unwrap();
    let bytes = fs::read(&last).unwrap();
    appender.close().unwrap();
    fs::write(last, bytes).unwrap();
}
