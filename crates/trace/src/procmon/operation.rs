//! The effect of Process Monitor's operations on files.

use crate::call::Kind;

/// The effect of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Create,
    Close,
    Read,
    Write,
    Flush,
    None,
}

/// In basic mode operations have friendly names; in advanced mode those of the requests behind them.
pub(super) fn classify(operation: &[u8]) -> (Kind, Shape) {
    match operation {
        b"CreateFile" | b"IRP_MJ_CREATE" => (Kind::Open, Shape::Create),
        // A handle is closed when the clean-up returns.
        b"CloseFile" | b"IRP_MJ_CLEANUP" => (Kind::Close, Shape::Close),
        b"IRP_MJ_CLOSE" => (Kind::Close, Shape::None),
        b"ReadFile" | b"IRP_MJ_READ" | b"FASTIO_READ" | b"FASTIO_MDL_READ" => (Kind::Read, Shape::Read),
        b"WriteFile" | b"IRP_MJ_WRITE" | b"FASTIO_WRITE" | b"FASTIO_PREPARE_MDL_WRITE" => (Kind::Write, Shape::Write),
        b"SetEndOfFileInformationFile"
        | b"SetAllocationInformationFile"
        | b"SetValidDataLengthInformationFile"
        | b"SetEndOfFileFile" => (Kind::Write, Shape::None),
        b"FlushBuffersFile" | b"IRP_MJ_FLUSH_BUFFERS" => (Kind::Sync, Shape::Flush),
        b"NotifyChangeDirectory" => (Kind::Wait, Shape::None),
        b"QueryDirectory"
        | b"IRP_MJ_DIRECTORY_CONTROL"
        | b"SetRenameInformationFile"
        | b"SetRenameInformationEx"
        | b"SetRenameInformationExFile"
        | b"SetDispositionInformationFile"
        | b"SetDispositionInformationEx"
        | b"SetDispositionInformationExFile"
        | b"SetLinkInformationFile" => (Kind::Names, Shape::None),
        b"QueryOpen"
        | b"FileSystemControl"
        | b"DeviceIoControl"
        | b"CreateFileMapping"
        | b"LockFile"
        | b"UnlockFileSingle"
        | b"UnlockFileAll"
        | b"UnlockFileByKey"
        | b"QueryInformationVolume"
        | b"SetVolumeInformation"
        | b"QueryEAFile"
        | b"SetEAFile"
        | b"QuerySecurityFile"
        | b"SetSecurityFile"
        | b"QueryFileQuota"
        | b"SetFileQuota" => (Kind::Metadata, Shape::None),
        name if name.starts_with(b"IRP_MJ_") || name.starts_with(b"FASTIO_") => (Kind::Metadata, Shape::None),
        name if name.starts_with(b"Reg") => (Kind::Other, Shape::None),
        name if name.starts_with(b"TCP ") || name.starts_with(b"UDP ") => (Kind::Wait, Shape::None),
        name if (name.starts_with(b"Query") || name.starts_with(b"Set")) && name.ends_with(b"File") => {
            (Kind::Metadata, Shape::None)
        }
        _ => (Kind::Other, Shape::None),
    }
}
