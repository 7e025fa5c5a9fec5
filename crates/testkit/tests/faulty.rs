//! The faulty world: what fails once, fills up, falls short, lies; a neighbour; a hostile program.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{IntoRawFd, RawFd};
use std::process::Command;
use std::time::Duration;

use manyfiles_testkit::{Call, Hostility, Need, Op, Preload, Rule, SlowMount, make_trouble, scratch, skip_unless};

fn closed(fd: RawFd) -> Option<i32> {
    // SAFETY: the caller has given the descriptor up.
    (unsafe { libc::close(fd) } == -1).then(|| io::Error::last_os_error().raw_os_error().unwrap())
}

#[test]
fn the_nth_call_of_any_kind_fails_and_is_recorded() {
    skip_unless!(Need::Preload, Need::Program("python3"));
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let script = "import os\nos.mkdir('mine-1')\ntry: os.mkdir('mine-2')\nexcept OSError as e: print(e.errno)\n\
        fd = os.open('mine-3', os.O_CREAT | os.O_WRONLY)\nos.write(fd, b'12345')\nos.close(fd)";
    let run = |rule: Rule| {
        let mut command = Command::new("python3");
        command.current_dir(folder.path()).args(["-I", "-S", "-c", script]);
        let preload = Preload::new().rule(rule.path_contains("/mine-")).record(&record);
        let output = preload.apply(&mut command).unwrap().output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // A relative path is known as one below the current folder.
    assert_eq!(run(Rule::fail(Call::Any, libc::EDQUOT).nth(2)), format!("{}\n", libc::EDQUOT));
    let at = folder.path().display();
    assert_eq!(fs::read_to_string(&record).unwrap(), format!("mkdir {} - {at}/mine-2\n", libc::EDQUOT));
    fs::remove_file(&record).unwrap();
    fs::remove_dir(folder.path().join("mine-1")).unwrap();
    fs::remove_file(folder.path().join("mine-3")).unwrap();
    run(Rule::short(Call::Any, 2));
    assert_eq!(fs::read(folder.path().join("mine-3")).unwrap(), b"12");
    assert_eq!(fs::read_to_string(&record).unwrap(), format!("write 0 w {at}/mine-3\n"), "only writes fall short");
}

#[test]
fn a_close_fails_once_and_the_next_does_not() {
    skip_unless!(Need::Fuse);
    let mount = SlowMount::options().write_back().fail_nth(Op::Close, libc::EDQUOT, "/bad", 2).log().mount().unwrap();
    let close = |name: &str| closed(File::create(mount.path().join(name)).unwrap().into_raw_fd());
    assert_eq!([close("bad-1"), close("good"), close("bad-2"), close("bad-3")], [None, None, Some(libc::EDQUOT), None]);
    assert!(mount.log().unwrap().contains(&"failed flush /bad-2".to_owned()));
}

#[test]
fn a_mount_that_is_full_says_so_at_the_close_if_it_keeps_what_is_written() {
    skip_unless!(Need::Fuse);
    let write = |mount: &SlowMount, name: &str| {
        let mut file = File::create(mount.path().join(name)).unwrap();
        let written = file.write_all(&[1; 8000]).map_err(|error| error.raw_os_error());
        (written, closed(file.into_raw_fd()))
    };
    let kept = SlowMount::options().write_back().space(10_000).mount().unwrap();
    assert_eq!([write(&kept, "a"), write(&kept, "b")], [(Ok(()), None), (Ok(()), Some(libc::ENOSPC))]);
    let sent = SlowMount::options().space(10_000).mount().unwrap();
    assert_eq!([write(&sent, "a"), write(&sent, "b")], [(Ok(()), None), (Err(Some(libc::ENOSPC)), None)]);
}

#[test]
fn reads_and_writes_fall_short_and_lengths_lie() {
    skip_unless!(Need::Fuse);
    let mount =
        SlowMount::options().short(1000).lie_about_length("/liar").jitter(Duration::from_millis(1), 7).mount().unwrap();
    for name in ["liar", "honest"] {
        let path = mount.path().join(name);
        assert_eq!(File::create(&path).unwrap().write(&[1; 5000]).unwrap(), 1000, "{name}");
        assert_eq!(File::open(&path).unwrap().read(&mut [0; 5000]).unwrap(), 1000, "{name}");
        assert_eq!(fs::metadata(&path).unwrap().len(), if name == "liar" { 0 } else { 1000 });
        assert_eq!(fs::metadata(mount.backing().join(name)).unwrap().len(), 1000);
    }
}

#[test]
fn a_neighbour_works_below_its_folder_alone() {
    let temp = scratch().unwrap();
    let (folder, outside) = (temp.path().join("folder"), temp.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("mine"), "mine").unwrap();
    let mut turns = 0;
    let done = make_trouble(&folder, &outside, 3, || {
        // What it removes comes again.
        fs::create_dir_all(folder.join("a")).unwrap();
        for name in ["a/one", "two", "three"] {
            let _ = fs::write(folder.join(name), name);
        }
        turns += 1;
        turns > 300
    });
    assert!(done > 50, "{done}");
    let there: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(there.contains(&"mine".into()), "{there:?}");
}

#[test]
fn what_a_hostile_program_does_goes_through_its_text() {
    for hostility in [
        Hostility::Signals(Duration::from_millis(1)),
        Hostility::ClosedStreams,
        Hostility::FileSize(1000),
        Hostility::MoreHandles(3),
        Hostility::Umask(0o77),
        Hostility::Chdir,
        Hostility::Forks,
    ] {
        assert_eq!(hostility.to_string().parse(), Ok(hostility));
    }
    assert!("signals".parse::<Hostility>().is_err() && "nothing 1".parse::<Hostility>().is_err());
}
