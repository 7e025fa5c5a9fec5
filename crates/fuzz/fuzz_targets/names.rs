#![no_main]
//! Paths of entries, and URIs.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::names::check(bytes));
