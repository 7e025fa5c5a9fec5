//! What is in a folder.

use std::ffi::{OsStr, OsString};
use std::io;

use super::{Entry, Vfs};
use crate::vfs::uri;
use crate::{Operation, Result};

impl Vfs {
    /// What is in a folder, in the order of the names.
    pub fn list(&self, uri: impl AsRef<OsStr>) -> Result<Vec<Entry>> {
        let uri = uri.as_ref();
        let key = self.key(Operation::List, uri)?;
        self.table.write_out_children(&key)?;
        let listed = self.table.with_room(|| self.table.backend(&key).list(&key.path));
        let mut names = listed.map_err(|cause| self.error(&key, Operation::List, cause))?;
        names.sort_by(|(name, _), (other, _)| name.cmp(other));
        let entry =
            |(name, metadata): (OsString, _)| Entry { uri: uri::child(uri, &name, self.table.backends()), metadata };
        Ok(names.into_iter().map(entry).collect())
    }

    /// Everything that is in a folder, however deep, folders before what is in them and otherwise in the order of the
    /// names. A link to a folder is listed and not gone through.
    pub fn list_all(&self, uri: impl AsRef<OsStr>) -> Result<Vec<Entry>> {
        let mut all = Vec::new();
        // A path that is deep takes no stack.
        let mut to_do = vec![uri.as_ref().to_os_string()];
        let mut is_first = true;
        while let Some(folder) = to_do.pop() {
            let entries = match self.list(&folder) {
                Ok(entries) => entries,
                // Removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_first => continue,
                Err(error) => return Err(error),
            };
            is_first = false;
            for entry in &entries {
                if entry.metadata.is_folder && !self.is_link(Operation::List, &entry.uri)? {
                    to_do.push(entry.uri.clone());
                }
            }
            all.extend(entries);
        }
        all.sort_by(|one, other| one.uri.cmp(&other.uri));
        Ok(all)
    }

    /// Makes a folder, and those above it. One that is there is fine.
    pub fn create_folder(&self, uri: impl AsRef<OsStr>) -> Result<()> {
        let key = self.key(Operation::CreateFolder, uri.as_ref())?;
        let created = self.table.backend(&key).create_folder(&key.path);
        created.map_err(|cause| self.error(&key, Operation::CreateFolder, cause))
    }

    /// Removes a file, or a folder with all that is in it, as far as that goes: the first error ends it. A link is
    /// removed, not what it leads to. What another program puts into the folder meanwhile may be removed with it, or
    /// make this fail.
    pub fn remove_all(&self, uri: impl AsRef<OsStr>) -> Result<()> {
        let uri = uri.as_ref();
        let is_folder = !self.is_link(Operation::Remove, uri)? && self.metadata(uri)?.is_folder;
        if !is_folder {
            return self.remove(uri);
        }
        // What is deeper comes later in the list, and goes first.
        let mut found = self.list_all(uri)?;
        found.sort_by_key(|entry| entry.uri.as_encoded_bytes().iter().filter(|&&byte| is_separator(byte)).count());
        for entry in found.iter().rev() {
            match self.remove(&entry.uri) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match self.remove(uri) {
            // A backend in which folders are only what files are in.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.exists(uri)? => Ok(()),
            other => other,
        }
    }
}

/// What may stand between a folder's name and that of a file in it.
fn is_separator(byte: u8) -> bool {
    byte == b'/' || (cfg!(windows) && byte == b'\\')
}
