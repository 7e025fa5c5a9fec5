//! The Detail column: `Offset: 5,286,912, Length: 16,384, I/O Flags: Non-cached, Paging I/O, Priority: Normal`.

use memchr::memmem;

use crate::number;

#[derive(Clone, Copy, Debug)]
pub(super) struct Detail<'a>(pub &'a [u8]);

impl<'a> Detail<'a> {
    /// The text behind a name, up to the end.
    fn behind(self, name: &str) -> Option<&'a [u8]> {
        memmem::find(self.0, name.as_bytes()).map(|at| &self.0[at + name.len()..])
    }

    pub(super) fn offset(self) -> Option<u64> {
        self.behind("Offset: ").and_then(number::grouped)
    }

    pub(super) fn length(self) -> Option<u64> {
        self.behind("Length: ").and_then(number::grouped)
    }

    /// The memory manager's own work is no call of the program.
    pub(super) fn is_paging(self) -> bool {
        self.behind("Paging I/O").is_some()
    }

    fn access(self) -> &'a [u8] {
        let access = self.behind("Desired Access: ").unwrap_or(b"");
        &access[..memmem::find(access, b", Disposition:").unwrap_or(access.len())]
    }

    fn wants(self, access: &str) -> bool {
        memmem::find(self.access(), access.as_bytes()).is_some()
    }

    /// Opened to be written to.
    pub(super) fn for_writing(self) -> bool {
        ["Generic Write", "Generic Read/Write", "Write Data", "Append Data", "All Access"]
            .iter()
            .any(|&access| self.wants(access))
    }

    /// Opened to be appended to, and only that.
    pub(super) fn appends(self) -> bool {
        self.wants("Append Data") && !self.wants("Write Data") && !self.wants("Generic") && !self.wants("All Access")
    }

    /// The file was made, or emptied.
    pub(super) fn was_empty(self) -> bool {
        let result = self.behind("OpenResult: ").unwrap_or(b"");
        [&b"Created"[..], b"Overwritten", b"Superseded"].iter().any(|kind| result.starts_with(kind))
    }

    fn options(self) -> &'a [u8] {
        let options = self.behind("Options: ").unwrap_or(b"");
        &options[..memmem::find(options, b", Attributes:").unwrap_or(options.len())]
    }

    /// Each write waits until its bytes are on the disk.
    pub(super) fn is_durable(self) -> bool {
        memmem::find(self.options(), b"Write Through").is_some()
    }

    pub(super) fn is_folder(self) -> bool {
        let options = self.options();
        options.starts_with(b"Directory") || memmem::find(options, b", Directory").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_flags_are_found() {
        let read = Detail(b"Offset: 5,286,912, Length: 16,384, I/O Flags: Non-cached, Paging I/O, Synchronous Paging I/O, Priority: Normal");
        assert_eq!((read.offset(), read.length(), read.is_paging()), (Some(5_286_912), Some(16_384), true));
        let write = Detail(b"Offset: 0, Length: 4,096, Priority: Normal");
        assert_eq!((write.offset(), write.length(), write.is_paging()), (Some(0), Some(4096), false));
        assert_eq!(Detail(b"").length(), None);
    }

    #[test]
    fn opens_tell_what_they_are_for() {
        let open = |access: &str, options: &str, result: &str| {
            format!(
                "Desired Access: {access}, Disposition: OverwriteIf, Options: {options}, Attributes: N, ShareMode: \
                 Read, Write, \
                 Delete, AllocationSize: 0, OpenResult: {result}"
            )
        };
        for (text, writing, appends, empty, folder) in [
            (
                open("Generic Write, Read Attributes", "Synchronous IO Non-Alert, Non-Directory File", "Overwritten"),
                true,
                false,
                true,
                false,
            ),
            (
                open("Generic Read", "Synchronous IO Non-Alert, Non-Directory File", "Opened"),
                false,
                false,
                false,
                false,
            ),
            (open("Read Attributes, Write Attributes", "Open Reparse Point", "Opened"), false, false, false, false),
            (
                open("Append Data/Add Subdirectory/Create Pipe Instance, Synchronize", "Non-Directory File", "Opened"),
                true,
                true,
                false,
                false,
            ),
            (
                open("Read Data/List Directory, Synchronize", "Directory, Synchronous IO Non-Alert", "Opened"),
                false,
                false,
                false,
                true,
            ),
            (
                open("Generic Read/Write", "Write Through, Synchronous IO Non-Alert", "Created"),
                true,
                false,
                true,
                false,
            ),
        ] {
            let detail = Detail(text.as_bytes());
            assert_eq!(
                (detail.for_writing(), detail.appends(), detail.was_empty(), detail.is_folder()),
                (writing, appends, empty, folder),
                "{text}"
            );
        }
    }
}
