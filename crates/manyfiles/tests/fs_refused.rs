//! What std refuses is refused at once and with std's own error, while a close is pending that the call would wait for
//! if it could succeed. No thread makes that close: a call that waited for it would make it, and it would not be
//! pending any more.
#![allow(clippy::nonsensical_open_options, clippy::suspicious_open_options, reason = "std is to refuse them")]

#[cfg(unix)]
mod support;

use std::io;
use std::mem;
#[cfg(unix)]
use std::path::Path;

use manyfiles::close::{Closer, Executor, Policy};
#[cfg(unix)]
use manyfiles::fs;

struct Held;

impl Executor for Held {
    fn execute(&self, work: Box<dyn FnOnce() + Send>) {
        // Dropped, the work would be done by the closer's own threads.
        mem::forget(work);
    }
}

fn held() -> Closer {
    Closer::options().policy(Policy::Always).executor(Held).build()
}

type Call<'a> = &'a dyn Fn(bool) -> io::Result<()>;

/// Makes each call by std, which must refuse it, and by `manyfiles::fs`.
fn all_are_refused(files: &Closer, calls: &[(&str, Call)]) {
    let pending = files.pending();
    assert!(pending > 0);
    for (name, call) in calls {
        let says = |error: io::Error| (error.kind(), error.raw_os_error(), error.to_string());
        let expected = call(true).map_err(says);
        assert!(expected.is_err(), "std does not refuse {name}");
        assert_eq!(call(false).map_err(says), expected, "{name}");
        assert_eq!(files.pending(), pending, "{name} waited for a close");
    }
}

/// A call, by std or by `manyfiles::fs`.
macro_rules! call {
    ($fs:ident => $call:expr) => {
        (stringify!($call), &|by_std: bool| {
            if by_std {
                use std::fs as $fs;
                ($call).map(drop)
            } else {
                use manyfiles::fs as $fs;
                ($call).map(drop)
            }
        })
    };
}

#[test]
fn what_no_close_can_change_is_refused_at_once() {
    let temp = tempfile::tempdir().unwrap();
    // What has an empty path is nothing, and not the current folder.
    std::env::set_current_dir(temp.path()).unwrap();
    let at = |path: &str| temp.path().join(path);
    for folder in ["folder", "folder/below", "full"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    std::fs::write(at("full/file"), "").unwrap();
    std::fs::write(at("other"), "").unwrap();
    let files = held();
    files.write(at("folder/held"), "text").unwrap();
    let (folder, held, new) = (&at("folder"), &at("folder/held"), &at("new"));

    all_are_refused(
        &files,
        &[
            call!(fs => fs::rename(folder, folder.join("below/inside"))),
            call!(fs => fs::rename(folder, at("missing/name"))),
            call!(fs => fs::rename(folder, at("full"))),
            call!(fs => fs::rename(folder, "")),
            call!(fs => fs::rename(held, "")),
            call!(fs => fs::rename(held, at("nul\0inside"))),
            call!(fs => fs::hard_link(folder, new)),
            call!(fs => fs::hard_link(held, at("other"))),
            call!(fs => fs::hard_link(held, "")),
            call!(fs => fs::remove_file("")),
            call!(fs => fs::remove_file(folder)),
            call!(fs => fs::remove_dir("")),
            call!(fs => fs::remove_dir(folder)),
            call!(fs => fs::remove_dir_all("")),
            call!(fs => fs::remove_dir_all(held)),
            call!(fs => fs::read_dir("")),
            call!(fs => fs::read_dir(held)),
            call!(fs => fs::create_dir("")),
            call!(fs => fs::create_dir(folder)),
            call!(fs => fs::read("")),
            call!(fs => fs::write("", "")),
            call!(fs => fs::metadata("")),
            call!(fs => fs::copy("", new)),
            call!(fs => fs::File::create_new(held)),
            call!(fs => fs::OpenOptions::new().open(held)),
            call!(fs => fs::OpenOptions::new().read(true).truncate(true).open(held)),
            call!(fs => fs::OpenOptions::new().append(true).truncate(true).create(true).open(held)),
            call!(fs => fs::OpenOptions::new().read(true).create(true).open(held)),
            call!(fs => fs::OpenOptions::new().append(true).truncate(true).create(true).open(new)),
            call!(fs => fs::OpenOptions::new().append(true).truncate(true).open(new)),
            call!(fs => fs::OpenOptions::new().truncate(true).create(true).open(new)),
            call!(fs => fs::OpenOptions::new().read(true).create_new(true).open(new)),
        ],
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt, symlink};
        symlink("folder/held", at("link")).unwrap();
        let long = &at(&"n".repeat(300));
        let open_with = |flags: i32| {
            move |by_std: bool, path: &Path| match by_std {
                true => std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map(drop),
                false => fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map(drop),
            }
        };
        let (folder_wanted, no_link) = (open_with(libc::O_DIRECTORY), open_with(libc::O_NOFOLLOW));
        all_are_refused(
            &files,
            &[
                ("O_DIRECTORY", &|by_std| folder_wanted(by_std, held)),
                ("O_NOFOLLOW", &|by_std| no_link(by_std, &at("link"))),
                // Windows copies by path, and both paths are settled before.
                call!(fs => fs::copy(at("missing"), held)),
                call!(fs => fs::rename(held, long)),
                call!(fs => fs::hard_link(held, long)),
                call!(fs => fs::rename("/", new)),
                call!(fs => fs::hard_link("/", new)),
                call!(fs => fs::rename(folder, temp.path().join("."))),
                call!(fs => fs::rename(folder, at("other"))),
                call!(fs => fs::rename(held, at("full"))),
                call!(fs => fs::rename(held, at("new/"))),
                call!(fs => fs::read(held.join("below"))),
                call!(fs => fs::remove_file(held.join(""))),
            ],
        );
    }
    assert!(!new.exists(), "a refused call has made a file");
    files.finish().unwrap();
    std::env::set_current_dir("/").unwrap();
}

