//! Access control lists: text in a tar, the kernel's form on a file.
//!
//! Tars have a list as text, an entry a line or between commas: `user:lisa:rw-`. GNU tar writes names, or numbers with
//! `--numeric-owner`; star and bsdtar write the number as a fourth field behind the name: `user:lisa:rw-:1001`. All of
//! these are read. What is written is the form of star and bsdtar, which GNU tar reads too.

use crate::entry::Attribute;
use crate::number::decimal;
use crate::owners::Ids;

/// The attribute that is the list of who may use a file or folder.
pub(crate) const ACCESS: &[u8] = b"system.posix_acl_access";
/// The attribute of a folder that is the list that new files in it get.
pub(crate) const DEFAULT: &[u8] = b"system.posix_acl_default";

/// The entries of a list, in the order that the kernel wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
enum Tag {
    Owner = 0x01,
    User = 0x02,
    OwningGroup = 0x04,
    Group = 0x08,
    Mask = 0x10,
    Others = 0x20,
}

impl Tag {
    const ALL: [Tag; 6] = [Tag::Owner, Tag::User, Tag::OwningGroup, Tag::Group, Tag::Mask, Tag::Others];
}

/// An entry: who, and what these may do.
type Rule = (Tag, u32, u16);

/// What the kernel's form begins with.
const VERSION: [u8; 4] = 2u32.to_le_bytes();
/// The number of an entry that needs none.
const NOBODY: u32 = u32::MAX;
/// The most entries: what an attribute has room for.
const MOST: usize = ((64 << 10) - VERSION.len()) / 8;

/// What is wrong with a list.
pub(crate) type Malformed = &'static str;

/// The attribute of this name for a list in a tar's text. `None`: it says no more than the permission bits do.
pub(crate) fn attribute(name: &[u8], text: &[u8], ids: &mut Ids) -> Result<Option<Attribute>, Malformed> {
    let rules = parse(text, ids)?;
    if rules.is_empty() || (name == ACCESS && rules.len() == 3) {
        return Ok(None);
    }
    Ok(Attribute::new(name.to_vec(), kernel_form(&rules)))
}

/// What anybody in the list but the owner and all others may do at most: the permission bits of the group, as the system
/// shows them. `None`: the list has no mask.
pub(crate) fn mask(list: &Attribute) -> Option<u32> {
    const MASK: u16 = 0x10;
    let entries = list.value.strip_prefix(&VERSION)?.chunks_exact(8);
    let of = |entry: &[u8], at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    entries.filter(|entry| of(entry, 0) == MASK).map(|entry| u32::from(of(entry, 2) & 7)).next()
}

/// The entries, sorted, and complete.
fn parse(text: &[u8], ids: &mut Ids) -> Result<Vec<Rule>, Malformed> {
    let mut rules = Vec::new();
    for part in text.split(|&byte| matches!(byte, b',' | b'\n')) {
        let end = part.iter().position(|&byte| byte == b'#').unwrap_or(part.len());
        let part = part[..end].trim_ascii();
        if part.is_empty() {
            continue;
        }
        if rules.len() == MOST {
            return Err("it has more entries than a file can have");
        }
        rules.push(rule(part, ids)?);
    }
    complete(rules)
}

/// The permission bits of a file that has this list, for one without it. The bits of the group say what anybody in the
/// list may do at most, and the group that the file belongs to may have less.
pub(crate) fn mode_without(text: &[u8], mode: u32) -> u32 {
    let owning_group = |part: &[u8]| {
        let part = part.trim_ascii();
        let rest = part.strip_prefix(b"group::").or_else(|| part.strip_prefix(b"g::"))?;
        let end = rest.iter().position(|byte| !b"rwx-".contains(byte)).unwrap_or(rest.len());
        permissions(&rest[..end]).ok()
    };
    let may = text.split(|&byte| matches!(byte, b',' | b'\n')).find_map(owning_group);
    mode & !0o070 | mode & u32::from(may.unwrap_or(0)) << 3
}

