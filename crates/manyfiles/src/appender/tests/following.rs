//! What a follower reads.

use std::sync::Arc;

use super::disk::{Disk, base};
use crate::appender::log::frame::FRAME;
use crate::appender::{Appender, Records};

#[test]
fn behind_a_record_a_follower_reads_no_more_than_where_the_next_one_begins() {
    let disk = Disk::default();
    let appender = Appender::new(&base(), Appender::options().framed(true), Arc::new(disk.clone())).unwrap();
    let mut follow = Records::open_in(Arc::new(disk.clone()), &base(), None).unwrap().follow();
    for n in 0..200_u32 {
        appender.append_durable(&n.to_le_bytes()).unwrap();
        assert_eq!(follow.try_next().expect("it is there").unwrap(), n.to_le_bytes());
        let before = disk.bytes_read();
        assert!(follow.try_next().is_none());
        assert!(disk.bytes_read() - before <= FRAME as u64, "{} bytes", disk.bytes_read() - before);
    }
}

#[test]
fn what_was_damaged_into_zeros_is_told_to_a_follower_though_he_does_not_look_behind_them_at_once() {
    let disk = Disk::default();
    let appender = Appender::new(&base(), Appender::options().framed(true), Arc::new(disk.clone())).unwrap();
    for n in 0..9_u8 {
        appender.append_durable(&[n + 1; 50]).unwrap();
    }
    std::mem::forget(appender);
    let (mut bytes, _) = disk.file(&base()).unwrap();
    let at = bytes.windows(50).position(|window| window == [5; 50]).unwrap();
    bytes[at - FRAME..at + 50].fill(0);
    let disk = Disk::holding(&[(base(), bytes)].into());
    let mut follow = Records::open_in(Arc::new(disk), &base(), None).unwrap().follow();
    let (mut seen, mut told) = (Vec::new(), 0);
    // Polls, without the time between them.
    for _ in 0..100 {
        match follow.try_next() {
            Some(Ok(record)) => seen.push(record[0]),
            Some(Err(error)) => {
                assert!(error.damage().is_some(), "{error}");
                told += 1;
            }
            None => {}
        }
    }
    assert_eq!((seen, told), (vec![1, 2, 3, 4, 6, 7, 8, 9], 1));
}
