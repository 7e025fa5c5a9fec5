//! A last file in which no appender can go on: opening, [`check`] and [`repair`] say the same, and the repair mends it.
#![cfg(feature = "full")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use manyfiles::appender::{Appender, Misfit, OnDamage, Options, Position, Records, check, repair};
use tempfile::TempDir;

fn options() -> Options {
    Appender::options().framed(true).rotate_bytes(600)
}

fn record(n: usize) -> Vec<u8> {
    format!("record {n} {}", "x".repeat(n * 13 % 90)).into_bytes()
}

/// So many records in files of a few each, closed in order.
struct Made {
    temp: TempDir,
    path: PathBuf,
    positions: Vec<Position>,
    /// The number of the last file.
    last: usize,
}

impl Made {
    fn of(options: Options, records: usize) -> Made {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let appender = options.open(&path).unwrap();
        let mut positions = Vec::new();
        for n in 0..records {
            let receipt = appender.append(&record(n)).unwrap();
            positions.push(receipt.position().unwrap());
            if n % 5 == 0 {
                receipt.wait_durable().unwrap();
            }
        }
        appender.close().unwrap();
        let last = fs::read_dir(temp.path()).unwrap().count();
        Made { temp, path, positions, last }
    }

    fn file(&self, number: usize) -> PathBuf {
        self.temp.path().join(format!("log.{number:06}"))
    }

    fn copy(&self, from: usize, to: usize) -> PathBuf {
        fs::copy(self.file(from), self.file(to)).unwrap();
        self.file(to)
    }

    /// Every name, with every byte.
    fn all(&self) -> Vec<(String, Vec<u8>)> {
        let names = fs::read_dir(self.temp.path()).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
        let mut all: Vec<_> = names.map(read).collect();
        all.sort();
        all
    }
}

/// The records without errors.
fn read(path: &Path) -> Vec<Vec<u8>> {
    Records::open(path).unwrap().map(|record| record.unwrap()).collect()
}

fn records(numbers: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    numbers.map(record).collect()
}

/// Opening, checking and repairing say that nothing goes on here, and none of them changes anything.
fn all_refuse(made: &Made, file: &Path, misfit: Misfit) {
    let before = made.all();
    for on_damage in [OnDamage::Refuse, OnDamage::GoOn] {
        let refused = options().on_damage(on_damage).open(&made.path).unwrap_err();
        assert_eq!((refused.kind(), refused.misfit()), (ErrorKind::InvalidData, Some(misfit)), "{refused}");
        assert_eq!(refused.path(), Some(file));
        assert!(refused.to_string().contains("repair"), "it does not say what to do: {refused}");
    }
    let report = check(&made.path).unwrap();
    assert!(!report.is_sound());
    let last = report.files.last().unwrap();
    assert_eq!((&*last.path, last.misfit), (file, Some(misfit)));
    assert!(last.errors.is_empty(), "it is told once: {:?}", last.errors);
    assert!(made.all() == before, "nothing is changed by being refused");
}

/// Mends the log, by a repair or by opening, and goes on in it. The bytes of `file` are kept.
fn mends(made: &Made, file: &Path, misfit: Misfit, by_opening: bool, left: &[Vec<u8>]) {
    let bytes = fs::read(file).unwrap();
    let mended = if by_opening {
        let appender = options().on_damage(OnDamage::SetAside).open(&made.path).unwrap();
        let set_aside = appender.recovery().set_aside;
        appender.close().unwrap();
        set_aside
    } else {
        repair(&made.path).unwrap()
    };
    let [mended] = &mended[..] else { panic!("{mended:?}") };
    assert_eq!((mended.misfit, &mended.damage[..]), (Some(misfit), &[][..]));
    assert!(fs::read(&mended.kept).unwrap() == bytes, "not all of it is kept");
    assert!(mended.kept.to_str().unwrap().ends_with(".damaged"));
    let report = check(&made.path).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(repair(&made.path).unwrap(), []);
    assert_eq!(read(&made.path), left);
    let appender = options().open(&made.path).unwrap();
    let receipt = appender.append(b"and on").unwrap();
    receipt.wait_durable().unwrap();
    appender.close().unwrap();
    assert_eq!(read(&made.path), [left, &[b"and on".to_vec()]].concat());
    let from = Records::open_at(&made.path, receipt.position().unwrap()).unwrap();
    assert_eq!(from.map(|record| record.unwrap()).collect::<Vec<_>>(), [b"and on"]);
}

