#![no_main]
//! A tar in `gz`. The first bytes are given, so that every input is one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&[b"\x1f\x8b\x08", bytes].concat()));
