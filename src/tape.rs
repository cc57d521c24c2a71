//! The tape: what was computed from what, and the backward pass along it.
//!
//! A tensor that was computed from a parameter has a [`Node`]. The node knows the nodes of its inputs, and a rule: how
//! the gradient of the output becomes the gradients of the inputs. [`gradients`] walks from the loss to the parameters, each
//! node before those of its inputs, and adds up what arrives at each. That is all; the chapter *Autograd from scratch*
//! builds the same in a hundred lines.
//!
//! There are three kinds of [`Rule`]s. A leaf is a parameter, where a gradient arrives. A [view](view) shows elements of
//! its input. An operation has a [`Backward`], which computes either constants or, for second derivatives, with operations
//! that are recorded themselves.

mod composed;
mod foreign;
mod graph;
mod node;
mod rule;
mod sum;
#[cfg(test)]
mod tests;
mod version;
mod view;

pub(crate) use composed::{composed, first_order, gradients_of_composed, linear};
pub(crate) use foreign::{foreign, from_candle};
pub(crate) use graph::{Graph, Held, graph_of};
pub(crate) use node::Key;
pub(crate) use rule::{Backward, Downstream, Upstream, no_second_derivative};
pub(crate) use version::{Version, check_unchanged, now};
pub(crate) use view::View;

use crate::error::explain;
use crate::ops::profile;
use crate::tensor::{Candle, Raw, is_grad_enabled, with_recording};
use candle_core::Result;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use sum::Sum;
use view::Place;

/// What computed a tensor.
pub(crate) struct Node {
    pub(crate) key: Key,
    shape: Vec<usize>,
    inputs: Inputs,
    rule: Rule,
    /// The output's values, if the rule needs them.
    output: Option<Candle>,
    /// Whether the gradient is kept, for [`of`](crate::tensor::GradStore::of).
    is_retained: AtomicBool,
    /// Identifies the output while a backward pass is measured; 0 if it has no mark.
    mark: AtomicU64,
    /// The [time](now) when the operation has read its inputs.
    recorded_at: u64,
}

/// An input that gradients flow to, with its values if the rule needs them.
struct Input {
    node: Option<Arc<Node>>,
    values: Option<Candle>,
}

/// Most operations have up to three inputs.
type Inputs = Vec<Input>;

enum Rule {
    Leaf(Arc<Version>),
    View(View, Option<Place>),
    Operation(Box<dyn Backward>),
}

/// Returns a tensor with a node if gradients flow to one of the inputs, which are recorded with it.
pub(crate) fn record<B: Backward>(
    values: Candle,
    inputs: &[&Raw],
    backward: impl FnOnce() -> B,
) -> Raw {
    match are_tracked(inputs) {
        true => operation(values, inputs, Box::new(backward())),
        false => values.into(),
    }
}

/// Returns whether gradients will flow through an output of these inputs.
pub(crate) fn are_tracked(inputs: &[&Raw]) -> bool {
    is_grad_enabled() && inputs.iter().any(|input| input.track_op())
}

/// Does the part of [`record`] that is not generic, so that it is compiled only once.
fn operation(values: Candle, inputs: &[&Raw], backward: Box<dyn Backward>) -> Raw {
    let keeps = backward.keeps();
    let input = |(i, x): (usize, &&Raw)| Input {
        node: x.node().cloned(),
        values: (i < 3 && keeps[i]).then(|| x.values().clone()),
    };
    let inputs = inputs.iter().enumerate().map(input).collect();
    let output = backward.needs_output().then(|| values.clone());
    let rule = Rule::Operation(backward);
    Node::new(Key::new(), &values, inputs, rule, output).into_tensor(values)
}

/// The gradients of the leaves, and of the tensors whose gradients are kept.
pub(crate) type Gradients = HashMap<Key, Raw>;

/// How [`gradients`] walks.
#[derive(Default)]
pub(crate) struct Options {
    /// Whether the gradients are recorded, so that they have gradients themselves.
    pub(crate) with_graph: bool,
    /// The tensors whose gradients are kept, besides the leaves.
    pub(crate) wanted: HashSet<Key>,
    /// The nodes where the walk ends, although they have inputs.
    pub(crate) ends: HashSet<Key>,
}

/// Returns the gradients of a loss with the gradient `of_loss`.
pub(crate) fn gradients(loss: &Raw, of_loss: Raw, options: &Options) -> Result<Gradients> {
    let Some(root) = loss.node() else {
        return Err(explain(
            "backward: this tensor was not computed from a parameter, so it has no gradients",
            "Compute the loss from parameters that are not frozen, outside of no_grad; gradients are constants unless backward_graph() has computed them",
        )
        .into());
    };
    with_recording(options.with_graph, || walk(root, of_loss, options))
}

