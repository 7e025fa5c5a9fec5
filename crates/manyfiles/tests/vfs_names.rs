//! What a `Vfs` takes for a name, and what it says to everything else.
#![cfg(feature = "full")]

use std::ffi::OsStr;
use std::io::ErrorKind;

use manyfiles::vfs::{CreateOptions, Vfs};
use manyfiles::writer::SyncPolicy;
use manyfiles::{Error, Operation};

#[cfg(unix)]
mod support;

/// Every call that takes a name, with the operation that its errors name.
fn every_call(vfs: &Vfs, uri: &OsStr) -> Vec<(&'static str, Operation, Result<(), Error>)> {
    vec![
        ("write", Operation::Write, vfs.write(uri, b"x")),
        ("append", Operation::Write, vfs.append(uri, b"x")),
        ("create_writer", Operation::Create, vfs.create_writer(uri).map(drop)),
        ("read", Operation::Read, vfs.read(uri).map(drop)),
        ("read_at", Operation::Read, vfs.read_at(uri, 0, &mut [0]).map(drop)),
        ("size", Operation::Metadata, vfs.size(uri).map(drop)),
        ("metadata", Operation::Metadata, vfs.metadata(uri).map(drop)),
        ("exists", Operation::Metadata, vfs.exists(uri).map(drop)),
        ("list", Operation::List, vfs.list(uri).map(drop)),
        ("create_folder", Operation::CreateFolder, vfs.create_folder(uri)),
        ("rename from", Operation::Rename, vfs.rename(uri, "mem://elsewhere")),
        ("rename to", Operation::Rename, vfs.rename("mem://elsewhere", uri)),
        ("sync", Operation::Sync, vfs.sync(uri)),
        ("flush", Operation::Write, vfs.flush(uri)),
        ("remove", Operation::Remove, vfs.remove(uri)),
    ]
}

#[test]
fn a_name_that_means_nothing_is_refused_by_every_call_and_the_error_says_why() {
    let vfs = Vfs::new();
    for (uri, complaint) in [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("mem://a\0b", "NUL"),
        ("ftp://host/file", "ftp://, only file://, mem:// and plain paths"),
        ("s3://bucket/key", "s3://"),
        ("file://server/share/file", "\"server\" would be another machine"),
        ("file://relative", "another machine"),
        ("file:relative", "absolute"),
        ("file://", "absolute"),
        ("file:", "absolute"),
        ("FILE:x", "absolute"),
        ("file:///a?b", "%3F"),
        ("file:///a#b", "%23"),
        ("file:///100%", "%25"),
        ("file:///a%2Fb", "%2F"),
        ("file:///a%00b", "%00"),
        ("mem:a", "mem://"),
        ("mem:/a", "mem://"),
        ("mem://a/../b", ".."),
        ("mem://./b", "."),
    ] {
        for (call, operation, result) in every_call(&vfs, uri.as_ref()) {
            let error = result.expect_err(&format!("{call} of {uri:?}"));
            assert_eq!(
                (error.kind(), error.operation()),
                (ErrorKind::InvalidInput, operation),
                "{call} of {uri:?}: {error}"
            );
            assert_eq!(error.path().map(|path| path.as_os_str()), Some(uri.as_ref()), "{call}");
            assert!(error.to_string().contains(complaint), "{call} of {uri:?}: {error}");
        }
    }
    vfs.finish().expect("nothing was opened");
}

#[test]
fn the_same_file_by_each_of_its_names() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().to_str().unwrap();
    let url = folder.replace('\\', "/");
    let url = if cfg!(windows) { format!("/{url}") } else { url };
    let vfs = Vfs::new();
    let names = [
        format!("{folder}/some file"),
        format!("{folder}//./some file"),
        format!("file://{url}/some%20file"),
        format!("file:{url}/some file"),
        format!("file://localhost{url}/some%20%66ile"),
        format!("FILE://LOCALHOST{url}/some file"),
    ];
    for (n, name) in names.iter().enumerate() {
        vfs.write(name, n.to_string().as_bytes()).unwrap();
        vfs.write(temp.path().join("some file"), b",").unwrap();
    }
    for name in &names {
        assert_eq!(vfs.read(name).unwrap(), b"0,1,2,3,4,5,", "{name}");
    }
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn colons_in_plain_paths_are_no_schemes() {
    if cfg!(windows) {
        return; // no name has a colon there
    }
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    for name in ["a:b", "C:\\x", "12:30", "unknown:x"] {
        vfs.write(temp.path().join(name), b"x").unwrap();
        assert!(temp.path().join(name).exists(), "{name}");
    }
    // Absolute, so nothing in front of it could be a scheme.
    std::fs::create_dir(temp.path().join("ftp:")).unwrap();
    vfs.write(format!("{}/ftp://file", temp.path().display()), b"x").unwrap();
    assert!(temp.path().join("ftp:/file").exists());
}

