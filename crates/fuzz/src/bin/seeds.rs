//! `seeds`: writes the inputs that each target begins with into `corpus`, in the current folder.

use std::fs;
use std::path::Path;

use manyfiles::appender::Appender;
use manyfiles::tree::Metadata;
use manyfiles_archive::{ArchiveWriter, Compression, Format};

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
