//! Differences of bytes: what is made of two contents makes the second again, and no bytes at all do harm as a difference.
#![no_main]

use copydesk_workspace::delta::{difference, restore};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8], u16)| {
    let (base, other, len) = input;
    let made = difference(base, other);
    assert_eq!(restore(base, &made, other.len()).as_deref(), Ok(other));
    if let Ok(restored) = restore(base, other, usize::from(len)) {
        assert_eq!(restored.len(), usize::from(len));
    }
});
