//! The rows: an entry of a kind that has one thing.

/// Shell, run in the folder of the source. `$f` is the entry.
pub(crate) struct Sample {
    pub kind: &'static str,
    pub thing: &'static str,
    /// Makes the entry.
    create: &'static str,
    /// Gives it the thing, once it has its owner. Where that fails, the file system has no such thing.
    pub dress: &'static str,
    /// Prints what has to be the same in the copy.
    pub look: &'static str,
}

impl Sample {
    /// `owner`: whose it is.
    pub(crate) fn make(&self, owner: &str) -> String {
        format!("{} && chown -h {owner} \"$f\" && {}", self.create, self.dress)
    }
}

const FILE: &str = "echo content > \"$f\"";
const FOLDER: &str = "mkdir \"$f\"";
const LINK: &str = "ln -s target \"$f\"";
const FIFO: &str = "mkfifo \"$f\"";
const DEVICE: &str = "mknod \"$f\" c 1 3";
const BITS: &str = "stat -c %a \"$f\"";
const OWNER: &str = "stat -c %u:%g \"$f\"";
const MODIFIED: &str = "stat -c %.9Y \"$f\"";
const ACCESSED: &str = "stat -c %.9X \"$f\"";
const KIND: &str = "stat -c '%F %t:%T' \"$f\"";
const XATTRS: &str = "getfattr -h -d -m '^(user|trusted|security.capability)' -e hex -- \"$f\" 2>&1 | grep =";
const LISTS: &str = "getfacl -cnE -- \"$f\" 2>/dev/null";
const FLAGS: &str = "lsattr -d -- \"$f\" | cut -d' ' -f1 | tr -d 'eEINVPFhx-'";
const BLOCKS: &str = "sync \"$f\"; stat -c '%s %b' \"$f\"";

pub(crate) const SAMPLES: &[Sample] = &[
    row("file", "content", FILE, "true", "cat \"$f\""),
    row("file", "permissions", FILE, "chmod 604 \"$f\"", BITS),
    row("file", "set-id bits", FILE, "chmod 6755 \"$f\"", BITS),
    row("file", "owner", FILE, "chown 12:34 \"$f\"", OWNER),
    row("file", "modification time", FILE, "touch -m -d '2001-02-03 04:05:06.123456789' \"$f\"", MODIFIED),
    row("file", "access time", FILE, "touch -a -d '2041-02-03 04:05:06.123456789' \"$f\"", ACCESSED),
    row("file", "attribute `user.`", FILE, "setfattr -n user.a -v b \"$f\"", XATTRS),
    row("file", "attribute `trusted.`", FILE, "setfattr -n trusted.a -v b \"$f\"", XATTRS),
    row("file", "capability", FILE, "setcap cap_net_raw+ep \"$f\"", XATTRS),
    row("file", "access control list", FILE, "setfacl -m u:12:rw,g:34:r \"$f\"", LISTS),
    row("file", "no list where there is none", FILE, "chmod 640 \"$f\"", LISTS),
    row("file", "flag nodump", FILE, "chattr +d \"$f\"", FLAGS),
    row("file", "flag noatime", FILE, "chattr +A \"$f\"", FLAGS),
    row("file", "flag nocow", "touch \"$f\"", "chattr +C \"$f\" && echo content > \"$f\"", FLAGS),
    row("file", "flag compressed", "touch \"$f\"", "chattr +c \"$f\" && echo content > \"$f\"", FLAGS),
    row("file", "flag append-only", FILE, "chattr +a \"$f\"", FLAGS),
    row("file", "flag immutable", FILE, "chattr +i \"$f\"", FLAGS),
    row("file", "holes", "truncate -s 1M \"$f\"", "printf x | dd of=\"$f\" conv=notrunc status=none", BLOCKS),
    row("file", "space behind its end", FILE, "fallocate -n -l 1M \"$f\"", BLOCKS),
    row("file", "space not written yet", "touch \"$f\"", "fallocate -l 512K \"$f\" && truncate -s 4M \"$f\"", BLOCKS),
    row("folder", "permissions", FOLDER, "chmod 1705 \"$f\"", BITS),
    row("folder", "set-id bits", FOLDER, "chmod 2755 \"$f\"", BITS),
    row("folder", "owner", FOLDER, "chown 12:34 \"$f\"", OWNER),
    row("folder", "modification time", FOLDER, "touch -m -d '2001-02-03 04:05:06.123456789' \"$f\"", MODIFIED),
    row("folder", "access time", FOLDER, "touch -a -d '2041-02-03 04:05:06.123456789' \"$f\"", ACCESSED),
    row("folder", "attribute `user.`", FOLDER, "setfattr -n user.a -v b \"$f\"", XATTRS),
    row("folder", "attribute `trusted.`", FOLDER, "setfattr -n trusted.a -v b \"$f\"", XATTRS),
    row("folder", "access control list", FOLDER, "setfacl -m u:12:rwx \"$f\"", LISTS),
    row("folder", "default list", FOLDER, "setfacl -d -m u:12:rwx \"$f\"", LISTS),
    row("folder", "no list where there is none", FOLDER, "chmod 750 \"$f\"", LISTS),
    row("folder", "flag nodump", FOLDER, "chattr +d \"$f\"", FLAGS),
    row("folder", "flag immutable", FOLDER, "echo x > \"$f/x\" && chattr +i \"$f\"", FLAGS),
    row("symbolic link", "target", LINK, "true", "readlink \"$f\""),
    row("symbolic link", "owner", LINK, "chown -h 12:34 \"$f\"", OWNER),
    row("symbolic link", "modification time", LINK, "touch -h -m -d '2001-02-03 04:05:06.5' \"$f\"", MODIFIED),
    row("symbolic link", "attribute `trusted.`", LINK, "setfattr -h -n trusted.a -v b \"$f\"", XATTRS),
    row("FIFO", "kind", FIFO, "true", KIND),
    row("FIFO", "permissions", FIFO, "chmod 604 \"$f\"", BITS),
    row("FIFO", "owner", FIFO, "chown 12:34 \"$f\"", OWNER),
    row("FIFO", "modification time", FIFO, "touch -m -d '2001-02-03 04:05:06.5' \"$f\"", MODIFIED),
    row("FIFO", "access control list", FIFO, "setfacl -m u:12:rw \"$f\"", LISTS),
    row("device", "kind and numbers", DEVICE, "true", KIND),
    row("device", "permissions", DEVICE, "chmod 604 \"$f\"", BITS),
    row("device", "owner", DEVICE, "chown 12:34 \"$f\"", OWNER),
    row("device", "access control list", DEVICE, "setfacl -m u:12:rw \"$f\"", LISTS),
    row("device", "attribute `trusted.`", DEVICE, "setfattr -n trusted.a -v b \"$f\"", XATTRS),
    row("hard link", "one file", FILE, "ln \"$f\" \"$f-too\"", "stat -c %h \"$f\""),
    row("hard link", "one immutable file", FILE, "ln \"$f\" \"$f-too\" && chattr +i \"$f\"", "stat -c %h \"$f\""),
];

const fn row(
    kind: &'static str,
    thing: &'static str,
    create: &'static str,
    dress: &'static str,
    look: &'static str,
) -> Sample {
    Sample { kind, thing, create, dress, look }
}
