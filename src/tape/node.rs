//! What else is known of a node, and how it is dropped.

use super::{Inputs, Node, Rule};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Node {
    /// Returns whether a kernel has computed the output.
    #[cfg(test)]
    pub(crate) fn is_of_kernel(&self) -> bool {
        matches!(&self.rule, Rule::Operation(backward) if !backward.is_composed())
    }

    /// Returns whether a tensor, or what it is a view of, is the output of the sigmoid function.
    pub(crate) fn is_sigmoid(&self) -> bool {
        let mut node = self;
        while let (Rule::View(..), Some(input)) = (&node.rule, node.input(0)) {
            node = input;
        }
        matches!(&node.rule, Rule::Operation(backward) if backward.is_sigmoid())
    }

    /// Keeps the gradient in each backward pass.
    pub(crate) fn retain(&self) {
        self.is_retained.store(true, Relaxed);
    }

    /// Marks the output: [`came_to`](profile::came_to) gets the mark when a backward pass comes to it.
    pub(crate) fn mark(&self, mark: u64) {
        self.mark.store(mark, Relaxed);
    }
}

thread_local! {
    /// What was in the nodes that are being dropped on this thread.
    static DROPPED: RefCell<Option<Vec<(Inputs, Rule)>>> = const { RefCell::new(None) };
}

/// Drops the nodes of the inputs after this one, not within it: a long graph would need too much stack.
impl Drop for Node {
    fn drop(&mut self) {
        let rule = std::mem::replace(&mut self.rule, Rule::Leaf(Arc::default()));
        let content = (std::mem::take(&mut self.inputs), rule);
        let is_first = DROPPED.try_with(|all| match &mut *all.borrow_mut() {
            Some(all) => {
                all.push(content);
                false
            }
            all => {
                *all = Some(vec![content]);
                true
            }
        });
        if is_first == Ok(true) {
            while let Some(next) = DROPPED.with_borrow_mut(|all| all.as_mut().and_then(Vec::pop)) {
                drop(next);
            }
            DROPPED.set(None);
        }
    }
}