#[test]
fn an_older_file_under_the_highest_number_is_refused_and_set_aside() {
    // The file before it, one further back, and the first, which has none before it; next to the last file, and with a
    // gap.
    for by_opening in [false, true] {
        for of in [1, 2, usize::MAX] {
            for gap in [1, 40] {
                let made = Made::of(options(), 40);
                assert!(made.last > 3);
                let older = made.copy(of.min(made.last), made.last + gap);
                all_refuse(&made, &older, Misfit::Older);
                // A checkpoint in the log is still one.
                let mut from = Records::open_at(&made.path, made.positions[38]).unwrap();
                assert_eq!(from.next().unwrap().unwrap(), record(38));
                assert_eq!(from.next().unwrap().unwrap(), record(39));
                let told = from.next().unwrap().unwrap_err();
                assert_eq!(told.kind(), if gap == 1 || of < made.last { ErrorKind::InvalidData } else { told.kind() });
                mends(&made, &older, Misfit::Older, by_opening, &records(0..40));
            }
        }
    }
}

#[test]
fn an_older_file_in_front_of_a_good_one_keeps_nobody_from_the_records_of_that() {
    let made = Made::of(options(), 40);
    let (replaced, last) = (made.last - 1, made.last);
    let bytes = fs::read(made.file(replaced)).unwrap();
    made.copy(1, replaced);
    let before = made.all();
    // Which of both is wrong is not for a program to say: nothing is taken away.
    for on_damage in [OnDamage::Refuse, OnDamage::SetAside] {
        let refused = options().on_damage(on_damage).open(&made.path).unwrap_err();
        assert_eq!((refused.kind(), refused.path()), (ErrorKind::InvalidData, Some(&*made.file(last))));
        assert!(refused.to_string().contains("take the wrong one away"), "{refused}");
    }
    let refused = repair(&made.path).unwrap_err();
    let report = check(&made.path).unwrap();
    assert_eq!(report.files.last().unwrap().errors[0].to_string(), refused.to_string());
    assert!(made.all() == before);
    fs::write(made.file(replaced), bytes).unwrap();
    assert_eq!(repair(&made.path).unwrap(), []);
    options().open(&made.path).unwrap().close().unwrap();
    assert_eq!(read(&made.path), records(0..40));
}

#[test]
fn an_empty_last_file_is_refused_and_set_aside() {
    for by_opening in [false, true] {
        for bytes in [&[][..], &[0; 96], b"mfrecs\x00"] {
            let made = Made::of(options(), 20);
            let empty = made.file(made.last + 1);
            fs::write(&empty, bytes).unwrap();
            all_refuse(&made, &empty, Misfit::Empty);
            mends(&made, &empty, Misfit::Empty, by_opening, &records(0..20));
        }
    }
}

#[test]
fn what_is_somebody_else_s_is_told_by_all_three_and_left_alone() {
    let made = Made::of(options(), 20);
    let other = made.file(made.last + 1);
    fs::write(&other, "somebody's text, and more of it than a header has bytes".repeat(3)).unwrap();
    let before = made.all();
    for refused in [
        options().open(&made.path).unwrap_err(),
        options().on_damage(OnDamage::SetAside).open(&made.path).unwrap_err(),
        repair(&made.path).unwrap_err(),
        check(&made.path).unwrap().files.last().unwrap().errors[0].clone(),
    ] {
        assert_eq!((refused.kind(), refused.path(), refused.misfit()), (ErrorKind::InvalidData, Some(&*other), None));
    }
    assert!(made.all() == before);
    fs::remove_file(other).unwrap();
    options().open(&made.path).unwrap().close().unwrap();
}

#[test]
fn several_misfits_one_behind_the_other_are_mended_at_once() {
    let made = Made::of(options(), 30);
    fs::write(made.file(made.last + 1), "").unwrap();
    made.copy(2, made.last + 2);
    fs::write(made.file(made.last + 5), "").unwrap();
    let mut damaged = fs::read(made.file(made.last)).unwrap();
    damaged[96 + 16 + 8 + 3] ^= 1;
    fs::write(made.file(made.last), damaged).unwrap();
    let mended = repair(&made.path).unwrap();
    let what: Vec<_> = mended.iter().map(|mended| (mended.misfit, mended.damage.len())).collect();
    let (older, empty) = (Some(Misfit::Older), Some(Misfit::Empty));
    assert_eq!(what, [(None, 1), (empty, 0), (older, 0), (empty, 0)]);
    assert!(check(&made.path).unwrap().is_sound());
    assert_eq!(read(&made.path).len(), 29);
    options().open(&made.path).unwrap().close().unwrap();
}

