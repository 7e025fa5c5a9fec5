//! The figures that documents show: taken from the raw data of the runs that are kept, so that no text can say other
//! than what was measured. The README has the picture and what is lost, docs/benchmarks/README.md the table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use manyfiles_measure::chart::{Line, to_svg};
use manyfiles_measure::stats::{CONFIDENCE, Estimate};

use crate::raw::{self, Origin, Work};
use crate::simulate;

/// A contest that is shown: its group, work and place, and what a reader calls it. Bars of the picture have a name.
struct Shown {
    group: &'static str,
    what: &'static str,
    place: &'static str,
    /// The name of its bar in the README's picture, which has one for each thing that a reader may want to do.
    bar: Option<&'static str>,
}

impl Shown {
    /// The work with the verb that its group goes without.
    fn title(&self) -> String {
        let what = self.what;
        match self.group {
            "create" | "slow" => format!("new files: {what}"),
            "mirror" => format!("mirrored: {what}"),
            "unpack" => format!("unpacked: {what}"),
            _ => what.to_owned(),
        }
    }
}

const fn row(group: &'static str, what: &'static str, place: &'static str) -> Shown {
    Shown { group, what, place, bar: None }
}

const fn bar(group: &'static str, what: &'static str, place: &'static str, name: &'static str) -> Shown {
    Shown { bar: Some(name), ..row(group, what, place) }
}

const W1: &str = "2,300 files, one folder";
const W2: &str = "50,000 files, 2,954 folders";

const SHOWN: [Shown; 37] = [
    bar("unpack", "Linux 6.1 source, tar", "tmpfs", "unpack the Linux source, tmpfs"),
    row("trees", "50,000 files, 2,954 folders, out of a tar or a repository", "ext4"),
    row("trees", "50,000 files, 2,954 folders, copied", "tmpfs"),
    bar("trees", "50,000 files, 2,954 folders, copied", "ext4", "copy 50,000 files, ext4"),
    row("mirror", "50,000 files, 2,954 folders, nothing changed", "tmpfs"),
    row("mirror", "50,000 files, 2,954 folders, nothing changed", "ext4"),
    row("mirror", "50,000 files, 2,954 folders, 1 % changed", "ext4"),
    row("mirror", "2,300 files, 100 folders, 10 % changed, onto the mount", "FUSE, 2 ms"),
    row("trees", "50,000 files, 2,954 folders, removed", "tmpfs"),
    row("trees", "50,000 files, 2,954 folders, removed", "ext4"),
    row("trees", "2,300 files, 100 folders, removed", "FUSE, 2 ms"),
    bar("create", W2, "tmpfs", "50,000 new files, tmpfs"),
    row("create", W2, "ext4"),
    row("create", W1, "tmpfs"),
    bar("create", W1, "ext4", "2,300 new files in one folder, ext4"),
    row("create", W1, "XFS"),
    bar("slow", W1, "close 2 ms", "the same where a close takes 2 ms, FUSE"),
    row("slow", "2,300 files, one folder, serial loop with FastClose", "close 2 ms"),
    row("slow", "2,300 files, one folder, against Mercurial's vfs", "close 2 ms"),
    row("slow", W1, "open, write, close 2 ms"),
    row("slow", "2,300 files, 100 folders", "open, write, close 2 ms"),
    row("norad", "Roboto-Regular.ufo, serial, patched", "close 2 ms"),
    row("under-wine", "1,000 files until the last is closed", "wine, close 2 ms"),
    row("fastclose", "9,200 files made, written, closed", "ext4"),
    row("durable", "2,300 files durable, one folder", "ext4"),
    bar("durable", "10,000 files durable, 100 folders", "ext4", "10,000 durable files, ext4"),
    row("durable", "10,000 files durable, 100 folders, against git as it is", "ext4"),
    bar("append", "durable records of 100 B, 8 threads", "ext4", "durable records, 8 threads, ext4"),
    row("append", "durable records of 100 B, 64 threads", "ext4"),
    row("append", "durable records of 100 B, 8 threads", "tmpfs"),
    row("records", "100 MiB, records of 1 B", "ext4"),
    bar("records", "100 MiB, records of 100 B", "ext4", "100 MiB in records of 100 B, ext4"),
    row("records", "100 MiB, records of 1 KiB", "ext4"),
    row("records", "100 MiB, records of 8 KiB", "ext4"),
    row("vfs", "1,000 writes of 4 KB to one path", "ext4"),
    row("vfs", "10,000 writes of 512 B to one path", "ext4"),
    row("vfs", "100 writes of 1 KB to each of 100 paths in turn", "ext4"),
];

