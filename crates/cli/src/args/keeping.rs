//! What entries keep besides bytes, permissions, times and links.

use clap::Args;
use manyfiles::tree::Keep;

#[derive(Args, Clone, Debug)]
pub(crate) struct Keeping {
    /// Keep all that can be kept: owners, set-id bits, devices and FIFOs, extended attributes, capabilities, access
    /// control lists, file flags, access times, reserved space
    ///
    /// More than 'cp -a' keeps, which leaves out file flags (those of chattr; on Windows hidden, system, archive) and
    /// space that is reserved and not written. What this user may not keep, or the file system does not have, is lost
    /// and counted: a line at the end tells how many entries lost something. Where an owner is lost, set-id bits are
    /// dropped. To count what is asked for by its own option (--xattrs, --acls, --same-owner) as failed, give both.
    #[arg(short, long, help_heading = "What entries keep")]
    pub archive: bool,

    /// Keep extended attributes: those of users, and for root also capabilities and trusted ones
    ///
    /// Labels of SELinux, seals of EVM and what overlayfs writes are of use only where they were made, and are never
    /// kept. An entry whose attributes cannot be kept counts as failed, and is not copied.
    #[arg(long, help_heading = "What entries keep")]
    pub xattrs: bool,

    /// Keep access control lists
    ///
    /// Lists that folders give to new files do not get into the copies then. An entry whose list cannot be kept counts
    /// as failed, and is not copied.
    #[arg(long, help_heading = "What entries keep")]
    pub acls: bool,
}

impl Keeping {
    /// `same_owner`: whether owners have to be kept.
    pub(crate) fn keep(&self, same_owner: bool) -> Keep {
        let mut keep = if self.archive { Keep::everything() } else { Keep::default() };
        if self.xattrs {
            keep = keep.xattrs();
        }
        if self.acls {
            keep = keep.acls();
        }
        if same_owner { keep.owners() } else { keep }
    }
}
