//! `docs/reliability.md`.

use std::fmt::Write;

use crate::faults::{self, FAMILIES, Family};
use crate::judge::{VERDICTS, Verdict};
use crate::rows::{Row, TABLES};
use crate::table::{Cell, Table};

const INTRODUCTION: &str = "
A program makes this page from a run; don't edit it. In each run a process of its own does one operation under one fault.
Another process then reads what is on the disk, and judges by that first. It counts handles, threads and temporary files
after each run, and a watchdog ends what hangs. Operations of manyfiles are in `code letters`, its peers in *italics*.
";

const READING: &str = "
Each cell sums up several faults: **bold** is what is wrong, with the number of runs in which it was, of all runs.
\"Fine\" is: in each run all bytes are there, or the caller has been told, once, with the path and the system's
error, and what was promised to stay is there. \"–\" is: it cannot happen, because the operation makes no such call, or
because a process decides about that at its own beginning, and a command is a process (signals, current folder, forks,
threads). [reliability.csv](reliability.csv) has each operation under each of the faults, with the number of runs by
what came of them.
";

const FAULTS: &str = "
## The faults

- *One call fails*: with ENOSPC, EDQUOT or EIO, once; a run for each call that the operation makes and for each error.
  *One is interrupted or short*: EINTR, or a read, write or copy that moves one byte. *All fail from one on*: as if the
  disk had gone, with EIO or ENOSPC. Calls are those to the C library on files of the operation's folder.
- *Limits, signals*: no thread can be started; 0 to 7 more files can be opened; no file may be longer than 0, 1,000,
  4,096 or 200,000 bytes; a signal each millisecond, calls not restarted; closed standard streams; umask 077; another
  thread that changes the current folder, or forks, all the time.
- *Full disk*: a tmpfs with 0, 4, 64 and 256 KiB free.
- *Mounts*, of FUSE: one that moves 1,000 bytes at most; one on which what is read says that its length is 0; one that
  shows what was written after the close only; and some that keep what is written until the close, as NFS clients do, and
  there have one close, sync, write, open or rename that fails, or room for 100 kB, or up to 2 ms for each operation.
- *Neighbour*: another process renames, cuts, removes and locks what is written, and puts links in its place, by 12
  seeds.

Not in the matrix: Windows and macOS, asynchronous writers, callbacks that panic, and power cuts, which the library's
tests have (`crates/manyfiles/tests/power_cuts`).

## Again

```sh
cargo build -p manyfiles-cli
cargo run -p manyfiles-reliability -- --write                    # all of it, as root: some minutes
cargo run -p manyfiles-reliability -- --row fs::copy --verbose   # one operation, and why
cargo run -p manyfiles-reliability -- --check --sample 7         # what the tests do
```

The tests run a part, which a seed chooses, and fail where an operation of manyfiles does worse than the file says.
Threads take turns as they like, so the numbers of a run differ from those of the next; the words stay.
";

/// What a row's cells do not say by themselves.
const NOTES: [(&str, &str); 8] = [
    (
        "FastClose, close::wait",
        "known, and left so: a `std::fs::File` knows no path, and `FastClose` is given nothing else, so the error says \
         what went wrong and not where. `Closer::close_at` and `manyfiles::fs` have the path.",
    ),
    ("std::fs::write", "as std's other functions, it drops the file, and a drop tells nothing of what the close says."),
    (
        "std::fs::copy",
        "what the kernel copies is taken for all there is when it says that nothing is left, whatever the length.",
    ),
    (
        "close_already 0.3.5",
        "on Linux its file is closed by a drop; on Windows another thread makes that drop. Neither tells what the close \
         says.",
    ),
    ("std::fs::File, sync_all", "what the close says after a sync that succeeded is not counted."),
    (
        "Python, tarfile",
        "an exception ends it: what comes later is not there, as the caller knows. Where a symbolic link cannot be \
         made, it writes a copy of the target, silently.",
    ),
    ("Python, shutil.copytree", "one exception has all errors."),
    (
        "manyfiles log cat",
        "it reads only. Closed streams: Rust opens a standard output that takes everything, so nothing can be seen.",
    ),
];

