//! What entries keep on their way through an archive: attributes, access control lists, owners by name; with the tars of
//! GNU tar and bsdtar, in both directions.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use common::{Tar, manyfiles, manyfiles_reading, names, read, shell, write};
use manyfiles_testkit::{Need, skip_unless};
use tempfile::tempdir;

/// Files with all that is kept, in `src`. With the rights of root also capabilities, and files of others.
const MADE: &str = "set -e; umask 022; mkdir -p src/d; echo list >src/f; echo plain >src/p; cp /bin/true src/cap
    setfattr -n user.a -v x src/f; setfattr -n user.d -v 0x00ff0a src/d; ln -s f src/link
    setfacl -m u:nobody:r,g:daemon:rw,m::rwx src/f; setfacl -m u:4321:rx -d -m u:daemon:rwx src/d";
const MADE_BY_ROOT: &str = "chown nobody:daemon src/p; chown 4242:4343 src/cap; chmod 4755 src/cap
    setcap cap_net_raw+ep src/cap; setfattr -h -n trusted.t -v y src/link; mkfifo src/fifo";
/// All that is seen of `$1/src`, but for fractions of times, which bsdtar does not write into every tar.
const SEEN: &str = r#"seen() { (cd $1/src; getfacl -pnR . ; getfattr -hdR -m - . | sed /posix_acl/d
    find . | sort | xargs stat -c '%n %F %u %g %a %s'; stat -c '%n %Y' *); }; "#;

fn all_tools() -> bool {
    ["setfacl", "setfattr", "setcap"].into_iter().all(|tool| Need::Program(tool).check().is_ok())
}

#[test]
fn what_one_program_packs_with_all_it_has_another_one_unpacks() {
    skip_unless!(Need::Root, Need::Program("setfacl"), Need::Program("setfattr"), Need::Program("setcap"));
    skip_unless!(Need::Program("tar"), Need::Program("bsdtar"));
    let temp = tempdir().unwrap();
    shell(temp.path(), &format!("{MADE}\n{MADE_BY_ROOT}")).code(0);
    let script = "set -e
        $M pack -a src ours.tar; tar --xattrs --xattrs-include='*' --acls -cf gnu.tar src; bsdtar --xattrs --acls -cf bsd.tar src
        for by in ours gnu bsd; do $M unpack -a $by.tar -C $by; done
        mkdir to-gnu to-bsd
        tar --xattrs --xattrs-include='*' --acls -pxf ours.tar -C to-gnu; bsdtar --xattrs --acls -pxf ours.tar -C to-bsd
        seen . >as-it-was; for by in ours gnu bsd to-gnu to-bsd; do echo $by; seen $by | diff as-it-was -; done";
    shell(temp.path(), &format!("{SEEN}{script}")).code(0);
}

#[test]
fn a_user_keeps_what_a_user_may_keep_and_hears_of_the_rest() {
    skip_unless!(Need::Root, Need::Program("setpriv"), Need::Program("tar"));
    skip_unless!(Need::Program("setfacl"), Need::Program("setfattr"), Need::Program("setcap"));
    let temp = tempdir().unwrap();
    shell(temp.path(), &format!("{MADE}\n{MADE_BY_ROOT}; rm src/link; $M pack -a src a.tar; chmod 777 .; cp $M m"))
        .code(0);
    let as_nobody = |command: &str| {
        shell(temp.path(), &format!("setpriv --reuid 65534 --regid 65534 --clear-groups ./m {command}"))
    };
    let ran = as_nobody("unpack -a a.tar -C all --json").code(0);
    let ran = ran.says("1 entry has extended attributes").says("lost what this user or this file system cannot keep");
    assert_eq!(ran.json()["with_attributes"], 1, "a capability");
    assert_eq!(ran.json()["not_kept"]["owners"], 6, "all of them");
    let mode = |path: &str| fs::metadata(temp.path().join(path)).unwrap().mode() & 0o7777;
    assert_eq!(mode("all/src/cap"), 0o755, "not a program that runs with the rights of somebody else");
    let seen = "getfacl -pcn $1/src/f $1/src/d; getfattr -dR -m user $1/src | sed 1,1d";
    let same =
        format!("seen() {{ {seen}; }}; seen . >one; seen all | sed s,^#.*,, >two; sed -i s,^#.*,, one; diff one two");
    shell(temp.path(), &same).code(0);
    // Asked for by its name, what cannot be kept is a failure.
    as_nobody("unpack -a --same-owner a.tar -C owners").code(1).says("Operation not permitted");
    // Packed by a user, what root alone may read is not asked for.
    as_nobody("pack -a all/src b.tar").code(0);
}

