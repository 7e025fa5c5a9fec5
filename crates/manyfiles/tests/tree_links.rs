//! Symbolic links of the run, and what comes under their names: refused where a link is, and written where none came to
//! be.
#![cfg(feature = "full")]
#![cfg(unix)]

use std::path::Path;
use std::sync::Arc;

use manyfiles::tree::{Answer, Metadata, OnConflict, Refusal, TreeWriter};

fn policies() -> Vec<(OnConflict, bool)> {
    let ask = |answer| OnConflict::Ask(Arc::new(move |_: &Path| answer));
    // With each whether the link is no failure.
    vec![
        (OnConflict::Error, false),
        (OnConflict::Skip, true),
        (OnConflict::SkipIdentical, false),
        (OnConflict::Overwrite, false),
        (OnConflict::Replace, false),
        (OnConflict::Newer, false),
        (OnConflict::Rename, true),
        (ask(Answer::Error), false),
        (ask(Answer::Skip), true),
        (ask(Answer::Overwrite), false),
        (ask(Answer::Rename), true),
    ]
}

#[test]
fn a_link_that_did_not_come_to_be_refuses_nothing_below_its_path() {
    for (policy, is_no_failure) in policies() {
        for wait in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            std::fs::create_dir(temp.path().join("d")).unwrap();
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(temp.path()).unwrap();
            tree.symlink("d", "elsewhere", Metadata::default()).unwrap();
            while wait && tree.observer().progress().entries_done < 1 {
                std::thread::yield_now();
            }
            tree.file("d/y", "hi").unwrap();
            tree.file("d/deep/er", "hi").unwrap();
            let mut stream = tree.create("d/stream", Metadata::default()).unwrap();
            std::io::Write::write_all(&mut stream, &vec![1; 300 << 10]).unwrap();
            stream.close().unwrap();
            tree.folder("d", Metadata::default().mode(0o755)).unwrap();
            let report = tree.finish().unwrap_or_else(|incomplete| incomplete.into_report());
            assert_eq!(report.failures.len(), usize::from(!is_no_failure), "{policy:?} {:?}", report.failures);
            assert_eq!((report.files, report.folders), (3, 1), "{policy:?}");
            assert_eq!(std::fs::read(temp.path().join("d/y")).unwrap(), b"hi");
            assert_eq!(temp.path().join("d (1)").is_symlink(), report.symlinks == 1, "{policy:?}");
        }
    }
}

#[test]
fn below_a_link_nothing_is_written_whenever_it_came_to_be() {
    for policy in policies().into_iter().map(|(policy, _)| policy) {
        for wait in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            let (root, elsewhere) = (temp.path().join("root"), temp.path().join("elsewhere"));
            std::fs::create_dir(&elsewhere).unwrap();
            let tree = TreeWriter::options().on_conflict(policy.clone()).open(&root).unwrap();
            tree.symlink("d", &elsewhere, Metadata::default()).unwrap();
            while wait && tree.observer().progress().entries_done < 1 {
                std::thread::yield_now();
            }
            for path in ["d/y", "d/deep/er", "d/deep/and/deeper"] {
                tree.file(path, "hi").unwrap();
            }
            tree.folder("d", Metadata::default()).unwrap();
            let report = tree.finish().unwrap_err().into_report();
            assert_eq!(report.failures.len(), 4, "{policy:?} {:?}", report.failures);
            let refused = |failure: &manyfiles::Error| failure.refusal() == Some(Refusal::ThroughSymlink);
            assert!(report.failures.iter().all(refused), "{:?}", report.failures);
            assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
        }
    }
}

#[test]
fn a_link_does_not_take_the_name_of_a_folder_of_the_run() {
    let temp = tempfile::tempdir().unwrap();
    let tree = TreeWriter::open(temp.path()).unwrap();
    tree.file("d/deep/y", "hi").unwrap();
    for path in ["d", "d/deep"] {
        let told = tree.symlink(path, "elsewhere", Metadata::default()).unwrap_err().to_string();
        assert!(told.contains("a folder of this tree has the name"), "{told}");
    }
    let report = tree.finish().unwrap_err().into_report();
    assert_eq!((report.failures.len(), report.files), (2, 1));
    assert_eq!(std::fs::read(temp.path().join("d/deep/y")).unwrap(), b"hi");
}
