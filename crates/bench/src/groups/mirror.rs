//! A tree made equal to another that it is nearly equal to, as whole programs: against rsync.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use manyfiles_measure::contest::Site;
use manyfiles_testkit::{Compare, Corpus, Op, Tree};

use crate::checks::{SEED, alike};
use crate::contest::{self, Check, Contest, Entrant, Goal, Plan, Run};
use crate::place::Place;
use crate::process::{self, said_by};
use crate::report::Book;
use crate::target::build_command;
use Goal::{Faster, Shown};

const GROUP: &str = "mirror";

/// How the target differs before a run.
#[derive(Clone, Copy)]
enum Differs {
    Nowhere,
    /// One name in so many: half of them files with other content, a quarter missing, a quarter only there.
    OneIn(usize),
    /// A folder at the top has another name, with one name in so many below it.
    Moved(usize),
}

pub fn run(plan: Plan, book: &mut Book) -> Result<()> {
    let ours = build_command()?;
    let corpus = Corpus::w2(SEED);
    for place in [Place::tmpfs(), Place::ext4_cleared()] {
        let Some(place) = book.place_or_skip(GROUP, place) else { continue };
        let source = place.fresh()?;
        corpus.write(&source)?;
        let what = "50,000 files, 2,954 folders";
        for (how, goal, differs) in [
            ("nothing changed", Faster(3.0), Differs::Nowhere),
            ("1 % changed", Faster(2.0), Differs::OneIn(100)),
            ("10 % moved", Shown, Differs::Moved(10)),
        ] {
            contest(&ours, &source, format!("{what}, {how}"), goal, differs, &place, plan, book)?;
        }
        place.done_with(&source)?;
    }
    let all = [Op::Open, Op::Create, Op::Read, Op::Write, Op::Mkdir, Op::Unlink, Op::Close, Op::Rename, Op::SetAttr];
    if let Some(place) = book.place_or_skip(GROUP, Place::slow("FUSE, 2 ms", &all, Duration::from_millis(2))) {
        let store = manyfiles_testkit::scratch()?;
        let source = store.path().join("source");
        Corpus::spread(2_300, 100, SEED).write(&source)?;
        let what = "2,300 files, 100 folders, 10 % changed, onto the mount".into();
        contest(&ours, &source, what, Faster(20.0), Differs::OneIn(10), &place, plan, book)?;
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "each is one thing that a contest has")]
fn contest(
    ours: &Path,
    source: &Path,
    what: String,
    goal: Goal,
    differs: Differs,
    place: &Place,
    plan: Plan,
    book: &mut Book,
) -> Result<()> {
    let expected = Tree::read(source)?;
    let store = manyfiles_testkit::scratch()?;
    let old = store.path().join("old");
    said_by(Command::new("cp").arg("-a").args([source, &old]))?;
    change(&old, differs)?;
    let check: Check<'_> = Box::new(|folder| alike(&expected, &Tree::read(folder)?, Compare::ALL));
    let program = |program: &Path, flags: &'static [&'static str]| -> Run<'_> {
        let (program, old) = (program.to_owned(), old.clone());
        Box::new(move |folder| {
            said_by(Command::new("cp").arg("-a").args([&old, &place.behind(folder)]))?;
            place.settle()?;
            // With a separator: rsync means what is in the folder by that.
            let source = PathBuf::from(format!("{}/", source.display()));
            process::measure_command(Command::new(&program).args(flags).args([&source, folder]))
        })
    };
    let entrants = vec![
        Entrant::new("manyfiles copy --mirror", Shown, &check, program(ours, &["copy", "--mirror", "-q"])),
        Entrant::new("rsync -a --delete", goal, &check, program(Path::new("rsync"), &["-a", "--delete"])),
    ];
    book.enter(contest::run(Contest { group: GROUP, what, place, entrants }, plan));
    Ok(())
}

fn change(root: &Path, differs: Differs) -> Result<()> {
    let files: Vec<_> = Tree::read(root)?.entries.into_keys().filter(|path| root.join(path).is_file()).collect();
    match differs {
        Differs::Nowhere => {}
        Differs::OneIn(many) => {
            for (n, path) in files.iter().step_by(many).enumerate() {
                let path = root.join(path);
                match n % 4 {
                    0 | 1 => fs::write(path, "what it was before")?,
                    2 => fs::remove_file(path)?,
                    _ => fs::copy(&path, path.with_extension("extra")).map(drop)?,
                }
            }
        }
        Differs::Moved(many) => {
            for path in files.iter().step_by(many) {
                let to = root.join("before").join(path);
                fs::create_dir_all(to.parent().expect("it is below the root"))?;
                fs::rename(root.join(path), to)?;
            }
        }
    }
    Ok(())
}
