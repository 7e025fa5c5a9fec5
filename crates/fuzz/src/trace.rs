//! Traces: the sums add up, whatever the sizes of the blocks that they are read in.

use std::io::{self, Read};

use manyfiles_trace::render::{self, Detail};
use manyfiles_trace::{Progress, Report, explain};

/// A source that gives a few bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let count = self.1.min(buffer.len());
        (&mut self.0).take(count as u64).read(buffer)
    }
}

pub fn read(bytes: &[u8]) {
    let whole = explain(&mut &*bytes, &Progress::default());
    let pieces = explain(&mut Pieces(bytes, bytes.len()), &Progress::default());
    match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => assert_eq!(text(whole), text(pieces), "by blocks and by pieces"),
        (Err(whole), Err(pieces)) => assert_eq!(whole.to_string(), pieces.to_string(), "by blocks and by pieces"),
        _ => panic!("by blocks: {whole:?}, by pieces: {pieces:?}"),
    }
    let Ok(report) = whole else { return };
    let calls: u64 = report.operations.iter().map(|operation| operation.sum.calls).sum();
    assert_eq!(calls, report.total.calls);
    assert!(report.total.calls + report.damage.lines <= report.lines + 1);
    assert!(render::html(&report, "x").ends_with("</html>\n"));
}

fn text(report: &Report) -> String {
    render::text(report, Detail { rows: 5, width: Some(60) }) + &render::json(report).to_string()
}
