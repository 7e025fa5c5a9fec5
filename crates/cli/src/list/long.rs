//! A line for each entry, with all that the archive says of it.

use manyfiles::tree::Node;
use manyfiles_archive::{Entry, Kind};

use super::form::{Form, refusal, shown};
use crate::human::{date, one_line};
use crate::report::Lines;

/// Columns grow with what is in them: the width of the widest is known only at the end, and a list should begin at once.
pub(super) struct Long {
    owner: usize,
    size: usize,
}

impl Default for Long {
    fn default() -> Long {
        Long { owner: 9, size: 9 }
    }
}

impl Form for Long {
    fn entry(&mut self, entry: &Entry<'_>, out: &mut Lines) {
        let owner = owner(entry);
        let size = match entry.kind {
            Kind::Node(Node::CharDevice(major, minor) | Node::BlockDevice(major, minor)) => format!("{major},{minor}"),
            _ => entry.size.to_string(),
        };
        (self.owner, self.size) = (self.owner.max(owner.len()), self.size.max(size.len()));
        let target = match entry.kind {
            Kind::Symlink(target) => format!(" -> {}", one_line(&target.to_string_lossy())),
            Kind::HardLink(target) => format!(" link to {}", one_line(&target.to_string_lossy())),
            _ => String::new(),
        };
        out.print(format!(
            "{}{} {owner:<w$} {size:>s$} {:<19} {}{target}{}{}\n",
            letter(entry.kind),
            permissions(entry.mode),
            entry.modified.and_then(date).unwrap_or_else(|| "-".into()),
            shown(entry),
            if entry.is_encrypted { "  (encrypted)" } else { "" },
            refusal(entry).map(|why| format!("  ({})", one_line(&why))).unwrap_or_default(),
            w = self.owner,
            s = self.size,
        ));
    }
}

/// `lisa/users`, with a number where there is no name, and `-` where there is nothing.
fn owner(entry: &Entry<'_>) -> String {
    let (user, group) = entry.owner.unzip();
    let shown = |name: Option<&[u8]>, id: Option<u32>| match (name, id) {
        (Some(name), _) => Some(one_line(&String::from_utf8_lossy(name)).replace(' ', "\\ ")),
        (None, id) => id.map(|id| id.to_string()),
    };
    match (shown(entry.user_name, user), shown(entry.group_name, group)) {
        (None, None) => "-".into(),
        (user, group) => format!("{}/{}", user.unwrap_or_else(|| "-".into()), group.unwrap_or_else(|| "-".into())),
    }
}

/// As `ls` and `tar` have it.
fn letter(kind: Kind<'_>) -> char {
    match kind {
        Kind::File => '-',
        Kind::Folder => 'd',
        Kind::Symlink(_) => 'l',
        Kind::HardLink(_) => 'h',
        Kind::Node(Node::CharDevice(..)) => 'c',
        Kind::Node(Node::BlockDevice(..)) => 'b',
        Kind::Node(Node::Fifo) => 'p',
        _ => '?',
    }
}

/// `rwxr-sr-x`; question marks if the archive gives none.
fn permissions(mode: Option<u32>) -> String {
    let Some(mode) = mode else { return "?".repeat(9) };
    let mut text = String::with_capacity(9);
    for (shift, special, set) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (false, false) => '-',
            (false, true) => 'x',
            (true, true) => set,
            (true, false) => set.to_ascii_uppercase(),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_those_of_ls() {
        for (mode, text) in [
            (0o755, "rwxr-xr-x"),
            (0o640, "rw-r-----"),
            (0o4755, "rwsr-xr-x"),
            (0o4644, "rwSr--r--"),
            (0o2771, "rwxrws--x"),
            (0o1777, "rwxrwxrwt"),
            (0o1776, "rwxrwxrwT"),
            (0, "---------"),
        ] {
            assert_eq!(permissions(Some(mode)), text, "{mode:o}");
        }
        assert_eq!(permissions(None), "?????????");
    }
}
