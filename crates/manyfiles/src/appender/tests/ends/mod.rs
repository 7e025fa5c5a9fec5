//! Ends of every kind, one after the other: killed at any step, the power cut at any step with sectors in any order, a
//! sync that failed, a disk that was full, a close in order; and the log opened again in between, up to three times.

mod kind;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use manyfiles_testkit::seeds;

use crate::appender::log::frame::FRAME;
use crate::appender::log::series::Series;
use crate::appender::tests::disk::{Call, Disk, Fault, Random, Stop, base};
use crate::appender::{Appender, Options, Receipt, Records};
use kind::{ENDS, End, Kind, SEED, numbered, record};

/// What is known of a log from outside.
struct Log {
    kind: Kind,
    options: Options,
    disk: Disk,
    /// The records that are in it, as far as is known, in order: of all lives.
    records: Vec<Vec<u8>>,
    /// So many of them were acknowledged as durable, or were read by an appender that could be opened.
    durable: usize,
    /// So many of them were acknowledged as written, in this life.
    written: usize,
    /// So many of them, the first ones, were removed with their files.
    removed: usize,
    /// Positions of the log behind each of them, where one is known.
    behind: Vec<Option<u64>>,
}

impl Log {
    /// What a program finds that reads it. Nothing in a good log may be an error.
    fn read(&self, disk: &Disk, story: &str) -> Vec<Vec<u8>> {
        if !disk.names().iter().any(|name| !name.to_string_lossy().contains(".manyfiles-")) {
            return Vec::new();
        }
        let records = Records::open_in(Arc::new(disk.clone()), &base(), None);
        let records = records.unwrap_or_else(|error| panic!("{story}: {error}"));
        records.map(|record| record.unwrap_or_else(|error| panic!("{story}: {error}"))).collect()
    }

    /// Without frames, nothing tells records apart: all bytes of all files.
    fn bytes(disk: &Disk) -> Vec<u8> {
        let tail = base().with_extension("manyfiles-tail");
        if let Some((tail, _)) = disk.file(&tail) {
            // An opening was interrupted: the next one writes this again.
            let begin = u64::from_le_bytes(tail[..8].try_into().unwrap()) as usize;
            let (file, _) = disk.file(&base()).unwrap();
            return [&file[..begin.min(file.len())], &tail[28..]].concat();
        }
        let is_content = |name: &PathBuf| {
            let name = name.file_name().unwrap().to_string_lossy().into_owned();
            name == "records" || name.starts_with("records.0")
        };
        disk.names().iter().filter(|name| is_content(name)).flat_map(|name| disk.file(name).unwrap().0).collect()
    }

    /// Appends, waits for this and that, until the end comes. Returns the error if something failed.
    fn live(&mut self, life: u64, seed: u64, random: &mut Random) -> Option<crate::Error> {
        let appender = match Appender::new(&base(), self.options.clone(), Arc::new(self.disk.clone())) {
            Ok(appender) => appender,
            Err(error) => return Some(error),
        };
        if !self.disk.is_over() && self.kind != Kind::PlainRotated {
            // What was found there is there to stay: a program may already build on it.
            self.durable = self.records.len();
        }
        self.written = self.records.len();
        let mut receipts: Vec<(usize, Receipt)> = Vec::new();
        let most = 5 + random.below(40);
        for _ in 0..most {
            match self.step(&appender, &mut receipts, life, seed, random) {
                Ok(()) if self.disk.is_over() => break,
                Ok(()) => {}
                Err(error) => {
                    // No caller is told anything else from then on.
                    if !self.disk.is_over() {
                        appender.append(b"late").unwrap_err();
                        appender.flush().unwrap_err();
                        appender.sync().unwrap_err();
                    }
                    if random.one_in(2) || self.disk.is_over() {
                        std::mem::forget(appender);
                    } else {
                        assert_eq!(appender.close().unwrap_err().raw_os_error(), error.raw_os_error());
                    }
                    return Some(error);
                }
            }
        }
        if self.disk.is_over() {
            std::mem::forget(appender);
            return None;
        }
        let closed = appender.close();
        if closed.is_ok() && !self.disk.is_over() {
            self.durable = self.records.len();
        }
        closed.err()
    }

    fn record(&self, life: u64, seed: u64) -> Vec<u8> {
        let n = self.records.len();
        if self.kind.is_kept() { numbered(n, life, seed) } else { record(n as u64, life, seed) }
    }

    /// Compresses what can be, as the thread does that an appender starts: here in one order, which a seed gives again.
    #[cfg(feature = "zstd")]
    fn pack(&self, appender: &Appender) {
        let before = self.disk.failed();
        let newest = appender.group.with_files(|files| files.number);
        if let Err(error) = appender.group.upkeep.pack_before(newest) {
            assert!(self.disk.is_over() || self.disk.failed() > before, "{error}");
        }
    }