#[test]
fn a_folder_as_a_file_and_a_path_through_a_file() {
    let temp = tempfile::tempdir().unwrap();
    let vfs = Vfs::new();
    for base in [temp.path().to_str().unwrap(), "mem://base"] {
        let (folder, file) = (format!("{base}/folder"), format!("{base}/file"));
        vfs.create_folder(&folder).unwrap();
        vfs.write(&file, b"x").unwrap();
        vfs.flush(&file).unwrap();
        let through = format!("{file}/below");
        let missing = format!("{base}/missing/below");
        for (uri, kind) in
            [(&folder, ErrorKind::IsADirectory), (&through, ErrorKind::NotADirectory), (&missing, ErrorKind::NotFound)]
        {
            // Windows does not tell a path through a file from one to nowhere.
            let is_told = cfg!(not(windows)) || base.starts_with("mem:");
            let kind = if kind == ErrorKind::NotADirectory && !is_told { ErrorKind::NotFound } else { kind };
            for (call, result) in [
                ("write", vfs.write(uri, b"x")),
                ("append", vfs.append(uri, b"x")),
                ("create_writer", vfs.create_writer(uri).map(drop)),
                ("read", vfs.read(uri).map(drop)),
                ("read_at", vfs.read_at(uri, 0, &mut [0]).map(drop)),
                ("size", vfs.size(uri).map(drop)),
            ] {
                let error = result.expect_err(&format!("{call} of {uri}"));
                assert_eq!(error.kind(), kind, "{call} of {uri}: {error}");
                assert_eq!(error.path().and_then(|path| path.to_str()), Some(&**uri));
            }
            vfs.flush(uri).expect("a file that could not be opened is not incomplete");
        }
        let error = vfs.create_folder(&through).unwrap_err();
        let kinds = [ErrorKind::NotADirectory, ErrorKind::NotFound, ErrorKind::AlreadyExists];
        assert!(kinds.contains(&error.kind()), "{error}");
        assert!(vfs.list(&file).is_err());
        assert_eq!(vfs.list(&missing).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(!vfs.exists(&missing).unwrap());
        assert_eq!(vfs.read(&file).unwrap(), b"x");
    }
    let vfs = Vfs::new();
    assert_eq!(vfs.write("mem://", b"x").unwrap_err().kind(), ErrorKind::IsADirectory);
    assert_eq!(vfs.list("mem://").unwrap(), []);
}

#[test]
fn an_option_nobody_knows_is_an_error_that_names_it() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("file");
    let file = file.to_str().unwrap();
    let vfs = Vfs::new();
    for (uri, options, complaint) in [
        (file, CreateOptions::new().set("compress", "zstd"), r#"no option "compress" here; known: create_new"#),
        (file, CreateOptions::new().create_new(true).set("sync", "close"), r#"no option "sync""#),
        (file, CreateOptions::new().set("", ""), r#"no option """#),
        (file, CreateOptions::new().set("create_new", "yes"), r#""create_new" is true or false, not "yes""#),
        (file, CreateOptions::new().create_new(true).set("create_new", "true"), r#""create_new" is given twice"#),
        ("mem://file", CreateOptions::new().set("Create_new", "true"), r#"no option "Create_new""#),
    ] {
        let error = vfs.create_writer_with(uri, &options).unwrap_err();
        assert_eq!((error.kind(), error.operation()), (ErrorKind::InvalidInput, Operation::Create), "{error}");
        assert!(error.to_string().contains(complaint), "{error}");
        assert!(!vfs.exists(uri).unwrap(), "{uri} was made for nothing");
    }
    for uri in [file, "mem://file"] {
        let new = CreateOptions::new().create_new(true);
        vfs.create_writer_with(uri, &new).unwrap().close().unwrap();
        let by_name = CreateOptions::new().set("create_new", "true");
        for options in [&new, &by_name] {
            assert_eq!(vfs.create_writer_with(uri, options).unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        vfs.create_writer_with(uri, &new.create_new(false)).unwrap().close().unwrap();
    }
    for (policy, durable) in [(SyncPolicy::Never, 0), (SyncPolicy::OnClose, 3), (SyncPolicy::EveryBytes(2), 3)] {
        let mut writer = vfs.create_writer_with(file, &CreateOptions::new().sync(policy)).unwrap();
        writer.write_all(b"abc").unwrap();
        assert_eq!(writer.close().unwrap().durable, durable, "{policy:?}");
    }
}

#[test]
fn what_is_listed_can_be_read_by_the_name_that_was_listed() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().to_str().unwrap().replace('\\', "/");
    let names: &[&str] = if cfg!(windows) {
        &["a", "b c", "100%25", "ä", "x#y", "d"]
    } else {
        &["a", "b c", "100%25", "ä", "x#y?z", "d", "C:\\"]
    };
    let vfs = Vfs::new();
    let url = if folder.starts_with('/') { format!("file://{folder}") } else { format!("file:///{folder}") };
    for base in
        [folder.clone(), format!("{folder}/"), url.clone(), format!("{url}/"), "mem://".into(), "mem://in/here".into()]
    {
        vfs.create_folder(&base).unwrap();
        let join = |name: &str| match base.strip_suffix('/') {
            Some(base) if !base.ends_with(':') => format!("{base}/{name}"),
            _ => format!("{}/{name}", base.trim_end_matches('/')).replacen(
                "mem:/",
                "mem://",
                usize::from(base == "mem://"),
            ),
        };
        for name in names {
            let plain = if base.starts_with("file:") { format!("{folder}/{name}") } else { join(name) };
            vfs.create_writer(&plain).unwrap().close().unwrap();
            vfs.write(&plain, name.as_bytes()).unwrap();
        }
        let listed: Vec<_> = vfs.list(&base).unwrap().into_iter().filter(|entry| !entry.metadata.is_folder).collect();
        assert_eq!(listed.len(), names.len(), "{base}: {listed:?}");
        for entry in listed {
            let content = String::from_utf8(vfs.read(&entry.uri).unwrap()).unwrap();
            assert!(names.contains(&&*content), "{base}: {entry:?}");
            assert_eq!(entry.metadata.size, content.len() as u64, "{base}: {entry:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_name_of_any_bytes_is_given_plainly_or_encoded() {
    use std::os::unix::ffi::OsStrExt;
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join(OsStr::from_bytes(b"caf\xe9"));
    let vfs = Vfs::new();
    if let Err(error) = vfs.write(&path, b"plain") {
        return manyfiles_testkit::skip(format!("this file system wants UTF-8: {error}"));
    }
    let uri = format!("file://{}/caf%E9", temp.path().display());
    vfs.write(&uri, b", encoded").unwrap();
    assert_eq!(vfs.read(&path).unwrap(), b"plain, encoded");
    let listed = vfs.list(format!("file://{}", temp.path().display())).unwrap();
    assert_eq!(listed[0].uri.to_str(), Some(&*uri));
    let error = vfs.write(OsStr::from_bytes(b"file:///caf\xe9"), b"").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[cfg(unix)]
#[test]
fn relative_paths_stay_where_the_vfs_was_made() {
    if support::in_parent("relative_paths_stay_where_the_vfs_was_made", |_| {}) {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::env::set_current_dir(temp.path()).unwrap();
    let vfs = Vfs::new();
    vfs.write("file", b"1").unwrap();
    std::env::set_current_dir(elsewhere.path()).unwrap();
    vfs.write("./file", b"2").unwrap();
    assert_eq!(vfs.list(".").unwrap().len(), 1);
    vfs.wait().unwrap();
    assert_eq!(std::fs::read(temp.path().join("file")).unwrap(), b"12");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    // A folder that is gone is no reason not to make one.
    std::fs::remove_dir(elsewhere.path()).unwrap();
    let homeless = Vfs::new();
    assert!(homeless.write("file", b"x").unwrap_err().to_string().contains("give an absolute path"));
    homeless.write("mem://file", b"x").unwrap();
}
