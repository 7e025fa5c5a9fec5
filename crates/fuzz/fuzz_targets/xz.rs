#![no_main]
//! A tar in `xz`. The first bytes are given, so that every input is one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&[b"\xfd7zXZ\0", bytes].concat()));
