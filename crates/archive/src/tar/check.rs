//! What a test does with a tar: reads all content, goes on behind damage, and looks at the end.

use super::member::Member;
use super::scan::Scanner;
use super::source::Source;
use super::walk::{SumDiffers, Walk};
use crate::cancel::Cancel;
use crate::error::{ErrorKind, Result};
use crate::sys;
use crate::tar_header::{BLOCK, Block, Header};
use crate::test::Test;

/// The zeros that end a tar: two blocks.
const END: u64 = 2 * BLOCK as u64;

/// Reads the content of an entry. What `unpack` gets is what stands before the first damage.
pub(super) fn content<W: Walk>(
    scanner: &mut W,
    member: &Member,
    test: &mut Test<'_>,
    cancel: &Cancel,
) -> Result<(), ErrorKind> {
    let path = sys::path(&member.path);
    test.current = Some(path.to_path_buf());
    if let Some(cause) = member.ignored
        && let ErrorKind::Damaged { at, .. } = scanner.source().damage(scanner.source().position(), cause)
    {
        test.tell(Some(path), Some(at), cause);
    }
    let read = all(scanner, cancel);
    match read {
        Ok(()) => {
            test.current = None;
            if let Err(SumDiffers) = scanner.check_sum(member)
                && let ErrorKind::Damaged { at, cause, .. } =
                    scanner.source().damage(scanner.source().position(), SumDiffers::CAUSE)
            {
                test.tell(Some(path), Some(at), cause);
                test.entry(0, false);
                return Ok(());
            }
            test.entry(member.size, !test.is_damaged);
        }
        Err(_) => test.entry(0, false),
    }
    read
}

/// Compares the content of an entry with its sum, if it has one: what is read by entries later is not.
pub(super) fn sum<W: Walk>(scanner: &mut W, member: &Member, cancel: &Cancel) -> Result<(), ErrorKind> {
    if member.sum.is_some() {
        all(scanner, cancel)?;
    }
    let position = scanner.source().position();
    scanner.check_sum(member).map_err(|SumDiffers| scanner.source().damage(position, SumDiffers::CAUSE))
}

fn all<W: Walk>(scanner: &mut W, cancel: &Cancel) -> Result<(), ErrorKind> {
    while scanner.left() > 0 {
        cancel.check()?;
        if !scanner.body_mut().read_over()? {
            return Err(scanner.cut_short());
        }
    }
    Ok(())
}

/// Tells of one block of zeros at byte `start`, behind which the tar goes on. The end of a tar has two. One may be the
/// header of an entry without content (an empty file, a folder, a link), of which nothing else is left.
pub(super) fn lone_zeros<S: Source>(scanner: &Scanner<S>, start: u64, test: &mut Test<'_>) {
    let cause = "a block of zeros stands where an entry should begin; some programs take it for the end of the tar";
    if let ErrorKind::Damaged { at, .. } = scanner.source().damage(start, cause) {
        test.tell(None, Some(at), cause);
    }
}

/// Tells if the end is not what ends a tar. Where it is cut short between two entries, nothing else tells.
pub(super) fn end<S: Source>(scanner: &Scanner<S>, test: &mut Test<'_>) {
    let cause = match scanner.end {
        Some(END..) => return,
        Some(zeros) if zeros > 0 => "only one of the two blocks of zeros that end a tar is there",
        _ => "the blocks of zeros that end a tar are missing; it may have been cut short behind this entry",
    };
    // Damage that was told before is the reason.
    if test.findings == 0
        && let ErrorKind::Damaged { at, .. } = scanner.source().damage(scanner.source().position(), cause)
    {
        test.tell(None, Some(at), cause);
    }
}

impl<S: Source> Scanner<S> {
    /// Goes to the next block that is a header, behind damage. There may be none: then the tar has ended.
    pub(super) fn find_header(&mut self, cancel: &Cancel) -> Result<(), ErrorKind> {
        (self.body.left, self.body.padding) = (0, 0);
        // Of what was damaged, something was there.
        self.headers = self.headers.max(1);
        let misaligned = self.source().position() % BLOCK as u64;
        if misaligned > 0 {
            self.source_mut().skip(BLOCK as u64 - misaligned)?;
        }
        let mut block: Block = [0; BLOCK];
        let mut zeros = 0;
        loop {
            cancel.check()?;
            let header = match self.source_mut().read(&mut block)? {
                BLOCK => Header::new(&block),
                _ => {
                    self.end = Some(zeros);
                    return Ok(());
                }
            };
            zeros = if header.is_zero() { zeros + BLOCK as u64 } else { 0 };
            // Content may look like a header of the oldest tars by chance, or for its sum; with the magic it hardly
            // does.
            if header.has_magic() && header.checksum_matches() {
                self.ahead = Some(block);
                return Ok(());
            }
        }
    }
}
