//! Logs of a few files with a few records each, and every byte of them.
#![allow(dead_code, reason = "not every test uses all")]

use std::fs;
use std::path::{Path, PathBuf};

use manyfiles::appender::{Appender, Options, Position};
use tempfile::TempDir;

pub fn options() -> Options {
    Appender::options().framed(true).rotate_bytes(600)
}

pub fn record(n: usize) -> Vec<u8> {
    format!("record {n} {}", "x".repeat(n * 13 % 90)).into_bytes()
}

/// So many records in files of a few each, closed in order.
pub struct Made {
    pub temp: TempDir,
    pub path: PathBuf,
    pub positions: Vec<Position>,
    /// The number of the last file.
    pub last: usize,
}

impl Made {
    pub fn of(options: Options, records: usize) -> Made {
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

    pub fn file(&self, number: usize) -> PathBuf {
        self.temp.path().join(format!("log.{number:06}"))
    }

    /// The numbers of the first file and the last one.
    pub fn numbers(&self) -> (usize, usize) {
        let number = |path: &Path| path.extension()?.to_str()?.parse().ok();
        let names = fs::read_dir(self.temp.path()).unwrap().filter_map(|entry| number(&entry.unwrap().path()));
        let numbers: Vec<usize> = names.collect();
        (*numbers.iter().min().unwrap(), *numbers.iter().max().unwrap())
    }

    pub fn copy(&self, from: usize, to: usize) -> PathBuf {
        fs::copy(self.file(from), self.file(to)).unwrap();
        self.file(to)
    }

    /// Every name, with every byte.
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        let names = fs::read_dir(self.temp.path()).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap());
        let mut all: Vec<_> = names.map(read).collect();
        all.sort();
        all
    }
}
