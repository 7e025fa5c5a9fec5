#![no_main]
//! An ar archive; one that begins with `debian-binary` is a package of Debian.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::file(&[b"!<arch>\n", bytes].concat()));
