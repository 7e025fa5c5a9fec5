//! `docs/reliability.md`.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::faults::{self, Fault};
use crate::judge::{VERDICTS, Verdict};
use crate::rows::{self, Row, TABLES};
use crate::table::{Cell, Table};

/// Calls in the order in which a file meets them.
const CALLS: [&str; 23] = [
    "open",
    "stat",
    "read",
    "write",
    "copy",
    "reserve",
    "ftruncate",
    "fsync",
    "syncfs",
    "syncrange",
    "close",
    "mkdir",
    "rename",
    "link",
    "unlink",
    "list",
    "readlink",
    "chmod",
    "chown",
    "utimens",
    "lock",
    "map",
    "thread",
];

const INTRODUCTION: &str = "
Made by a program, from a run; don't edit it. Each run is a process of its own that does one operation under one fault.
Another process then reads what is on the disk, and judges by that first. It counts handles, threads and temporary files
after each run, and a watchdog ends what hangs. Operations of manyfiles are in `code letters`, its peers in *italics*.

```sh
cargo build -p manyfiles-cli
cargo run -p manyfiles-reliability -- --write                    # all of it, as root: some minutes
cargo run -p manyfiles-reliability -- --row fs::copy --verbose   # one operation, and why
cargo run -p manyfiles-reliability -- --check --sample 7         # what the tests do
```

[reliability.csv](reliability.csv) has each cell by itself. The tests run a part of it, and fail where a verdict is not
in that file.

## What the words mean
";

const CANNOT_HAPPEN: &str = "| – | cannot happen: the operation makes no such call; or a process decides about it at its \
                             own beginning, and a command is a process (signals, chdir, forks, threads) |";

const EXPLANATION: &str = "
A number is that of runs: one for each call that the operation makes and each error it can have, one for each limit, one
for each seed. Threads take turns as they like, so a number may be another one next time; the words stay. An error of a
call in std's shape counts as one with a path, because its caller has just given the only one there is. What a type
documents to be repeated (an appender's close returns the first failure again) counts as one error.

- *once*: a call fails and the next one does not. *From a call on*: all fail, as if the disk had gone.
- *few handles*: 0 to 7 more can be opened. *RLIMIT_FSIZE*: no file may be longer than 0, 1,000, 4,096 or 200,000 bytes.
- *signals*: one each millisecond, and calls are not restarted. *chdir*, *forks*: another thread changes the current
  folder, or forks, all the time.
- *full tmpfs*: 0, 4, 64 and 256 KiB are free. The mounts are FUSE. Those that fail keep what is written until the
  close, as NFS clients do, and fail one operation, once, a run for each; *lengths of 0* are those of what is read.
- *neighbour*: another process renames, cuts, removes and locks what is written, and puts links in its place, by 12
  seeds.
";

const NOT_THERE: &str = "
Not in the matrix: Windows and macOS, asynchronous writers, callbacks that panic, and power cuts, which the library's
tests have (`crates/manyfiles/tests/power_cuts`).
";

/// What a row's cells do not say by themselves.
const NOTES: [(&str, &str); 7] = [
    (
        "FastClose, close::wait",
        "a `std::fs::File` knows no path, and `FastClose` is given nothing else, so the error says what went wrong and not \
         where. `Closer::close_at` and `manyfiles::fs` have the path.",
    ),
    ("std::fs::write", "as std's other functions, it drops the file, and a drop tells nothing of what the close says."),
    (
        "close_already 0.3.5",
        "on Linux its file is closed by a drop; on Windows another thread makes that drop. Neither tells what the close says.",
    ),
    ("std::fs::File, sync_all", "what the close says after a sync that succeeded is not counted."),
    (
        "Python, tarfile",
        "an exception ends it: what comes later is not there, as the caller knows. Where a symbolic link cannot be made, it \
         writes a copy of the target, silently.",
    ),
    ("Python, shutil.copytree", "one exception has all errors."),
    (
        "manyfiles log cat",
        "it reads only. Closed streams: Rust opens a standard output that takes everything, so nothing can be seen.",
    ),
];

/// The page.
pub fn page(table: &Table) -> String {
    let rows = rows::all();
    let mut text = String::from("# What a fault does to each operation\n");
    add(&mut text, INTRODUCTION);
    add(&mut text, "| cell | meaning |\n|---|---|");
    for (verdict, name, meaning) in VERDICTS {
        let name = if verdict.is_good() { name.to_owned() } else { format!("**{name}**") };
        add(&mut text, &format!("| {name} | {meaning} |"));
    }
    add(&mut text, CANNOT_HAPPEN);
    add(&mut text, EXPLANATION);
    summary(&mut text, table, &rows);
    for group in TABLES {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.group == group).collect();
        add(&mut text, &format!("## {group}\n"));
        let failing = |how: &str| !matches!(how, "EINTR" | "one byte moved");
        add(&mut text, "### One call fails once, with ENOSPC, EDQUOT or EIO\n");
        grid(&mut text, &rows, &CALLS, |row, call| of_call(table, row, call, failing));
        add(&mut text, "### One call is interrupted (EINTR), or moves one byte\n");
        grid(&mut text, &rows, &CALLS, |row, call| of_call(table, row, call, |how| !failing(how)));
        for (heading, faults) in [("The program", program_faults()), ("Disks, mounts and a neighbour", disk_faults())] {
            add(&mut text, &format!("### {heading}\n"));
            grid(&mut text, &rows, &faults, |row, fault| table.cell(row.name, fault).cloned().unwrap_or_default());
        }
        for (name, note) in NOTES.iter().filter(|(name, _)| rows.iter().any(|row| row.name == *name)) {
            add(&mut text, &format!("`{name}`: {note}\n"));
        }
    }
    text.push_str(NOT_THERE.trim_start());
    text
}

