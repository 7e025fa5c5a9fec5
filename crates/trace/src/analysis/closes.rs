//! Closes, by what was done to the file before.

use hashbrown::{DefaultHashBuilder, HashMap};

use crate::call::Call;
use crate::open_file::OpenFile;
use crate::report::{CloseSum, Closes as Found, Sum};

/// So many processes are told apart. Those of the rest are taken to close one file each.
const MOST_PROCESSES: usize = 1 << 14;

#[derive(Default)]
pub(super) struct Closes {
    found: Found,
    /// Closes after writes, by process.
    written: HashMap<u32, Sum, DefaultHashBuilder>,
}

impl Closes {
    /// Closes of pipes and the like, and of handles that may be one, are left out.
    pub(super) fn closed(&mut self, call: &Call<'_>, file: &OpenFile) {
        if file.is_channel || (file.path.is_none() && !file.opened) {
            return;
        }
        let class = match (file.written.get(), file.grew.get()) {
            (0, _) => return add(&mut self.found.unwritten, call),
            (_, false) => &mut self.found.written,
            (_, true) => &mut self.found.appended,
        };
        add(class, call);
        if self.written.len() < MOST_PROCESSES || self.written.contains_key(&file.owner) {
            self.written.entry(file.owner).or_default().add(call);
        }
    }

    pub(super) fn finish(mut self) -> Found {
        // One of many processes that closes one file has nothing else to do meanwhile.
        let is_alone = self.written.len() == 1;
        self.written
            .values()
            .filter(|closes| closes.calls > 1 || is_alone)
            .for_each(|sum| self.found.of_several.plus(sum));
        self.found
    }
}

fn add(class: &mut CloseSum, call: &Call<'_>) {
    let nanos = call.duration.unwrap_or(0);
    class.calls += 1;
    class.nanos = class.nanos.saturating_add(nanos);
    class.max_nanos = class.max_nanos.max(nanos);
}
