//! What to do about failures: said once at the end, not with each.

use std::io::ErrorKind;

use manyfiles::tree::Refusal;
use manyfiles::{Error, Operation};

use crate::args::Options;

/// What could help with these failures.
pub(crate) fn for_failures(failures: &[Error], options: &Options) -> Vec<&'static str> {
    let any = |of: &dyn Fn(&Error) -> bool| failures.iter().any(of);
    let mut hints = Vec::new();
    if any(&|error| error.kind() == ErrorKind::AlreadyExists) && options.on_conflict.is_none() {
        hints.push(
            "files with a name that was taken are left as they were; \
             to decide otherwise: --on-conflict skip, skip-identical, overwrite, replace, newer or rename",
        );
    }
    if any(&|error| error.refusal() == Some(Refusal::UnwantedKind)) && !options.special_files {
        hints.push("devices and FIFOs are made with --special-files, and devices need privileges");
    }
    if any(&|error| error.kind() == ErrorKind::PermissionDenied && error.operation() == Operation::HardLink) {
        hints.push(
            "hard links are not made to a folder (one may have kept the name of the file that was meant), to files of \
             others where \
             the system protects them, nor where the file system has none",
        );
    }
    if any(&|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) {
        hints.push("when there is space again, --on-conflict skip-identical goes on where this stopped");
    }
    if any(&|error| error.kind() == ErrorKind::PermissionDenied && error.operation() == Operation::SetMetadata)
        && options.same_owner
    {
        hints.push("only a privileged user can give files away; leave out --same-owner to own them yourself");
    }
    hints
}

/// What could help when the folder that everything goes into cannot be opened.
pub(crate) fn for_root(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            Some("the destination has to be a folder, or not to be there yet".into())
        }
        ErrorKind::PermissionDenied => Some("choose a folder that you may write to".into()),
        ErrorKind::ReadOnlyFilesystem => Some("the file system is mounted read-only; choose another folder".into()),
        _ => None,
    }
}