#[cfg(unix)]
#[test]
fn what_this_user_may_not_do_is_refused_at_once() {
    use std::os::unix::fs::PermissionsExt;

    use manyfiles_testkit::{Need, skip_unless};

    skip_unless!(Need::Root);
    const FOLDER: &str = "MANYFILES_TEST_REFUSED";
    const TEST: &str = "what_this_user_may_not_do_is_refused_at_once";
    let set_mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let Some(root) = std::env::var_os(FOLDER) else {
        let temp = tempfile::tempdir().unwrap();
        set_mode(temp.path(), 0o755);
        support::in_parent(TEST, |child| {
            child.env(FOLDER, temp.path());
        });
        return;
    };
    // Folders of root: one that all users may change, one that others may only read, one that others may not even read,
    // and one where each user removes only what is the user's own. In each is a file with a pending close.
    let root = Path::new(&root);
    let files = held();
    let [mine, read_only, closed, sticky] = ["mine", "read-only", "closed", "sticky"].map(|name| root.join(name));
    for (folder, mode) in [(&mine, 0o777), (&read_only, 0o755), (&closed, 0o711), (&sticky, 0o1777)] {
        std::fs::create_dir_all(folder.join("folder")).unwrap();
        files.write(folder.join("held"), "text").unwrap();
        set_mode(&folder.join("held"), 0o444);
        set_mode(folder, mode);
    }
    files.write(mine.join("secret"), "text").unwrap();
    set_mode(&mine.join("secret"), 0o200);
    // SAFETY: numbers in, numbers out, and no other thread depends on which user this process is.
    unsafe {
        assert_eq!((libc::setgroups(0, std::ptr::null()), libc::setgid(65_534), libc::setuid(65_534)), (0, 0, 0))
    };
    let held_in = |folder: &Path| folder.join("held");
    all_are_refused(
        &files,
        &[
            call!(fs => fs::create_dir(read_only.join("new"))),
            call!(fs => fs::create_dir_all(read_only.join("new/and/more"))),
            call!(fs => fs::remove_dir(read_only.join("folder"))),
            call!(fs => fs::write(held_in(&mine), "")),
            call!(fs => fs::write(read_only.join("new"), "")),
            call!(fs => fs::File::options().append(true).open(held_in(&mine))),
            call!(fs => fs::read(mine.join("secret"))),
            call!(fs => fs::copy(mine.join("secret"), mine.join("new"))),
            call!(fs => fs::copy(mine.join("folder"), held_in(&mine))),
            call!(fs => fs::rename(held_in(&read_only), mine.join("new"))),
            call!(fs => fs::rename(held_in(&mine), read_only.join("new"))),
            call!(fs => fs::rename(held_in(&sticky), mine.join("new"))),
            call!(fs => fs::hard_link(held_in(&mine), read_only.join("new"))),
            call!(fs => fs::remove_file(held_in(&read_only))),
            call!(fs => fs::remove_file(held_in(&sticky))),
            call!(fs => fs::read_dir(&closed)),
            call!(fs => fs::set_permissions(held_in(&mine), PermissionsExt::from_mode(0o666))),
        ],
    );
    // What this user may do waits.
    let pending = files.pending();
    assert_eq!(fs::read(held_in(&mine)).unwrap(), b"text");
    assert_eq!(files.pending(), pending - 1);
    fs::remove_file(mine.join("secret")).unwrap();
    assert_eq!(files.pending(), pending - 2);
    files.finish().unwrap();
}
