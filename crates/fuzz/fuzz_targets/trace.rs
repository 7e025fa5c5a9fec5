#![no_main]
//! A trace of system calls, of any format.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::trace::read(bytes));
