//! pax extended headers: `length key=value` records that override fields of the entry after them, or of all.

use super::sparse::Piece;
use crate::entry::Attribute;
use crate::number::decimal;

/// The fields that records give an entry. `None`: the records do not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pax {
    pub path: Option<Vec<u8>>,
    pub link_path: Option<Vec<u8>>,
    pub size: Option<u64>,
    /// Seconds and nanoseconds.
    pub modified: Option<(i64, u32)>,
    pub user: Option<u32>,
    pub group: Option<u32>,
    /// Whether there are extended attributes or access control lists.
    pub has_attributes: bool,
    /// Whether some of them are not here: lists of other systems, and what no file can have.
    pub has_other_attributes: bool,
    /// Access control lists, as text.
    pub acl: Option<Vec<u8>>,
    pub default_acl: Option<Vec<u8>>,
    /// File flags, by bsdtar's names.
    pub flags: Option<Vec<u8>>,
    /// Names of the owner.
    pub user_name: Option<Vec<u8>>,
    pub group_name: Option<Vec<u8>>,
    /// Extended attributes, in the order of the records.
    pub attributes: Vec<Attribute>,
    /// GNU: whether the tar begins in the middle of a file that begins in an earlier volume.
    pub continues_volume: bool,
    /// What is wrong with a field that is ignored then.
    pub ignored: Option<Malformed>,
    pub sparse: Sparse,
}

/// GNU's three ways to describe a sparse file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sparse {
    /// Version 1.0: the pieces are listed at the start of the content.
    pub map_in_content: bool,
    major: Option<u64>,
    minor: Option<u64>,
    /// Versions 0.1 and 1.0: the real path. The header's path only says that the file is sparse.
    pub name: Option<Vec<u8>>,
    pub real_size: Option<u64>,
    /// Versions 0.0 and 0.1.
    pub pieces: Option<Vec<Piece>>,
    offset: Option<u64>,
}

/// Prefixes of the keys with which tar programs keep extended attributes and access control lists.
const ATTRIBUTES: [&[u8]; 4] = [b"SCHILY.xattr.", b"SCHILY.acl.", b"LIBARCHIVE.xattr.", b"RHT.security."];

/// A record that cannot be read.
pub(crate) type Malformed = &'static str;

