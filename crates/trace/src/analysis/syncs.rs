//! Syncs: the first of each file, and the others.

use crate::call::Call;
use crate::report::Syncs as Found;

#[derive(Default)]
pub(super) struct Syncs(Found);

impl Syncs {
    /// `before`: this file was synced before, by whatever handle.
    pub(super) fn synced(&mut self, call: &Call<'_>, before: bool) {
        let nanos = call.duration.unwrap_or(0);
        let (calls, time) = match before {
            false => (&mut self.0.files, &mut self.0.first_nanos),
            true => (&mut self.0.again, &mut self.0.again_nanos),
        };
        *calls += 1;
        *time = time.saturating_add(nanos);
    }

    pub(super) fn finish(self) -> Found {
        self.0
    }
}
