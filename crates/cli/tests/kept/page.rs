//! The page.

use crate::trial::{Row, User};
use crate::ways::WAYS;

const HEAD: &str = "\
# What entries keep

Each row is an entry of one kind that has one thing, each column a command that copied it: into a folder whose default
access control list gives rights to one more user, on ext4, XFS, btrfs and tmpfs. *yes* is: the copy says of this thing
what the source says. Where only some file systems keep it, they are named, of those that have such a thing at all.

`cargo test -p manyfiles-cli --test kept` tries all of it again; with `MANYFILES_WRITE=1` it writes this page. What it
tries is in `crates/cli/tests/kept`: a row is a line of `samples.rs`, a command one of `ways.rs`.

What `copy -a` cannot keep (as a user who may not, or on a file system that has no such thing) is counted, and a line at
the end says so: `3 entries lost what this user or this file system cannot keep: owners (2), file flags (1)`. What is
asked for by its own option (`--xattrs`, `--acls`, `--same-owner`) and cannot be kept is a failure of the entry.

Never kept: labels of SELinux, seals of EVM and attributes of overlayfs, which are of use only where they were made;
times of birth, which Linux lets no program set; flags by which a file system says how it keeps a file (encrypted,
verity, inline data, project); on tmpfs, space that is reserved among holes, which looks like a hole itself.
";

pub(crate) fn page(tried: &[(User, Vec<Row>)]) -> String {
    let mut page = HEAD.to_owned();
    for (user, rows) in tried {
        page += match user {
            User::Root => "\n## As root\n\n",
            User::Nobody => {
                "\n## As a user without privileges\n\nWho owns all that is copied, but for the rows about owners.\n\n"
            }
        };
        page += "| of a | thing |";
        WAYS.iter().for_each(|way| page += &format!(" `{}` |", way.name));
        page += "\n|---|---|";
        page += &"---|".repeat(WAYS.len());
        page += "\n";
        let mut last = "";
        for row in rows.iter().filter(|row| !row.possible.is_empty()) {
            let kind = if row.kind == last { "" } else { row.kind };
            last = row.kind;
            page += &format!("| {kind} | {} |", row.thing);
            for kept in &row.kept {
                page += &format!(" {} |", cell(&kept.on, &row.possible));
            }
            page += "\n";
        }
    }
    page
}

fn cell(on: &[&str], possible: &[&str]) -> String {
    match on.len() {
        0 => "no".into(),
        n if n == possible.len() => "yes".into(),
        _ => on.join(", "),
    }
}
