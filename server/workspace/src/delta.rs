//! Bytes as their difference from similar bytes, and back: so that a hundred versions of a file cost little more than one. It compresses nothing beside that.
//!
//! The way is that of Git's packed deltas: pieces copied from the base, found by the hashes of its blocks, and new bytes between them.

use std::collections::HashMap;
use std::ops::Range;

/// Bytes of the base that are looked for in the target as a whole.
const BLOCK: usize = 32;
/// Of the rolling hash; odd, so that no byte's share is ever shifted out.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    #[error("the difference ends too early")]
    Cut,
    #[error("the difference belongs to other bytes")]
    WrongBase,
    #[error("the difference makes other than {expected} bytes")]
    WrongLength { expected: usize },
}

/// What `restore` makes `target` of again. At most a few bytes longer than `target`.
pub fn difference(base: &[u8], target: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let prefix = base.iter().zip(target).take_while(|(a, b)| a == b).count();
    let most = base.len().min(target.len()) - prefix;
    let ends = base.iter().rev().zip(target.iter().rev());
    let suffix = ends.take(most).take_while(|(a, b)| a == b).count();
    copy(&mut out, 0..prefix);
    let middle = target.len() - suffix;
    if prefix < middle {
        changed(base, target, prefix..middle, &mut out);
    }
    copy(&mut out, base.len() - suffix..base.len());
    out
}

/// `len`: bytes of the result, which is never more than that, whatever `difference` holds.
pub fn restore(base: &[u8], difference: &[u8], len: usize) -> Result<Vec<u8>, DeltaError> {
    let too_many = DeltaError::WrongLength { expected: len };
    let mut out = Vec::with_capacity(len.min(base.len() + difference.len()));
    let mut rest = difference;
    while !rest.is_empty() {
        let word = number(&mut rest)?;
        let count = usize::try_from(word >> 1).map_err(|_| too_many)?;
        if count > len - out.len() {
            return Err(too_many);
        }
        if word & 1 == 1 {
            let start = usize::try_from(number(&mut rest)?).map_err(|_| DeltaError::WrongBase)?;
            let end = start.checked_add(count).ok_or(DeltaError::WrongBase)?;
            out.extend_from_slice(base.get(start..end).ok_or(DeltaError::WrongBase)?);
        } else {
            let (new, tail) = rest.split_at_checked(count).ok_or(DeltaError::Cut)?;
            out.extend_from_slice(new);
            rest = tail;
        }
    }
    if out.len() == len { Ok(out) } else { Err(too_many) }
}

/// The part of the target that is not equal at its ends.
fn changed(base: &[u8], target: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    let blocks = blocks(base);
    let mut new_from = part.start;
    let mut at = part.start;
    let mut rolling: Option<u64> = None;
    while at + BLOCK <= part.end && !blocks.is_empty() {
        let window = &target[at..at + BLOCK];
        let hash = rolling.unwrap_or_else(|| hash(window));
        let found = blocks.get(&hash).copied().filter(|found| base[*found..*found + BLOCK] == *window);
        let Some(found) = found else {
            rolling = target.get(at + BLOCK).map(|next| roll(hash, target[at], *next));
            at += 1;
            continue;
        };
        let back = base[..found].iter().rev().zip(target[new_from..at].iter().rev());
        let back = back.take_while(|(a, b)| a == b).count();
        let on = base[found..].iter().zip(&target[at..part.end]).take_while(|(a, b)| a == b).count();
        insert(out, &target[new_from..at - back]);
        copy(out, found - back..found + on);
        at += on;
        new_from = at;
        rolling = None;
    }
    insert(out, &target[new_from..part.end]);
}

/// Where each block of the base starts, by its hash; of equal ones the first.
fn blocks(base: &[u8]) -> HashMap<u64, usize> {
    let mut blocks = HashMap::with_capacity(base.len() / BLOCK);
    for (index, block) in base.chunks_exact(BLOCK).enumerate() {
        blocks.entry(hash(block)).or_insert(index * BLOCK);
    }
    blocks
}

