//! What a child tells of the program that it has played.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

use serde_json::{Value, json};

use crate::told::{Tale, Told};

/// What one call returned.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Without an error: what it returned, as text.
    pub value: String,
    /// Else its errors.
    pub told: Vec<Told>,
}

impl Answer {
    pub fn is_ok(&self) -> bool {
        self.told.is_empty()
    }

    /// Of a call whose errors have paths of their own.
    pub fn ours<T>(result: manyfiles::Result<T>, value: impl FnOnce(T) -> String) -> Answer {
        match result {
            Ok(it) => Answer { value: value(it), told: Vec::new() },
            Err(error) => Answer { value: String::new(), told: vec![Told::from(&error)] },
        }
    }

    /// Of a call in std's shape, whose caller has given it this path.
    pub fn std<T>(path: &Path, result: std::io::Result<T>, value: impl FnOnce(T) -> String) -> Answer {
        let mut tale = Tale::default();
        let value = tale.call(path, result).map(value).unwrap_or_default();
        Answer { value, told: tale.told }
    }

    /// Of a call that waits for many files.
    pub fn list<T>(result: Result<T, manyfiles::Errors>) -> Answer {
        let mut tale = Tale::default();
        tale.list(result);
        Answer { value: String::new(), told: tale.told }
    }
}

/// Text that stands for bytes that were read: two contents have the same only if they are the same.
pub fn digest(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{} bytes, {:016x}", bytes.len(), hasher.finish())
}

/// All that was returned.
#[derive(Debug, Default)]
pub struct Story {
    /// By the number of the call.
    pub answers: BTreeMap<u64, Answer>,
    /// What was told when no call was left: by `finish`, `close` and `wait`, and the closer's handler.
    pub end: Vec<Told>,
    /// Descriptors and threads that were not there before.
    pub left: Vec<String>,
}

impl Story {
    pub fn told(&self) -> impl Iterator<Item = &Told> {
        self.answers.values().flat_map(|answer| &answer.told).chain(&self.end)
    }

    pub fn to_json(&self) -> Value {
        let list = |told: &[Told]| told.iter().map(Told::to_json).collect::<Vec<_>>();
        let answers = self.answers.iter();
        let answers = answers.map(|(n, answer)| json!([n, answer.value, list(&answer.told)])).collect::<Vec<_>>();
        json!({"answers": answers, "end": list(&self.end), "left": self.left})
    }

    pub fn from_json(value: &Value) -> Option<Story> {
        let list = |value: &Value| Some(value.as_array()?.iter().map(Told::from_json).collect::<Vec<_>>());
        let mut story = Story { end: list(&value["end"])?, ..Story::default() };
        for answer in value["answers"].as_array()? {
            let text = answer[1].as_str()?.to_owned();
            story.answers.insert(answer[0].as_u64()?, Answer { value: text, told: list(&answer[2])? });
        }
        let left = value["left"].as_array()?.iter();
        story.left = left.filter_map(|text| text.as_str().map(str::to_owned)).collect();
        Some(story)
    }
}
