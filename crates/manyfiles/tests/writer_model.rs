//! A file ends up as a vector would, by whatever writer and whatever calls.
#![cfg(feature = "full")]

#[path = "support/writers.rs"]
mod writers;

use std::fs;
use std::io::{IoSlice, SeekFrom, Write};

use manyfiles_testkit::cases;
use proptest::prelude::*;
use writers::{record, variants};

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    WriteVectored(usize, usize),
    WriteAt(u64, usize),
    /// At so many bytes before the end of what was written last.
    Patch(u64, usize),
    SeekStart(u64),
    SeekCurrent(i64),
    SeekEnd(i64),
    Flush,
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    let len = || prop_oneof![4 => 0..40usize, 2 => 0..3000usize, 1 => 0..30_000usize];
    let at = || prop_oneof![0..200u64, 0..40_000u64];
    prop_oneof![
        8 => len().prop_map(Step::Write),
        1 => (len(), len()).prop_map(|(a, b)| Step::WriteVectored(a, b)),
        2 => (at(), len()).prop_map(|(offset, len)| Step::WriteAt(offset, len)),
        2 => (0..300u64, 0..300usize).prop_map(|(back, len)| Step::Patch(back, len)),
        1 => at().prop_map(Step::SeekStart),
        1 => (-300..300i64).prop_map(Step::SeekCurrent),
        1 => (-300..300i64).prop_map(Step::SeekEnd),
        1 => Just(Step::Flush),
        1 => Just(Step::Sync),
    ]
}

/// What a file is: bytes and a position.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    position: u64,
}

impl Model {
    fn write_at(&mut self, bytes: &[u8], offset: u64) {
        let (from, to) = (offset as usize, offset as usize + bytes.len());
        if !bytes.is_empty() {
            self.bytes.resize(self.bytes.len().max(to), 0);
            self.bytes[from..to].copy_from_slice(bytes);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.write_at(bytes, self.position);
        self.position += bytes.len() as u64;
    }

    /// As the writer says, or `None` if there is no such place.
    fn seek(&mut self, to: Option<u64>) -> Option<u64> {
        self.position = to?;
        to
    }
}

/// Hundreds of syncs of a disk would take minutes.
fn in_memory() -> tempfile::TempDir {
    #[cfg(target_os = "linux")]
    return manyfiles_testkit::scratch().unwrap();
    #[cfg(not(target_os = "linux"))]
    tempfile::tempdir().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_ends_up_as_a_vector_would(steps in prop::collection::vec(step(), 0..40)) {
        let temp = in_memory();
        for (name, options) in variants() {
            let path = temp.path().join("file");
            let mut file = options.create(&path).unwrap();
            let mut model = Model::default();
            let mut taken = 0;
            for (salt, step) in steps.iter().enumerate() {
                match *step {
                    Step::Write(len) => {
                        let record = record(len, salt);
                        file.write_all(&record).unwrap();
                        model.write(&record);
                        taken += len as u64;
                    }
                    Step::WriteVectored(a, b) => {
                        let (a, b) = (record(a, salt), record(b, salt + 1));
                        let len = file.write_vectored(&[IoSlice::new(&a), IoSlice::new(&b)]).unwrap();
                        prop_assert_eq!(len, a.len() + b.len());
                        model.write(&a);
                        model.write(&b);
                        taken += len as u64;
                    }
                    Step::WriteAt(offset, len) => {
                        let record = record(len, salt);
                        file.write_at(&record, offset).unwrap();
                        model.write_at(&record, offset);
                        taken += len as u64;
                    }
                    Step::Patch(back, len) => {
                        let offset = model.position.saturating_sub(back);
                        let record = record(len, salt);
                        file.write_at(&record, offset).unwrap();
                        model.write_at(&record, offset);
                        taken += len as u64;
                    }
                    Step::SeekStart(to) => {
                        prop_assert_eq!(file.seek(SeekFrom::Start(to)).ok(), model.seek(Some(to)));
                    }
                    Step::SeekCurrent(by) => {
                        let to = model.position.checked_add_signed(by);
                        prop_assert_eq!(file.seek(SeekFrom::Current(by)).ok(), model.seek(to));
                    }
                    Step::SeekEnd(by) => {
                        let to = (model.bytes.len() as u64).checked_add_signed(by);
                        prop_assert_eq!(file.seek(SeekFrom::End(by)).ok(), model.seek(to));
                    }
                    Step::Flush => {
                        file.flush().unwrap();
                        prop_assert_eq!(file.buffered(), 0);
                        prop_assert!(fs::read(&path).unwrap() == model.bytes, "{}: not all was flushed", name);
                    }
                    Step::Sync => {
                        file.sync().unwrap();
                        prop_assert_eq!((file.buffered(), file.durable()), (0, file.written()));
                        prop_assert!(fs::read(&path).unwrap() == model.bytes, "{}: not all was synced", name);
                    }
                }
                prop_assert_eq!(file.position(), model.position, "{}", &name);
                prop_assert!(file.written() + file.buffered() <= taken && file.durable() <= file.written());
            }
            let written = file.close().unwrap();
            prop_assert!(written.bytes <= taken);
            prop_assert!(fs::read(&path).unwrap() == model.bytes, "{}: other bytes", name);
        }
    }
}
