//! Tries all ways on all file systems.

use std::fs;
use std::path::Path;

use manyfiles_testkit::Disk;

use crate::common::shell;
use crate::samples::SAMPLES;
use crate::ways::WAYS;

/// Who copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Nobody,
}

pub(crate) struct Row {
    pub kind: &'static str,
    pub thing: &'static str,
    /// The file systems that have such a thing.
    pub possible: Vec<&'static str>,
    pub kept: Vec<Kept>,
}

pub(crate) struct Kept {
    pub way: &'static str,
    /// The file systems on which it is kept.
    pub on: Vec<&'static str>,
}

impl User {
    fn ids(self) -> &'static str {
        match self {
            User::Root => "0:0",
            User::Nobody => "65534:65534",
        }
    }

    /// The shell that this user has.
    fn shell(self) -> &'static str {
        match self {
            User::Root => "sh -c",
            User::Nobody => "setpriv --reuid=65534 --regid=65534 --clear-groups sh -c",
        }
    }
}

pub(crate) fn all(user: User) -> Vec<Row> {
    let row = |sample: &crate::samples::Sample| Row {
        kind: sample.kind,
        thing: sample.thing,
        possible: Vec::new(),
        kept: WAYS.iter().map(|way| Kept { way: way.name, on: Vec::new() }).collect(),
    };
    let mut rows: Vec<Row> = SAMPLES.iter().map(row).collect();
    let systems = [
        ("ext4", Disk::ext4().megabytes(200).mount()),
        ("XFS", Disk::xfs().megabytes(400).mount()),
        ("btrfs", Disk::btrfs().megabytes(400).mount()),
        ("tmpfs", Disk::tmpfs().megabytes(200).mount()),
    ];
    for (system, disk) in systems {
        try_on(system, disk.unwrap().path(), user, &mut rows);
    }
    rows
}

fn try_on(system: &'static str, disk: &Path, user: User, rows: &mut [Row]) {
    let folder = disk.join("trial");
    fs::create_dir(&folder).unwrap();
    // The command lies where a user may not look.
    fs::copy(crate::common::BINARY, folder.join("manyfiles")).unwrap();
    let ids = user.ids();
    let mut make = format!("umask 022; mkdir s; chown {ids} . s; cd s\n");
    for (n, sample) in SAMPLES.iter().enumerate() {
        make += &format!("f={n}; {{ {}; }} 2>/dev/null || rm -rf {n} {n}-too\n", sample.make(ids));
    }
    shell(&folder, &make).code(0);
    let before = looks(&folder.join("s"));
    for (at, way) in WAYS.iter().enumerate() {
        let (target, run) = (format!("t{at}"), way.run);
        let script = format!(
            "mkdir {target}; chown {ids} {target}; setfacl -d -m u:56:rwx {target} 2>/dev/null
             export M=\"$PWD/manyfiles\" s=s t={target}; umask 022
             {} '{run}' >{target}.out 2>&1; echo $?",
            user.shell()
        );
        let ran = shell(&folder, &script).code(0);
        if std::env::var_os("MANYFILES_SHOW").is_some() {
            eprintln!(
                "{system} {user:?} {run}: {}{}",
                ran.out,
                fs::read_to_string(folder.join(format!("{target}.out"))).unwrap()
            );
        }
        let after = looks(&folder.join(&target));
        for (row, (before, after)) in rows.iter_mut().zip(before.iter().zip(&after)) {
            let Some(before) = before else { continue };
            if at == 0 {
                row.possible.push(system);
            }
            if Some(before) == after.as_ref() {
                row.kept[at].on.push(system);
            } else if at == 0 && std::env::var_os("MANYFILES_SHOW").is_some() {
                eprintln!("{system} {user:?} {} of a {}: {before:?} became {after:?}", row.thing, row.kind);
            }
        }
    }
}

/// What is seen of each sample. `None` of one that is not there.
fn looks(folder: &Path) -> Vec<Option<String>> {
    const MARK: &str = "@@@";
    // Times first: a look at anything else is an access.
    let mut script = String::new();
    for with_times in [true, false] {
        for (n, sample) in SAMPLES.iter().enumerate() {
            if sample.thing.ends_with(" time") == with_times {
                script += &format!("f={n}; if [ -e $f -o -L $f ]; then echo {MARK}{n}; {}; fi\n", sample.look);
            }
        }
    }
    script += "true\n";
    let ran = shell(folder, &script).code(0);
    let mut seen = vec![None; SAMPLES.len()];
    for part in ran.out.split(MARK).skip(1) {
        let (n, text) = part.split_once('\n').unwrap();
        seen[n.parse::<usize>().unwrap()] = Some(text.to_owned());
    }
    seen
}
