//! Whether a tar is whole, and what it has: by the format's description alone, not by a reader that is judged.

use std::collections::BTreeMap;

const BLOCK: usize = 512;

/// The files of a tar by their paths, links to earlier ones included. `None`: it is not whole.
pub fn files(tar: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut at = 0;
    loop {
        let header = tar.get(at..at + BLOCK)?;
        at += BLOCK;
        if header.iter().all(|&byte| byte == 0) {
            // Two blocks of zeros end it; more fill it up.
            return (tar.len() > at && tar[at..].iter().all(|&byte| byte == 0)).then_some(files);
        }
        let text = |from: usize, len: usize| {
            let field = &header[from..from + len];
            let end = field.iter().position(|&byte| byte == 0).unwrap_or(len);
            String::from_utf8_lossy(&field[..end]).trim_matches([' ', '/']).trim_start_matches("./").to_owned()
        };
        let size = usize::from_str_radix(text(124, 12).trim(), 8).ok()?;
        let content = tar.get(at..at.checked_add(size)?)?;
        at += size.next_multiple_of(BLOCK);
        match header[156] {
            b'0' | 0 => drop(files.insert(text(0, 100), content.to_vec())),
            b'1' => {
                let linked: Vec<u8> = files.get(&text(157, 100))?.clone();
                files.insert(text(0, 100), linked);
            }
            _ => {}
        }
    }
}
