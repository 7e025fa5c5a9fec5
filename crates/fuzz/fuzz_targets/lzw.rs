#![no_main]
//! A tar in compress(1)'s format. The first bytes are given, so that every input is one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&[b"\x1f\x9d", bytes].concat()));
