//! The header of a member of an ar archive, which a `.deb` is, too.

pub(crate) const MAGIC: &[u8; 8] = b"!<arch>\n";
pub(crate) const LEN: usize = 60;

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    /// As it stands there, without the spaces behind it.
    pub name: &'a [u8],
    /// In seconds since 1970; negative before.
    pub modified: Option<i64>,
    pub owner: Option<(u32, u32)>,
    pub mode: Option<u32>,
    pub size: u64,
}

impl Header<'_> {
    /// `None`: it is no header.
    pub(crate) fn read(bytes: &[u8; LEN]) -> Option<Header<'_>> {
        if !bytes.ends_with(b"`\n") {
            return None;
        }
        let number = |from: usize, to: usize, base| number(&bytes[from..to], base);
        Some(Header {
            name: bytes[..16].trim_ascii_end(),
            modified: signed(&bytes[16..28])?,
            owner: number(28, 34, 10)?.zip(number(34, 40, 10)?).map(|(user, group)| (user as u32, group as u32)),
            mode: number(40, 48, 8)?.map(|mode| mode as u32),
            size: number(48, 58, 10)??,
        })
    }

    /// Whether a byte stands behind the content: members begin at even ones.
    pub(crate) fn padding(&self) -> u64 {
        self.size % 2
    }
}

/// A decimal number that may have a sign.
fn signed(field: &[u8]) -> Option<Option<i64>> {
    match field.strip_prefix(b"-") {
        // A sign alone is no number.
        Some(digits) => Some(Some(-(number(digits, 10)?? as i64))),
        None => number(field, 10).map(|number| number.map(|number| number as i64)),
    }
}

/// A number with spaces behind it. `Some(None)`: only spaces; `None`: something else.
fn number(field: &[u8], base: u32) -> Option<Option<u64>> {
    let digits = field.trim_ascii_end();
    if digits.is_empty() {
        return Some(None);
    }
    // At most twelve digits, so that it fits.
    let add = |number: u64, digit: &u8| Some(number * u64::from(base) + u64::from(char::from(*digit).to_digit(base)?));
    digits.iter().try_fold(0, add).map(Some)
}