impl Pax {
    /// Adds the fields of `records`; a later record replaces an earlier one.
    pub(crate) fn merge(&mut self, mut records: &[u8]) -> Result<(), Malformed> {
        while !records.is_empty() {
            // Some writers pad with zeros.
            if records.iter().all(|&byte| byte == 0) {
                break;
            }
            let space = records.iter().take(20).position(|&byte| byte == b' ').ok_or("a pax record has no length")?;
            let len = decimal(&records[..space]).ok_or("a pax record's length is no number")?;
            let len = usize::try_from(len).ok().filter(|&len| len > space + 1 && len <= records.len());
            let len = len.ok_or("a pax record's length is wrong")?;
            let (record, rest) = records.split_at(len);
            records = rest;
            let record = record[space + 1..].strip_suffix(b"\n").ok_or("a pax record has no end")?;
            let equals = record.iter().position(|&byte| byte == b'=').ok_or("a pax record has no '='")?;
            self.set(&record[..equals], &record[equals + 1..])?;
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Malformed> {
        let bytes = || (!value.is_empty()).then(|| value.to_vec());
        let number = |wrong| match value {
            b"" => Ok(None),
            _ => decimal(value).map(Some).ok_or(wrong),
        };
        match key {
            b"path" => self.path = bytes(),
            b"linkpath" => self.link_path = bytes(),
            b"size" => self.size = number("a pax size is no number")?,
            b"mtime" => {
                self.modified = time(value);
                self.ignore_if(self.modified.is_none() && !value.is_empty(), "a pax time is no time");
            }
            b"uid" => {
                self.user = decimal(value).and_then(|id| u32::try_from(id).ok());
                self.ignore_if(decimal(value).is_none() && !value.is_empty(), "a pax user is no number");
            }
            b"gid" => {
                self.group = decimal(value).and_then(|id| u32::try_from(id).ok());
                self.ignore_if(decimal(value).is_none() && !value.is_empty(), "a pax group is no number");
            }
            b"uname" => self.user_name = bytes(),
            b"gname" => self.group_name = bytes(),
            b"SCHILY.fflags" => self.flags = bytes(),
            b"SCHILY.acl.access" => (self.has_attributes, self.acl) = (true, bytes()),
            b"SCHILY.acl.default" => (self.has_attributes, self.default_acl) = (true, bytes()),
            b"GNU.sparse.major" => {
                self.sparse.major = number("a sparse version is no number")?;
                self.sparse.version()?;
            }
            b"GNU.sparse.minor" => {
                self.sparse.minor = number("a sparse version is no number")?;
                self.sparse.version()?;
            }
            b"GNU.sparse.name" => self.sparse.name = bytes(),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => {
                self.sparse.real_size = number("a sparse size is no number")?;
            }
            b"GNU.sparse.numblocks" => self.sparse.pieces = Some(Vec::new()),
            b"GNU.sparse.offset" => self.sparse.offset = number("a sparse offset is no number")?,
            b"GNU.sparse.numbytes" => {
                let offset = self.sparse.offset.take().ok_or("a sparse piece has no offset")?;
                let len = number("a sparse length is no number")?.ok_or("a sparse piece has no length")?;
                self.sparse.pieces.get_or_insert_default().push(Piece { offset, len });
            }
            b"GNU.sparse.map" => self.sparse.pieces = Some(map(value)?),
            b"GNU.volume.offset" => self.continues_volume = true,
            _ if ATTRIBUTES.iter().any(|prefix| key.starts_with(prefix)) => {
                self.has_attributes = true;
                let attribute = attribute(key, value);
                // bsdtar's own key says once more what the other one says.
                self.has_other_attributes |= attribute.is_none() && !key.starts_with(b"LIBARCHIVE.");
                self.attributes.extend(attribute);
            }
            _ => {}
        }
        Ok(())
    }

    fn ignore_if(&mut self, is_malformed: bool, why: Malformed) {
        if is_malformed {
            self.ignored = Some(why);
        }
    }

    /// Takes the fields of a global header that the entry's own header does not have.
    pub(super) fn or(&mut self, global: &Pax) {
        let Pax { path, link_path, size, modified, user, group, user_name, group_name, .. } = global;
        fn inherit<T: Clone>(own: &mut Option<T>, global: &Option<T>) {
            if own.is_none() {
                own.clone_from(global);
            }
        }
        inherit(&mut self.path, path);
        inherit(&mut self.link_path, link_path);
        inherit(&mut self.size, size);
        inherit(&mut self.modified, modified);
        inherit(&mut self.user, user);
        inherit(&mut self.group, group);
        inherit(&mut self.user_name, user_name);
        inherit(&mut self.group_name, group_name);
    }
}

impl Sparse {
    fn version(&mut self) -> Result<(), Malformed> {
        match (self.major, self.minor) {
            (Some(1), Some(0)) => self.map_in_content = true,
            (Some(0), _) | (None, _) | (_, None) => self.map_in_content = false,
            _ => return Err("a sparse file of an unknown version"),
        }
        Ok(())
    }
}

/// What GNU tar, star and bsdtar call `SCHILY.xattr.` and a name. Where bsdtar has it once more by its own key, encoded,
/// that says the same. `RHT.security.selinux` is what Fedora's tar wrote before.
fn attribute(key: &[u8], value: &[u8]) -> Option<Attribute> {
    match key.strip_prefix(b"SCHILY.xattr.") {
        Some(name) => Attribute::new(unescaped(name), value.to_vec()),
        None => (key == b"RHT.security.selinux").then(|| Attribute::new(b"security.selinux".into(), value.to_vec()))?,
    }
}

/// GNU tar writes `=` in an attribute's name as `%3D`, and `%` as `%25`, because `=` ends a key.
fn unescaped(mut name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    while let Some((&first, rest)) = name.split_first() {
        let (byte, rest) = match name {
            [b'%', b'3', b'D', rest @ ..] => (b'=', rest),
            [b'%', b'2', b'5', rest @ ..] => (b'%', rest),
            _ => (first, rest),
        };
        text.push(byte);
        name = rest;
    }
    text
}

fn map(value: &[u8]) -> Result<Vec<Piece>, Malformed> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let mut numbers = value.split(|&byte| byte == b',').map(decimal);
    let mut pieces = Vec::new();
    while let Some(offset) = numbers.next() {
        let len = numbers.next().ok_or("a sparse map has an offset without a length")?;
        let (Some(offset), Some(len)) = (offset, len) else { return Err("a sparse map has what is no number") };
        pieces.push(Piece { offset, len });
    }
    Ok(pieces)
}

/// Seconds with an optional sign and fraction. `None` for other text: the record is then ignored.
fn time(value: &[u8]) -> Option<(i64, u32)> {
    let (negative, digits) = match value.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let seconds = i64::try_from(decimal(&digits[..point])?).ok()?;
    let fraction = digits.get(point + 1..).unwrap_or(b"");
    let mut nanos = 0;
    for at in 0..9 {
        let digit = fraction.get(at).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return None;
        }
        nanos = nanos * 10 + u32::from(digit - b'0');
    }
    match (negative, nanos) {
        (false, _) => Some((seconds, nanos)),
        (true, 0) => Some((-seconds, 0)),
        (true, _) => Some((-seconds - 1, 1_000_000_000 - nanos)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, value: &[u8]) -> Vec<u8> {
        let rest = key.len() + value.len() + 3;
        let len = (1..9).map(|digits| rest + digits).find(|len| len.to_string().len() + rest == *len).unwrap();
        [len.to_string().as_bytes(), b" ", key.as_bytes(), b"=", value, b"\n"].concat()
    }

    fn merged(records: &[Vec<u8>]) -> Result<Pax, Malformed> {
        let mut pax = Pax::default();
        pax.merge(&records.concat())?;
        Ok(pax)
    }

    #[test]
    fn records_may_hold_newlines_and_equals_signs() {
        let pax = merged(&[record("path", b"a\nb=c"), record("comment", b"x"), record("size", b"12")]).unwrap();
        assert_eq!(pax.path.as_deref(), Some(&b"a\nb=c"[..]));
        assert_eq!(pax.size, Some(12));
    }

    #[test]
    fn an_empty_value_takes_an_earlier_one_back() {
        let pax = merged(&[record("path", b"a"), record("path", b"")]).unwrap();
        assert_eq!(pax.path, None);
    }

    #[test]
    fn lengths_that_lie_are_malformed() {
        for records in
            ["", "5", " path=a\n", "999 path=a\n", "2 path=a\n", "10 path=ab", "-3 a=b\n", "18446744073709551616 a=b\n"]
        {
            let merged = Pax::default().merge(records.as_bytes());
            assert_eq!(merged.is_err(), !records.is_empty(), "{records:?}");
        }
        assert!(merged(&[record("size", b"99999999999999999999999")]).is_err());
    }

    #[test]
    fn times_have_signs_and_fractions() {
        assert_eq!(time(b"1.5"), Some((1, 500_000_000)));
        assert_eq!(time(b"-1.5"), Some((-2, 500_000_000)));
        assert_eq!(time(b"-1"), Some((-1, 0)));
        assert_eq!(time(b"1.0000000019999"), Some((1, 1)));
        assert_eq!(time(b"nan"), None);
        assert_eq!(time(b"1e9"), None);
        assert_eq!(time(b""), None);
        assert_eq!(time(b"99999999999999999999"), None);
    }

    #[test]
    fn attributes_are_named_as_by_gnu_tar_and_the_last_of_a_name_counts() {
        let mut attributes = merged(&[
            record("SCHILY.xattr.user.b", b"old"),
            record("SCHILY.xattr.user.a%3Db%25", b"x=y\n\0"),
            record("SCHILY.xattr.user.b", b""),
            record("SCHILY.xattr.", b"without a name"),
            record(&format!("SCHILY.xattr.{}", "n".repeat(256)), b"too long a name"),
            record("SCHILY.xattr.user.long", &vec![b'v'; (64 << 10) + 1]),
            record("LIBARCHIVE.xattr.user.b", b"b2xk"),
            record("RHT.security.selinux", b"label"),
            record("SCHILY.acl.access", b"user::rw-"),
        ])
        .unwrap()
        .attributes;
        Attribute::tidy(&mut attributes);
        let expected = [("security.selinux", &b"label"[..]), ("user.a=b%", b"x=y\n\0"), ("user.b", b"")];
        let expected = expected.map(|(name, value)| Attribute::new(name.into(), value.into()).unwrap());
        assert_eq!(attributes, expected);
    }

    #[test]
    fn names_of_attributes_end_where_no_file_can_list_more() {
        let name = |number| format!("user.{number:0250}");
        let mut attributes: Vec<_> =
            (0..300).rev().map(|number| Attribute::new(name(number).into(), Vec::new()).unwrap()).collect();
        Attribute::tidy(&mut attributes);
        assert_eq!(attributes.len(), 256);
        assert_eq!(attributes[255].name, name(255).into_bytes());
    }

    #[test]
    fn sparse_pieces_come_as_pairs() {
        let pax = merged(&[
            record("GNU.sparse.numblocks", b"2"),
            record("GNU.sparse.offset", b"0"),
            record("GNU.sparse.numbytes", b"5"),
            record("GNU.sparse.offset", b"10"),
            record("GNU.sparse.numbytes", b"1"),
        ]);
        let pieces = Some(vec![Piece { offset: 0, len: 5 }, Piece { offset: 10, len: 1 }]);
        assert_eq!(pax.unwrap().sparse.pieces, pieces);
        assert_eq!(merged(&[record("GNU.sparse.map", b"0,5,10,1")]).unwrap().sparse.pieces, pieces);
        assert!(merged(&[record("GNU.sparse.map", b"0,5,10")]).is_err());
        assert!(merged(&[record("GNU.sparse.numbytes", b"5")]).is_err());
    }
}
