#![no_main]
//! An image of a CD, whose first 32 KiB, which mean nothing, are not in the input.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::file(&[&[0; 0x8000], bytes].concat()));