#[cfg(feature = "zstd")]
mod compressed {
    use std::time::{Duration, Instant};

    use super::*;

    /// All files but the last compressed, and that one gone.
    fn without_the_last() -> (Made, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let appender = options().compress(true).open(&path).unwrap();
        let mut positions = Vec::new();
        for n in 0..40 {
            positions.push(appender.append(&record(n)).unwrap().position().unwrap());
        }
        appender.sync().unwrap();
        let plain = || {
            let names = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().path());
            names.filter(|path| path.extension().is_some_and(|end| end != "zst")).collect::<Vec<_>>()
        };
        let began = Instant::now();
        while plain().len() > 1 {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "it is not compressed: {:?}",
                appender.take_upkeep_errors()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        appender.close().unwrap();
        fs::remove_file(&plain()[0]).unwrap();
        let last = fs::read_dir(temp.path()).unwrap().count();
        let packed = temp.path().join(format!("log.{last:06}.zst"));
        assert!(packed.exists());
        (Made { temp, path, positions, last }, packed)
    }

    #[test]
    fn a_compressed_last_file_is_refused_and_unpacked() {
        for by_opening in [false, true] {
            let (made, packed) = without_the_last();
            all_refuse(&made, &packed, Misfit::Compressed);
            let left = read(&made.path);
            assert_eq!(left, records(0..left.len()));
            mends(&made, &packed, Misfit::Compressed, by_opening, &left);
            assert!(!packed.exists() && made.file(made.last).exists());
        }
    }

    #[test]
    fn a_compressed_last_file_that_cannot_be_read_is_told_and_left() {
        let (made, packed) = without_the_last();
        let mut bytes = fs::read(&packed).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        fs::write(&packed, &bytes).unwrap();
        let before = made.all();
        assert_eq!(options().open(&made.path).unwrap_err().path(), Some(&*packed));
        assert_eq!(repair(&made.path).unwrap_err().path(), Some(&*packed));
        assert!(!check(&made.path).unwrap().is_sound());
        assert!(made.all() == before);
    }
}

/// Whatever became of a log, it is opened if a check finds it sound, and only then; and after a repair that says Ok.
#[test]
fn what_a_check_finds_sound_can_be_opened_and_what_it_does_not_is_mended_or_told() {
    let (mut sound, mut mended, mut told) = (0, 0, 0);
    let mut random = 20_261_122_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit
    };
    // A sync takes long there.
    let rounds = if cfg!(windows) { 30 } else { 150 };
    for round in 0..rounds {
        let made = Made::of(options(), 6 + below(30));
        let number = |n: usize| 1 + n % (made.last + 2);
        let mut story = Vec::new();
        for _ in 0..1 + below(3) {
            let (what, from, to) = (below(6), number(below(100)), number(below(100)));
            story.push((what, from, to));
            let there = fs::read(made.file(from));
            match (what, there) {
                (0, Ok(bytes)) if !bytes.is_empty() => {
                    let (mut bytes, at) = (bytes.clone(), below(bytes.len()));
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
        let Ok(report) = check(&made.path) else { continue };
        let story = format!("round {round}, {} files, {story:?}", made.last);
        // Only the end of a log is looked at when it is opened.
        let opens = options().open(&made.path).map(|appender| appender.close().unwrap());
        if report.is_sound() {
            sound += 1;
            opens.unwrap_or_else(|error| panic!("{story}: a sound log is refused: {error}"));
            continue;
        }
        match repair(&made.path) {
            Ok(_) => {
                mended += 1;
                options().open(&made.path).unwrap_or_else(|error| panic!("{story}: repaired, and refused: {error}"));
            }
            Err(error) => {
                told += 1;
                let opens = opens.err().unwrap_or_else(|| panic!("{story}: no repair of what opens: {error}"));
                assert!(opens.path().is_some() && error.path().is_some(), "{story}: {opens}, {error}");
            }
        }
    }
    assert!(cfg!(windows) || sound > 5 && mended > 20 && told > 5, "{sound} sound, {mended} mended, {told} told");
}