fn add(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes all");
}

fn program_faults() -> Vec<&'static str> {
    let is_here = |fault: &Fault| matches!(fault, Fault::Onwards(_) | Fault::Threads | Fault::Hostile(_));
    faults::all().into_iter().filter(|(_, fault)| is_here(fault)).map(|(name, _)| name).collect()
}

fn disk_faults() -> Vec<&'static str> {
    let is_here = |fault: &Fault| matches!(fault, Fault::FullDisk(_) | Fault::Mount(_) | Fault::Neighbour(_));
    faults::all().into_iter().filter(|(_, fault)| is_here(fault)).map(|(name, _)| name).collect()
}

/// All ways in which this call can fail, in one cell.
fn of_call(table: &Table, row: &Row, call: &str, takes: impl Fn(&str) -> bool) -> Cell {
    let mut sum = Cell::new();
    for ((name, fault), cell) in &table.0 {
        if name == row.name && fault.split_once(": ").is_some_and(|(of, how)| of == call && takes(how)) {
            for (verdict, runs) in cell {
                *sum.entry(*verdict).or_default() += runs;
            }
        }
    }
    sum
}

/// A table: operations down, faults across; peers below ours. Columns in which nothing is are left out.
fn grid(text: &mut String, rows: &[&Row], columns: &[&str], cell: impl Fn(&Row, &str) -> Cell) {
    let columns: Vec<&&str> =
        columns.iter().filter(|column| rows.iter().any(|row| !cell(row, column).is_empty())).collect();
    if columns.is_empty() {
        return;
    }
    let mut heads = vec!["operation"];
    heads.extend(columns.iter().map(|column| column.trim_start_matches("mount: ")));
    add(text, &format!("| {} |", heads.join(" | ")));
    add(text, &format!("|{}", "---|".repeat(heads.len())));
    let (ours, peers): (Vec<&&Row>, Vec<&&Row>) = rows.iter().partition(|row| row.is_ours);
    for row in ours.into_iter().chain(peers) {
        let name = if row.is_ours { format!("`{}`", row.name) } else { format!("*{}*", row.name) };
        let cells: Vec<_> = columns.iter().map(|column| shown(&cell(row, column))).collect();
        add(text, &format!("| {name} | {} |", cells.join(" | ")));
    }
    add(text, "");
}

fn shown(cell: &Cell) -> String {
    let word = |(verdict, runs): (&Verdict, &u64)| match verdict.is_good() {
        true => format!("{verdict} {runs}"),
        false => format!("**{verdict} {runs}**"),
    };
    let words: Vec<_> = cell.iter().map(word).collect();
    if words.is_empty() { "–".into() } else { words.join(", ") }
}

/// What is not in order, by name, so that nobody has to look for it; and the same of the peers, by number.
fn summary(text: &mut String, table: &Table, rows: &[Row]) {
    let operations: BTreeSet<_> = table.0.keys().map(|(row, _)| row).collect();
    let runs: u64 = table.0.values().flat_map(|cell| cell.values()).sum();
    add(text, "## What is not in order\n");
    add(text, &format!("{} operations, {} cells, {runs} verdicts. Of manyfiles:\n", operations.len(), table.0.len()));
    let before = text.len();
    for row in rows.iter().filter(|row| row.is_ours) {
        for (verdict, name, _) in VERDICTS.iter().filter(|(verdict, ..)| !verdict.is_good()) {
            let cells = table.0.iter().filter(|((of, _), cell)| of == row.name && cell.contains_key(verdict));
            let faults: Vec<_> = cells.map(|((_, fault), _)| &**fault).collect();
            if !faults.is_empty() {
                add(text, &format!("- `{}`: **{name}** under {}", row.name, faults.join("; ")));
            }
        }
    }
    if text.len() == before {
        add(text, "Nothing.");
    }
    add(text, "\nCells of each with such a verdict:\n\n| operation | lost | other | cells |\n|---|---|---|---|");
    for row in rows.iter().filter(|row| !row.is_ours) {
        let cells: Vec<_> = table.0.iter().filter(|((of, _), _)| of == row.name).map(|(_, cell)| cell).collect();
        let lost = cells.iter().filter(|cell| cell.contains_key(&Verdict::Lost)).count();
        let is_other = |verdict: &Verdict| !verdict.is_good() && *verdict != Verdict::Lost;
        let other = cells.iter().filter(|cell| cell.keys().any(is_other)).count();
        add(text, &format!("| *{}* | {lost} | {other} | {} |", row.name, cells.len()));
    }
    add(text, "");
}