/// The page.
pub fn page(table: &Table, rows: &[Row]) -> String {
    let mut text = String::from("# What a fault does to each operation\n");
    add(&mut text, INTRODUCTION);
    wrong(&mut text, table, rows);
    add(&mut text, "## Each operation");
    add(&mut text, READING);
    for group in TABLES {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.group == group && table.has_row(row.name)).collect();
        add(&mut text, &format!("### {group}\n"));
        grid(&mut text, &rows, table);
        for (name, note) in NOTES.iter().filter(|(name, _)| rows.iter().any(|row| row.name == *name)) {
            add(&mut text, &format!("`{name}`: {note}\n"));
        }
    }
    add(&mut text, "## The words");
    add(&mut text, "\n| word | meaning |\n|---|---|");
    for (verdict, name, meaning) in VERDICTS {
        let name = if verdict.is_good() { name.to_owned() } else { format!("**{name}**") };
        add(&mut text, &format!("| {name} | {meaning} |"));
    }
    text.push_str(FAULTS);
    text
}

fn add(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string takes all");
}

/// A row's cells under the faults of one family, summed up.
fn of_family(table: &Table, row: &Row, family: Family) -> Cell {
    let mut sum = Cell::new();
    for (name, _) in faults::all().into_iter().filter(|(_, fault)| fault.family() == family) {
        for (verdict, runs) in table.cell(row.name, name).into_iter().flatten() {
            *sum.entry(*verdict).or_default() += runs;
        }
    }
    sum
}

/// Operations down, families of faults across; peers below ours.
fn grid(text: &mut String, rows: &[&Row], table: &Table) {
    let heads: Vec<&str> = FAMILIES.iter().map(|(_, head)| *head).collect();
    add(text, &format!("| operation | {} |", heads.join(" | ")));
    add(text, &format!("|{}", "---|".repeat(heads.len() + 1)));
    let (ours, peers): (Vec<&&Row>, Vec<&&Row>) = rows.iter().partition(|row| row.is_ours);
    for row in ours.into_iter().chain(peers) {
        let name = if row.is_ours { format!("`{}`", row.name) } else { format!("*{}*", row.name) };
        let cells = FAMILIES.iter().map(|(family, _)| shown(&of_family(table, row, *family)));
        add(text, &format!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | ")));
    }
    add(text, "");
}

fn shown(cell: &Cell) -> String {
    if cell.is_empty() {
        return "–".into();
    }
    let runs: u64 = cell.values().sum();
    let bad = cell.iter().filter(|(verdict, _)| !verdict.is_good());
    let bad: Vec<_> = bad.map(|(verdict, bad)| format!("**{verdict}** {bad} of {runs}")).collect();
    if bad.is_empty() { "fine".into() } else { bad.join(", ") }
}

/// What is not in order, by name, so that nobody has to look for it; and the same of the peers, by number.
fn wrong(text: &mut String, table: &Table, rows: &[Row]) {
    let rows: Vec<&Row> = rows.iter().filter(|row| table.has_row(row.name)).collect();
    let runs: u64 = table.0.values().flat_map(|cell| cell.values()).sum();
    add(text, "## Where manyfiles is wrong\n");
    add(
        text,
        &format!("Of {} operations, {} of them of peers, in {runs} verdicts:\n", rows.len(), {
            rows.iter().filter(|row| !row.is_ours).count()
        }),
    );
    let before = text.len();
    for row in rows.iter().filter(|row| row.is_ours) {
        for (verdict, name, _) in VERDICTS.iter().filter(|(verdict, ..)| !verdict.is_good()) {
            let faults = faults::all().into_iter().map(|(fault, _)| fault);
            let is_wrong = |fault: &&str| table.cell(row.name, fault).is_some_and(|cell| cell.contains_key(verdict));
            let faults: Vec<_> = faults.filter(is_wrong).collect();
            if !faults.is_empty() {
                add(text, &format!("- `{}`: **{name}** under {}.", row.name, faults.join("; ")));
            }
        }
    }
    if text.len() == before {
        add(text, "Nothing.");
    }
    add(text, "\nThe peers, by the number of faults under which something is wrong:\n");
    add(text, "| operation | bytes lost, nobody told | something else is wrong | faults |\n|---|---|---|---|");
    for row in rows.iter().filter(|row| !row.is_ours) {
        let cells: Vec<_> = table.0.iter().filter(|((of, _), _)| of == row.name).map(|(_, cell)| cell).collect();
        let is_lost = |cell: &&&Cell| cell.contains_key(&Verdict::Lost);
        let is_wrong = |cell: &&&Cell| !is_lost(cell) && cell.keys().any(|verdict| !verdict.is_good());
        let (lost, wrong) = (cells.iter().filter(is_lost).count(), cells.iter().filter(is_wrong).count());
        add(text, &format!("| *{}* | {lost} | {wrong} | {} |", row.name, cells.len()));
    }
    add(text, "");
}
