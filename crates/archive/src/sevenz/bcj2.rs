//! [`Bcj2`]: the filter of x86 code that keeps the targets of calls and jumps in streams of their own.

use std::io::{self, BufReader, Read};

/// The probability of a bit, of which 2,048 is 1.
const HALF: u32 = 1 << 10;
const TOTAL_BITS: u32 = 11;
const MOVE_BITS: u32 = 5;
const TOP: u32 = 1 << 24;
/// One for each byte before a call, and those of the two kinds of jump.
const CALL_JUMP: usize = 256;

type Input<'a> = BufReader<Box<dyn Read + 'a>>;

pub(super) struct Bcj2<'a> {
    main: Input<'a>,
    calls: Input<'a>,
    jumps: Input<'a>,
    range_coder: Input<'a>,
    /// `None`: it has not begun.
    state: Option<(u32, u32)>,
    chances: [u32; CALL_JUMP + 2],
    before: u8,
    position: u32,
    /// What is left of the target that was put in place.
    target: [u8; 4],
    left: usize,
}

/// The next byte; `None`: there is none.
fn byte(input: &mut Input<'_>) -> io::Result<Option<u8>> {
    let mut byte = [0];
    Ok((input.read(&mut byte)? == 1).then_some(byte[0]))
}

fn needed(input: &mut Input<'_>) -> io::Result<u8> {
    byte(input)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl<'a> Bcj2<'a> {
    pub(super) fn new(
        main: Box<dyn Read + 'a>,
        calls: Box<dyn Read + 'a>,
        jumps: Box<dyn Read + 'a>,
        range_coder: Box<dyn Read + 'a>,
    ) -> Bcj2<'a> {
        let [main, calls, jumps, range_coder] =
            [main, calls, jumps, range_coder].map(|input| BufReader::with_capacity(64 << 10, input));
        let chances = [HALF; CALL_JUMP + 2];
        let (before, position, target, left) = (0, 0, [0; 4], 0);
        Bcj2 { main, calls, jumps, range_coder, state: None, chances, before, position, target, left }
    }

    /// Whether the target of a call or a jump follows from its own stream.
    fn bit(&mut self, number: usize) -> io::Result<bool> {
        let (mut range, mut code) = match self.state {
            Some(state) => state,
            None => {
                let mut code = 0;
                for _ in 0..5 {
                    code = code << 8 | u32::from(needed(&mut self.range_coder)?);
                }
                (u32::MAX, code)
            }
        };
        let chance = &mut self.chances[number];
        let bound = (range >> TOTAL_BITS) * *chance;
        let is_set = code >= bound;
        if is_set {
            range -= bound;
            code -= bound;
            *chance -= *chance >> MOVE_BITS;
        } else {
            range = bound;
            *chance += ((1 << TOTAL_BITS) - *chance) >> MOVE_BITS;
        }
        if range < TOP {
            range <<= 8;
            // The last bits need no byte behind them.
            code = code << 8 | u32::from(byte(&mut self.range_coder)?.unwrap_or(0));
        }
        self.state = Some((range, code));
        Ok(is_set)
    }

    /// The next byte that comes out.
    fn next(&mut self) -> io::Result<Option<u8>> {
        if self.left > 0 {
            self.left -= 1;
            self.position = self.position.wrapping_add(1);
            return Ok(Some(self.target[3 - self.left]));
        }
        let Some(this) = byte(&mut self.main)? else { return Ok(None) };
        self.position = self.position.wrapping_add(1);
        let before = std::mem::replace(&mut self.before, this);
        let number = match (before, this) {
            (before, 0xe8) => before.into(),
            (_, 0xe9) => CALL_JUMP,
            (0x0f, 0x80..=0x8f) => CALL_JUMP + 1,
            _ => return Ok(Some(this)),
        };
        if self.bit(number)? {
            let from = if this == 0xe8 { &mut self.calls } else { &mut self.jumps };
            let mut absolute = [0; 4];
            from.read_exact(&mut absolute)?;
            let relative = u32::from_be_bytes(absolute).wrapping_sub(self.position.wrapping_add(4));
            self.target = relative.to_le_bytes();
            self.left = 4;
            self.before = self.target[3];
        }
        Ok(Some(this))
    }
}

impl Read for Bcj2<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < into.len() {
            match self.next() {
                Ok(Some(byte)) => into[len] = byte,
                Ok(None) => break,
                // What came before is good; the error comes again.
                Err(error) if len == 0 => return Err(error),
                Err(_) => break,
            }
            len += 1;
        }
        Ok(len)
    }
}
