//! Protection against replay. Each message of a front end has its own id and date, so two messages with
//! the same signature are the same message, which another process recorded and sent again.

use std::collections::{HashSet, VecDeque};

/// This many signatures are remembered, which bounds the memory that they take.
const CAPACITY: usize = 1 << 16;

/// The signatures of the last messages.
#[derive(Default)]
pub(super) struct SeenSignatures {
    known: HashSet<Box<[u8]>>,
    by_age: VecDeque<Box<[u8]>>,
}

impl SeenSignatures {
    /// Remembers a signature and returns whether it is new.
    pub(super) fn insert(&mut self, signature: &[u8]) -> bool {
        if !self.known.insert(signature.into()) {
            return false;
        }
        self.by_age.push_back(signature.into());
        if self.by_age.len() > CAPACITY
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
        let mut signatures = SeenSignatures::default();
        assert!(signatures.insert(b"a"));
        assert!(signatures.insert(b"b"));
        assert!(!signatures.insert(b"a"));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut signatures = SeenSignatures::default();
        assert!((0..=CAPACITY).all(|n| signatures.insert(&n.to_le_bytes())));
        assert_eq!(signatures.known.len(), CAPACITY);
        assert_eq!(signatures.by_age.len(), CAPACITY);
        assert!(!signatures.insert(&1_usize.to_le_bytes()));
        assert!(signatures.insert(&0_usize.to_le_bytes()), "the oldest");
    }
}