fn with_list(list: &[u8]) -> Tar {
    Tar::new().pax(&[("SCHILY.acl.access", list)]).file_with("f", "x", 0o674, 1)
}

#[test]
fn a_list_that_cannot_be_kept_is_named_with_its_entry_or_counted() {
    let temp = tempdir().unwrap();
    let long: String = (0..20_000).map(|id| format!("user:{id}:r--:{id},")).collect();
    let hostile: [&[u8]; 9] = [
        b"user::rw-,user:no such user:r--,group::r--,mask::rwx,other::r--",
        b"user::rw-,user:7:r--,group::r--,other::r--",
        b"user::rw-,group::r--",
        b"user::rw-,user::rw-,group::r--,other::r--",
        b"user::rw-,user:\xff\0:r--,group::r--,mask::r--,other::r--",
        b"::::::::",
        b"user:root:rwx:4294967295,user::rw-,group::r--,mask::r--,other::r--",
        b"\0",
        long.as_bytes(),
    ];
    for (number, list) in hostile.into_iter().enumerate() {
        with_list(list).save(temp.path().join("a.tar"));
        let (named, counted, plain) = (format!("n{number}"), format!("c{number}"), format!("p{number}"));
        manyfiles(temp.path(), &["unpack", "--acls", "a.tar", "-C", &named])
            .code(1)
            .says("f: its access control list cannot be kept: ");
        assert!(!temp.path().join(named).join("f").exists());
        for (folder, option) in [(counted, "-a"), (plain, "-p")] {
            let ran = manyfiles(temp.path(), &["unpack", option, "--json", "a.tar", "-C", &folder]);
            assert_eq!(ran.json()["with_attributes"], 1, "{number} {option} {ran:#?}");
            let mode = fs::metadata(temp.path().join(folder).join("f")).unwrap().mode() & 0o777;
            assert!([0o644, 0o604].contains(&mode), "{number} {option}: its group would have the rights of the mask");
        }
        manyfiles(temp.path(), &["list", "--json", "a.tar"]).code(0);
    }
}

#[test]
fn a_file_without_a_list_gets_none_from_its_folder_where_lists_are_kept() {
    skip_unless!(Need::Program("setfacl"), Need::Program("getfacl"));
    let temp = tempdir().unwrap();
    Tar::new().folder("d/", 0o755).file_with("d/f", "x", 0o664, 1).save(temp.path().join("a.tar"));
    let script = "mkdir to && setfacl -d -m u:7:rwx to || exit 77; $M unpack -a a.tar -C to; getfacl -pcR to/d";
    let ran = shell(temp.path(), script);
    if ran.code == 77 {
        return manyfiles_testkit::skip("this file system has no access control lists");
    }
    assert!(!ran.out.contains("user:7") && ran.out.contains("group::rw-"), "{ran:#?}");
}

