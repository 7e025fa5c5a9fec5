#![no_main]
//! A zip, which is read from a file.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::file(bytes));