fn rule(part: &[u8], ids: &mut Ids) -> Result<Rule, Malformed> {
    let mut fields = part.split(|&byte| byte == b':').map(<[u8]>::trim_ascii).peekable();
    fields.next_if(|field| matches!(*field, b"default" | b"d")); // Some write it in a default list, too.
    let tag = fields.next().unwrap_or_default();
    let mut who = fields.next().ok_or("an entry is not complete")?;
    let may = match (tag, fields.next()) {
        (_, Some(may)) => may,
        // As Solaris writes them.
        (b"mask" | b"other", None) => std::mem::take(&mut who),
        _ => return Err("an entry is not complete"),
    };
    let number = fields.next();
    if fields.next().is_some() {
        return Err("an entry has too many fields");
    }
    let tag = match (tag, who) {
        (b"user" | b"u", b"") => Tag::Owner,
        (b"user" | b"u", _) => Tag::User,
        (b"group" | b"g", b"") => Tag::OwningGroup,
        (b"group" | b"g", _) => Tag::Group,
        (b"mask" | b"m", b"") => Tag::Mask,
        (b"other" | b"o", b"") => Tag::Others,
        _ => return Err("an entry is for neither user, group, mask nor other"),
    };
    let ids_are_numeric = ids.numeric;
    let number = number.map(|number| id(number).ok_or("an entry's number is none")).transpose()?;
    if !matches!(tag, Tag::User | Tag::Group) {
        return Ok((tag, NOBODY, permissions(may)?));
    }
    let mut named = || if tag == Tag::User { ids.user(who) } else { ids.group(who) };
    let number = number.or_else(|| id(who));
    let who = if ids_are_numeric { number.or_else(named) } else { named().or(number) };
    Ok((tag, who.ok_or("it is for a user or group that is not known here")?, permissions(may)?))
}

/// The number of a user. The largest stands for none.
fn id(text: &[u8]) -> Option<u32> {
    u32::try_from(decimal(text)?).ok().filter(|&id| id != NOBODY)
}

fn permissions(text: &[u8]) -> Result<u16, Malformed> {
    let mut may = 0;
    for letter in text {
        may |= match letter {
            b'r' => 4,
            b'w' => 2,
            b'x' => 1,
            b'-' => 0,
            _ => return Err("an entry has permissions that are none"),
        };
    }
    Ok(may)
}

/// What the kernel would refuse without a reason is refused with one here.
fn complete(mut rules: Vec<Rule>) -> Result<Vec<Rule>, Malformed> {
    if rules.is_empty() {
        return Ok(rules);
    }
    rules.sort_unstable();
    if rules.windows(2).any(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1)) {
        return Err("two entries are for the same user or group");
    }
    let has = |tag| rules.iter().any(|rule| rule.0 == tag);
    if ![Tag::Owner, Tag::OwningGroup, Tag::Others].into_iter().all(has) {
        return Err("an entry for the owner, the group or all others is missing");
    }
    if (has(Tag::User) || has(Tag::Group)) && !has(Tag::Mask) {
        return Err("it has no mask, which a list with users or groups needs");
    }
    Ok(rules)
}

fn kernel_form(rules: &[Rule]) -> Vec<u8> {
    let mut bytes = VERSION.to_vec();
    for &(tag, who, may) in rules {
        bytes.extend((tag as u16).to_le_bytes());
        bytes.extend(may.to_le_bytes());
        bytes.extend(who.to_le_bytes());
    }
    bytes
}

/// The text for a list in the kernel's form, in one line, with the names that `name` knows. `None`: it is no such list.
pub(crate) fn text(list: &[u8], name: &mut dyn FnMut(Owner) -> Option<String>) -> Option<String> {
    let rules = list.strip_prefix(&VERSION)?;
    let (rules, rest) = rules.as_chunks::<8>();
    if rules.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut text = String::new();
    for &[tag, tag_high, may, may_high, ref who @ ..] in rules {
        let tag = u16::from_le_bytes([tag, tag_high]);
        let tag = Tag::ALL.into_iter().find(|known| *known as u16 == tag)?;
        let who = u32::from_le_bytes(*who);
        let may = u16::from_le_bytes([may, may_high]);
        let owner = match tag {
            Tag::User => Some(Owner::User(who)),
            Tag::Group => Some(Owner::Group(who)),
            _ => None,
        };
        if !text.is_empty() {
            text.push(',');
        }
        text += match tag {
            Tag::Owner | Tag::User => "user:",
            Tag::OwningGroup | Tag::Group => "group:",
            Tag::Mask => "mask:",
            Tag::Others => "other:",
        };
        let shown = owner.map(|owner| name(owner).filter(|name| can_stand_in_a_list(name)));
        if let Some(shown) = &shown {
            text += shown.as_deref().unwrap_or(&who.to_string());
        }
        text.push(':');
        text.extend([(4, 'r'), (2, 'w'), (1, 'x')].map(|(bit, letter)| if may & bit != 0 { letter } else { '-' }));
        if shown.flatten().is_some() {
            text += &format!(":{who}");
        }
    }
    Some(text)
}

/// A user or a group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    User(u32),
    Group(u32),
}

