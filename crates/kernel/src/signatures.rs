//! Which messages were read already. One that comes again was recorded and sent by somebody else: a
//! front end gives each message an id and a date of its own, so no two have the same signature.

use std::collections::{HashSet, VecDeque};

/// So many are remembered; then the oldest are forgotten, or the memory would fill up.
const MEMORY: usize = 1 << 16;

/// The signatures of the last messages, as they were written.
#[derive(Default)]
pub(super) struct Signatures {
    known: HashSet<Box<[u8]>>,
    by_age: VecDeque<Box<[u8]>>,
}

impl Signatures {
    /// Remembers it; whether it was unknown until now.
    pub(super) fn is_new(&mut self, signature: &[u8]) -> bool {
        if !self.known.insert(signature.into()) {
            return false;
        }
        self.by_age.push_back(signature.into());
        if self.by_age.len() > MEMORY
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_signature_is_new_once() {
        let mut signatures = Signatures::default();
        assert!(signatures.is_new(b"a"));
        assert!(signatures.is_new(b"b"));
        assert!(!signatures.is_new(b"a"));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut signatures = Signatures::default();
        assert!((0..=MEMORY).all(|n| signatures.is_new(&n.to_le_bytes())));
        assert_eq!(signatures.known.len(), MEMORY);
        assert_eq!(signatures.by_age.len(), MEMORY);
        assert!(!signatures.is_new(&1_usize.to_le_bytes()));
        assert!(signatures.is_new(&0_usize.to_le_bytes()), "the oldest");
    }
}
