//! What kind of value is to be closed: a handle of the system, a file with work in flight, or any other value.

use std::any::{Any, TypeId};
use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::fast_close::FastClose;
use super::handle::Handle;
use crate::sys;

/// How closers recognise a file type that is built on this module. The module does not know that type.
pub(crate) struct Wrapper {
    /// The path of a file of that type.
    pub(crate) path: fn(&dyn Any) -> Option<PathBuf>,
    /// Takes the handle out of an `Option` of a file of that type.
    pub(crate) take: fn(&mut dyn Any) -> Option<sys::Handle>,
}

static WRAPPER: OnceLock<Wrapper> = OnceLock::new();

/// From now on files of that type are recognised. To be called before there is such a file.
pub(crate) fn recognise_also(wrapper: fn() -> Wrapper) {
    WRAPPER.get_or_init(wrapper);
}

pub(super) fn handle_of<H: Send + 'static>(value: H) -> Handle {
    match recognise(value) {
        Ok(handle) => Handle::System(handle),
        Err(value) => not_recognised(value),
    }
}

/// A value that [`recognise`] gave back.
pub(super) fn not_recognised<H: Send + 'static>(value: H) -> Handle {
    #[cfg(feature = "tokio")]
    let value = {
        let mut slot = Some(value);
        let any: &mut dyn Any = &mut slot;
        if let Some(file) = any.downcast_mut::<Option<tokio::fs::File>>().and_then(Option::take) {
            return Handle::Busy(Box::new(file));
        }
        if let Some(file) = any.downcast_mut::<Option<FastClose<tokio::fs::File>>>().and_then(Option::take) {
            return Handle::Busy(Box::new(file.into_inner()));
        }
        slot.expect(TAKEN)
    };
    Handle::Other(Box::new(value))
}

const TAKEN: &str = "taken only where the type was recognised, which returned";

/// Whether `H` may turn out to be [busy](Handle::is_busy).
#[cfg_attr(not(feature = "tokio"), allow(clippy::extra_unused_type_parameters, reason = "without tokio none is"))]
pub(super) fn may_be_busy<H: 'static>() -> bool {
    #[cfg(feature = "tokio")]
    {
        let own = TypeId::of::<H>();
        own == TypeId::of::<tokio::fs::File>() || own == TypeId::of::<FastClose<tokio::fs::File>>()
    }
    #[cfg(not(feature = "tokio"))]
    false
}

/// The path of a file that knows it. Files of std do not know theirs: for them the compiler leaves nothing of this.
#[inline]
pub(super) fn path_of<H: 'static>(value: &H) -> Option<PathBuf> {
    let own = TypeId::of::<H>();
    if own == TypeId::of::<File>() || own == TypeId::of::<sys::Handle>() {
        return None;
    }
    WRAPPER.get().and_then(|wrapper| (wrapper.path)(value))
}

/// The system's handle, if `H` is a wrapper of a handle and nothing else, and the handle can be had without waiting.
/// The optimizer knows `H` and keeps one branch.
#[inline]
pub(super) fn recognise<H: 'static>(value: H) -> Result<sys::Handle, H> {
    let mut slot = Some(value);
    let any: &mut dyn Any = &mut slot;
    #[allow(clippy::useless_conversion, reason = "on some systems it is none")]
    if let Some(file) = any.downcast_mut::<Option<File>>().and_then(Option::take) {
        return Ok(file.into());
    }
    if let Some(handle) = any.downcast_mut::<Option<sys::Handle>>().and_then(Option::take) {
        return Ok(handle);
    }
    #[allow(clippy::useless_conversion, reason = "on some systems it is none")]
    if let Some(file) = any.downcast_mut::<Option<FastClose<File>>>().and_then(Option::take) {
        return Ok(file.into_inner().into());
    }
    #[cfg(feature = "tokio")]
    {
        if let Some(file) = any.downcast_mut::<Option<FastClose<tokio::fs::File>>>().and_then(Option::take) {
            let file = file.into_inner();
            match file.try_into_std() {
                Ok(file) => return Ok(file.into()),
                Err(file) => *any.downcast_mut().expect("of this type a moment ago") = Some(FastClose::new(file)),
            }
        } else if let Some(slot) = any.downcast_mut::<Option<tokio::fs::File>>()
            && let Some(file) = slot.take()
        {
            match file.try_into_std() {
                Ok(file) => return Ok(file.into()),
                // A read or write is in flight: the thread that makes it has the file, too.
                Err(file) => *slot = Some(file),
            }
        }
    }
    if let Some(handle) = WRAPPER.get().and_then(|wrapper| (wrapper.take)(any)) {
        return Ok(handle);
    }
    Err(slot.expect(TAKEN))
}