fn walk(root: &Arc<Node>, of_loss: Raw, options: &Options) -> Result<Gradients> {
    let order = sorted(root, &options.ends);
    // A gradient that is kept must not pass by the view that it belongs to.
    let by_view = |node: &Arc<Node>| matches!(node.rule, Rule::View(..));
    let is_kept =
        |node: &Arc<Node>| node.is_retained.load(Relaxed) || options.wanted.contains(&node.key);
    let pass = Pass {
        sums: RefCell::default(),
        leaves: RefCell::default(),
        with_graph: options.with_graph,
        shortcuts: !options.with_graph && !order.iter().any(|node| by_view(node) && is_kept(node)),
    };
    pass.add(root, of_loss, None)?;
    let mut kept = Gradients::new();
    for node in order {
        let Some(sum) = pass.sums.borrow_mut().remove(&address(&node)) else {
            continue;
        };
        let gradient = sum.into_raw();
        let mark = node.mark.load(Relaxed);
        if mark > 0 {
            profile::came_to(mark);
        }
        if is_kept(&node) || options.ends.contains(&node.key) {
            kept.insert(node.key, gradient.clone());
        }
        if !options.ends.contains(&node.key) {
            pass.apply(&node, gradient)?;
        }
    }
    profile::came_to(0);
    for (key, sum) in pass.leaves.into_inner() {
        kept.insert(key, sum.into_raw().contiguous()?);
    }
    Ok(kept)
}

fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node).addr()
}

/// Returns the nodes between the loss and the leaves, each before those of its inputs.
fn sorted(root: &Arc<Node>, ends: &HashSet<Key>) -> Vec<Arc<Node>> {
    let mut order = vec![];
    let mut seen = HashSet::new();
    // Each with whether its inputs are in the order already. A recursion could be too deep for the stack.
    let mut open = vec![(root.clone(), false)];
    while let Some((node, is_done)) = open.pop() {
        if is_done {
            order.push(node);
            continue;
        }
        if !seen.insert(address(&node)) {
            continue;
        }
        open.push((node.clone(), true));
        if !ends.contains(&node.key) {
            let inputs = node.inputs.iter().rev().filter_map(|x| x.node.clone());
            open.extend(inputs.map(|input| (input, false)));
        }
    }
    order.reverse();
    order
}

/// A backward pass.
pub(crate) struct Pass {
    /// The sums of the gradients so far, by the address of the node.
    sums: RefCell<HashMap<usize, Sum>>,
    leaves: RefCell<HashMap<Key, Sum>>,
    with_graph: bool,
    /// Whether the gradients of views are added to what they are views of, past the views between.
    shortcuts: bool,
}

impl Pass {
    /// Adds a gradient to the others of a node; with a place, the gradient of a view of it.
    fn add(&self, node: &Arc<Node>, gradient: Raw, place: Option<&Place>) -> Result<()> {
        let before = self.sums.borrow_mut().remove(&address(node));
        let sum = Sum::add(before, gradient, place, self.with_graph)?;
        self.sums.borrow_mut().insert(address(node), sum);
        Ok(())
    }

    /// Adds a gradient to the others of a leaf.
    pub(crate) fn add_to_leaf(&self, key: Key, gradient: Raw) -> Result<()> {
        let before = self.leaves.borrow_mut().remove(&key);
        let sum = Sum::add(before, gradient, None, self.with_graph)?;
        self.leaves.borrow_mut().insert(key, sum);
        Ok(())
    }

    /// Passes the gradient of a node on to its inputs.
    fn apply(&self, node: &Arc<Node>, gradient: Raw) -> Result<()> {
        match &node.rule {
            Rule::Leaf(_) => self.add_to_leaf(node.key, gradient),
            Rule::View(_, Some(place)) if self.shortcuts => {
                self.add(&place.base, gradient, Some(place))
            }
            Rule::View(view, _) => match node.input(0) {
                Some(input) => self.add(input, view.backward(&gradient, &input.shape)?, None),
                None => Ok(()),
            },
            Rule::Operation(backward) => {
                node.check_versions(&**backward)?;
                let gradient = match backward.takes_views() {
                    true => gradient,
                    false => gradient.contiguous()?,
                };
                let of_inputs = self.of_inputs(node, &**backward, &gradient)?;
                drop(gradient);
                for (i, gradient) in of_inputs.into_iter().enumerate() {
                    if let (Some(gradient), Some(input)) = (gradient, node.input(i)) {
                        self.add(input, gradient, None)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn of_inputs(
        &self,
        node: &Arc<Node>,
        backward: &dyn Backward,
        gradient: &Raw,
    ) -> Result<Downstream> {
        let with_node = |node: Option<&Arc<Node>>| node.filter(|_| self.with_graph).cloned();
        let input = |i: usize| {
            let input = node.inputs.get(i)?;
            Some(Raw::of(
                input.values.clone()?,
                with_node(input.node.as_ref()),
            ))
        };
        let output = node
            .output
            .clone()
            .map(|y| Raw::of(y, with_node(Some(node))));
        let upstream = Upstream {
            gradient,
            wanted: node.wanted(),
            inputs: &[0, 1, 2].map(input),
            output: output.as_ref(),
            pass: Some(self),
        };
        match self.with_graph {
            true => backward.recorded(&upstream),
            false => backward.backward(&upstream),
        }
    }
}
