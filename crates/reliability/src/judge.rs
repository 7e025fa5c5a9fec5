//! What a run means: by the disk first, then by what was told.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use manyfiles::appender::Records;

use crate::faults::Fault;
use crate::rows::{How, Row};
use crate::run::{End, Outcome};
use crate::scene::{Expected, Node, OnFailure, Scene, attribute_at, below, node_at};
use crate::tar;
use crate::told::Told;

/// One word for a run. The first two are as promised, the third is nobody's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Kept,
    Reported,
    Taken,
    Lost,
    OldGone,
    Partial,
    LeftOver,
    Twice,
    NoPath,
    OtherPath,
    OtherErrno,
    Leak,
    Outside,
    Crash,
    Hang,
}

pub const VERDICTS: [(Verdict, &str, &str); 15] = [
    (Verdict::Kept, "kept", "all bytes are there, and no error was told"),
    (
        Verdict::Reported,
        "reported",
        "an error was told, once, with its path and number; what was promised to stay is there",
    ),
    (Verdict::Taken, "taken", "another process changed or removed it after it was written: no call can tell"),
    (Verdict::Lost, "lost", "bytes are not there, or a failed close or sync may have lost them, and no error was told"),
    (
        Verdict::OldGone,
        "old gone",
        "an error was told, but neither the old nor the new content is there, against a promise",
    ),
    (Verdict::Partial, "partial", "an error was told, but a part of a file has the file's name, against a promise"),
    (Verdict::LeftOver, "left over", "a temporary file is left, and could have been removed"),
    (Verdict::Twice, "twice", "the same error was told twice"),
    (Verdict::NoPath, "no path", "an error was told without a path"),
    (Verdict::OtherPath, "other path", "an error was told, but none that names the file that is not there"),
    (Verdict::OtherErrno, "other errno", "an error was told, but not the number that the system gave"),
    (Verdict::Leak, "leak", "a handle or a thread is left"),
    (Verdict::Outside, "outside", "it wrote outside of its folder, against a promise"),
    (Verdict::Crash, "crash", "a panic, or the end by a signal"),
    (Verdict::Hang, "hang", "the watchdog ended it"),
];

impl Verdict {
    pub fn is_good(self) -> bool {
        matches!(self, Verdict::Kept | Verdict::Reported | Verdict::Taken)
    }

    pub fn parse(text: &str) -> Option<Verdict> {
        VERDICTS.iter().find(|(_, name, _)| *name == text).map(|(verdict, ..)| *verdict)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, _) = VERDICTS.iter().find(|(verdict, ..)| verdict == self).expect("each has a name");
        f.write_str(name)
    }
}

/// All that is to be said of a run: one good verdict, or each bad one; and for whom wants to know, why.
pub fn judge(row: &Row, scene: &Scene, fault: &Fault, outcome: &Outcome) -> (BTreeSet<Verdict>, String) {
    let mut bad = BTreeSet::new();
    let mut why = Vec::new();
    match &outcome.end {
        End::Hang => return (BTreeSet::from([Verdict::Hang]), String::new()),
        End::Crash(how) => return (BTreeSet::from([Verdict::Crash]), how.clone()),
        End::Told => {}
    }
    let mut say = |verdict: Verdict, what: String| {
        bad.insert(verdict);
        why.push(format!("{verdict}: {what}"));
    };
    let told = &outcome.tale.told;
    let folder = &outcome.folder;
    let by_neighbour = matches!(fault, Fault::Neighbour(_));

    let wrong: Vec<&Expected> =
        scene.after.iter().filter(|expected| !is_there(scene, expected, fault, outcome)).collect();
    let mut is_lost = told.is_empty() && !wrong.is_empty();
    is_lost |= told.is_empty() && is_unread(row, scene, outcome);
    is_lost |= !outcome.tale.wrong.is_empty();
    is_lost |= !scene.records.is_empty() && !records_are_there(scene, outcome);
    for (path, node) in scene.before.iter().filter(|(path, _)| path.starts_with("src/")) {
        if node_at(&folder.join(path)).ok().flatten().as_ref() != Some(node) {
            is_lost = true;
        }
    }
    if !outcome.came_outside.is_empty() && row.stays_inside {
        say(Verdict::Outside, format!("{:?}", outcome.came_outside));
    }
    if !outcome.tale.left.is_empty() {
        say(Verdict::Leak, outcome.tale.left.join(", "));
    }
    if by_neighbour {
        let good = if !told.is_empty() {
            Verdict::Reported
        } else if is_lost {
            Verdict::Taken
        } else {
            Verdict::Kept
        };
        return finish(bad, good, &why, told);
    }
    if is_lost {
        let names: Vec<_> = wrong.iter().map(|expected| expected.path).collect();
        say(Verdict::Lost, format!("not as it is to be: {names:?} {:?}", outcome.tale.wrong));
    } else if told.is_empty()
        && let Some(silent) = silent(scene, outcome)
    {
        say(Verdict::Lost, silent);
    }
    // What cannot be removed stays; from then on nothing can be.
    let can_tidy = !matches!(fault, Fault::Onwards(_)) && !outcome.fired.iter().any(|fired| fired.call == "unlink");
    for expected in &wrong {
        let old = scene.old(expected.path);
        let now = node_at(&folder.join(expected.path)).ok().flatten();
        match expected.on_failure {
            OnFailure::NewOrOld if now.as_ref() != old => say(Verdict::OldGone, expected.path.into()),
            OnFailure::WholeTar if now.as_ref() != old && tar_at(scene, &folder.join(expected.path)).is_none() => {
                say(if old.is_some() { Verdict::OldGone } else { Verdict::Partial }, expected.path.into());
            }
            OnFailure::WholeOrNothing if can_tidy && now.is_some() => say(Verdict::Partial, expected.path.into()),
            _ => {}
        }
    }
    for path in left_over(scene, folder) {
        // That it is left may be what was told.
        let is_named = told.iter().flat_map(|told| &told.path).any(|named| {
            let folder = folder.join(&path);
            folder
                .ancestors()
                .take_while(|above| *above != outcome.folder.join("dst"))
                .any(|above| above.ends_with(named))
        });
        if (can_tidy || told.is_empty()) && !is_named {
            say(Verdict::LeftOver, path);
        }
    }
    if !told.is_empty() {
        about_errors(row, scene, outcome, &wrong, &mut say);
    }
    let good = if told.is_empty() { Verdict::Kept } else { Verdict::Reported };
    finish(bad, good, &why, told)
}

