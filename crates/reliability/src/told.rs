//! What an operation told its caller.

use std::io;
use std::path::{Path, PathBuf};

use manyfiles::tree::{Incomplete, Report};
use manyfiles::{Error, Errors};
use serde_json::{Value, json};

/// One error that reached the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// As the error says, or the argument of a call that has one path and failed.
    pub path: Option<PathBuf>,
    pub errno: Option<i32>,
    pub text: String,
}

impl From<&Error> for Told {
    fn from(error: &Error) -> Told {
        Told { path: error.path().map(Path::to_owned), errno: error.raw_os_error(), text: error.to_string() }
    }
}

impl Told {
    pub fn to_json(&self) -> Value {
        let path = self.path.as_ref().map(|path| path.to_string_lossy());
        json!({"path": path, "errno": self.errno, "text": self.text})
    }

    pub fn from_json(value: &Value) -> Told {
        Told {
            path: value["path"].as_str().map(PathBuf::from),
            errno: value["errno"].as_i64().map(|number| number as i32),
            text: value["text"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// What a child process says when its operation has ended.
#[derive(Clone, Debug, Default)]
pub struct Tale {
    pub told: Vec<Told>,
    /// Files whose content came back other than it is, and nobody said so.
    pub wrong: Vec<PathBuf>,
    /// A program said that entries lost what could not be kept.
    pub has_counted: bool,
    /// Records that were acknowledged as durable.
    pub acknowledged: usize,
    /// Descriptors and threads that were not there before.
    pub left: Vec<String>,
}

impl Tale {
    /// An error of manyfiles, which has its own path.
    pub fn ours<T>(&mut self, result: manyfiles::Result<T>) -> Option<T> {
        result.map_err(|error| self.told.push(Told::from(&error))).ok()
    }

    /// A list of them.
    pub fn list<T>(&mut self, result: Result<T, Errors>) -> Option<T> {
        result.map_err(|errors| self.told.extend(errors.iter().map(Told::from))).ok()
    }

    /// The end of a tree.
    pub fn tree(&mut self, result: Result<Report, Incomplete>) {
        if let Err(incomplete) = result {
            self.told.extend(incomplete.errors().iter().map(Told::from));
        }
    }

    /// An error of a call in std's shape. It names no path: its caller has just given it the only one.
    pub fn call<T>(&mut self, path: &Path, result: io::Result<T>) -> Option<T> {
        result
            .map_err(|error| {
                let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
                let told = ours.map(Told::from).unwrap_or_else(|| Told {
                    path: Some(path.to_owned()),
                    errno: error.raw_os_error(),
                    text: error.to_string(),
                });
                self.told.push(told);
            })
            .ok()
    }

    /// What a later call repeats of an error that a former one has returned is one error, by the documentation of the
    /// type.
    pub fn without_repetition(&mut self, from: usize) {
        let (first, later) = self.told.split_at(from);
        let new = later.iter().filter(|told| !first.contains(told)).cloned().collect::<Vec<_>>();
        self.told.truncate(from);
        self.told.extend(new);
    }

    pub fn to_json(&self) -> Value {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let told: Vec<_> = self.told.iter().map(Told::to_json).collect();
        json!({
            "told": told,
            "wrong": self.wrong.iter().map(text).collect::<Vec<_>>(),
            "acknowledged": self.acknowledged,
            "left": self.left,
        })
    }

    pub fn from_json(value: &Value) -> Option<Tale> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let told = value["told"].as_array()?.iter().map(Told::from_json);
        Some(Tale {
            has_counted: false,
            told: told.collect(),
            wrong: value["wrong"].as_array()?.iter().filter_map(text).map(PathBuf::from).collect(),
            acknowledged: value["acknowledged"].as_u64()? as usize,
            left: value["left"].as_array()?.iter().filter_map(text).collect(),
        })
    }
}
