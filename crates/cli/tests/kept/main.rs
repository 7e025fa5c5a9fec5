//! docs/kept.md: what each command keeps of each kind of entry, tried on each file system. With `MANYFILES_WRITE=1` the
//! page is written anew.
//!
//! [`samples`] are the rows, [`ways`] the columns: another command is one more [`ways::Way`]. [`trial`] makes the
//! samples on a file system, lets each way copy them, and looks at what came of it.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod page;
mod samples;
mod trial;
mod ways;

use std::fs;
use std::path::Path;

use manyfiles_testkit::{Need, skip_unless};

use trial::{User, all};
use ways::OURS;

#[test]
fn the_page_says_what_is_kept_and_nothing_is_lost_that_others_keep() {
    skip_unless!(Need::Root, Need::LoopDevices);
    skip_unless!(Need::Program("getfacl"), Need::Program("setcap"), Need::Program("getfattr"), Need::Program("rsync"));
    skip_unless!(
        Need::Program("lsattr"),
        Need::Program("mkfs.xfs"),
        Need::Program("mkfs.btrfs"),
        Need::Program("setpriv")
    );
    let tried = [User::Root, User::Nobody].map(|user| (user, all(user)));
    for (user, table) in &tried {
        for row in table {
            let ours = &row.kept[0];
            assert!(ours.way == OURS, "{}", ours.way);
            for other in &row.kept[1..] {
                let lost: Vec<_> = other.on.iter().filter(|system| !ours.on.contains(system)).collect();
                assert!(
                    lost.is_empty(),
                    "{user:?}: {} keeps {} of a {}, and {OURS} does not on {lost:?}",
                    other.way,
                    row.thing,
                    row.kind
                );
            }
            if *user == User::Root {
                // tmpfs does not say where: such space looks like any hole.
                let cannot = |system: &&str| *system == "tmpfs" && row.thing == "space not written yet";
                let possible: Vec<_> = row.possible.iter().copied().filter(|system| !cannot(system)).collect();
                assert_eq!(ours.on, possible, "{} of a {}", row.thing, row.kind);
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kept.md");
    let now = page::page(&tried);
    if std::env::var_os("MANYFILES_WRITE").is_some() {
        fs::write(&path, now).unwrap();
    } else {
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), now, "MANYFILES_WRITE=1 writes {}", path.display());
    }
}
