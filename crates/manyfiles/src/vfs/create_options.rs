//! What can be chosen for one file.

use crate::writer::SyncPolicy;

/// Options of [`Vfs::create_writer_with`](super::Vfs::create_writer_with).
///
/// ```
/// use manyfiles::vfs::{CreateOptions, Vfs};
/// use manyfiles::writer::SyncPolicy;
///
/// let vfs = Vfs::new();
/// let options = CreateOptions::new().create_new(true).sync(SyncPolicy::OnClose);
/// let mut writer = vfs.create_writer_with("mem://tiles", &options)?;
/// writer.write_all(b"a tile")?;
/// writer.close()?;
/// assert!(vfs.create_writer_with("mem://tiles", &options).is_err()); // it is there
/// # Ok::<(), manyfiles::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct CreateOptions {
    create_new: bool,
    sync: SyncPolicy,
    set: Vec<(String, String)>,
}

/// The name by which a backend knows [`CreateOptions::create_new`].
const CREATE_NEW: &str = "create_new";

impl CreateOptions {
    /// The defaults: a file that is there is cut to nothing, and nothing is synced.
    pub fn new() -> CreateOptions {
        CreateOptions::default()
    }

    /// Whether the file must not be there. If it is, the error's kind is
    /// [`AlreadyExists`](std::io::ErrorKind::AlreadyExists). A backend gets this as the option `create_new` with the
    /// value `true`. A backend that does not know the option refuses it. Default: no.
    pub fn create_new(mut self, create_new: bool) -> CreateOptions {
        self.create_new = create_new;
        self
    }

    /// When the writer syncs by itself. Default: [`SyncPolicy::Never`].
    pub fn sync(mut self, policy: SyncPolicy) -> CreateOptions {
        self.sync = policy;
        self
    }

    /// An option of the backend's own, by name: one of its [`option_names`](super::Backend::option_names). The backend
    /// judges the value. No option may be given twice.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> CreateOptions {
        self.set.push((name.into(), value.into()));
        self
    }

    /// What the backend is told.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        let create_new = self.create_new.then_some((CREATE_NEW, "true"));
        create_new.into_iter().chain(self.set.iter().map(|(name, value)| (&**name, &**value))).collect()
    }

    pub(super) fn policy(&self) -> SyncPolicy {
        self.sync
    }
}
