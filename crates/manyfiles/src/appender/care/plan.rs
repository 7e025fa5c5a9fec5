//! [`plan_repair`]: what a repair would do.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::appender::care::check::check_series;
use crate::appender::log::ending::{self, Misfit};
use crate::appender::log::losses::Damage;
use crate::appender::log::series::Series;
use crate::appender::storage::{FileSystem, Storage};
use crate::{Error, Operation, Result};

/// What [`repair`](crate::appender::repair) would do with a log; [`plan_repair`] makes one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepairPlan {
    /// What would be mended, in the order of the files.
    pub repairs: Vec<PlannedRepair>,
    /// What would still be wrong with the log afterwards, because no repair mends it.
    pub errors: Vec<Error>,
}

/// What [`repair`](crate::appender::repair) would mend in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedRepair {
    /// The file; without `.zst` where a compressed one would be unpacked.
    pub path: PathBuf,
    /// What is damaged in it, and would be set aside.
    pub damage: Vec<Damage>,
    /// What else is wrong with it, the last file of the log then.
    pub misfit: Option<Misfit>,
}

/// Reads all of a [framed](crate::appender::Options::framed) log and says what [`repair`](crate::appender::repair)
/// would do with it. Changes nothing and takes no lock. `progress` is told how much of the log has been read: from 0 to
/// 1, by bytes.
///
/// Fails where the repair would, but for what only shows when something is changed: an appender that has the log open,
/// a full disk, missing rights.
///
/// ```
/// # let temp = tempfile::tempdir()?;
/// # let path = temp.path().join("events");
/// # manyfiles::appender::Appender::options().framed(true).open(&path)?.append_durable(b"started")?;
/// let plan = manyfiles::appender::plan_repair(&path, |_| {})?;
/// assert!(plan.repairs.is_empty() && plan.errors.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_repair(path: impl AsRef<Path>, mut progress: impl FnMut(f64)) -> Result<RepairPlan> {
    plan_in(Arc::new(FileSystem::new()), path.as_ref(), &mut progress)
}

pub(in crate::appender) fn plan_in(
    storage: Arc<dyn Storage>,
    path: &Path,
    progress: &mut dyn FnMut(f64),
) -> Result<RepairPlan> {
    let series = Series::new(&*storage, path)?;
    if series.numbers(&*storage)?.is_empty() {
        return Err(Error::new(Operation::Open, path, io::ErrorKind::NotFound.into()));
    }
    let EndPlan { mut repairs, left } = plan_end(&*storage, &series)?;
    let report = check_series(&*storage, &left, progress)?;
    let mut errors = Vec::new();
    let count = report.files.len();
    for (at, file) in report.files.into_iter().enumerate() {
        if !file.is_read && at + 1 == count {
            // A log that cannot be read to its end cannot be opened.
            return Err(file.errors.into_iter().next_back().expect("it says why"));
        }
        // A file of which a part cannot be read is left as it is.
        let (path, damage, misfit) = (series.plain_path(file.path), file.damage, file.misfit);
        if file.is_read && (!damage.is_empty() || misfit.is_some()) {
            repairs.push(PlannedRepair { path, damage, misfit });
        } else {
            errors.extend(damage.into_iter().map(|damage| Error::new(Operation::Read, &*path, damage.into())));
        }
        errors.extend(file.errors);
    }
    repairs.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(RepairPlan { repairs, errors })
}

/// What a repair does at the end of a log before anything else.
pub(in crate::appender) struct EndPlan {
    /// The files that it takes out of the log.
    repairs: Vec<PlannedRepair>,
    /// The log without these.
    left: Series,
}

/// Fails if the log ends with a file that no repair mends.
pub(in crate::appender) fn plan_end(storage: &dyn Storage, series: &Series) -> Result<EndPlan> {
    let (mut repairs, mut left) = (Vec::new(), series.clone());
    loop {
        let numbers = left.numbers(storage)?;
        let Some(error) = ending::misfit(storage, &left, &numbers)? else { return Ok(EndPlan { repairs, left }) };
        match (error.misfit(), numbers.last()) {
            (Some(misfit @ (Misfit::Older | Misfit::Empty)), Some(&last)) => {
                let path = series.path(last);
                repairs.push(PlannedRepair { path, damage: Vec::new(), misfit: Some(misfit) });
                left = left.before(last);
            }
            (Some(Misfit::Compressed), _) => return Ok(EndPlan { repairs, left }),
            (None, _) | (_, None) => return Err(error),
        }
    }
}
