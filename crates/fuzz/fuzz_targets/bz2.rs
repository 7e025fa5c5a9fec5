#![no_main]
//! A tar in `bz2`. The first bytes are given, so that every input is one.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&[b"BZh", bytes].concat()));
