#![no_main]
//! A tar in `zst`. The first bytes are given, so that every input is one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&[b"\x28\xb5\x2f\xfd", bytes].concat()));
