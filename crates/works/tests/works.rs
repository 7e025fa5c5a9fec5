//! Every work is done by every entrant, its output is right, and nothing is left behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use manyfiles_works::{Failure, Observer, Options, Results, bench, works};

struct Patient;

impl Observer for Patient {
    fn begins(&self, _work: &str, _entrant: &str, _round: usize, _done: f64) {}

    fn stopped(&self) -> bool {
        false
    }
}

struct Impatient;

impl Observer for Impatient {
    fn begins(&self, _work: &str, _entrant: &str, _round: usize, _done: f64) {}

    fn stopped(&self) -> bool {
        true
    }
}

fn measure(only: &str) -> Results {
    // In memory where there is some: a disk without a journal takes minutes for what is made, removed and made again.
    let memory = Path::new("/dev/shm");
    let temp = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let options = Options { rounds: 3, time: Duration::from_secs(3_600), only: only.into(), ..Options::default() };
    let results = bench(temp.path(), &options, &Patient).unwrap_or_else(|failure| panic!("{failure:?}"));
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0, "nothing is left");
    results
}

/// All works whose name has this, each with so many entrants.
fn all_right(only: &str, tables: usize, entrants: usize) {
    let results = measure(only);
    assert!(!results.has_problems() && results.left_out.is_empty(), "{results:?}");
    assert_eq!(results.tables.len(), tables);
    for table in &results.tables {
        assert_eq!(table.rows.len(), entrants, "{table:?}");
        assert!(table.rows.iter().all(|row| row.samples.len() == 3 && row.seconds.is_some()), "{table:?}");
        assert!(results.to_text().contains(table.work));
    }
}

#[test]
fn many_files_arrive_whoever_writes_them() {
    all_right("files of 1.5 KB", 2, 5);
    all_right("a font", 1, 5);
}

#[test]
fn records_arrive_whoever_writes_them() {
    all_right("MiB, records of", 4, 4);
}

#[test]
fn writes_to_one_path_arrive_whoever_makes_them() {
    all_right("one path", 3, 4);
}

#[test]
fn durable_files_and_records_arrive() {
    all_right("durable files", 1, 3);
    all_right("durable records", 1, 2);
}

#[test]
fn the_tests_above_know_every_work() {
    let names: Vec<_> = works(&Options::default()).iter().map(|work| work.name).collect();
    let known = ["files of 1.5 KB", "a font", "MiB, records of", "one path", "durable files", "durable records"];
    assert!(names.iter().all(|name| known.iter().any(|part| name.contains(part))), "{names:?}");
    assert_eq!(names.len(), 12);
}

#[test]
fn whoever_stops_it_gets_no_results_and_nothing_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let stopped = bench(temp.path(), &Options::default(), &Impatient);
    assert!(matches!(stopped, Err(Failure::Stopped)), "{stopped:?}");
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}