    fn step(
        &mut self,
        appender: &Appender,
        receipts: &mut Vec<(usize, Receipt)>,
        life: u64,
        seed: u64,
        random: &mut Random,
    ) -> crate::Result<()> {
        #[cfg(feature = "zstd")]
        if self.kind == Kind::Packed && random.one_in(5) {
            self.pack(appender);
        }
        let record = self.record(life, seed);
        let taken = appender.append(&record);
        let position = taken.as_ref().ok().and_then(Receipt::position);
        self.behind.push(position.map(|position| position.0 + (FRAME + record.len()) as u64));
        // What could not be taken may be there all the same: a large one whose write failed, or was cut short by the
        // end.
        self.records.push(record);
        receipts.push((self.records.len(), taken?));
        let (mut durable, mut written) = (self.durable, self.written);
        match random.below(10) {
            0 | 1 => {
                let (number, receipt) = receipts.swap_remove(random.below(receipts.len() as u64) as usize);
                receipt.wait_durable()?;
                durable = durable.max(number);
            }
            2 => {
                receipts[receipts.len() - 1].1.wait_written()?;
                written = self.records.len();
            }
            3 => {
                appender.sync()?;
                durable = self.records.len();
            }
            _ => {}
        }
        // Unless the end came before the answer.
        if !self.disk.is_over() {
            (self.durable, self.written) = (durable, written.max(durable));
        }
        Ok(())
    }

    /// What is left is the end of what was appended, as far as it was acknowledged; what is gone from the front,
    /// retention has removed.
    fn check_kept(&mut self, least: usize, story: &str) {
        if self.disk.names().iter().all(|name| name.to_string_lossy().contains(".manyfiles-")) {
            assert_eq!(least, 0, "{story}: all files are gone");
            (self.records, self.behind, self.removed) = (Vec::new(), Vec::new(), 0);
            return;
        }
        let records = Records::open_in(Arc::new(self.disk.clone()), &base(), None);
        let mut records = records.unwrap_or_else(|error| panic!("{story}: {error}"));
        let base = records.position().0;
        let (mut left, mut behind) = (Vec::new(), Vec::new());
        while let Some(record) = records.next() {
            left.push(record.unwrap_or_else(|error| panic!("{story}: {error}")));
            behind.push(Some(records.position().0));
        }
        let removed = match left.first() {
            Some(first) => std::str::from_utf8(&first[..8]).unwrap().parse().unwrap(),
            // The last file has none yet.
            None => self.behind.iter().take_while(|behind| behind.is_some_and(|behind| behind <= base)).count(),
        };
        let count = removed + left.len();
        assert!(count >= least, "{story}: {count} records are left or removed, {least} were acknowledged");
        assert!(self.records[removed..].starts_with(&left), "{story}: what is left is not what was appended");
        let keep = self.options.keep;
        if removed > self.removed {
            let files = Series::new(&self.disk, &self::base()).unwrap().numbers(&self.disk).unwrap().len() as u64;
            assert!(
                keep.bytes.is_some() || keep.files.is_some_and(|most| files >= most),
                "{story}: too much is removed"
            );
        }
        self.records.truncate(removed);
        self.records.extend(left);
        self.behind.truncate(removed);
        self.behind.extend(behind);
        self.removed = removed;
    }

    /// Compares with what was promised.
    fn check(&mut self, end: End, story: &str) {
        let least = if end == End::PowerCut { self.durable } else { self.durable.max(self.written) };
        match self.kind {
            Kind::Framed | Kind::FramedRotated => {
                let left = self.read(&self.disk, story);
                let count = left.len();
                assert!(count >= least, "{story}: {count} records are left, {least} were acknowledged");
                assert!(self.records.starts_with(&left), "{story}: what is left is not what was appended");
                self.records = left;
            }
            _ if self.kind.is_kept() => self.check_kept(least, story),
            // The first bytes are those of the records; what a crash left behind the acknowledged ones may be anything,
            // and stays.
            Kind::Plain => {
                let left = Log::bytes(&self.disk);
                let expected: Vec<u8> = self.records[..least].concat();
                assert!(left.starts_with(&expected), "{story}: {} bytes, {} promised", left.len(), expected.len());
                let durable = self.records[..self.durable].concat().len();
                self.records = vec![left[..durable].to_vec(), left[durable..].to_vec()];
                self.durable = 1;
            }
            // Every file is left as it is: what was acknowledged is in there, in order.
            _ => {
                let left = Log::bytes(&self.disk);
                let mut at = 0;
                for record in self.records[..least].iter().filter(|record| record.iter().any(|byte| *byte != 0)) {
                    let found = left[at..].windows(record.len()).position(|window| window == record);
                    at += found.unwrap_or_else(|| panic!("{story}: a record is gone")) + record.len();
                }
                // What was only written stays so in a file that is not gone on with.
                self.records.truncate(self.durable);
            }
        }
        (self.durable, self.written) = (self.durable.min(self.records.len()), 0);
    }
}

