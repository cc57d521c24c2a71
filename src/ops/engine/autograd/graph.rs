//! The memory that the graphs of tensors hold until they are dropped.

use super::held::Held;
use super::node::{LINKS, Link, Node, Source, link_of, lock};
use crate::tensor::{Raw, storage_address};
use candle_core::{CpuStorage, Storage, TensorId};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// The most nodes that are visited.
const MOST: usize = 50_000;

/// The memory that graphs hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) bytes: usize,
    /// How many of the tensors have a graph.
    pub(crate) tensors: usize,
    /// Whether the graphs are so large that only a part was counted.
    pub(crate) is_part: bool,
}

/// Returns the memory that the graphs of some tensors hold together, besides the values of these tensors and of
/// parameters. Memory that several nodes share counts once. On a GPU, constants that a node saves do not count.
pub(crate) fn graph_of(tensors: &[Raw]) -> Graph {
    let mut walk = Walk::default();
    let own: HashSet<usize> = tensors.iter().map(storage_address).collect();
    let with_graph = |x: &&Raw| x.track_op() && !x.is_variable();
    for x in tensors.iter().filter(with_graph) {
        walk.tensor(x);
    }
    while walk.visited < MOST
        && let Some(link) = walk.open.pop()
    {
        if walk.seen.insert(link.address()) {
            walk.visited += 1;
            walk.node(&link.node);
        }
    }
    let counts = |address: &usize| !own.contains(address) && !walk.variables.contains(address);
    let storages = walk.storages.iter();
    let storages = storages.filter(|(address, _)| counts(address));
    Graph {
        bytes: walk.held.bytes + storages.map(|(_, size)| size).sum::<usize>(),
        tensors: tensors.iter().filter(with_graph).count(),
        is_part: !walk.open.is_empty(),
    }
}

/// A walk through the nodes of graphs.
#[derive(Default)]
struct Walk {
    /// The bytes of each storage, by its address.
    storages: HashMap<usize, usize>,
    /// The storages of variables.
    variables: HashSet<usize>,
    held: Held,
    seen: HashSet<usize>,
    open: Vec<Link>,
    visited: usize,
    /// The results of Candle's operations that were visited.
    of_candle: HashSet<TensorId>,
    /// The kernels by the memory of their outputs, which views share.
    owners: OnceCell<HashMap<usize, Link>>,
}

impl Walk {
    fn node(&mut self, node: &Node) {
        for source in &node.sources {
            match source {
                Source::Constant => {}
                Source::Kernel(link, _) => self.open.push(link.clone()),
                Source::Tensor(x, _) => self.tensor(x),
            }
        }
        node.inputs.iter().flatten().for_each(|x| self.tensor(x));
        if let Some(output) = node.saved_output() {
            self.tensor(&output);
        }
        node.op.hold(&mut self.held);
        for x in std::mem::take(&mut self.held.tensors) {
            self.tensor(&x);
        }
    }

    /// Adds the values of a tensor, and goes on to what computed it.
    fn tensor(&mut self, x: &Raw) {
        self.values(x);
        if !x.track_op() || x.is_variable() {
            return;
        }
        let owner = link_of(x).or_else(|| self.owner(x));
        if owner.is_some() {
            self.open.extend(owner);
        } else if self.visited < MOST && self.of_candle.insert(x.id()) {
            // An operation of Candle's.
            let nodes = x.sorted_nodes();
            self.visited += nodes.len();
            for x in nodes {
                self.values(x);
                self.open.extend(link_of(x));
            }
        }
    }

    /// Returns the kernel whose output a view shows.
    fn owner(&self, view: &Raw) -> Option<Link> {
        let owners = self.owners.get_or_init(|| {
            let links = lock(&LINKS);
            let owners = links.values();
            let owners = owners.map(|(link, values)| (storage_address(values), link.clone()));
            owners.collect()
        });
        owners.get(&storage_address(view)).cloned()
    }

    fn values(&mut self, x: &Raw) {
        let (storage, _) = x.storage_and_layout();
        if x.is_variable() {
            self.variables.insert(std::ptr::from_ref(&*storage).addr());
        }
        let count = match &*storage {
            Storage::Cpu(values) => count_of(values),
            _ => x.elem_count(),
        };
        let address = std::ptr::from_ref(&*storage).addr();
        let size = self.storages.entry(address).or_default();
        *size = (*size).max(count * x.dtype().size_in_bytes());
    }
}

fn count_of(values: &CpuStorage) -> usize {
    match values {
        CpuStorage::U8(values) => values.len(),
        CpuStorage::U32(values) => values.len(),
        CpuStorage::I64(values) => values.len(),
        CpuStorage::BF16(values) => values.len(),
        CpuStorage::F16(values) => values.len(),
        CpuStorage::F32(values) => values.len(),
        CpuStorage::F64(values) => values.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{GELU, LSTM, Layer, Linear, ParametersExt, ReLU, mse_loss};
    use crate::tensor::{Tensor, randn, zeros};

    fn bytes(tensors: &[&Tensor]) -> usize {
        let raws: Vec<Raw> = tensors.iter().map(|x| x.raw().clone()).collect();
        graph_of(&raws).bytes
    }

    #[test]
    fn what_a_graph_saves_is_counted_once() {
        let net = crate::seq![Linear::new(512, 256), ReLU, Linear::new(256, 1)];
        let (x, y) = (randn((64, 512)), randn((64, 1)));
        let loss = || mse_loss(&net.forward(&x), &y);
        let (a, b) = (loss(), loss());
        // The input, the hidden units, the outputs and the targets.
        let (input, hidden, output) = (64 * 512 * 4, 64 * 256 * 4, 64 * 4);
        let one = bytes(&[&a]);
        assert!(
            (one as i64 - (input + hidden + 2 * output)).abs() < 1000,
            "{one}"
        );
        assert_eq!(bytes(&[&a, &a.clone()]), one);
        let both = bytes(&[&a, &b]);
        assert!(
            (both as i64 - (input + 2 * (hidden + output) + output)).abs() < 2000,
            "{both}"
        );
        assert_eq!(bytes(&[&a.detach(), &x, &net.parameters()[0].tensor()]), 0);
        let found = graph_of(&[a.raw().clone(), b.raw().clone(), x.raw().clone()]);
        assert_eq!((found.tensors, found.is_part), (2, false));
        // A view of the loss.
        assert_eq!(bytes(&[&a.reshape(1)]), one);
    }

    #[test]
    fn what_only_a_backward_pass_knows_is_counted() {
        let x = Linear::new(10, 1000).forward(&zeros((100, 10)));
        let before = bytes(&[&x]);
        let y = GELU.forward(&x);
        // The derivative, and the input for second derivatives.
        assert!(bytes(&[&y]) - before >= 2 * 100 * 1000 * 4);
        let lstm = LSTM::new(8, 50);
        let (y, _) = lstm.forward(&randn((30, 4, 8)), None);
        assert!(bytes(&[&y]) > 30 * 4 * 50 * 4 * 6, "{}", bytes(&[&y]));
    }

    #[test]
    fn a_long_graph_is_counted_in_part() {
        let mut x = Linear::new(2, 2).forward(&zeros((1, 2)));
        for _ in 0..MOST + 10 {
            x = x.tanh();
        }
        assert!(graph_of(&[x.raw().clone()]).is_part);
    }
}
