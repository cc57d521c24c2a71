//! Random damage to files and messages. A test has the same inputs each time, `FUZZ_SEED` and `FUZZ_INPUTS` give others.

// Each test file uses only some of these items.
#![allow(dead_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A generator of random numbers (xorshift).
pub(crate) struct Random(u64);

/// Values that a field of JSON or a line of a table does not expect.
const ODD: [&str; 16] = [
    "null",
    "[]",
    "{}",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\u{feff}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "\"🦀 数 \u{202e}\"",
    "true",
    "\n\r,\"",
    "../../../etc/passwd",
    "<<<<<<<",
];

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    /// Returns a part of the indices below `length`.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let end = start + self.below((length - start).min(64) + 1);
        start..end
    }

    /// Returns a copy with some damage: changed bits, bytes that are lost or twice there, odd values, an early end.
    pub(crate) fn damaged(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        for _ in 0..1 + self.below(4) {
            let range = self.range(bytes.len());
            match self.below(8) {
                0 if !bytes.is_empty() => {
                    let at = self.below(bytes.len());
                    bytes[at] ^= 1 << self.below(8);
                }
                1 => drop(bytes.drain(range)),
                2 => {
                    let part = bytes[range.clone()].to_vec();
                    bytes.splice(range.start..range.start, part);
                }
                3 => bytes.truncate(range.start),
                4 => drop(bytes.splice(range, ODD[self.below(ODD.len())].bytes())),
                5 => bytes[range].fill(if self.below(2) == 0 { 0 } else { 0xff }),
                6 => {
                    let noise = self.bytes(range.len());
                    bytes[range].copy_from_slice(&noise);
                }
                _ => self.replace_token(&mut bytes),
            }
        }
        bytes
    }

    /// Replaces a value between two separators by an odd one.
    fn replace_token(&mut self, bytes: &mut Vec<u8>) {
        let is_separator = |byte: &u8| b":,[]{}\n".contains(byte);
        let start = self.below(bytes.len());
        let Some(begin) = bytes[start..].iter().position(is_separator) else {
            return;
        };
        let begin = start + begin + 1;
        let end = bytes[begin..].iter().position(is_separator).unwrap_or(0);
        let odd = ODD[self.below(ODD.len())];
        bytes.splice(begin..begin + end, odd.bytes());
    }
}

/// Calls a function with damaged copies of these files, and fails if it panics. `usual` is the number of copies of which
/// a test of each change consists.
pub(crate) fn each_damaged(files: &[Vec<u8>], usual: usize, mut check: impl FnMut(Vec<u8>)) {
    let mut random = Random::new(setting("FUZZ_SEED", 1) as u64);
    for number in 0..setting("FUZZ_INPUTS", usual) {
        let input = random.damaged(&files[number % files.len()]);
        let kept = input.clone();
        if catch_unwind(AssertUnwindSafe(|| check(input))).is_err() {
            let text = String::from_utf8_lossy(&kept);
            panic!("input {number}, of {} bytes, fails: {text:?}", kept.len());
        }
    }
}

pub(crate) fn setting(name: &str, otherwise: usize) -> usize {
    let value = std::env::var(name).ok().and_then(|it| it.parse().ok());
    value.unwrap_or(otherwise)
}
