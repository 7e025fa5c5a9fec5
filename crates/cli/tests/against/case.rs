//! [`Case`]: a folder as it is before, entries that come, and under which circumstances. All of it from one number.

use std::collections::HashSet;
use std::fmt;

use manyfiles_testkit::Random;

use super::world::{Content, SPARSE, Time, What};

/// The policy for a name that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Error,
    Skip,
    SkipIdentical,
    Overwrite,
    Replace,
    Newer,
    Rename,
}

impl Policy {
    pub(crate) const ALL: [Policy; 7] = [
        Policy::Error,
        Policy::Skip,
        Policy::SkipIdentical,
        Policy::Overwrite,
        Policy::Replace,
        Policy::Newer,
        Policy::Rename,
    ];

    pub(crate) fn option(self) -> &'static str {
        match self {
            Policy::Error => "error",
            Policy::Skip => "skip",
            Policy::SkipIdentical => "skip-identical",
            Policy::Overwrite => "overwrite",
            Policy::Replace => "replace",
            Policy::Newer => "newer",
            Policy::Rename => "rename",
        }
    }
}

/// The user that unpacks, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// As the user `nobody`, where the test itself is root.
    pub nobody: bool,
    pub umask: u32,
    /// Permissions as they are, whatever the umask.
    pub exact: bool,
    pub set_id: bool,
}

impl Setup {
    /// The permissions that an entry has in the end.
    pub(crate) fn mode(&self, given: u32) -> u32 {
        let kept = given & if self.set_id { 0o7777 } else { 0o1777 };
        if self.exact { kept } else { kept & !self.umask }
    }
}

/// The kind of an archive's entry.
#[derive(Clone, Debug)]
pub(crate) enum Is {
    New(What),
    /// A further name for the file of this name.
    HardLink(String),
}

/// An entry of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub path: String,
    pub is: Is,
    pub mode: u32,
    pub time: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub seed: u64,
    pub setup: Setup,
    pub policy: Policy,
    pub other: Other,
    /// The steps that make the folder as it is before the run.
    pub before: Vec<Entry>,
    pub entries: Vec<Entry>,
}

/// Another program, which a case is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    Tar,
    Unzip,
    Cp,
    Rsync,
}

/// Names in five scripts, composed and decomposed, and two that differ in case alone.
const NAMES: [&str; 14] = [
    "d",
    "a",
    "b",
    "A",
    "caf\u{e9}",
    "cafe\u{301}",
    "файл",
    "Файл",
    "日本語",
    "中国",
    "\u{d55c}\u{ae00}",
    "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
    "שלום",
    "नमस्ते",
];

const TIMES: [Time; 5] = [
    (1_000_000_000, 0),
    (1_200_000_000, 123_456_789),
    (1_200_000_000, 123_456_788),
    (1_400_000_000, 0),
    (1_600_000_000, 500),
];
const FILE_MODES: [u32; 8] = [0o644, 0o644, 0o600, 0o755, 0o400, 0o444, 0o666, 0o4755];
const FOLDER_MODES: [u32; 6] = [0o755, 0o755, 0o700, 0o775, 0o2755, 0o1777];

impl Case {
    pub(crate) fn new(seed: u64, policies: &[Policy], root: bool, other: Other) -> Case {
        // Small seeds are easy to write down; their numbers are to have nothing in common.
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9).rotate_left(17));
        let random = &mut random;
        let nobody = root && random.percent(40);
        let setup = Setup {
            nobody,
            umask: random.pick(&[0o022, 0o077]),
            exact: if root && !nobody { !random.percent(20) } else { random.percent(30) },
            set_id: random.percent(40),
        };
        let names = Names::new(random);
        let before = match random.percent(30) {
            true => Vec::new(),
            false => names.entries(1 + random.below(9), random, other, false),
        };
        let (count, unique) = (1 + random.below(12), random.percent(50));
        let entries = names.entries(count, random, other, unique);
        Case { seed, setup, policy: policies[seed as usize % policies.len()], other, before, entries }
    }

    /// Whether no entry follows another of its path.
    pub(crate) fn has_each_path_once(&self) -> bool {
        let paths: HashSet<_> = self.entries.iter().map(|entry| &entry.path).collect();
        paths.len() == self.entries.len()
    }

    /// The same case without one of its entries: each in turn.
    pub(crate) fn smaller(&self) -> impl Iterator<Item = Case> {
        let of_entries = (0..self.entries.len()).map(|n| {
            let mut case = self.clone();
            case.entries.remove(n);
            case
        });
        let of_before = (0..self.before.len()).map(|n| {
            let mut case = self.clone();
            case.before.remove(n);
            case
        });
        of_before.chain(of_entries)
    }
}

