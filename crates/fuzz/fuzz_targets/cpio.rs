#![no_main]
//! A cpio archive, of the kind that the first byte says, from a file and with its magic in place.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let magics: [&[u8]; 5] = [b"070701", b"070702", b"070707", b"\xc7\x71", b"\x71\xc7"];
    manyfiles_fuzz::archive::file(&[magics[usize::from(*kind) % magics.len()], rest].concat());
});