fn finish(bad: BTreeSet<Verdict>, good: Verdict, why: &[String], told: &[Told]) -> (BTreeSet<Verdict>, String) {
    let texts: Vec<_> = told.iter().map(|told| &told.text).collect();
    let why = format!("{}; told: {texts:?}", why.join("; "));
    if bad.is_empty() { (BTreeSet::from([good]), why) } else { (bad, why) }
}

/// What of the files below `src` the tar has. `None`: it is not whole, or has other bytes.
fn tar_at(scene: &Scene, path: &Path) -> Option<usize> {
    let files = tar::files(&std::fs::read(path).ok()?)?;
    let is_right = files.iter().all(|(name, bytes)| {
        let source = format!("src/{name}");
        scene.before.iter().any(|(path, node)| *path == source && matches!(node, Node::File(all) if all == bytes))
    });
    is_right.then_some(files.len())
}

fn is_there(scene: &Scene, expected: &Expected, fault: &Fault, outcome: &Outcome) -> bool {
    let folder = &outcome.folder;
    // What was counted as lost need not be there. The mounts show no attributes.
    let has_attributes = scene.has_attributes && !matches!(fault, Fault::Mount(_));
    if has_attributes && !outcome.tale.has_counted && matches!(expected.new, Some(Node::File(_))) {
        let has = attribute_at(&folder.join(expected.path));
        if expected.sources.iter().any(|source| attribute_at(&folder.join(source)) != has) {
            return false;
        }
    }
    if expected.new == Some(Node::Tar) {
        let all = scene.before.iter().filter(|(path, node)| path.starts_with("src/") && matches!(node, Node::File(_)));
        return tar_at(scene, &folder.join(expected.path)) == Some(all.count());
    }
    node_at(&folder.join(expected.path)).is_ok_and(|now| now == expected.new)
}

/// A program that was to print something has printed something else.
fn is_unread(row: &Row, scene: &Scene, outcome: &Outcome) -> bool {
    matches!(row.how, How::Program(_)) && scene.prints.as_ref().is_some_and(|all| *all != outcome.printed)
}

/// Every record that was acknowledged can be read, in order; without an error, all were.
fn records_are_there(scene: &Scene, outcome: &Outcome) -> bool {
    let acknowledged = outcome.tale.acknowledged;
    if outcome.tale.told.is_empty() && acknowledged < scene.records.len() {
        return false;
    }
    if acknowledged == 0 {
        return true;
    }
    let read: Vec<Vec<u8>> = match Records::open(outcome.folder.join("dst/log")) {
        Ok(records) => records.map_while(Result::ok).collect(),
        Err(_) => return false,
    };
    read.len() >= acknowledged && read[..acknowledged] == scene.records[..acknowledged]
}

