//! `seeds`: writes the inputs that each target begins with into `corpus`, in the current folder.

use std::fs;
use std::path::Path;

use manyfiles::appender::Appender;
use manyfiles::tree::Metadata;
use manyfiles_archive::{ArchiveWriter, Compression, Format};

/// What is read and not written: by hand, without the bytes that the targets put before them.
fn others(corpus: &Path) -> std::io::Result<()> {
    let mut cpio: Vec<u8> = Vec::new();
    let entries = [("a", 0o100_644, 1, "content"), ("b", 0o100_644, 2, ""), ("c", 0o100_644, 2, "of both")];
    for (name, mode, names, content) in entries.into_iter().chain([("TRAILER!!!", 0, 1, "")]) {
        let fields = [5, mode, 0, 0, names, 7, content.len(), 0, 0, 0, 0, name.len() + 1, 0];
        cpio.extend(b"070701");
        fields.iter().for_each(|field| cpio.extend(format!("{field:08x}").bytes()));
        cpio.extend([name.as_bytes(), &[0]].concat());
        cpio.resize(cpio.len().next_multiple_of(4), 0);
        cpio.extend(content.bytes());
        cpio.resize(cpio.len().next_multiple_of(4), 0);
    }
    let member = |name: &str, content: &str| {
        let pad = if content.len() % 2 == 1 { "\n" } else { "" };
        format!("{name:<16}7           0     0     100644  {:<10}`\n{content}{pad}", content.len())
    };
    let ar = [member("//", "a long name/\n\n"), member("/0", "odd"), member("#1/4", "namecontent")].concat();
    let deb = [member("debian-binary", "2.0\n"), member("control.tar", ""), member("data.tar", &"\0".repeat(1024))];
    let header = [&[0x8e, 0xad, 0xe8, 1][..], &[0; 12]].concat();
    let rpm = [&header[..], &header, &cpio].concat();
    for (name, file, bytes) in [
        ("cpio", "whole", [&[0][..], &cpio[6..]].concat()),
        ("ar", "whole", ar.into_bytes()),
        ("ar", "deb", deb.concat().into_bytes()),
        ("rpm", "whole", rpm),
        ("lzw", "zeros", vec![0x90, 0, 2, 6, 12, 32, 80, 192, 192]),
    ] {
        fs::create_dir_all(corpus.join(name))?;
        fs::write(corpus.join(name).join(file), bytes)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = Path::new("corpus");
    let tar = |compression| Format::Tar(compression);
    let archives = [
        ("tar", tar(None), 0),
        ("gz", tar(Some(Compression::Gzip)), 3),
        ("bz2", tar(Some(Compression::Bzip2)), 3),
        ("xz", tar(Some(Compression::Xz)), 6),
        ("zst", tar(Some(Compression::Zstd)), 4),
        ("lz4", tar(Some(Compression::Lz4)), 4),
        ("zip", Format::Zip, 0),
    ];
    for (name, format, given) in archives {
        let folder = corpus.join(name);
        fs::create_dir_all(&folder)?;
        let path = folder.join("whole");
        let writer = ArchiveWriter::options().format(format).replace(true).threads(1).create(&path)?;
        writer.folder("a", Metadata::default())?;
        writer.file("a/file", "some text ".repeat(30).into_bytes(), Metadata::default())?;
        writer.file("a/empty", Vec::new(), Metadata::default())?;
        writer.symlink("a/link", "file", Metadata::default())?;
        let long = format!("{}/x", "long".repeat(40));
        writer.file(&long, b"x".to_vec(), Metadata::default())?;
        writer.finish()?;
        // The target puts the first bytes there.
        let bytes = fs::read(&path)?;
        fs::write(&path, &bytes[given..])?;
    }
    others(corpus)?;
    let log = corpus.join("records");
    fs::create_dir_all(&log)?;
    let appender = Appender::options().framed(true).open(log.join("whole"))?;
    for n in 0..8usize {
        appender.append_durable("record ".repeat(n * n).as_bytes())?;
    }
    fs::copy(log.join("whole"), log.join("open"))?;
    appender.close()?;
    let traces = corpus.join("trace");
    fs::create_dir_all(&traces)?;
    for fixture in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace/tests/fixtures"))? {
        let fixture = fixture?;
        let bytes = fs::read(fixture.path())?;
        // Short inputs are changed more often in a place that matters.
        fs::write(traces.join(fixture.file_name()), &bytes[..bytes.len().min(8000)])?;
    }
    let names = corpus.join("names");
    fs::create_dir_all(&names)?;
    for (n, name) in
        ["a/b", "../a", "/a", "C:\\a", "file:///a%20b", "mem://a", "a/./b//", "file://host/a"].iter().enumerate()
    {
        fs::write(names.join(n.to_string()), name)?;
    }
    Ok(())
}
