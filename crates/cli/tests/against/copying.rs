//! A tree of a case, copied by the command, by cp and by rsync; the model judges all three.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use manyfiles_testkit::{Need, Tree, scratch};

use super::case::{Case, Other, Policy};
use super::compare::{Compared, Scope, changed, differences, traces};
use super::differs::Differs;
use super::model::Model;
use super::programs::run;
use super::unpacking::{plant, wrong_code};

/// The other program's command line, if it has the policy. "error" leaves what is there, as they do.
fn others_args(other: Other, policy: Policy) -> Option<Vec<&'static str>> {
    Some(match (other, policy) {
        (Other::Cp, Policy::Error | Policy::Skip) => vec!["cp", "-a", "-n", "source/.", "theirs"],
        // Without --remove-destination it writes through links.
        (Other::Cp, Policy::Newer) => vec!["cp", "-a", "-u", "--remove-destination", "source/.", "theirs"],
        (Other::Cp, Policy::Overwrite | Policy::Replace) => {
            vec!["cp", "-a", "--remove-destination", "source/.", "theirs"]
        }
        (Other::Rsync, Policy::Error | Policy::Skip) => vec!["rsync", "-aHS", "--ignore-existing", "source/", "theirs"],
        (Other::Rsync, Policy::Newer) => vec!["rsync", "-aHS", "--update", "source/", "theirs"],
        // Without this option it takes files of the same length and time for the same.
        (Other::Rsync, Policy::Overwrite | Policy::Replace) => vec!["rsync", "-aHSI", "source/", "theirs"],
        (Other::Rsync, Policy::SkipIdentical) => vec!["rsync", "-aHS", "--checksum", "source/", "theirs"],
        _ => return None,
    })
}

/// Differences between the command and the model.
pub(crate) fn problems(case: &Case, compared: &mut Compared) -> Vec<String> {
    let temp = scratch().unwrap();
    let folder = temp.path();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let before = Model::before(case);
    let source = Model::before(&Case { before: case.entries.clone(), ..case.clone() });
    plant(&source, &folder.join("source"), case);

    plant(&before, &folder.join("ours"), case);
    let model = Model::of_copy(case, &source);
    let mut args = vec![super::super::common::BINARY, "copy", "source/.", "ours", "--special-files"];
    args.extend(["--on-conflict", case.policy.option()]);
    if case.setup.set_id {
        args.push("--set-id");
    }
    if !case.setup.exact {
        args.push("--no-preserve-permissions");
    }
    let ours = run(folder, &case.setup, &args);
    let found = Tree::read(folder.join("ours")).unwrap();
    let mut lines = differences(&model.world, &found, Scope::ALL, &model.open, &BTreeMap::new());
    lines.extend(wrong_code(&model, &ours));
    if case.policy == Policy::SkipIdentical && ours.code == Some(0) {
        let before = traces(&folder.join("ours"));
        run(folder, &case.setup, &args);
        lines.extend(changed(&before, &traces(&folder.join("ours"))));
    }
    if !lines.is_empty() {
        lines.push(format!("$ {}", ours.line));
        lines.extend(ours.err.lines().map(|line| format!("$   {line}")));
    }
    for other in [Other::Cp, Other::Rsync] {
        let Some(args) = others_args(other, case.policy).filter(|args| Need::Program(args[0]).check().is_ok()) else {
            continue;
        };
        let case = Case { other, ..case.clone() };
        let model = Model::of_copy(&case, &source);
        if other == Other::Rsync && model.differs.values().any(|why| *why == Differs::FolderInTheWay) {
            continue; // It may hang.
        }
        plant(&before, &folder.join("theirs"), &case);
        let theirs = run(folder, &case.setup, &args);
        let found = Tree::read(folder.join("theirs")).unwrap();
        let left_out: Vec<_> = model.differs.keys().chain(&model.open).collect();
        compared.count(&model.world, left_out.iter().copied());
        // Neither has a umask when it keeps permissions, nor leaves bits out.
        let bits = match case.setup {
            setup if !setup.exact => 0,
            setup if setup.set_id => 0o7777,
            _ => 0o777,
        };
        let scope = Scope { bits, link_times: true };
        let differences = differences(&model.world, &found, scope, left_out, &model.folders_differ);
        if !differences.is_empty() {
            lines.extend(differences.into_iter().map(|line| format!("{}: {line}", args[0])));
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
        fs::remove_dir_all(folder.join("theirs")).unwrap();
    }
    if !lines.is_empty() && std::env::var_os("MANYFILES_KEEP").is_some() {
        lines.push(format!("$ kept in {}", temp.keep().display()));
    }
    lines
}