/// A contest that is shown, as the newest run that has it measured it.
struct Figure<'a> {
    shown: &'a Shown,
    work: Work,
    /// The folder of the run.
    run: String,
}

/// The newest run of everything that is shown. `docs` is the folder of documents; a contest that no run has is an
/// error.
fn figures(docs: &Path) -> Result<Vec<Figure<'static>>> {
    let mut runs = Vec::new();
    for folder in fs::read_dir(docs.join("benchmarks"))? {
        let folder = folder?;
        let raw = folder.path().join("raw.csv");
        if raw.exists() {
            let name = folder.file_name().into_string().ok().context("the name of a run is not UTF-8")?;
            runs.push((name, raw::read(&raw)?));
        }
    }
    let find = |shown: &'static Shown| {
        let is_it = |work: &&Work| (&*work.group, &*work.what, &*work.place) == (shown.group, shown.what, shown.place);
        let all = runs.iter().filter_map(|(run, works)| Some((run, works.iter().find(is_it)?)));
        let (run, work) = all.max_by(|(_, a), (_, b)| a.origin.measured.cmp(&b.origin.measured))?;
        Some(Figure { shown, work: work.clone(), run: run.clone() })
    };
    let missing = |shown: &Shown| format!("no run has {}: {}, {}", shown.group, shown.what, shown.place);
    SHOWN.iter().map(|shown| find(shown).with_context(|| missing(shown))).collect()
}

