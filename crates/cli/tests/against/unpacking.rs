//! An archive of a case, unpacked by the command and by another program; the model judges both.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use manyfiles_testkit::{Tree, scratch};

use super::case::{Case, Other, Policy};
use super::compare::{Compared, Scope, changed, differences, traces};
use super::model::Model;
use super::programs::{NOBODY, Ran, run};
use super::{archive, world::World};

/// The other program's command line, if it has the policy.
fn others_args(case: &Case) -> Option<Vec<&'static str>> {
    Some(match case.other {
        Other::Tar => {
            let permissions = if case.setup.exact { "--preserve-permissions" } else { "--no-same-permissions" };
            // -P: else tar makes symbolic links with ".." last of all.
            let mut args = vec!["tar", "-x", "-P", "-f", "archive", "-C", "theirs", "--no-same-owner", permissions];
            match case.policy {
                Policy::Error => args.push("--keep-old-files"),
                Policy::Skip => args.push("--skip-old-files"),
                Policy::Newer => args.push("--keep-newer-files"),
                Policy::Overwrite => args.push("--overwrite"),
                Policy::Replace => {}
                Policy::SkipIdentical | Policy::Rename => return None,
            }
            args
        }
        _ => {
            let how = match case.policy {
                Policy::Skip => "-n",
                Policy::Newer => "-uo",
                Policy::Overwrite | Policy::Replace => "-o",
                Policy::Error | Policy::SkipIdentical | Policy::Rename => return None,
            };
            vec!["unzip", "-q", how, "archive", "-d", "theirs"]
        }
    })
}

/// The other program.
fn scope(case: &Case) -> Scope {
    let bits = match (case.other, case.setup.exact) {
        (Other::Tar, true) if case.setup.set_id => 0o7777,
        // It has no umask.
        (Other::Unzip, false) => 0,
        // Without --same-permissions tar leaves out all three bits of the first digit, and unzip always does.
        _ => 0o777,
    };
    Scope { bits, link_times: case.other == Other::Tar }
}

/// Differences between the command and the model.
pub(crate) fn problems(case: &Case, compared: &mut Compared) -> Vec<String> {
    let temp = scratch().unwrap();
    let folder = temp.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let archive = if case.other == Other::Unzip {
        archive::zip(&case.entries, archive::Modes::Said)
    } else {
        archive::tar(&case.entries)
    };
    fs::write(folder.join("archive"), archive).unwrap();
    let (before, model) = (Model::before(case), Model::of(case));

    plant(&before, &folder.join("ours"), case);
    let ours = run_ours(folder, case);
    let found = Tree::read(folder.join("ours")).unwrap();
    let mut lines = differences(&model.world, &found, Scope::ALL, &model.open, &BTreeMap::new());
    lines.extend(wrong_code(&model, &ours));
    // A link that fails may find a folder the second time, and make others.
    if case.policy == Policy::SkipIdentical && case.has_each_path_once() && ours.code == Some(0) {
        let before = traces(&folder.join("ours"));
        run_ours(folder, case);
        lines.extend(changed(&before, &traces(&folder.join("ours"))));
    }
    if !lines.is_empty() {
        lines.push(format!("$ {}", ours.line));
        lines.extend(ours.err.lines().map(|line| format!("$   {line}")));
    }
    if let Some(args) = others_args(case) {
        plant(&before, &folder.join("theirs"), case);
        let theirs = run(folder, &case.setup, &args);
        let found = Tree::read(folder.join("theirs")).unwrap();
        let left_out: Vec<_> = model.differs.keys().chain(&model.open).collect();
        compared.count(&model.world, left_out.iter().copied());
        let theirs_lines = differences(&model.world, &found, scope(case), left_out, &model.folders_differ);
        if !theirs_lines.is_empty() {
            lines.extend(theirs_lines.into_iter().map(|line| format!("{}: {line}", args[0])));
            lines.push(format!("$ {} ({:?})", theirs.line, theirs.code));
            lines.extend(theirs.err.lines().map(|line| format!("$   {line}")));
            lines.extend(
                model
                    .differs
                    .iter()
                    .chain(&model.folders_differ)
                    .map(|(path, why)| format!("$ known: {path:?} {why:?}")),
            );
        }
    }
    if !lines.is_empty() && std::env::var_os("MANYFILES_KEEP").is_some() {
        lines.push(format!("$ kept in {}", temp.keep().display()));
    }
    lines
}

fn run_ours(folder: &Path, case: &Case) -> Ran {
    let mut args = vec![super::super::common::BINARY, "unpack", "archive", "-C", "ours", "--special-files"];
    args.extend(["--on-conflict", case.policy.option()]);
    args.push(if case.setup.exact { "--preserve-permissions" } else { "--no-preserve-permissions" });
    if case.setup.set_id {
        args.push("--set-id");
    }
    run(folder, &case.setup, &args)
}

pub(crate) fn plant(world: &World, at: &Path, case: &Case) {
    world.plant(at, case.setup.nobody.then_some(NOBODY));
}

/// 0 if all went well, 1 if something did not, anything else never.
pub(crate) fn wrong_code(model: &Model, ran: &Ran) -> Option<String> {
    let certain = model.failures.iter().filter(|failure| !failure.perhaps_skipped).count();
    match ran.code {
        Some(0) if certain == 0 => None,
        Some(1) if !model.failures.is_empty() => None,
        code => {
            let fails: Vec<_> = model.failures.iter().map(|failure| &*failure.what).collect();
            Some(format!("exit status {code:?}; what fails: {}", fails.join(", ")))
        }
    }
}
