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

mod closures;
mod foreign;
mod graph;
mod held;
mod node;
mod rule;
mod sum;
#[cfg(test)]
mod tests;
mod version;
mod view;

pub(crate) use closures::{Needs, Product, by_operations, composed, first_order, kernel, linear};
#[doc(hidden)]
pub use foreign::foreign;
#[doc(hidden)]
pub use graph::{Graph, graph_of};
pub(crate) use held::Held;
pub(crate) use node::{are_tracked, record, view_of};
pub(crate) use rule::{Backward, Downstream, Upstream};
#[doc(hidden)]
pub use version::{Version, now};
pub(crate) use view::View;

use super::profile;
use crate::error::refuse;
use crate::tensor::{History, Key, Raw, with_precision, with_recording};
use candle_core::Result;
use node::{Input, Node, Rule, address, changed_variable};
use rule::{Compute, Pass};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use sum::Sum;
use view::Place;

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
        refuse!(
            "backward: this tensor was not computed from a parameter, so it has no gradients";
            "Compute the loss from parameters that are not frozen, outside of no_grad; gradients are constants unless backward_graph() has computed them");
    };
    // Each product has the type of the forward pass.
    with_precision(None, || {
        with_recording(options.with_graph, || walk(&root, of_loss, options))
    })
}

fn walk(root: &Arc<Node>, of_loss: Raw, options: &Options) -> Result<Gradients> {
    let order = sorted(root, &options.ends);
    // A gradient that is kept must not pass by the view that it belongs to.
    let by_view = |node: &Arc<Node>| matches!(node.rule, Rule::View(..));
    let is_kept =
        |node: &Arc<Node>| node.is_retained.load(Relaxed) || options.wanted.contains(&node.key);
    let pass = Walk {
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

/// Returns an error if a variable from which `loss` is computed has changed after this time.
pub(crate) fn check_unchanged(loss: &Raw, since: u64) -> Result<()> {
    let Some(root) = loss.node() else {
        return Ok(());
    };
    for node in sorted(&root, &HashSet::new()) {
        if let Rule::Leaf(version) = &node.rule
            && version.has_changed(since)
        {
            return Err(changed_variable(&node, version));
        }
    }
    Ok(())
}

/// A backward pass.
struct Walk {
    /// The sums of the gradients so far, by the address of the node.
    sums: RefCell<HashMap<usize, Sum>>,
    leaves: RefCell<HashMap<Key, Sum>>,
    with_graph: bool,
    /// Whether the gradients of views are added to what they are views of, past the views between.
    shortcuts: bool,
}

impl Walk {
    /// Adds a gradient to the others of a node; with a place, the gradient of a view of it.
    fn add(&self, node: &Arc<Node>, gradient: Raw, place: Option<&Place>) -> Result<()> {
        let before = self.sums.borrow_mut().remove(&address(node));
        let sum = Sum::add(before, gradient, place, self.with_graph)?;
        self.sums.borrow_mut().insert(address(node), sum);
        Ok(())
    }

    /// Passes the gradient of a node on to its inputs.
    fn apply(&self, node: &Arc<Node>, gradient: Raw) -> Result<()> {
        match &node.rule {
            Rule::Leaf(_) => self.add_to_leaf(node.key, gradient),
            Rule::View(_, Some(base)) if self.shortcuts => {
                self.add(&base.node, gradient, Some(&base.place))
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
        let history = |node: Option<&Arc<Node>>| {
            let node = node.filter(|_| self.with_graph)?;
            Some(node.clone() as History)
        };
        let input = |i: usize| {
            let input = node.inputs.get(i)?;
            Some(Raw::of(input.values.clone()?, history(input.node.as_ref())))
        };
        let output = node.output.clone().map(|y| Raw::of(y, history(Some(node))));
        let upstream = Upstream {
            gradient,
            wanted: node.wanted(),
            inputs: &[0, 1, 2].map(input),
            output: output.as_ref(),
            pass: self,
        };
        match self.with_graph {
            true => backward.recorded(&upstream),
            false => backward.backward(&upstream),
        }
    }
}

impl Pass for Walk {
    fn add_to_leaf(&self, key: Key, gradient: Raw) -> Result<()> {
        let before = self.leaves.borrow_mut().remove(&key);
        let sum = Sum::add(before, gradient, None, self.with_graph)?;
        self.leaves.borrow_mut().insert(key, sum);
        Ok(())
    }

    fn of_composed(&self, upstream: &Upstream<'_>, compute: &Compute<'_>) -> Result<Downstream> {
        let mut inputs = vec![];
        for (input, wanted) in upstream.inputs.iter().zip(upstream.wanted) {
            // The walk from the output ends at these nodes, whose graphs go on to what computed the inputs.
            inputs.extend(match input {
                Some(input) if wanted => Some(end(input)),
                input => input.as_ref().map(Raw::detach),
            });
        }
        let output = compute(&inputs)?;
        let keys: Vec<_> = inputs.iter().map(|x| x.key()).collect();
        let options = Options {
            with_graph: true,
            ends: keys.iter().flatten().copied().collect(),
            ..Options::default()
        };
        let mut found = gradients(&output, upstream.gradient.clone(), &options)?;
        let mut of_inputs = [None, None, None];
        for ((of_input, key), input) in of_inputs.iter_mut().zip(keys).zip(&inputs) {
            if let Some(key) = key {
                *of_input = match found.remove(&key) {
                    Some(gradient) => Some(gradient),
                    None => Some(input.zeros_like()?),
                };
            }
        }
        Ok(of_inputs)
    }
}

/// Returns a tensor with a node of its own.
fn end(input: &Raw) -> Raw {
    let values = input.values().detach();
    let input = Input {
        node: input.node(),
        values: None,
    };
    let rule = Rule::View(View::Reshape, None);
    Node::new(Key::new(), &values, vec![input], rule, None).into_tensor(values)
}