#[test]
fn a_program_whose_owner_the_archive_does_not_give_gets_no_set_id_bits_with_all_that_is_kept() {
    let temp = tempdir().unwrap();
    let mut tar = Tar::new().file_with("f", "x", 0o4755, 1).bytes();
    tar[108..124].fill(b' '); // user and group
    tar[148..156].fill(b' ');
    let sum: u32 = tar[..512].iter().map(|&byte| u32::from(byte)).sum();
    tar[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    write(temp.path().join("a.tar"), tar);
    for (option, mode) in [("-a", 0o755), ("-p", 0o755), ("--set-id", 0o4755)] {
        manyfiles(temp.path(), &["unpack", option, "a.tar", "-C", option.trim_start_matches('-')]).code(0);
        let got = fs::metadata(temp.path().join(option.trim_start_matches('-')).join("f")).unwrap();
        assert_eq!(got.mode() & 0o7777, mode, "{option}");
    }
}

#[test]
fn owners_are_known_by_name_first_and_by_number_with_numeric_owner() {
    skip_unless!(Need::Root);
    let temp = tempdir().unwrap();
    let named = |user: &str, group: &str| {
        Tar::new().pax(&[("uname", user.as_bytes()), ("gname", group.as_bytes()), ("uid", b"4242"), ("gid", b"4343")])
    };
    let long = "n".repeat(300);
    for (number, (user, group, owner)) in [
        ("nobody", "daemon", (65534, 1)),
        ("nobody", "no such group", (65534, 4343)),
        ("a:b/../c", "\u{1}", (4242, 4343)),
        (&*long, "0", (4242, 4343)),
    ]
    .into_iter()
    .enumerate()
    {
        named(user, group).file("f", "x").save(temp.path().join("a.tar"));
        for (folder, option, owner) in [("n", "--on-conflict=error", owner), ("i", "--numeric-owner", (4242, 4343))] {
            let folder = format!("{folder}{number}");
            manyfiles(temp.path(), &["unpack", "--same-owner", option, "a.tar", "-C", &folder]).code(0);
            let got = fs::metadata(temp.path().join(folder).join("f")).unwrap();
            assert_eq!((got.uid(), got.gid()), owner, "{user} {group} {option}");
        }
    }
    named("lisa s", "\u{1b}[31m").file("f", "x").save(temp.path().join("a.tar"));
    let listed = manyfiles(temp.path(), &["list", "-l", "a.tar"]).code(0).out;
    assert!(listed.contains(r"lisa\ s/") && !listed.contains('\u{1b}'), "{listed}");
}

#[test]
fn names_of_owners_are_packed_unless_told_otherwise() {
    skip_unless!(Need::Program("tar"));
    let temp = tempdir().unwrap();
    let script = "echo x >f; $M pack f a.tar; $M pack --numeric-owner f b.tar; $M pack --reproducible f c.tar
        for a in a b c; do tar -tvf $a.tar | awk '{print $2}'; done; stat -c '%U/%G
%u/%g' f";
    let ran = shell(temp.path(), script).code(0);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!((lines[0], lines[1], lines[2]), (lines[3], lines[4], "0/0"), "{ran:#?}");
}

#[test]
fn attributes_with_odd_names_come_back_and_a_zip_says_that_it_keeps_none() {
    let temp = tempdir().unwrap();
    write(temp.path().join("f"), "x");
    let set = |name: &str| rustix::fs::setxattr(temp.path().join("f"), name, b"1", rustix::fs::XattrFlags::empty());
    if let Err(why) = set("user.a=b%3D%") {
        return manyfiles_testkit::skip(format_args!("this file system keeps no extended attributes: {why}"));
    }
    manyfiles(temp.path(), &["pack", "--xattrs", "f", "a.tar"]).code(0);
    manyfiles(temp.path(), &["unpack", "--xattrs", "a.tar", "-C", "out"]).code(0);
    let mut value = [0; 8];
    assert_eq!(rustix::fs::getxattr(temp.path().join("out/f"), "user.a=b%3D%", &mut value), Ok(1));
    let listed = manyfiles(temp.path(), &["list", "--json", "a.tar"]).code(0).json();
    assert_eq!(listed["xattrs"][0]["name"], "user.a=b%3D%");
    assert_eq!(listed["xattrs"][0]["value_hex"], "31");
    for option in ["-a", "--xattrs", "--acls"] {
        manyfiles(temp.path(), &["pack", option, "f", "a.zip"]).code(2).says("a zip keeps neither");
    }
    assert!(!names(temp.path()).iter().any(|name| name.contains("zip")));
}

#[test]
fn packing_with_some_attributes_says_how_many_entries_have_others() {
    skip_unless!(Need::Program("setfacl"), Need::Program("setfattr"));
    if !all_tools() {
        return manyfiles_testkit::skip("setcap is missing");
    }
    let temp = tempdir().unwrap();
    shell(temp.path(), MADE).code(0);
    let ran = manyfiles(temp.path(), &["pack", "--xattrs", "src", "a.tar", "--json"]).code(0);
    let ran = ran.says("2 entries have extended attributes or access control lists that are not kept");
    assert_eq!(ran.json()["not_kept"], 2, "the lists of a file and a folder");
    let ran = manyfiles(temp.path(), &["pack", "-a", "src", "b.tar", "--json"]).code(0);
    assert_eq!(ran.json()["not_kept"], 0);
    // Without the list its group gets what the group had, with the list its bits are the mask.
    let mode = |tar: &str| {
        let listed = manyfiles(temp.path(), &["list", "--json", tar, "--include", "f"]).code(0);
        listed.json()["mode"].as_str().unwrap().to_owned()
    };
    assert_eq!((mode("a.tar"), mode("b.tar")), ("0644".into(), "0674".into()));
}

#[test]
fn absolute_paths_are_stripped_if_asked_for_and_counted() {
    let temp = tempdir().unwrap();
    Tar::new()
        .file("/etc/a", "1")
        .hard_link("//etc/b", "/etc/a")
        .symlink("/etc/c", "/etc/a")
        .file("/../d", "2")
        .file("e", "3")
        .save(temp.path().join("a.tar"));
    manyfiles(temp.path(), &["unpack", "a.tar", "-C", "refused"]).code(1).says("an absolute path could leave the root");
    assert_eq!(names(&temp.path().join("refused")), ["e"]);
    let ran = manyfiles(temp.path(), &["unpack", "--strip-root", "a.tar", "-C", "out", "--json"]).code(1);
    let ran = ran.says("4 entries had absolute paths, which were taken as relative").says("'..' could leave the root");
    assert_eq!(ran.json()["rooted"], 4);
    assert_eq!(names(&temp.path().join("out")), ["e", "etc", "etc/a", "etc/b", "etc/c"]);
    assert_eq!(read(temp.path().join("out/etc/b")), "1");
    assert_eq!(fs::read_link(temp.path().join("out/etc/c")).unwrap(), Path::new("/etc/a"));
    manyfiles(temp.path(), &["unpack", "--strip-root", "a.tar", "-C", "one", "--include", "etc/a"]).code(0);
    assert_eq!(names(&temp.path().join("one")), ["etc", "etc/a"]);
}

#[test]
fn patterns_and_paths_come_from_files_and_from_standard_input() {
    let temp = tempdir().unwrap();
    for name in ["src/a.c", "src/b.c", "src/#c", "src/d.h"] {
        write(temp.path().join(name), "x");
    }
    write(temp.path().join("wanted"), "# what is wanted\r\n\n*.c\r\n\\#c\n");
    write(temp.path().join("not"), "b.c\n");
    let from = ["--include-from", "wanted", "--exclude-from", "not"];
    manyfiles(temp.path(), &[&["pack", "src", "a.tar"][..], &from].concat()).code(0);
    let listed = |tar: &str, more: &[&str]| {
        let ran = manyfiles(temp.path(), &[&["list", tar][..], more].concat()).code(0);
        ran.out.lines().filter(|line| !line.ends_with('/')).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(listed("a.tar", &[]), ["src/#c", "src/a.c"]);
    manyfiles(temp.path(), &[&["copy", "src/.", "copied"][..], &from].concat()).code(0);
    assert_eq!(names(&temp.path().join("copied")), ["#c", "a.c"]);
    manyfiles(temp.path(), &["pack", "src", "all.tar"]).code(0);
    assert_eq!(listed("all.tar", &["--exclude-from", "not"]).len(), 3);
    manyfiles_reading(temp.path(), &["unpack", "all.tar", "-C", "out", "--include-from", "-"], b"d.h\n").code(0);
    assert_eq!(names(&temp.path().join("out")), ["src", "src/d.h"]);
    write(temp.path().join("bad"), "a\n[z\n");
    manyfiles(temp.path(), &["list", "all.tar", "--include-from", "bad"])
        .code(2)
        .says("--include-from bad, line 2: [z: ");
    manyfiles(temp.path(), &["list", "all.tar", "--include-from", "gone"]).code(2).says("--include-from gone: ");
    manyfiles(temp.path(), &["list", "all.tar", "--include-from", "-", "--exclude-from", "-"])
        .code(2)
        .says("can be read once only");
    let listed_paths = b"src/a.c\0src/d.h\0";
    manyfiles_reading(temp.path(), &["pack", "-T", "-", "--null", "t.tar"], listed_paths).code(0);
    assert_eq!(listed("t.tar", &[]), ["src/a.c", "src/d.h"]);
    write(temp.path().join("paths"), "src/b.c\nsrc/gone\n");
    manyfiles(temp.path(), &["pack", "src/a.c", "--files-from", "paths", "u.tar"]).code(2).says("cannot read src/gone");
}

/// Files and folders with flags that the file system of the folder has, in `src`. Some file systems have none of them.
const FLAGS: &str =
    "set -e; mkdir -p src/fixed/d src/d; for f in plain nodump both fixed/f fixed/d/f grows; do echo $f >src/$f; done
    ln src/fixed/f src/linked; chattr +d src/nodump src/d; chattr +dA src/both; chattr +i src/fixed/f";
const FLAGS_OF_ROOT: &str = "chattr +a src/grows; chattr +i src/fixed src/fixed/d";
/// Without the letter for extents, which is the file system's own word.
const WITH_FLAGS: &str = "flags() { (cd $1; find src | sort | xargs lsattr -d | tr -d e-); }; ";

fn can_have_flags(at: &Path) -> bool {
    let can = Need::Program("chattr").check().is_ok()
        && shell(at, "touch try && chattr +dAia try && chattr -ia try && rm -f try; test ! -e try").code == 0;
    if !can {
        eprintln!("skipped: file flags: no chattr, or the file system of {} has none", at.display());
    }
    can
}

/// Immutable files outlive a temporary folder.
struct Loosened<'a>(&'a Path);

impl Drop for Loosened<'_> {
    fn drop(&mut self) {
        shell(self.0, "chattr -R -f -ia . || true");
    }
}