/// A close or a sync of what was written failed, and nobody was told. That the bytes are there is the test kit's
/// kindness.
fn silent(scene: &Scene, outcome: &Outcome) -> Option<String> {
    let errno = outcome.errno?;
    let dst = outcome.folder.join("dst");
    outcome.fired.iter().find_map(|fired| {
        let counts = match &*fired.call {
            "close" => fired.is_writing && !scene.is_synced_first,
            "fsync" | "syncfs" => true,
            _ => false,
        };
        // What was removed is not missed.
        let is_there = fired.path.starts_with(&dst) && !fired.path.to_string_lossy().ends_with(" (deleted)");
        (is_there && counts).then(|| format!("{} of {} failed with {errno}", fired.call, fired.path.display()))
    })
}

/// What is below `dst` and belongs to nothing.
fn left_over(scene: &Scene, folder: &Path) -> Vec<String> {
    let belongs = |path: &str| {
        scene.after.iter().any(|expected| expected.path == path)
            || scene.old(path).is_some()
            || scene.may_stay == Some(path)
            || !scene.records.is_empty() && path.starts_with("dst/log")
    };
    let names = below(&folder.join("dst"));
    let names = names.iter().filter_map(|path| path.strip_prefix(folder).ok()?.to_str().map(str::to_owned));
    names.filter(|path| !belongs(path)).collect()
}

fn about_errors(
    row: &Row,
    scene: &Scene,
    outcome: &Outcome,
    wrong: &[&Expected],
    say: &mut impl FnMut(Verdict, String),
) {
    let told = &outcome.tale.told;
    let is_program = matches!(row.how, How::Program(_));
    if is_program {
        // A status that says it and a line that says where.
        let is_about_one = |told: &Told| scene.after.iter().any(|expected| names(told, expected));
        if !told.iter().any(is_about_one)
            && !told.iter().any(|told| scene.after.is_empty() && told.text.contains("src"))
        {
            say(Verdict::NoPath, String::new());
        }
    } else {
        for (n, one) in told.iter().enumerate() {
            if one.path.is_none() {
                say(Verdict::NoPath, one.text.clone());
            }
            if told[..n].contains(one) {
                say(Verdict::Twice, one.text.clone());
            }
        }
    }
    if let Some(errno) = outcome.errno
        && !told.iter().any(|told| has_errno(told, errno))
    {
        say(Verdict::OtherErrno, format!("{errno} was given"));
    }
    if scene.fails_as_one || !scene.records.is_empty() {
        return;
    }
    for expected in wrong {
        if !told.iter().any(|told| names(told, expected)) {
            say(Verdict::OtherPath, expected.path.into());
        }
    }
}

fn has_errno(told: &Told, errno: i32) -> bool {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().expect("a split has a first part").to_lowercase();
    told.errno == Some(errno) || told.errno.is_none() && told.text.to_lowercase().contains(&text)
}

/// The error is about this file: it has its path, that of a folder above it, or that of its source.
fn names(told: &Told, expected: &Expected) -> bool {
    let ways = expected.sources.iter().copied().chain([expected.path]);
    let mut ways = ways.flat_map(|way| Path::new(way).ancestors().filter(|above| !above.as_os_str().is_empty()));
    match &told.path {
        // From a child's folder, or below the root of a tree.
        Some(path) => ways.any(|way| path.ends_with(way) || path.is_relative() && way.ends_with(path)),
        None => ways.any(|way| {
            let below = way.strip_prefix("dst").ok().filter(|below| !below.as_os_str().is_empty());
            [Some(way), below].into_iter().flatten().any(|way| mentions(&told.text, &way.to_string_lossy()))
        }),
    }
}

/// The text has this path as a whole, whatever is before it, and does not go on with a name below it.
fn mentions(text: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let text = text.replace("/./", "/");
    text.match_indices(path).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        let goes_on = after.strip_prefix('/').unwrap_or(after).starts_with(is_name) || after.starts_with(".t");
        !before.ends_with(is_name) && !goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_mentions_a_path_and_not_only_one_below_it() {
        assert!(mentions("tar: a/small: Cannot open: No space left on device", "a/small"));
        assert!(mentions("cp: cannot stat 'src/./a': Input/output error", "src/a"));
        assert!(mentions("cannot create a/small: cannot create the folder a: Input/output error", "a"));
        assert!(!mentions("cp: cannot stat 'src/./a/small': Input/output error", "src/a"));
        assert!(!mentions("tar: a/small: Cannot open", "mall"));
        assert!(!mentions("tar: a/smaller: Cannot open", "a/small"));
    }

    #[test]
    fn each_verdict_has_a_name_of_its_own() {
        for (verdict, name, _) in VERDICTS {
            assert_eq!((Verdict::parse(name), verdict.to_string()), (Some(verdict), name.to_owned()));
        }
    }
}
