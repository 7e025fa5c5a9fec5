//! Closes, by what was done to the file before.

use crate::call::Call;
use crate::open_file::OpenFile;
use crate::report::{CloseSum, Closes as Found};

#[derive(Default)]
pub(super) struct Closes(Found);

impl Closes {
    /// Closes of pipes and the like, and of handles that may be one, are left out.
    pub(super) fn closed(&mut self, call: &Call<'_>, file: &OpenFile) {
        if file.is_channel || (file.path.is_none() && !file.opened) {
            return;
        }
        let class = match (file.written.get(), file.grew.get()) {
            (0, _) => &mut self.0.unwritten,
            (_, false) => &mut self.0.written,
            (_, true) => &mut self.0.appended,
        };
        add(class, call);
    }

    pub(super) fn finish(self) -> Found {
        self.0
    }
}

fn add(class: &mut CloseSum, call: &Call<'_>) {
    let nanos = call.duration.unwrap_or(0);
    class.calls += 1;
    class.nanos = class.nanos.saturating_add(nanos);
    class.max_nanos = class.max_nanos.max(nanos);
}
