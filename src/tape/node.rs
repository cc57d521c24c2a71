//! How a node is made, what is known of it, and how it is dropped.

use super::{Inputs, Node, Rule, Version, now};
use crate::tensor::{Candle, Raw};
use candle_core::TensorId;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Identifies a tensor in the results of a backward pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A variable of Candle's, of which there may be several leaves.
    Variable(TensorId),
    Output(u64),
}

impl Key {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Key::Output(COUNT.fetch_add(1, Relaxed))
    }
}

impl Node {
    pub(super) fn new(
        key: Key,
        values: &Candle,
        inputs: Inputs,
        rule: Rule,
        output: Option<Candle>,
    ) -> Self {
        Node {
            key,
            shape: values.dims().to_vec(),
            inputs,
            rule,
            output,
            is_retained: AtomicBool::new(false),
            mark: AtomicU64::new(0),
            recorded_at: now(),
        }
    }

    /// Returns the node of a variable, whose gradient has this id.
    pub(crate) fn leaf(values: &Candle, id: TensorId, version: Arc<Version>) -> Self {
        Node::new(Key::Variable(id), values, vec![], Rule::Leaf(version), None)
    }

    pub(crate) fn into_tensor(self, values: Candle) -> Raw {
        Raw::with_node(values, Arc::new(self))
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.rule, Rule::Leaf(_))
    }

    pub(super) fn input(&self, i: usize) -> Option<&Arc<Node>> {
        self.inputs.get(i)?.node.as_ref()
    }

    pub(super) fn wanted(&self) -> [bool; 3] {
        [0, 1, 2].map(|i| self.input(i).is_some())
    }

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
