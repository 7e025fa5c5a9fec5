//! What the commands that read archives have in common: how far an archive is read.

use clap::Args;
use manyfiles_archive::Limits;

use super::{Count, Size};

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Read on behind the end of a tar: tars that were joined (`cat a.tar b.tar`), whatever zeros are between; cpio likewise
    #[arg(long)]
    pub ignore_zeros: bool,

    /// Stop at an archive that has more entries than this ('none': no limit)
    #[arg(long, value_name = "N", default_value_t = Count(Limits::default().entries), help_heading = "Limits, for each archive")]
    pub max_entries: Count,

    /// Stop when the content is larger than this; K, M, G, T stand for powers of 1024, KB, MB, GB, TB of 1000
    #[arg(long, value_name = "SIZE", default_value_t = Size(Limits::default().bytes), help_heading = "Limits, for each archive")]
    pub max_bytes: Size,

    /// Stop when the content is more than this many times larger than the archive
    #[arg(long, value_name = "N", default_value_t = Count(Limits::default().ratio), help_heading = "Limits, for each archive")]
    pub max_ratio: Count,
}

impl Reading {
    /// The limits, for each archive.
    pub(crate) fn limits(self) -> Limits {
        Limits::default().entries(self.max_entries.0).bytes(self.max_bytes.0).ratio(self.max_ratio.0)
    }
}
