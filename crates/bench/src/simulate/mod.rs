//! What more processors and slower servers would make of each strategy: simulated from measured costs, because there is
//! no such machine. docs/scale.md has the tables, and says what the model leaves out.

mod model;
mod picture;
mod strategies;

use std::fmt::Write as _;

use model::{Costs, Limit, Strategy, Work};
use strategies::{Folders, InOrder, Ranges};

pub use picture::to_svg;

/// What a blocking call of tokio's costs beside a call of one's own: handed over, and awaited. Measured: 2,300 files on
/// tmpfs take 0.7 times the loop's speed on two cores.
const TOKIO_HAND_OVER: u64 = 8_000;
/// What TreeWriter's threads do beside the calls for each file.
const TREE_WRITER_HAND_OVER: u64 = 800;
/// What handing a file over to TreeWriter takes of the caller's thread, a path of a folder and a name: 0.19 to 0.30 µs
/// of processor time, 20,000 files, 2026-11-25.
const TREE_WRITER_FEEDING: u64 = 300;

/// docs/measurements.md, "What a small file costs"; the loop's own work is what it takes beyond that.
const TMPFS: Costs = Costs { own: 2_000, create: 3_000, write: 2_100, close: 400, latency: 0 };
const EXT4: Costs = Costs { own: 2_000, create: 12_900, write: 3_700, close: 600, latency: 0 };

/// A call that a server answers costs this client the same as a FUSE call, 20 µs of a processor: a third of what the
/// round trip to a FUSE process takes, the rest of which is that process.
const fn served(milliseconds: u64) -> Costs {
    Costs { own: 2_000, create: 40_000, write: 20_000, close: 20_000, latency: milliseconds * 1_000_000 }
}

const PLACES: [(&str, Costs); 5] = [
    ("tmpfs", TMPFS),
    ("ext4", EXT4),
    ("1 ms a call", served(1)),
    ("10 ms a call", served(10)),
    ("50 ms a call", served(50)),
];

const WORKS: [(&str, Work); 2] = [
    ("2,300 files in one folder", Work { files: 2_300, folders: 1 }),
    ("50,000 files in 2,954 folders", Work { files: 50_000, folders: 2_954 }),
];

const CORES: [usize; 4] = [2, 8, 32, 128];

const STRATEGIES: [&str; 4] = ["rayon", "rayon, 64 threads", "tokio, 64 at a time", "TreeWriter"];

fn strategy(name: &str, work: Work, cores: usize, costs: Costs) -> Box<dyn Strategy> {
    match name {
        "rayon" => Box::new(Ranges::new(work, cores)),
        "rayon, 64 threads" => Box::new(Ranges::new(work, 64)),
        "tokio, 64 at a time" => Box::new(InOrder { threads: 64, next: 0, files: work.files }),
        _ => Box::new(Folders::new(work, cores, costs)),
    }
}

/// How many times as fast as a loop, and what bounds it if a limit does.
#[derive(Clone, Copy, Debug)]
struct Point {
    cores: usize,
    factor: f64,
    limit: Option<Limit>,
}

fn points(name: &str, work: Work, costs: Costs) -> Vec<Point> {
    let alone = model::run(work, 1, costs, &mut Ranges::new(work, 1));
    let point = |&cores: &usize| {
        let mut strategy = strategy(name, work, cores, costs);
        let (threads, overhead) = (strategy.threads(), strategy.overhead());
        let mut took = model::run(work, cores, costs, &mut *strategy);
        let (mut least, mut limit) = model::floor(work, cores, costs, threads, overhead);
        let feeding = work.files as u64 * TREE_WRITER_FEEDING;
        if name == "TreeWriter" && feeding > took {
            (took, least, limit) = (feeding, feeding, Limit::Feeding);
        }
        // A limit bounds what comes close to it.
        let limit = (took as f64 <= least as f64 * 1.15).then_some(limit);
        Point { cores, factor: alone as f64 / took as f64, limit }
    };
    CORES.iter().map(point).collect()
}

/// A table for each work.
pub fn tables() -> String {
    let mut text = String::new();
    for (what, work) in WORKS {
        let heads: Vec<_> = CORES.iter().map(|cores| format!("{cores} cores")).collect();
        write!(
            text,
            "### {what}\n\n| where | who | {} |\n|---|---|{}\n",
            heads.join(" | "),
            "---|".repeat(CORES.len())
        )
        .expect("into a string");
        for (place, costs) in PLACES {
            for name in STRATEGIES {
                let cells: Vec<_> = points(name, work, costs).into_iter().map(cell).collect();
                writeln!(text, "| {place} | {name} | {} |", cells.join(" | ")).expect("into a string");
            }
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn cell(point: Point) -> String {
    let factor = match point.factor {
        factor @ 10.0.. => format!("{factor:.0}"),
        factor => format!("{factor:.1}"),
    };
    match point.limit {
        Some(Limit::Processors) => format!("{factor} P"),
        Some(Limit::Folder) => format!("{factor} F"),
        Some(Limit::Threads) => format!("{factor} T"),
        Some(Limit::Feeding) => format!("{factor} H"),
        None => factor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of docs/scale.md in which there is a measurement: two processors, and how many times as fast as a loop.
    #[test]
    fn the_model_is_near_what_was_measured() {
        let one_folder = Work { files: 2_300, folders: 1 };
        let tree = Work { files: 50_000, folders: 2_954 };
        let spread = Work { files: 2_300, folders: 100 };
        for (who, work, costs, measured) in [
            ("TreeWriter", one_folder, TMPFS, 2.0),
            ("TreeWriter", one_folder, EXT4, 1.55),
            ("rayon", tree, TMPFS, 1.9),
            ("TreeWriter", tree, TMPFS, 2.2),
            ("TreeWriter", one_folder, served(2), 2.9),
            ("rayon", spread, served(2), 2.0),
        ] {
            let point = points(who, work, costs)[0];
            assert_eq!(point.cores, 2);
            assert!((measured / 1.3..measured * 1.3).contains(&point.factor), "{who}, {work:?}: {point:?}, {measured}");
        }
        // Here all threads are there from the first file on. In the world they come after some files have been slow,
        // which is a third of the 200 ms that this takes.
        let point = points("TreeWriter", spread, served(2))[0];
        assert!((73.0..73.0 * 1.6).contains(&point.factor), "{point:?}");
    }
}