/// Prepares a disk for an end.
fn prepare(disk: &Disk, end: End, random: &mut Random) {
    // Some ends come while the log is made, or opened again.
    let steps = if random.one_in(4) { 12 } else { 100 };
    match end {
        End::Closed => {}
        End::Killed => disk.stop_at(1 + random.below(steps), Stop::Kill),
        End::PowerCut => disk.stop_at(1 + random.below(steps), Stop::Cut),
        End::FailedSync => {
            let call = [Call::Sync, Call::Sync, Call::Sync, Call::SyncFolder][random.below(4) as usize];
            disk.inject(call, 1 + random.below(12), Fault::Fail { errno: 5, for_good: random.one_in(2) });
        }
        End::DiskFull => {
            let call = [Call::Write, Call::Write, Call::Sync, Call::Create, Call::Rename, Call::SetLen];
            let (call, nth) = (call[random.below(6) as usize], 1 + random.below(20));
            if call == Call::Write && random.one_in(2) {
                // A part still fits.
                disk.inject(call, nth.max(2) - 1, Fault::Short);
            }
            disk.inject(call, nth, Fault::Fail { errno: 28, for_good: true });
        }
    }
}

/// Lives one log to its end. Returns how many ends of each kind there were, and how many records were left and gone.
fn one_log(kind: Kind, seed: u64) -> (BTreeMap<End, u64>, usize, usize) {
    let mut random = Random(seed);
    let options = kind.options(&mut random);
    let disk = Disk::default();
    disk.seed(random.clone());
    let mut log =
        Log { kind, options, disk, records: Vec::new(), durable: 0, written: 0, removed: 0, behind: Vec::new() };
    let (mut ends, mut survived, mut gone) = (BTreeMap::new(), 0, 0);
    let mut so_far = Vec::new();
    for life in 0..ENDS {
        let end = [End::Closed, End::Killed, End::Killed, End::PowerCut, End::FailedSync, End::DiskFull]
            [random.below(6) as usize];
        so_far.push(end);
        let story = format!("{kind:?}, seed {seed}, {so_far:?}");
        prepare(&log.disk, end, &mut random);
        let before = log.disk.failed();
        let error = log.live(life, seed, &mut random);
        if let Some(error) = &error {
            let told = log.disk.is_over() || log.disk.failed() > before;
            assert!(told, "{story}: a good log is refused: {error}");
            assert!(error.path().is_some(), "{story}: {error}");
        }
        // A power cut that comes after the last call.
        let appended = log.records.len();
        if let Some(remains) = log.disk.remains() {
            log.disk = Disk::holding(&remains);
            log.disk.seed(random.clone());
        }
        log.disk.next_process();
        log.check(end, &story);
        *ends.entry(end).or_insert(0) += 1;
        (survived, gone) = (survived + log.records.len(), gone + appended.saturating_sub(log.records.len()));
    }
    // A life that ends well, and the power goes as soon as it has.
    let story = format!("{kind:?}, seed {seed}, {so_far:?}, and a life that ends well");
    let appender = Appender::new(&base(), log.options.clone(), Arc::new(log.disk.clone()));
    let appender = appender.unwrap_or_else(|error| panic!("{story}: a good log is refused: {error}"));
    let last = log.record(ENDS, seed);
    appender.append(&last).unwrap();
    log.records.push(last);
    log.behind.push(None);
    #[cfg(feature = "zstd")]
    if kind == Kind::Packed {
        log.pack(&appender);
    }
    appender.close().unwrap();
    log.durable = log.records.len();
    log.disk = Disk::holding(&log.disk.cut(random));
    log.check(End::PowerCut, &story);
    if !matches!(kind, Kind::Plain | Kind::PlainRotated) {
        assert_eq!(log.records.len(), log.durable, "{story}");
    }
    (ends, survived, gone)
}

fn many_logs(kind: Kind) {
    let (mut ends, mut survived, mut gone): (BTreeMap<End, u64>, _, _) = (BTreeMap::new(), 0, 0);
    let seeds = seeds(SEED, kind.logs());
    for seed in seeds.clone() {
        let (of_log, left, lost) = one_log(kind, seed);
        of_log.into_iter().for_each(|(end, count)| *ends.entry(end).or_insert(0) += count);
        (survived, gone) = (survived + left, gone + lost);
    }
    println!(
        "{kind:?}: {ends:?} from seed {}: {survived} records were left, {gone} gone, none of them acknowledged",
        seeds.start
    );
    if seeds.count() > 1 {
        // The model would be none if nothing were ever lost.
        assert!(ends.len() == 5 && survived > 0 && (gone > 0 || kind == Kind::Plain));
    }
}

#[test]
fn framed_every_acknowledged_record_is_there_after_any_three_ends() {
    many_logs(Kind::Framed);
}

#[test]
fn framed_and_rotated_every_acknowledged_record_is_there_after_any_three_ends() {
    many_logs(Kind::FramedRotated);
}

#[test]
fn framed_and_the_oldest_removed_every_acknowledged_record_is_there_or_removed_after_any_three_ends() {
    many_logs(Kind::Kept);
}

#[cfg(feature = "zstd")]
#[test]
fn framed_and_compressed_every_acknowledged_record_is_there_or_removed_after_any_three_ends() {
    many_logs(Kind::Packed);
}

#[test]
fn plain_every_acknowledged_record_is_there_after_any_three_ends() {
    many_logs(Kind::Plain);
}

#[test]
fn plain_and_rotated_every_acknowledged_record_is_there_after_any_three_ends() {
    many_logs(Kind::PlainRotated);
}
