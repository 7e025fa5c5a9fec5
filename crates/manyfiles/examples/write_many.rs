//! Writes many small files and prints the report: `write_many FOLDER [FILES]`.
//!
//! Run it twice to see what a name that is taken leads to, or on a folder that you may not write in.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::time::Instant;

    use manyfiles::tree::TreeWriter;

    const PER_FOLDER: usize = 100;
    let mut args = std::env::args_os().skip(1);
    let folder = args.next().ok_or("usage: write_many FOLDER [FILES]")?;
    let files: usize = match args.next() {
        Some(files) => files.to_str().ok_or("FILES is a number")?.parse()?,
        None => 10_000,
    };

    let start = Instant::now();
    let tree = TreeWriter::open(folder)?;
    for n in 0..files {
        // An error here says only that the path was refused or the writing cancelled; the report has it too.
        tree.file(format!("{:04}/{n}.txt", n / PER_FOLDER), format!("This is file number {n}.\n"))?;
    }
    let (report, complete) = match tree.finish() {
        Ok(report) => (report, true),
        Err(incomplete) => (incomplete.into_report(), false),
    };

    println!("{} files, {} bytes in {:?}", report.files, report.bytes, start.elapsed());
    println!("at most {} threads at once; time of all threads by call: {:?}", report.peak_threads, report.times);
    for failure in report.failures.iter().take(10) {
        eprintln!("{failure}");
    }
    if complete { Ok(()) } else { Err(format!("{} files did not arrive", report.failures.len()).into()) }
}
