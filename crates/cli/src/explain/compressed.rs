//! A trace that is compressed is read as it is: by its first bytes, whatever its name says.

use std::io::{self, BufReader, Cursor, Read};

/// The first bytes tell.
const HEAD: usize = 6;

/// What the trace is compressed with is decoded on the way. Says whether there is any.
pub(super) fn decoded(mut read: Box<dyn Read>) -> io::Result<(Box<dyn Read>, bool)> {
    let mut head = Vec::with_capacity(HEAD);
    read.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let decode = decoder(&head);
    let whole = Cursor::new(head).chain(read);
    Ok(match decode {
        Some(decode) => (decode(Box::new(whole))?, true),
        None => (Box::new(whole), false),
    })
}

type Decode = fn(Box<dyn Read>) -> io::Result<Box<dyn Read>>;

fn decoder(head: &[u8]) -> Option<Decode> {
    Some(match head {
        [0x1f, 0x8b, ..] => |read| Ok(Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(read)))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => |read| Ok(Box::new(zstd::Decoder::new(read)?)),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => |read| Ok(Box::new(liblzma::read::XzDecoder::new_multi_decoder(read))),
        [b'B', b'Z', b'h', ..] => |read| Ok(Box::new(bzip2::read::MultiBzDecoder::new(read))),
        _ => return None,
    })
}
