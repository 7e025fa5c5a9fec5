#![no_main]
//! A tar in `lz4`. The first bytes are given, so that every input is one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&[b"\x04\x22\x4d\x18", bytes].concat()));
