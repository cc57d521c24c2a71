//! How much memory messages may take whose sender is not known yet: every user of the machine can connect to a port, and
//! send without a key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit for the messages of all connections together, in bytes.
const LIMIT: usize = 96 << 20;

/// What a message may take beside the limit: while one peer holds all of it, cells of usual length arrive.
const FREE: usize = 64 << 10;

/// The memory that is left for messages whose signature is not verified.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicUsize,
}

/// The memory of one message, which returns to the budget when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
    taken: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Budget {
    pub(super) fn with_limit(limit: usize) -> Self {
        Self {
            left: AtomicUsize::new(limit),
        }
    }
}

impl Share {
    /// Creates an empty share.
    pub(super) fn of(budget: &Arc<Budget>) -> Self {
        Self {
            budget: budget.clone(),
            bytes: 0,
            taken: 0,
        }
    }

    /// Takes this number of bytes more. Returns `false` if they are not left.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let wanted = self.bytes.saturating_add(bytes);
        let more = wanted.saturating_sub(FREE).saturating_sub(self.taken);
        let left = &self.budget.left;
        let take = |left: usize| left.checked_sub(more);
        if left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_err()
        {
            return false;
        }
        self.taken += more;
        self.bytes = wanted;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.taken, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_message_takes_another_lacks_until_it_is_dropped() {
        let budget = Arc::new(Budget::with_limit(100));
        let (mut first, mut second) = (Share::of(&budget), Share::of(&budget));
        assert!(first.grow(FREE) && first.grow(100));
        assert!(!first.grow(1) && !first.grow(usize::MAX));
        assert!(
            second.grow(FREE),
            "a message of usual length has memory of its own"
        );
        assert!(!second.grow(1));
        drop(first);
        assert!(second.grow(100));
        drop(second);
        assert_eq!(budget.left.load(Ordering::Relaxed), 100);
    }
}
