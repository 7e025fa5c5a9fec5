//! Archives that come in parts. Only the first part begins as an archive. The other parts are known by their names
//! alone.

use std::path::Path;

use crate::error::ErrorKind;

/// What to do with a part of a split zip.
pub(crate) const SPLIT_ZIP: &str = "this is one part of a split zip; put all parts into one folder and join them first \
    (`zip -s 0 NAME.zip --out WHOLE.zip`, where NAME.zip is the last part)";
/// What to do with a part of anything else.
const CUT: &str = "by its name this is one part of an archive that was cut into several; join them first \
    (`cat NAME.001 NAME.002 … > NAME`)";

/// Adds to an error of reading that the file is one part of several, if its name says so.
pub(crate) fn explain(path: &Path, kind: ErrorKind) -> ErrorKind {
    let Some(advice) = advice(path) else { return kind };
    match kind {
        ErrorKind::NotAnArchive { looks_like: None, compression: None } => ErrorKind::Unsupported(advice.into()),
        ErrorKind::Damaged { at, entries, cause } if cause.contains("cut short") => {
            ErrorKind::Damaged { at, entries, cause: format!("{cause}; {advice}") }
        }
        other => other,
    }
}

fn advice(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.as_encoded_bytes();
    match ending {
        [b'z' | b'Z', tens, ones] if tens.is_ascii_digit() && ones.is_ascii_digit() => Some(SPLIT_ZIP),
        [_, _, _] if ending.iter().all(u8::is_ascii_digit) => Some(CUT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_end_with_their_number() {
        for (name, is) in [
            ("a.z01", Some(SPLIT_ZIP)),
            ("a.Z12", Some(SPLIT_ZIP)),
            ("a.zip.001", Some(CUT)),
            ("a.zip", None),
            ("a.z", None),
            ("a.1", None),
            ("z01", None),
        ] {
            assert_eq!(advice(Path::new(name)), is, "{name}");
        }
    }
}
