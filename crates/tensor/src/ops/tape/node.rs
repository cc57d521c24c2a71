//! The nodes of the tape: what is known of a tensor that was computed from parameters.

use super::rule::Backward;
use super::version::{Version, now};
use super::view::{Place, View};
use crate::error::problem;
use crate::ops::engine::autograd::has_kernel;
use crate::tensor::{Candle, Key, Raw, is_grad_enabled};
use candle_core::{Error, Result, TensorId, Var};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What computed a tensor.
pub struct Node {
    pub(crate) key: Key,
    pub(super) shape: Vec<usize>,
    pub(super) inputs: Inputs,
    pub(super) rule: Rule,
    /// The output's values, if the rule needs them.
    pub(super) output: Option<Candle>,
    /// Whether the gradient is kept, for [`of`](crate::tensor::GradStore::of).
    pub(super) is_retained: AtomicBool,
    /// Identifies the output while a backward pass is measured; 0 if it has no mark.
    pub(super) mark: AtomicU64,
    /// The [time](now) when the operation has read its inputs.
    pub(super) recorded_at: u64,
}

/// An input that gradients flow to, with its values if the rule needs them.
pub(super) struct Input {
    pub(super) node: Option<Arc<Node>>,
    pub(super) values: Option<Candle>,
}

/// Most operations have up to three inputs.
pub(super) type Inputs = Vec<Input>;

pub(super) enum Rule {
    Leaf(Arc<Version>),
    View(View, Option<Base>),
    Operation(Box<dyn Backward>),
}

/// What a view of a view shows parts of, and where: a backward pass adds the gradient there, past the views between.
pub(super) struct Base {
    pub(super) node: Arc<Node>,
    pub(super) place: Place,
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
#[inline(never)]
pub(crate) fn are_tracked(inputs: &[&Raw]) -> bool {
    is_grad_enabled() && inputs.iter().any(|input| input.track_op())
}

/// Does the part of [`record`] that is not generic, so that it is compiled only once.
pub(super) fn operation(values: Candle, inputs: &[&Raw], backward: Box<dyn Backward>) -> Raw {
    let keeps = backward.keeps();
    let input = |(i, x): (usize, &&Raw)| Input {
        node: x.node(),
        values: (i < 3 && keeps[i]).then(|| x.values().clone()),
    };
    let inputs = inputs.iter().enumerate().map(input).collect();
    let output = backward.needs_output().then(|| values.clone());
    let rule = Rule::Operation(backward);
    Node::new(Key::new(), &values, inputs, rule, output).into_tensor(values)
}

/// Returns a view of `x`, which has these values.
pub(crate) fn view_of(x: &Raw, view: View, values: Candle) -> Raw {
    if values.id() == x.values().id() {
        return x.clone();
    }
    if !are_tracked(&[x]) {
        return values.into();
    }
    let base = base_of(x, &values);
    let input = Input {
        node: x.node(),
        values: None,
    };
    let rule = Rule::View(view, base);
    Node::new(Key::new(), &values, vec![input], rule, None).into_tensor(values)
}

/// Returns the base of a view of `x`, if the elements of the base follow each other in memory.
fn base_of(x: &Raw, view: &Candle) -> Option<Base> {
    if !has_kernel(&[x]) {
        return None;
    }
    let node = x.node()?;
    let (node, shape, base_start) = match &node.rule {
        Rule::View(_, base) => {
            let Base { node, place } = base.as_ref()?;
            (node.clone(), place.shape.clone(), place.base_start)
        }
        _ => {
            let (start, _) = x.layout().contiguous_offsets()?;
            (node, x.shape().clone(), start)
        }
    };
    let place = Place {
        shape,
        base_start,
        start: view.layout().start_offset() - base_start,
        dims: view.dims().to_vec(),
        strides: view.stride().to_vec(),
    };
    Some(Base { node, place })
}

pub(super) fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node).addr()
}

impl Raw {
    /// Returns the node that computed the tensor.
    #[doc(hidden)]
    pub fn node(&self) -> Option<Arc<Node>> {
        self.history()?.clone().downcast().ok()
    }

    /// Returns what identifies the gradient of the tensor.
    #[doc(hidden)]
    pub fn key(&self) -> Option<Key> {
        Some(self.node()?.key)
    }

    #[doc(hidden)]
    pub fn is_variable(&self) -> bool {
        self.node().is_some_and(|node| node.is_leaf())
    }

    #[doc(hidden)]
    pub fn with_node(values: Candle, node: Arc<Node>) -> Self {
        Raw::of(values, Some(node))
    }

    /// Returns the values of a variable, to which gradients flow.
    #[doc(hidden)]
    pub fn leaf(variable: &Candle, version: Arc<Version>) -> Self {
        let values = variable.detach();
        Node::leaf(&values, variable.id(), version).into_tensor(values)
    }

    /// Returns a new variable with a copy of these values.
    #[doc(hidden)]
    pub fn variable(values: &Candle) -> Result<Self> {
        let variable = Var::from_tensor(&values.detach())?;
        Ok(Raw::leaf(&variable, Arc::default()))
    }
}

impl Node {
    /// Returns whether the tensor shares the memory of a variable.
    pub(super) fn is_variable(&self) -> bool {
        self.variable().is_some()
    }

    /// Returns the variable whose memory the tensor shares, and its version.
    fn variable(&self) -> Option<(&Node, &Version)> {
        let mut node = self;
        while let Rule::View(..) = node.rule {
            node = node.input(0)?;
        }
        match &node.rule {
            Rule::Leaf(version) => Some((node, version)),
            _ => None,
        }
    }

    /// Returns an error if a variable that the rule reads has changed since.
    pub(super) fn check_versions(&self, backward: &dyn Backward) -> Result<()> {
        if self.recorded_at == now() {
            return Ok(());
        }
        let reads = backward.reads(self.wanted());
        for (i, _) in reads.into_iter().enumerate().filter(|(_, reads)| *reads) {
            if let Some((leaf, version)) = self.input(i).and_then(|input| input.variable())
                && version.has_changed(self.recorded_at)
            {
                return Err(changed_variable(leaf, version));
            }
        }
        Ok(())
    }

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
    pub fn mark(&self, mark: u64) {
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

pub(super) fn changed_variable(leaf: &Node, version: &Version) -> Error {
    let name = match version.path() {
        Some(path) => format!("the parameter {path}"),
        None => "a parameter".to_owned(),
    };
    problem!(
        ("backward: {name} of shape {:?} has changed since the loss was computed with it", leaf.shape);
        "Compute the loss again after a step of the optimiser or a call of set(…), or call backward() before it")
    .into()
}
