#![no_main]
//! A 7z, which is read from a file. Its checksums are made right.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::file(&manyfiles_fuzz::archive::sevenz(bytes)));
