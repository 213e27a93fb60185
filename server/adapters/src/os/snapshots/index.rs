//! The inodes in a Git index, of which git itself tells in no form that stays: pure (gitformat-index(5), versions 2 to 4).

use std::collections::HashSet;

/// What stands before the name of an object: two times, device, inode, mode, owner, group, size.
const STAT: usize = 40;
const INODE: usize = 20;
const EXTENDED: u16 = 0x4000;

/// The lower halves of all of them: an index holds no more. `None` where it is no index. `object` is the length of the name of one, bytes.
pub(super) fn inodes(index: &[u8], object: usize) -> Option<HashSet<u32>> {
    let version = match index.get(..8)?.split_at(4) {
        (b"DIRC", [0, 0, 0, version @ 2..=4]) => *version,
        _ => return None,
    };
    let count = number(index, 8)?;
    let mut inodes = HashSet::new();
    let mut at = 12;
    for _ in 0..count {
        inodes.insert(number(index, at + INODE)?);
        let flags = at + STAT + object;
        let is_extended = u16::from_be_bytes(*index.get(flags..)?.first_chunk()?) & EXTENDED != 0;
        let mut name = flags + if is_extended { 4 } else { 2 };
        if version == 4 {
            // How much of the name before it stays: a number whose last byte is below 128.
            name += index.get(name..)?.iter().position(|byte| *byte < 128)? + 1;
        }
        let end = name + index.get(name..)?.iter().position(|byte| *byte == 0)?;
        // One NUL, or as many as make it a multiple of eight.
        at = if version == 4 { end + 1 } else { at + ((end - at + 8) & !7) };
    }
    Some(inodes)
}

fn number(index: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*index.get(at..)?.first_chunk()?))
}
