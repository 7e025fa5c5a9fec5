//! The corpora are what docs/measurements.md says they are.

use manyfiles_testkit::Corpus;

#[test]
fn a_seed_makes_the_same_bytes_every_time() {
    assert_eq!(Corpus::w1(7).files, Corpus::w1(7).files);
    assert_ne!(Corpus::w1(7).files, Corpus::w1(8).files);
}

#[test]
fn w1_is_2300_files_of_about_1500_bytes_in_one_folder() {
    let w1 = Corpus::w1(1);
    assert_eq!((w1.files.len(), w1.folders().len()), (2_300, 1));
    let mean = w1.bytes() / 2_300;
    assert!((1_450..1_600).contains(&mean), "mean {mean}");
}

#[test]
fn w2_is_50000_files_of_232_megabytes_in_2954_folders() {
    let w2 = Corpus::w2(1);
    assert_eq!((w2.files.len(), w2.folders().len()), (50_000, 2_954));
    let mut sizes: Vec<usize> = w2.files.iter().map(|(_, bytes)| bytes.len()).collect();
    sizes.sort_unstable();
    let (median, largest, all) = (sizes[25_000], sizes[49_999], w2.bytes());
    assert!((1_950..2_150).contains(&median), "median {median}");
    assert!(largest <= 64 << 10, "largest {largest}");
    assert!((222_000_000..242_000_000).contains(&all), "{all} bytes");
    let mut paths: Vec<_> = w2.files.iter().map(|(path, _)| path).collect();
    paths.dedup();
    assert_eq!(paths.len(), 50_000, "no path comes twice");
}
