//! Unix: `statvfs` for the room, and on Linux the table of mounts for the rest.

use std::path::PathBuf;

use super::Place;

pub(super) fn describe(folder: PathBuf) -> Place {
    // What cannot be asked is left unsaid.
    let free_bytes = rustix::fs::statvfs(&folder).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    let place = Place { folder, free_bytes, ..Place::default() };
    match std::fs::read_to_string("/proc/self/mountinfo") {
        Ok(mounts) => place.with_mount(&mounts),
        Err(_) => place, // Not Linux, or no /proc.
    }
}

impl Place {
    /// Takes the mount that the folder is in from the lines of `mountinfo`: the last of those with the longest mount
    /// point, since later ones cover earlier ones.
    fn with_mount(mut self, mounts: &str) -> Place {
        let mount = mounts
            .lines()
            .filter_map(Mount::parse)
            .filter(|mount| self.folder.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.components().count());
        if let Some(mount) = mount {
            self.file_system = Some(mount.file_system.into());
            self.source = Some(unescape(mount.source)).filter(|source| source != "none");
            self.mount_options = Some(mount.options.into());
            self.mount_point = Some(mount.point);
        }
        self
    }
}

/// A line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)): six fields, any number of tags, a hyphen, three fields.
struct Mount<'a> {
    point: PathBuf,
    options: &'a str,
    file_system: &'a str,
    source: &'a str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(4);
        let mut after = after.split(' ');
        Some(Mount {
            point: unescape(before.next()?).into(),
            options: before.next()?,
            file_system: after.next()?,
            source: after.next()?,
        })
    }
}

/// The kernel writes space, tab, newline and backslash as three octal digits after a backslash.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
30 22 0:26 / /tmp rw,nosuid - tmpfs none rw,size=1g\n\
41 22 0:40 / /srv/my\\040data rw - fuse.sshfs host:/x rw,user_id=0\n\
42 41 0:41 / /srv/my\\040data ro - nfs4 host:/y rw,vers=4.2\n";

    fn mount_of(folder: &str) -> Place {
        Place { folder: folder.into(), ..Place::default() }.with_mount(MOUNTS)
    }

    #[test]
    fn the_mount_of_a_folder_is_the_last_one_nearest_above_it() {
        assert_eq!(mount_of("/home/x").file_system.as_deref(), Some("ext4"));
        assert_eq!(mount_of("/tmpfiles").file_system.as_deref(), Some("ext4"), "a name is compared whole");
        let nfs = mount_of("/srv/my data/a/b");
        assert_eq!((nfs.file_system.as_deref(), nfs.source.as_deref()), (Some("nfs4"), Some("host:/y")));
        assert_eq!(nfs.mount_options.as_deref(), Some("ro"));
        assert_eq!(mount_of("/tmp/x").source, None, "\"none\" says nothing");
    }
}
