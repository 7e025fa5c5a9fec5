//! `manyfiles pack`: what it packs, what other programs make of it, what it says, its exit status.
#![cfg(unix)] // needs a shell; tests/windows.rs has what differs there

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use common::{assert_same_tree, manyfiles, names, read, shell, write};
use manyfiles_testkit::{Compare, Need, Tree, skip, skip_unless};
use tempfile::{TempDir, tempdir};

const FORMATS: [&str; 7] = ["tar", "tar.gz", "tar.zst", "tar.xz", "tar.bz2", "tar.lz4", "zip"];

/// A folder `src` with all kinds that every format has. Times are whole, even seconds: older zips know no others.
fn sample() -> TempDir {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    for (path, len) in
        [("empty", 0), ("a", 1), ("block", 512), ("large", 3_000_000), ("folder/one", 700), ("folder/deep/two", 70_000)]
    {
        write(src.join(path), (0..len).map(|n| (n / 7 * (n % 100) % 251) as u8).collect::<Vec<_>>());
    }
    for n in 0..300 {
        write(src.join(format!("many/{}/{n}", n % 7)), n.to_string().repeat(n));
    }
    write(src.join(format!("{}/{}", "long".repeat(30), "name".repeat(50))), "long");
    write(src.join("grüße – 你好"), "utf-8");
    write(src.join("-dash and space"), "x");
    fs::create_dir(src.join("nothing in it")).unwrap();
    fs::set_permissions(src.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(src.join("folder/one"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(src.join("folder"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("folder/one", src.join("link")).unwrap();
    symlink("/nowhere", src.join("dangling")).unwrap();
    set_times(&src);
    temp
}

fn set_times(folder: &Path) {
    let status = shell(folder, "find . -depth -exec touch -h -d 2020-02-02T20:20:20 {} +");
    status.code(0);
}

/// Adds what tars have and zips have not.
fn add_tars_own(temp: &Path) {
    fs::hard_link(temp.join("src/folder/one"), temp.join("src/many/first name")).unwrap();
    shell(temp, "mkfifo src/fifo && truncate -s 3M src/sparse && echo end >> src/sparse").code(0);
    set_times(&temp.join("src"));
}

#[test]
fn unpack_gives_back_what_was_packed() {
    for format in FORMATS {
        let temp = sample();
        if format != "zip" {
            add_tars_own(temp.path());
        }
        let archive = format!("a.{format}");
        let ran = manyfiles(temp.path(), &["pack", "src", &archive, "--verify"]).code(0);
        assert!(ran.err.starts_with("manyfiles: packed 3"), "{ran:#?}");
        let tested = manyfiles(temp.path(), &["test", &archive]).code(0);
        assert!(tested.out.contains("sound"), "{tested:#?}");
        manyfiles(temp.path(), &["unpack", &archive, "-C", "out", "-p", "--special-files", "-q"]).code(0);
        assert_same_tree(&temp.path().join("src"), &temp.path().join("out/src"));
    }
}

/// Unpacks the archive with another program, and compares.
fn other_unpacks(temp: &Path, script: &str, compare: Compare) {
    let ran = shell(temp, &format!("rm -rf out; mkdir out; {script}"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{script}: {ran:#?}");
    let expected = Tree::read(temp.join("src")).unwrap();
    expected.assert_same(&Tree::read(temp.join("out/src")).unwrap(), compare);
}

#[test]
fn other_programs_read_tars_as_they_were_meant() {
    let temp = sample();
    add_tars_own(temp.path());
    for format in ["tar", "tar.gz", "tar.zst", "tar.xz", "tar.bz2", "tar.lz4"] {
        let archive = format!("a.{format}");
        manyfiles(temp.path(), &["pack", "src", &archive, "-q"]).code(0);
        let unpackers = [
            ("tar", format!("tar -xpf {archive} -C out")),
            ("bsdtar", format!("bsdtar -xpf {archive} -C out")),
            (
                "python3",
                format!(
                    "python3 -c 'import tarfile; tarfile.open(\"{archive}\").extractall(\"out\")' 2>&1 | grep -v Warning || true"
                ),
            ),
        ];
        for (program, script) in unpackers {
            let has_no_decoder = match (program, format) {
                ("tar", "tar.lz4") => true,
                ("tar" | "bsdtar", "tar.zst") => Need::Program("zstd").check().is_err(),
                ("bsdtar", "tar.lz4") => Need::Program("lz4").check().is_err(),
                ("python3", "tar.zst" | "tar.lz4") => true,
                _ => false,
            };
            if has_no_decoder || Need::Program(program).check().is_err() {
                skip(format_args!("{program} with {format}: it, or its decoder, is not there"));
                continue;
            }
            // Python sets the times of folders before it writes into them, and knows no nanoseconds of links.
            let compare = if program == "python3" { Compare::ALL_BUT_TIMES } else { Compare::ALL };
            other_unpacks(temp.path(), &script, compare);
        }
    }
}

#[test]
fn other_programs_read_zips_as_they_were_meant() {
    let temp = sample();
    manyfiles(temp.path(), &["pack", "src", "a.zip", "-q"]).code(0);
    // unzip sets no times of links, 7zz makes absolute links lead into the folder.
    for (program, script, compare) in [
        (
            "unzip",
            "unzip -q a.zip -d out && touch -h -d 2020-02-02T20:20:20 out/src/link out/src/dangling",
            Compare::ALL,
        ),
        ("bsdtar", "bsdtar -xpf a.zip -C out", Compare::ALL),
        (
            "7zz",
            "7zz x -snld -oout a.zip > log || cat log >&2; ln -sfn /nowhere out/src/dangling && touch -h -d 2020-02-02T20:20:20 out/src/dangling out/src",
            Compare { modes: false, ..Compare::ALL },
        ),
        (
            "python3",
            "python3 -c 'import zipfile; zip = zipfile.ZipFile(\"a.zip\"); assert zip.testzip() is None' && \
             cp -a src out/src",
            Compare::ALL,
        ),
    ] {
        if Need::Program(program).check().is_err() || Need::Program("unzip").check().is_err() {
            skip(format_args!("{program} is not there"));
            continue;
        }
        other_unpacks(temp.path(), script, compare);
    }
}

#[test]
fn the_compressors_own_programs_read_what_is_compressed() {
    let temp = sample();
    manyfiles(temp.path(), &["pack", "src", "a.tar", "-q"]).code(0);
    for (format, program, script) in [
        ("tar.gz", "gzip", "gzip -t a.tar.gz && gzip -dc a.tar.gz | cmp - a.tar"),
        ("tar.zst", "zstd", "zstd -q -t a.tar.zst && zstd -q -dc a.tar.zst | cmp - a.tar"),
        ("tar.xz", "xz", "xz -t a.tar.xz && xz -dc a.tar.xz | cmp - a.tar"),
        ("tar.bz2", "bzip2", "bzip2 -t a.tar.bz2 && bzip2 -dc a.tar.bz2 | cmp - a.tar"),
        ("tar.lz4", "lz4", "lz4 -q -t a.tar.lz4 && lz4 -q -dc a.tar.lz4 | cmp - a.tar"),
    ] {
        manyfiles(temp.path(), &["pack", "src", &format!("a.{format}"), "-q"]).code(0);
        if Need::Program(program).check().is_err() {
            skip(format_args!("{program} is not there"));
            continue;
        }
        let ran = shell(temp.path(), script);
        assert_eq!(ran.code, 0, "{ran:#?}");
    }
}

#[test]
fn names_that_are_not_utf8_are_packed_as_they_are() {
    skip_unless!(Need::Program("tar"));
    use std::os::unix::ffi::OsStrExt;
    let temp = tempdir().unwrap();
    for name in [&b"caf\xe9"[..], b"line\nbreak", b"back\\slash", b"c:\\x", &[b'\xff'; 120]] {
        write(temp.path().join("src").join(std::ffi::OsStr::from_bytes(name)), "x");
    }
    manyfiles(temp.path(), &["pack", "src", "a.tar", "--verify"]).code(0);
    other_unpacks(temp.path(), "tar -xpf a.tar -C out", Compare::ALL);
}

#[test]
fn the_archive_goes_to_standard_output_and_through_a_pipe() {
    let temp = sample();
    shell(temp.path(), "$M pack src - --format tar.zst -q | $M unpack - -C out -p -q").code(0);
    assert_same_tree(&temp.path().join("src"), &temp.path().join("out/src"));
    manyfiles(temp.path(), &["pack", "src", "-"]).code(2).says("--format tar.zst");
    manyfiles(temp.path(), &["pack", "src", "-", "--format", "tar", "--json"]).code(2).says("--json");
    manyfiles(temp.path(), &["pack", "src", "-", "--format", "zip", "--verify"]).code(2).says("--verify");
    shell(temp.path(), "$M pack src - --format zip -q > a.zip && $M test -q a.zip").code(0);
    // The archive is in the folder that is packed.
    shell(temp.path(), "cd src && $M pack . - --format tar > a.tar").code(0).says("the archive itself");
    manyfiles(temp.path(), &["test", "src/a.tar"]).code(0);
}

#[test]
fn a_reader_that_goes_away_ends_it_with_an_error() {
    let temp = sample();
    let ran = shell(temp.path(), "{ $M pack src - --format tar; echo $? >&2; } | head -c 1000 > /dev/null");
    assert!(ran.err.contains("no archive was written") && ran.err.ends_with("2\n"), "{ran:#?}");
}

#[test]
fn the_archive_is_not_packed_into_itself() {
    let temp = sample();
    manyfiles(&temp.path().join("src"), &["pack", ".", "a.tar"]).code(0);
    let first = manyfiles(temp.path(), &["list", "src/a.tar"]).code(0).out;
    assert!(!first.contains("a.tar"), "{first}");
    manyfiles(&temp.path().join("src"), &["pack", ".", "a.tar", "--force"]).code(0).says("it is the archive itself");
    assert_eq!(manyfiles(temp.path(), &["list", "src/a.tar"]).code(0).out, first);
}

#[test]
fn what_is_there_stays_without_force_and_until_the_new_one_is_whole() {
    let temp = sample();
    write(temp.path().join("a.tar"), "old");
    manyfiles(temp.path(), &["pack", "src", "a.tar"])
        .code(2)
        .says("a file of this name is there")
        .says("--force replaces it");
    assert_eq!(read(temp.path().join("a.tar")), "old");
    manyfiles(temp.path(), &["pack", "src", "a.tar", "--force"]).code(0);
    manyfiles(temp.path(), &["test", "-q", "a.tar"]).code(0);
    assert_eq!(names(temp.path()).iter().filter(|name| !name.starts_with("src")).count(), 1);
}

#[test]
fn wrong_arguments_say_what_to_give_and_write_nothing() {
    let temp = sample();
    for (args, says) in [
        (&["pack", "src"][..], "manyfiles pack SRC... ARCHIVE"),
        (&["pack", "src", "a.rar"], ".tar.zst"),
        (&["pack", "src", "src"], "NAME.tar.zst"),
        (&["pack", "gone", "also gone", "a.tar"], "also gone"),
        (&["pack", "src", "src/a", "a.tar"], "twice"),
        (&["pack", "src", "a.tar.gz", "--level", "11"], "0 to 9"),
        (&["pack", "src", "no/such/folder/a.tar"], "the folder no/such/folder is not there"),
    ] {
        let before = names(temp.path());
        manyfiles(temp.path(), args).code(2).says(says);
        assert_eq!(names(temp.path()), before);
    }
    let ran = assert_cmd::Command::new(common::BINARY)
        .args(["pack", "src", "a.tar", "--reproducible"])
        .env("SOURCE_DATE_EPOCH", "soon")
        .current_dir(temp.path())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
}

#[test]
fn paths_in_the_archive_are_those_given_without_what_leads_out() {
    let temp = sample();
    let listed = |archive: &str| manyfiles(temp.path(), &["list", archive]).code(0).out;
    let absolute = temp.path().join("src/a");
    let ran = manyfiles(temp.path(), &["pack", absolute.to_str().unwrap(), "1.tar"]).code(0);
    assert!(ran.err.contains("in the archive\n"), "{ran:#?}");
    assert_eq!(listed("1.tar"), format!("{}\n", absolute.to_str().unwrap().trim_start_matches('/')));
    manyfiles(temp.path(), &["pack", "-C", "src", "a", "folder/one", "2.tar"]).code(0).does_not_say("called");
    assert_eq!(listed("2.tar"), "a\nfolder/one\n");
    manyfiles(&temp.path().join("src/folder"), &["pack", "../a", "../../3.tar"]).code(0).says("called a");
    assert_eq!(listed("3.tar"), "a\n");
    manyfiles(temp.path(), &["pack", "src/folder/.", "4.tar", "-q"]).code(0);
    assert_eq!(listed("4.tar"), "src/folder/\nsrc/folder/one\nsrc/folder/deep/\nsrc/folder/deep/two\n");
    manyfiles(&temp.path().join("src/folder"), &["pack", ".", "../../5.tar", "-q"]).code(0);
    assert_eq!(listed("5.tar"), "one\ndeep/\ndeep/two\n");
}

#[test]
fn only_what_is_selected_is_packed_with_its_folders() {
    let temp = sample();
    manyfiles(temp.path(), &["pack", "src", "a.tar", "--include", "two", "--include", "a", "-q"]).code(0);
    let expected = "src/\nsrc/a\nsrc/folder/\nsrc/folder/deep/\nsrc/folder/deep/two\n";
    assert_eq!(manyfiles(temp.path(), &["list", "a.tar"]).out, expected);
    let args = ["pack", "src", "b.tar", "--exclude", "many", "--exclude", "src/folder", "--exclude", "long*"];
    manyfiles(temp.path(), &args).code(0);
    let listed = manyfiles(temp.path(), &["list", "b.tar"]).out;
    assert!(!listed.contains("many") && !listed.contains("one") && listed.contains("src/large"), "{listed}");
    manyfiles(temp.path(), &["pack", "src", "c.tar", "--include", "typo"]).code(1).says("nothing matches");
}

#[test]
fn what_git_ignores_is_left_out_by_its_rules() {
    skip_unless!(Need::Program("git"));
    let temp = tempdir().unwrap();
    let repository = temp.path().join("repo");
    for path in [
        "kept.c",
        "built.o",
        "deep/built.o",
        "deep/but.o",
        "target/x",
        "deep/target/y",
        "only/top",
        "deep/only/top",
        "private",
    ] {
        write(repository.join(path), path);
    }
    write(repository.join(".gitignore"), "*.o\ntarget/\n/only\n");
    write(repository.join("deep/.gitignore"), "!but.o\n");
    shell(&repository, "git init -q && echo private > .git/info/exclude").code(0);
    let expected = shell(&repository, "git ls-files -co --exclude-standard | sort").code(0).out;
    manyfiles(&repository, &["pack", ".", "../a.tar", "--gitignore"]).code(0).says("git ignores");
    let packed = |path: &str| -> String {
        let listed = manyfiles(temp.path(), &["list", path]).code(0).out;
        let mut files: Vec<_> = listed.lines().filter(|line| !line.ends_with('/')).collect();
        files.sort();
        files.iter().map(|file| format!("{file}\n")).collect()
    };
    assert_eq!(packed("a.tar"), expected);
    // Rules above the source count, too.
    manyfiles(&repository, &["pack", "deep", "../b.tar", "--gitignore"]).code(0);
    assert_eq!(packed("b.tar"), "deep/.gitignore\ndeep/but.o\ndeep/only/top\n");
}

#[test]
fn reproducible_archives_depend_on_names_and_content_alone() {
    let (one, other) = (sample(), sample());
    shell(other.path(), "find src -exec touch -h {} + && chmod 640 src/large && chmod 700 src/many").code(0);
    for format in FORMATS {
        let archive = format!("a.{format}");
        let made = [&one, &other].map(|temp| {
            let jobs = if temp.path() == one.path() { "1" } else { "5" };
            manyfiles(temp.path(), &["pack", "src", &archive, "--reproducible", "-j", jobs]).code(0);
            fs::read(temp.path().join(&archive)).unwrap()
        });
        assert!(made[0] == made[1], "{format}");
        let listed = manyfiles(one.path(), &["list", "--json", &archive]).code(0).out;
        assert!(listed.lines().all(|line| line.contains("1980-01-01T00:00:00Z")), "{listed}");
    }
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_packed() {
    skip_unless!(Need::Root, Need::Program("setpriv"));
    let temp = sample();
    write(temp.path().join("src/secret"), "x");
    fs::set_permissions(temp.path().join("src/secret"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(temp.path().join("src/folder"), fs::Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = shell(temp.path(), "setpriv --reuid 1000 --regid 1000 --clear-groups $M pack src a.tar --json").code(1);
    let ran = ran.says("cannot read src/secret").says("cannot read src/folder").says("2 entries were not packed");
    let json = ran.json();
    assert_eq!((json["status"].as_str(), json["failures"].as_array().unwrap().len()), (Some("incomplete"), 2));
    manyfiles(temp.path(), &["test", "-q", "a.tar"]).code(0);
    let listed = manyfiles(temp.path(), &["list", "a.tar"]).out;
    assert!(listed.contains("src/large") && !listed.contains("secret"), "{listed}");
}

#[test]
fn a_zip_has_no_fifos_and_says_so() {
    let temp = sample();
    shell(temp.path(), "mkfifo src/fifo; ln src/a src/second").code(0);
    manyfiles(temp.path(), &["pack", "src", "a.zip"]).code(1).says("src/fifo").says("no devices and no FIFOs");
    manyfiles(temp.path(), &["unpack", "a.zip", "-C", "out", "-q"]).code(0);
    assert_eq!(fs::read(temp.path().join("out/src/second")).unwrap(), fs::read(temp.path().join("src/a")).unwrap());
}

#[test]
fn a_full_disk_leaves_no_archive_and_the_old_one() {
    skip_unless!(Need::Root);
    let temp = sample();
    let small = manyfiles_testkit::Disk::tmpfs().megabytes(1).mount().unwrap();
    write(small.path().join("a.tar"), "old");
    let archive = small.path().join("a.tar");
    let ran = manyfiles(temp.path(), &["pack", "src", archive.to_str().unwrap(), "--force"]).code(2);
    ran.says("No space left").says("no archive was written");
    assert_eq!(read(&archive), "old");
    assert_eq!(names(small.path()), ["a.tar"]);
}

#[test]
fn the_report_says_all_counts() {
    let temp = sample();
    add_tars_own(temp.path());
    let json = manyfiles(temp.path(), &["pack", "src", "a.tar.gz", "--json", "-q"]).code(0).json();
    assert_eq!(json["status"], "complete");
    assert_eq!(json["format"], "tar.gz");
    assert_eq!(
        (json["symlinks"].as_u64(), json["hard_links"].as_u64(), json["nodes"].as_u64()),
        (Some(2), Some(1), Some(1))
    );
    assert_eq!(json["archive_bytes"].as_u64(), Some(fs::metadata(temp.path().join("a.tar.gz")).unwrap().len()));
    let tested = manyfiles(temp.path(), &["test", "--json", "a.tar.gz"]).code(0).json();
    assert_eq!(tested["archives"][0]["bytes"], json["bytes"]);
    let named = manyfiles(temp.path(), &["pack", "src", "b.tar", "-vv"]).code(0).err;
    assert!(named.contains("src/folder/deep/two\n"), "{named}");
}

#[test]
fn a_run_that_was_killed_leaves_nothing_that_the_next_does_not_remove() {
    let temp = sample();
    shell(temp.path(), "truncate -s 200G src/endless").code(0);
    // A zip has no holes: this takes hours.
    let script = "$M pack src a.zip -q & p=$!; while [ ! -e .a.zip.partial ]; do sleep 0.01; done; kill -9 $p; wait $p";
    shell(temp.path(), script);
    assert!(temp.path().join(".a.zip.partial").exists() && !temp.path().join("a.zip").exists());
    fs::remove_file(temp.path().join("src/endless")).unwrap();
    manyfiles(temp.path(), &["pack", "src", "a.zip"]).code(0);
    assert!(!temp.path().join(".a.zip.partial").exists());
    manyfiles(temp.path(), &["test", "-q", "a.zip"]).code(0);
}

#[test]
fn an_interruption_leaves_no_archive() {
    let temp = sample();
    shell(temp.path(), "truncate -s 200G src/endless").code(0);
    // A shell starts what it runs in the background with SIGINT ignored.
    let script = "$M pack src a.zip & p=$!; while [ ! -e .a.zip.partial ]; do sleep 0.01; done; sleep 0.1; \
                  kill -TERM $p; wait $p; echo $?";
    let ran = shell(temp.path(), script).says("no archive was written");
    assert_eq!(ran.out, "143\n");
    assert!(!temp.path().join("a.zip").exists() && !temp.path().join(".a.zip.partial").exists());
}

#[test]
fn a_file_that_changes_is_named() {
    let temp = sample();
    let growing = temp.path().join("src/growing");
    write(&growing, vec![1; 40 << 20]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            let mut file = fs::File::options().append(true).open(&growing).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        let ran = manyfiles(temp.path(), &["pack", "src", "a.tar.gz"]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        ran.code(1).says("src/growing").says("changed while it was read");
    });
    manyfiles(temp.path(), &["test", "-q", "a.tar.gz"]).code(0);
    assert!(fs::metadata(&growing).unwrap().modified().unwrap() <= SystemTime::now());
}

#[test]
#[cfg(unix)]
fn many_files_with_links_need_few_handles() {
    let temp = tempdir().unwrap();
    let src = temp.path().join("src");
    for n in 0..2000 {
        write(src.join(format!("a/{n}")), n.to_string());
        fs::create_dir_all(src.join("b")).unwrap();
        fs::hard_link(src.join(format!("a/{n}")), src.join(format!("b/{n}"))).unwrap();
    }
    shell(temp.path(), "ulimit -n 32; $M pack src a.tar -j 2").code(0);
    let json = manyfiles(temp.path(), &["test", "--json", "a.tar"]).code(0).json();
    assert_eq!(json["archives"][0]["entries"], 4003);
}

#[test]
fn a_limit_on_the_size_of_files_and_a_closed_output_are_errors() {
    let temp = sample();
    let ran = shell(temp.path(), "ulimit -f 100; $M pack src a.tar");
    assert_eq!(ran.code, 2);
    ran.says("File too large").says("no archive was written");
    assert!(!temp.path().join(".a.tar.partial").exists());
    shell(temp.path(), "$M pack src - --format tar >&-").code(2).says("cannot write to standard output: it is closed");
    shell(temp.path(), "$M pack src - --format tar > /dev/null").code(0);
    shell(temp.path(), "$M pack src /dev/full --format tar").code(2).says("No space left");
}

#[test]
fn a_folder_that_is_swapped_for_a_link_leads_nowhere() {
    let temp = tempdir().unwrap();
    let (src, outside) = (temp.path().join("src"), temp.path().join("outside"));
    for n in 0..200 {
        write(src.join(format!("folder/{n}")), "inside");
        write(outside.join(n.to_string()), "secret");
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (folder, aside) = (src.join("folder"), temp.path().join("aside"));
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::rename(&folder, &aside).unwrap();
                symlink(&outside, &folder).unwrap();
                std::thread::yield_now();
                fs::remove_file(&folder).unwrap();
                fs::rename(&aside, &folder).unwrap();
                std::thread::yield_now();
            }
        });
        let mut is_out = false;
        for _ in 0..60 {
            shell(temp.path(), "$M pack src a.tar -f -q");
            let packed = fs::read(temp.path().join("a.tar")).unwrap_or_default();
            is_out |= packed.windows(6).any(|bytes| bytes == b"secret");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(!is_out, "a file from outside is in the archive");
    });
}

#[test]
fn large_files_on_many_threads_need_few_handles() {
    let temp = tempdir().unwrap();
    for n in 0..40 {
        write(temp.path().join(format!("src/{n}")), vec![n; 1_200_000]);
    }
    shell(temp.path(), "ulimit -n 16; $M pack src a.tar -j 8").code(0);
    // Also if the archive is read slowly: files that wait for their turn stay open.
    shell(temp.path(), "ulimit -n 20; $M pack src - --format tar -j 8 -q | { sleep 2; cmp - a.tar; }").code(0);
}

#[test]
fn a_file_that_is_written_to_is_named_even_if_its_time_is_set_back() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/large"), vec![1; 20 << 20]);
    // The pipe is full, and the file is half read.
    let script = "touch -d 2020-02-02 src/large; \
        { $M pack src - --format tar -j 1; echo $? >&2; } | { sleep 1; \
        printf new | dd of=src/large bs=1 seek=20000000 conv=notrunc status=none; touch -d 2020-02-02 src/large; \
        cat > a.tar; }";
    let ran = shell(temp.path(), script).says("src/large").says("changed while it was read");
    assert!(ran.err.ends_with("1\n"), "{ran:#?}");
}

#[test]
fn pipes_are_written_to_by_any_name_and_a_signal_ends_the_waiting() {
    let temp = sample();
    let list = "$M pack src /dev/stdout --format tar -q | tar tf - | grep -c src/large";
    assert_eq!(shell(temp.path(), list).code(0).out, "1\n");
    let fifo = "mkfifo fifo; { sleep 0.3; tar tf fifo | grep -c src/large; } & $M pack src fifo --format tar -q; \
                echo $?; wait";
    assert_eq!(shell(temp.path(), fifo).out.lines().collect::<std::collections::HashSet<_>>(), ["0", "1"].into());
    // Nobody reads from the pipe, and nobody opens the FIFO.
    for (before, to) in [("mkfifo slow; sleep 3 < slow > /dev/null 2>&1 &", "- > slow"), ("", "fifo")] {
        let script =
            format!("{before} $M pack src {to} --format tar & p=$!; sleep 0.5; kill -TERM $p; wait $p; echo $?");
        let ran = shell(temp.path(), &script).says("interrupted: no archive was written");
        assert_eq!(ran.out, "143\n");
    }
    for to in ["fifo", "/dev/null"] {
        manyfiles(temp.path(), &["pack", "src", to, "--format", "tar", "--fsync"]).code(2).says("made durable");
    }
}

#[test]
fn a_run_that_is_killed_between_its_last_steps_hinders_no_other() {
    skip_unless!(Need::Program("strace"));
    let temp = sample();
    // A file system that renames only over what is there: the archive is linked to its name, and loses the other.
    let traced = "strace -f -o /dev/null -e inject=renameat2:error=EINVAL";
    shell(temp.path(), &format!("{traced} -e inject=unlink,unlinkat:signal=KILL $M pack src a.tar -q"));
    assert!(temp.path().join("a.tar").exists() && temp.path().join(".a.tar.partial").exists());
    manyfiles(temp.path(), &["test", "-q", "a.tar"]).code(0);
    manyfiles(temp.path(), &["pack", "src", "a.tar", "--force"]).code(0);
    assert!(!temp.path().join(".a.tar.partial").exists());
    fs::remove_file(temp.path().join("a.tar")).unwrap();
    let unlink = format!("{traced} -e inject=unlink,unlinkat:error=EIO $M pack src a.tar -q");
    shell(temp.path(), &unlink).code(0);
    manyfiles(temp.path(), &["test", "-q", "a.tar"]).code(0);
}

#[test]
fn an_archive_that_has_its_name_is_not_said_to_be_missing() {
    skip_unless!(Need::Program("strace"));
    let temp = sample();
    write(temp.path().join("a.tar"), "old");
    let script = "strace -f -o /dev/null -e inject=fsync:error=EIO:when=2 $M pack src a.tar --force --fsync --json";
    let ran = shell(temp.path(), script).code(1).says("the archive is there, but a power cut may take it");
    assert_eq!(ran.json()["status"], "incomplete");
    assert!(!ran.err.contains("no archive") && !ran.err.contains("not packed"), "{ran:#?}");
    manyfiles(temp.path(), &["test", "-q", "a.tar"]).code(0);
}

#[test]
fn what_few_may_read_is_shown_to_no_others_while_it_is_replaced() {
    let temp = sample();
    write(temp.path().join("a.zip"), "old");
    fs::set_permissions(temp.path().join("a.zip"), fs::Permissions::from_mode(0o600)).unwrap();
    shell(temp.path(), "truncate -s 200G src/endless").code(0);
    let script = "umask 022; $M pack src a.zip --force -q & p=$!; while [ ! -e .a.zip.partial ]; do sleep 0.01; done; \
                  stat -c %a .a.zip.partial; kill -TERM $p; wait $p";
    assert_eq!(shell(temp.path(), script).out, "600\n");
}

#[test]
fn a_new_file_that_gets_the_number_of_one_that_is_gone_is_no_link_to_it() {
    let temp = tempdir().unwrap();
    write(temp.path().join("src/a/old"), "old");
    write(temp.path().join("src/k/large"), vec![1; 20 << 20]);
    fs::create_dir(temp.path().join("src/z")).unwrap();
    // The first file is packed, the pipe is full, and the last folder is not looked into yet.
    let script = "ln src/a/old src/z/old; $M pack src - --format tar -j 1 -q | { sleep 1; rm src/a/old src/z/old; \
                  for n in 1 2 3 4 5 6 7 8; do echo new > src/z/new$n; ln src/z/new$n src/z/more$n; done; cat > a.tar; }; \
                  mkdir out; tar xf a.tar -C out; cat out/src/a/old; cat out/src/z/* | sort | uniq -c | tr -d ' '";
    assert_eq!(shell(temp.path(), script).code(0).out, "old16new\n");
}

#[test]
fn reproducible_archives_do_not_depend_on_holes_and_hard_links() {
    let temp = tempdir().unwrap();
    let script = "mkdir -p one/src other/src; truncate -s 3M one/src/sparse; echo end >> one/src/sparse; \
                  echo linked > one/src/a; ln one/src/a one/src/b; cat one/src/sparse > other/src/sparse; \
                  echo linked > other/src/a; echo linked > other/src/b; \
                  for d in one other; do $M pack -C $d src $d.tar --reproducible -q; done; cmp one.tar other.tar";
    shell(temp.path(), script).code(0);
    manyfiles(temp.path(), &["test", "-q", "one.tar"]).code(0);
}

#[test]
fn a_name_that_only_a_folder_can_have_is_refused_before_anything_is_written() {
    let temp = sample();
    manyfiles(temp.path(), &["pack", "src", "a.tar/"]).code(2).says("a folder");
    manyfiles(temp.path(), &["pack", "src", "a.tar/.", "--format", "tar"]).code(2);
    let long = format!("{}.tar", "n".repeat(252));
    manyfiles(temp.path(), &["pack", "src", &long]).code(2).says("cannot create").says("File name too long");
    assert_eq!(names(temp.path()).iter().filter(|name| !name.starts_with("src")).count(), 0);
}

#[test]
fn threads_and_memory_that_cannot_be_had_are_no_panic() {
    skip_unless!(Need::Program("strace"));
    let temp = sample();
    for call in 3..9 {
        let trace = format!("strace -f -o /dev/null -e inject=clone3:error=EAGAIN:when={call}+");
        let ran = shell(temp.path(), &format!("{trace} $M pack src a.zip --verify --force -j 4"));
        assert!(matches!(ran.code, 0 | 2) && !ran.err.contains("panicked"), "{call}: {ran:#?}");
    }
    let ran = shell(temp.path(), "ulimit -v 400000; $M pack src b.tar.xz -l 9 -j 1").code(2);
    assert!(!ran.err.contains("panicked"), "{ran:#?}");
    ran.says("memory").says("no archive was written");
}
