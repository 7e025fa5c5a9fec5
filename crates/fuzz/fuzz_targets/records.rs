#![no_main]
//! A log of framed records that somebody else has written.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::records::read(bytes));
