#![no_main]
//! A plain tar whose headers have right checksums: with wrong ones hardly any input would be read further.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| manyfiles_fuzz::archive::stream(&manyfiles_fuzz::archive::with_checksums(
    bytes
)));
