//! Random archives and random trees, unpacked and copied by the command and by tar, unzip, cp and rsync.
//!
//! A plain model of "one entry after the other" (`against/model.rs`) judges; where another program does something else
//! on purpose, the model says why. A failure names its seed: `MANYFILES_SEED=17` tries it alone. For a night there are
//! `MANYFILES_CASES=100`, a hundred times as many cases, and `MANYFILES_FIRST_SEED`, another one to begin with.
#![cfg(unix)] // modes, links and FIFOs

mod against;
mod common;

use std::path::Path;

use manyfiles_testkit::{Need, skip, skip_unless};

use against::case::{Case, Other, Policy};
use against::compare::Compared;
use against::programs::nobody_can_run;
use against::rounds::try_all;
use against::{copying, unpacking};

/// Whether cases may run as the user `nobody`: a test that runs as root tries both.
fn is_root() -> bool {
    if Need::Root.check().is_err() {
        return false;
    }
    match nobody_can_run(Path::new(common::BINARY)) {
        Ok(()) => true,
        Err(why) => {
            skip(format_args!("the half that runs as nobody: {why}"));
            false
        }
    }
}

#[test]
fn a_tar_comes_out_as_from_tar() {
    skip_unless!(Need::Program("tar"));
    let root = is_root();
    let mut compared = Compared::default();
    try_all(
        300,
        |seed| Case::new(seed, &Policy::ALL, root, Other::Tar),
        |case| unpacking::problems(case, &mut compared),
    );
    println!("{compared:?}");
}

#[test]
fn a_zip_comes_out_as_from_unzip() {
    skip_unless!(Need::Program("unzip"));
    let root = is_root();
    let mut compared = Compared::default();
    try_all(
        200,
        |seed| Case::new(seed, &Policy::ALL, root, Other::Unzip),
        |case| unpacking::problems(case, &mut compared),
    );
    println!("{compared:?}");
}

#[test]
fn a_tree_is_copied_as_by_cp_and_rsync() {
    for program in ["cp", "rsync"] {
        if let Err(why) = Need::Program(program).check() {
            skip(format_args!("the half with {program}: {why}"));
        }
    }
    let root = is_root();
    let mut compared = Compared::default();
    try_all(200, |seed| Case::new(seed, &Policy::ALL, root, Other::Cp), |case| copying::problems(case, &mut compared));
    println!("{compared:?}");
}