/// A name with one of the characters that mean something in a list would be read as something else; one of digits as
/// a number.
fn can_stand_in_a_list(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|letter: char| matches!(letter, ':' | ',' | '#') || letter.is_whitespace() || letter == '\0')
        && !name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Rule>, Malformed> {
        parse(text.as_bytes(), &mut Ids::fixed(&[("lisa", 7)], &[("staff", 8)]))
    }

    const WHOLE: [Rule; 6] = [
        (Tag::Owner, NOBODY, 6),
        (Tag::User, 7, 4),
        (Tag::OwningGroup, NOBODY, 4),
        (Tag::Group, 8, 5),
        (Tag::Mask, NOBODY, 7),
        (Tag::Others, NOBODY, 0),
    ];

    #[test]
    fn the_forms_of_gnu_tar_star_bsdtar_and_solaris_say_the_same() {
        for text in [
            "user::rw-\nuser:lisa:r--\ngroup::r--\ngroup:staff:r-x\nmask::rwx\nother::---\n",
            "user::rw-\nuser:7:r--\ngroup::r--\ngroup:8:r-x\t#effective:r-x\nmask::rwx\nother::---\n",
            "user::rw-,user:lisa:r--:99,group::r--,group:staff:r-x:8,mask::rwx,other::---",
            "user::rw-,user:gone:r--:7,group::r--,group:8:r-x:8,mask::rwx,other::---",
            "u::rw,u:lisa:r,g::r,g:staff:rx,m::rwx,o::",
            "user::rw-,user:lisa:r--,group::r--,group:staff:r-x,mask:rwx,other:---",
            "default:user::rw-,default:user:lisa:r--,d:g::r--,default:group:staff:r-x,default:mask::rwx,d:o::---",
            "# file: x\nother::---\nmask::rwx\ngroup:staff:r-x\ngroup::r--\nuser:lisa:r--\nuser::rw-",
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(&WHOLE[..]), "{text:?}");
        }
    }

    #[test]
    fn what_is_malformed_says_why_and_is_not_guessed() {
        for (text, why) in [
            ("user", "complete"),
            ("user:lisa", "complete"),
            ("user::rwz,group::r--,other::r--", "permissions"),
            ("user::rw-:1:2,group::r--,other::r--", "fields"),
            ("user:lisa:rw-:x", "number"),
            ("user:lisa:rw-:4294967295", "number"),
            ("friend:lisa:rw-", "neither"),
            ("mask:lisa:rw-", "neither"),
            ("user:nobody knows:rw-", "not known"),
            ("user::rw-,group::r--", "missing"),
            ("user::rw-,user::r--,group::r--,other::r--", "same"),
            ("user::rw-,user:7:rw-,user:lisa:r--,group::r--,mask::r--,other::r--", "same"),
            ("user::rw-,user:7:rw-,group::r--,other::r--", "mask"),
            ("\0\0:\u{feff}:", "neither"),
        ] {
            assert!(parsed(text).is_err_and(|error| error.contains(why)), "{text:?}: {:?}", parsed(text));
        }
        let long: String = (0..10_000).map(|id| format!("user:{id}:r--,")).collect();
        assert!(parsed(&long).is_err_and(|error| error.contains("more entries")));
    }

    #[test]
    fn a_list_that_says_what_the_permission_bits_say_is_none() {
        let minimal = b"user::rw-,group::r--,other::---";
        let mut ids = Ids::fixed(&[], &[]);
        assert_eq!(attribute(ACCESS, minimal, &mut ids), Ok(None));
        assert_eq!(attribute(DEFAULT, b"", &mut ids), Ok(None));
        assert!(attribute(DEFAULT, minimal, &mut ids).unwrap().is_some());
    }

    #[test]
    fn without_its_list_a_file_gives_its_group_no_more_than_before() {
        let list = b"user::rw-,user:7:rwx,group::r--\t#effective:r--,mask::rwx,other::---";
        assert_eq!(mode_without(list, 0o4674), 0o4644);
        assert_eq!(mode_without(b"g::rwx", 0o640), 0o640, "the mask takes away");
        assert_eq!(mode_without(b"nonsense", 0o674), 0o604);
    }

    #[test]
    fn the_text_of_a_list_is_read_back_as_the_list() {
        let list = kernel_form(&WHOLE);
        let known = |owner| match owner {
            Owner::User(7) => Some("lisa".to_owned()),
            _ => Some("a:b".to_owned()),
        };
        let shown = text(&list, &mut { known }).unwrap();
        assert_eq!(shown, "user::rw-,user:lisa:r--:7,group::r--,group:8:r-x,mask::rwx,other::---");
        assert_eq!(parsed(&shown).as_deref(), Ok(&WHOLE[..]));
        for len in 0..list.len() {
            assert_eq!(text(&list[..len], &mut |_| None).is_some(), len > 4 && (len - 4) % 8 == 0, "{len}");
        }
        assert_eq!(text(&[2, 0, 0, 0, 3, 0, 7, 0, 1, 0, 0, 0], &mut |_| None), None, "an unknown tag");
    }
}