/// Writes the picture and the generated parts of the documents anew.
pub fn write(docs: &Path) -> Result<()> {
    for (file, text) in all(docs)? {
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// Every file that has figures, and what it has to hold.
fn all(docs: &Path) -> Result<Vec<(std::path::PathBuf, String)>> {
    let figures = figures(docs)?;
    let mut files = vec![(docs.join("speed.svg"), picture(&figures))];
    files.push((docs.join("scale.svg"), simulate::to_svg()));
    for (file, block) in [
        (docs.join("benchmarks/README.md"), table(&figures)),
        (docs.join("../README.md"), lost(&figures)),
        (docs.join("scale.md"), simulate::tables()),
    ] {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let text = with_block(&text, &block).with_context(|| format!("{} has no {BEGIN}", file.display()))?;
        files.push((file, text));
    }
    Ok(files)
}

const BEGIN: &str = "<!-- figures: written by `manyfiles-bench --figures` -->\n";
const END: &str = "<!-- end of figures -->";

fn with_block(text: &str, block: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{block}\n{END}{after}"))
}

/// Ours against the fastest of its peers.
fn picture(figures: &[Figure<'_>]) -> String {
    let bar = |figure: &Figure<'_>| {
        let (name, work) = (figure.shown.bar?, &figure.work);
        let (peer, factor) = *work.factors().first()?;
        Some(Line::Bar { name: format!("{name}: {peer}"), factor, aim: None })
    };
    let lines: Vec<Line> = figures.iter().filter_map(bar).collect();
    to_svg("How many times as fast manyfiles is as the fastest of its peers, named after the colon", &lines)
}

fn table(figures: &[Figure<'_>]) -> String {
    let mut text = String::from(
        "| work | where | fastest peer | times as fast | against others | measured |\n|---|---|---|---|---|---|\n",
    );
    for Figure { shown, work, run } in figures {
        let factors = work.factors();
        let Some(((peer, factor), others)) = factors.split_first() else { continue };
        let others: Vec<_> =
            others.iter().map(|(name, factor)| format!("{} {}", cell(name), short(factor.value))).collect();
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | [{}]({run}/table.md), {} |",
            shown.title(),
            shown.place,
            cell(peer),
            factor_of(*factor),
            others.join(", "),
            day(&work.origin),
            commit(&work.origin),
        )
        .expect("into a string");
    }
    text.trim_end().to_owned()
}

/// A bar would end the cell.
fn cell(name: &str) -> String {
    name.replace('|', "\\|")
}

/// The rows in which the fastest peer is faster or as fast: what a reader wants to know before anything else.
fn lost(figures: &[Figure<'_>]) -> String {
    let mut text = String::from(
        "| work | where | who is as fast, or faster | ours is times as fast | measured |\n|---|---|---|---|---|\n",
    );
    for Figure { shown, work, .. } in figures {
        let factors = work.factors();
        let Some((peer, factor)) = factors.first() else { continue };
        let is_surely_faster = factor.low > 1.0 || factor.confidence < CONFIDENCE && factor.value > 1.0;
        if is_surely_faster {
            continue;
        }
        let peer = if factor.high < 1.0 { format!("**{}**", cell(peer)) } else { cell(peer) };
        writeln!(
            text,
            "| {} | {} | {peer} | {} | {}, {} |",
            shown.title(),
            shown.place,
            factor_of(*factor),
            day(&work.origin),
            commit(&work.origin),
        )
        .expect("into a string");
    }
    text.trim_end().to_owned()
}

fn factor_of(factor: Estimate) -> String {
    let Estimate { value, low, high, confidence } = factor;
    if confidence < CONFIDENCE {
        return format!("{}, too few rounds for an interval", short(value));
    }
    format!("{} ({}–{})", short(value), short(low), short(high))
}

fn short(factor: f64) -> String {
    match factor {
        10.0.. => format!("{factor:.0}"),
        _ => format!("{factor:.2}"),
    }
}

fn day(origin: &Origin) -> &str {
    origin.measured.split('T').next().unwrap_or_default()
}

fn commit(origin: &Origin) -> String {
    match &*origin.commit {
        "" => "commit not kept".to_owned(),
        commit => format!("commit {commit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
    }

    #[test]
    fn the_figures_of_the_documents_are_those_of_the_raw_data() {
        for (file, text) in all(&docs()).unwrap() {
            let is = fs::read_to_string(&file).unwrap();
            assert!(is == text, "{}: run `cargo run -p manyfiles-bench -- --figures`", file.display());
        }
    }

    #[test]
    fn the_picture_has_all_its_bars() {
        let svg = picture(&figures(&docs()).unwrap());
        for name in SHOWN.iter().filter_map(|shown| shown.bar) {
            assert!(svg.contains(&format!("{name}:")), "{name}: {svg}");
        }
    }

    fn figure(rows: &[(&str, [f64; 7])]) -> Figure<'static> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("raw.csv");
        let mut text = String::from(
            "group,work,place,entrant,round,seconds,cpu_seconds,peak_memory_bytes,count,measured,commit,machine\n",
        );
        for (who, seconds) in rows {
            for (round, seconds) in seconds.iter().enumerate() {
                writeln!(text, "g,w,p,\"{who}\",{round},{seconds},0,,,2026-01-02T03:04:05Z,abc,two cores").unwrap();
            }
        }
        fs::write(&file, text).unwrap();
        static SHOWN: Shown = bar("g", "the work", "ext4", "the bar");
        Figure { shown: &SHOWN, work: raw::read(&file).unwrap().remove(0), run: "run".into() }
    }

    #[test]
    fn the_fastest_peer_counts_and_neither_our_variants_nor_what_does_less() {
        let figure = figure(&[
            ("FileWriter", [1.0; 7]),
            ("BufWriter, 8 KiB", [3.0; 7]),
            ("BufWriter, 1 MiB", [0.5; 7]),
            ("write(2) of 256 KiB", [0.25; 7]),
            ("FileWriter, second thread", [0.125; 7]),
        ]);
        let factors: Vec<_> = figure.work.factors().iter().map(|(name, factor)| (*name, short(factor.value))).collect();
        assert_eq!(factors, [("BufWriter, 1 MiB", "0.50".into()), ("BufWriter, 8 KiB", "3.00".into())]);
        assert!(picture(&[figure]).contains("the bar: BufWriter, 1 MiB"));
    }

    #[test]
    fn a_lost_row_and_an_even_one_are_told_with_their_day_and_commit() {
        let rows = |theirs| figure(&[("TreeWriter", [1.0, 1.1, 0.9, 1.0, 1.0, 1.05, 0.95]), ("rayon", theirs)]);
        let slower = lost(&[rows([0.5; 7])]);
        let told = "| the work | ext4 | **rayon** | 0.50 (";
        assert!(slower.contains(told) && slower.ends_with("| 2026-01-02, commit abc |"), "{slower}");
        assert!(lost(&[rows([1.0, 1.0, 0.8, 1.2, 1.0, 1.1, 0.9])]).contains("| rayon |"));
        assert!(!lost(&[rows([2.0; 7])]).contains("rayon"));
    }

    #[test]
    fn only_what_is_between_the_marks_is_written_anew() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        assert_eq!(with_block(&text, "new").unwrap(), format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert_eq!(with_block("nothing", "new"), None);
    }
}