#[test]
fn flags_that_one_program_packs_another_one_unpacks() {
    skip_unless!(Need::Root, Need::Program("bsdtar"));
    let temp = tempdir().unwrap();
    if !can_have_flags(temp.path()) {
        return;
    }
    let _loosened = Loosened(temp.path());
    shell(temp.path(), &format!("{FLAGS}\n{FLAGS_OF_ROOT}")).code(0);
    let script = "set -e
        $M pack -a src ours.tar; bsdtar -cf bsd.tar src; mkdir to-bsd from-ours from-bsd
        bsdtar -xpf ours.tar -C to-bsd
        for by in ours bsd; do $M unpack -a $by.tar -C from-$by; done
        flags . >as-it-was; grep -q '^i src/fixd/d$' as-it-was; grep -q '^dA src/both$' as-it-was
        for by in to-bsd from-ours from-bsd; do echo $by; flags $by | diff as-it-was -; done
        for by in from-ours from-bsd; do test $by/src/linked -ef $by/src/fixed/f; diff -r src $by/src; done
        $M pack src without.tar; $M unpack -a without.tar -C without; ! flags without | grep -q '^[iadA]'";
    shell(temp.path(), &format!("{WITH_FLAGS}{script}")).code(0);
}

#[test]
fn flags_that_cannot_be_set_are_counted_and_take_nothing_else_along() {
    skip_unless!(Need::Root, Need::Program("setpriv"));
    let temp = tempdir().unwrap();
    if !can_have_flags(temp.path()) {
        return;
    }
    let _loosened = Loosened(temp.path());
    let tar = |flags: &[u8]| Tar::new().pax(&[("SCHILY.fflags", flags)]).file("f", "content");
    shell(temp.path(), "chmod 777 .; cp $M m").code(0);
    let unpack = |flags: &[u8], how: &str| {
        fs::write(temp.path().join("a.tar"), tar(flags).bytes()).unwrap();
        let ran = shell(temp.path(), &format!("{how} ./m unpack -a a.tar -C out --json")).code(0);
        let lost = ran.json()["not_kept"]["flags"].as_u64().unwrap();
        let has =
            shell(temp.path(), "cat out/f; lsattr out/f | cut -d ' ' -f 1 | tr -d e-; chattr -ia out/f; rm -r out").out;
        (lost, has.strip_prefix("content").unwrap().trim().to_owned())
    };
    let many = vec![b','; 100_000];
    for (flags, lost, has) in [
        (&b"nodump,schg"[..], 0, "id"),
        (b" nodump ,, sappend", 0, "ad"),
        (b"noschg,dump,atime,noprojinherit,projinherit", 0, ""),
        (b"opaque,nodump", 1, "d"),
        (b"\xff\0,nodump", 1, "d"),
        (&many, 1, ""),
    ] {
        assert_eq!(unpack(flags, ""), (lost, has.into()), "{}", String::from_utf8_lossy(&flags[..flags.len().min(99)]));
    }
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    assert_eq!(unpack(b"nodump,schg", nobody), (1, "d".into()), "what a user may set");
    fs::write(temp.path().join("a.tar"), tar(b"schg").bytes()).unwrap();
    shell(temp.path(), &format!("{nobody} ./m unpack -a a.tar -C out")).code(0).says("file flags (1)");
    // What is not asked for is not set.
    let ran = manyfiles(temp.path(), &["unpack", "--xattrs", "a.tar", "-C", "only", "--json"]).code(0);
    assert_eq!(ran.json()["not_kept"]["flags"], 0);
    shell(temp.path(), "echo more >> only/f").code(0);
}
