#![no_main]
//! A package of rpm. The magic and the rest of the lead are given, which nobody looks at.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    manyfiles_fuzz::archive::stream(&[b"\xed\xab\xee\xdb", &[0; 92][..], bytes].concat());
});
