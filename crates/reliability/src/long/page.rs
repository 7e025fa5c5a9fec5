//! `docs/long.md`.

use std::fmt::Write;

use super::row::Row;

const INTRODUCTION: &str = "# Long and large

A program makes this page from a run; don't edit it. Each work is done by a process of its own with the library's public
calls. Its parent reads each 200 ms what the kernel says of its memory, handles and threads. Then the parent checks the
result: each file is there with each of its bytes, each record in its order, and nothing temporary is left.
Other programs may have been at work on the machine: speeds of different days do not compare.

**Flat** is: as many handles and threads after the work as before; and resident memory (that of mapped files is not
counted) at the end (the last tenth) not above that in the middle by more than a tenth or 8 MiB. Where the library keeps
something for each entry, and says so, all memory that was gained since before the work is divided by their number. That
is as documented if it is at most 1.5
times that (tables that grow are doubled), and 8 MiB in all.
";

const AGAIN: &str = "
## Again

```sh
scripts/long                     # all works, as root, with 5 minutes for each that has a time
scripts/long 60 records-kept     # an hour of one work; this page has the new figures then
```

Every sample is in `target/long`, a file for each work. The tests do the same works, small, and fail where contents,
handles or threads are not as they should be.
";

pub fn page(rows: &[Row]) -> String {
    let mut page = String::from(INTRODUCTION);
    let mut made: Vec<&str> = Vec::new();
    for row in rows {
        if !made.contains(&&*row.made) {
            made.push(&row.made);
        }
    }
    for one in made {
        let works: Vec<&str> = rows.iter().filter(|row| row.made == one).map(|row| &*row.name).collect();
        let which = if works.len() == rows.len() { String::new() } else { format!(" ({})", works.join(", ")) };
        let _ = write!(page, "\n{one}{which}\n");
    }
    page += "\n![Memory, handles and threads over time](long.svg)\n\n";
    page += "| work | what | on | seconds | a second | peak memory | kept for each | handles | threads | verdict |\n";
    page += "|---|---|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        let kept = row.kept.as_ref().map(|(each, bytes, what)| format!("{each:.0} B per {what} (documented: {bytes})"));
        let counts = |(before, most, after): (u64, u64, u64)| format!("{before}, most {most}, {after}");
        let _ = writeln!(
            page,
            "| {} | {} | {} | {:.0} | {} {} | {:.0} MiB | {} | {} | {} | {} |",
            row.name,
            row.what,
            row.place,
            row.seconds,
            thousands((row.done as f64 / row.seconds) as u64),
            row.unit,
            row.peak as f64 / f64::from(1 << 20),
            kept.as_deref().unwrap_or("–"),
            counts(row.handles),
            counts(row.threads),
            row.verdict,
        );
    }
    page += "\nHandles and threads: before the work, the most during it, after it.\n";
    page + AGAIN
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_by_thousands() {
        assert_eq!([7, 999, 1_000, 1_234_567].map(thousands), ["7", "999", "1,000", "1,234,567"]);
    }
}