/// Three names, of which one is mostly a folder: so that paths meet.
struct Names([&'static str; 3]);

impl Names {
    fn new(random: &mut Random) -> Names {
        let mut names = NAMES;
        for n in 0..3 {
            names.swap(n, n + random.below(NAMES.len() - n));
        }
        // Half of the time in the plain script, where a failure is easiest to read.
        Names(if random.percent(50) { ["d", "a", "b"] } else { [names[0], names[1], names[2]] })
    }

    fn path(&self, is_folder: bool, random: &mut Random) -> String {
        let depth = random.pick(&[0, 0, 0, 1, 1, 2]);
        let mut path = String::new();
        for _ in 0..depth {
            path += if random.percent(85) { self.0[0] } else { random.pick(&self.0) };
            path.push('/');
        }
        path + match is_folder {
            true if random.percent(80) => self.0[0],
            false if random.percent(85) => self.0[1 + random.below(2)],
            _ => random.pick(&self.0),
        }
    }

    fn entries(&self, count: usize, random: &mut Random, other: Other, unique: bool) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..count {
            let entry = self.entry(&entries, random, other);
            if !unique || entries.iter().all(|earlier| earlier.path != entry.path) {
                entries.push(entry);
            }
        }
        entries
    }

    fn entry(&self, earlier: &[Entry], random: &mut Random, other: Other) -> Entry {
        // A zip has neither FIFOs nor hard links nor holes, and whole seconds.
        let kinds = if other == Other::Unzip { 72 } else { 100 };
        let kind = random.below(kinds);
        let path = self.path((45..63).contains(&kind), random);
        let (mut mode, mut time) = (random.pick(&FILE_MODES), random.pick(&TIMES));
        let is = match kind {
            0..45 => Is::New(What::File(content(random, other))),
            45..63 => {
                mode = random.pick(&FOLDER_MODES);
                Is::New(What::Folder)
            }
            63..72 => Is::New(What::Symlink(match random.below(5) {
                0 => "nowhere".into(),
                1 => "../outside".into(),
                2 => ".".into(),
                _ => random.pick(&self.0).into(),
            })),
            72..80 => Is::New(What::Fifo),
            _ => {
                let linkable: Vec<_> =
                    earlier.iter().filter(|entry| !matches!(entry.is, Is::New(What::Folder))).collect();
                match random.below(20) {
                    0 => Is::HardLink(path.clone()),
                    1..17 if !linkable.is_empty() => {
                        let existing = linkable[random.below(linkable.len())];
                        // As tar writes it: the attributes are those of the one file.
                        (mode, time) = (existing.mode, existing.time);
                        Is::HardLink(existing.path.clone())
                    }
                    _ => Is::HardLink(self.path(false, random)),
                }
            }
        };
        if other == Other::Unzip {
            time.1 = 0;
        }
        Entry { path, is, mode, time }
    }
}

fn content(random: &mut Random, other: Other) -> Content {
    // Few different ones, so that the old and the new are often the same.
    let number = random.below(3) as u64;
    if other != Other::Unzip && random.percent(12) {
        let (len, pieces) = random.pick(&SPARSE);
        return Content { len, number, pieces: Some(pieces) };
    }
    Content { len: random.pick(&[0, 1, 100, 5_000, 5_000, 300_000]), number, pieces: None }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { path, is, mode, time: (seconds, nanoseconds) } = self;
        match is {
            Is::New(what) => write!(f, "{path:?}: {what}")?,
            Is::HardLink(existing) => write!(f, "{path:?}: hard link to {existing:?}")?,
        }
        write!(f, ", mode {mode:o}, time {seconds}.{nanoseconds:09}")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setup { nobody, umask, exact, set_id } = self.setup;
        let who = if nobody { "as nobody" } else { "as the tests' user" };
        let exact = if exact { "permissions kept" } else { "less the umask" };
        let set_id = if set_id { ", --set-id" } else { "" };
        writeln!(
            f,
            "seed {}, --on-conflict {}, {who}, umask {umask:03o}, {exact}{set_id}",
            self.seed,
            self.policy.option()
        )?;
        for (title, entries) in [("  there before:", &self.before), ("  comes:", &self.entries)] {
            writeln!(f, "{title}")?;
            entries.iter().try_for_each(|entry| writeln!(f, "    {entry}"))?;
        }
        Ok(())
    }
}
