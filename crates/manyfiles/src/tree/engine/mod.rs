use super::Progress;
use crate::Error;
pub(super) struct Shared {}
impl Shared {
    pub(super) fn progress(&self) -> Progress {
        todo!()
    }
    pub(super) fn failures_from(&self, from: usize) -> Vec<Error> {
        todo!()
    }
    pub(super) fn cancel(&self) {
        todo!()
    }
    pub(super) fn is_cancelled(&self) -> bool {
        todo!()
    }
}