/// A polynomial of the bytes, so that it can be rolled on.
fn hash(window: &[u8]) -> u64 {
    window.iter().fold(0, |hash: u64, byte| hash.wrapping_mul(FACTOR).wrapping_add(u64::from(*byte) + 1))
}

fn roll(hash: u64, leaves: u8, comes: u8) -> u64 {
    const HIGHEST: u64 = FACTOR.wrapping_pow(BLOCK as u32 - 1);
    hash.wrapping_sub((u64::from(leaves) + 1).wrapping_mul(HIGHEST))
        .wrapping_mul(FACTOR)
        .wrapping_add(u64::from(comes) + 1)
}

fn copy(out: &mut Vec<u8>, range: Range<usize>) {
    if !range.is_empty() {
        put(out, (range.len() as u64) << 1 | 1);
        put(out, range.start as u64);
    }
}

fn insert(out: &mut Vec<u8>, bytes: &[u8]) {
    if !bytes.is_empty() {
        put(out, (bytes.len() as u64) << 1);
        out.extend_from_slice(bytes);
    }
}

/// Seven bits a byte, the lowest first.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn number(rest: &mut &[u8]) -> Result<u64, DeltaError> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(DeltaError::Cut)?;
        *rest = tail;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(DeltaError::Cut)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(base: &[u8], target: &[u8], most: usize) {
        let delta = difference(base, target);
        assert_eq!(restore(base, &delta, target.len()).unwrap(), target);
        assert!(delta.len() <= most, "{} bytes", delta.len());
    }

    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(seed), next).map(|state| (state >> 56) as u8).take(len).collect()
    }

    #[test]
    fn c35_what_is_alike_costs_little() {
        let base = noise(1, 100_000);
        check(&base, &base, 8);
        check(&base, &[&base[..50_000], b"new", &base[50_000..]].concat(), 32);
        // Two places far apart, one of them moved.
        check(&base, &[&base[70_000..], b"x", &base[..30_000], b"y", &base[30_000..70_000]].concat(), 200);
        check(&base, b"", 0);
        check(b"", &base, base.len() + 8);
        let other = noise(2, 100_000);
        check(&base, &other, other.len() + 8);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let delta = difference(b"abcdef", b"abcxdef");
        assert_eq!(restore(b"ab", &delta, 7), Err(DeltaError::WrongBase));
        assert_eq!(restore(b"abcdef", &delta, 6), Err(DeltaError::WrongLength { expected: 6 }));
        assert_eq!(restore(b"abcdef", &delta, 8), Err(DeltaError::WrongLength { expected: 8 }));
        assert_eq!(restore(b"abcdef", &[8, b'a'], 4), Err(DeltaError::Cut));
        assert_eq!(restore(b"abcdef", &[0xff; 20], 4), Err(DeltaError::Cut));
    }

    proptest! {
        #[test]
        fn what_was_made_is_restored(base in "[ab]{0,300}", target in "[ab]{0,300}", cut in 0_usize..300) {
            let (base, target) = (base.as_bytes(), target.as_bytes());
            let mixed = [&base[cut.min(base.len())..], target, &base[..cut.min(base.len())]].concat();
            for target in [target, &mixed] {
                let delta = difference(base, target);
                prop_assert_eq!(restore(base, &delta, target.len()).unwrap(), target);
                prop_assert!(delta.len() <= target.len() + 16, "{} for {}", delta.len(), target.len());
            }
        }

        #[test]
        fn no_bytes_do_harm(
            base in prop::collection::vec(any::<u8>(), 0..200),
            delta in prop::collection::vec(any::<u8>(), 0..200),
            len in 0_usize..1000,
        ) {
            if let Ok(made) = restore(&base, &delta, len) {
                prop_assert_eq!(made.len(), len);
            }
        }
    }
}
