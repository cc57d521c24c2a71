//! How much memory the graph of a tensor holds.

use super::held::Held;
use super::node::{Node, Rule, address};
use crate::tensor::{Raw, storage_address};
use std::collections::HashSet;
use std::sync::Arc;

/// The most nodes that are visited. A graph that is larger is counted in part, so that the answer comes soon.
const MOST: usize = 50_000;

/// What the graphs of tensors hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Graph {
    pub bytes: usize,
    /// How many of the tensors have a graph.
    pub tensors: usize,
    /// Whether the graphs are so large that only a part was counted.
    pub is_part: bool,
}

/// Returns what the graphs of tensors hold, without the memory of these tensors and of variables.
pub fn graph_of(tensors: &[Raw]) -> Graph {
    let with_graph = |x: &&Raw| x.track_op() && !x.is_variable();
    let mut own: HashSet<usize> = tensors.iter().map(|x| storage_address(x)).collect();
    let mut held = Held::default();
    let mut seen = HashSet::new();
    let roots = tensors.iter().filter(with_graph);
    let mut open: Vec<Arc<Node>> = roots.filter_map(Raw::node).collect();
    while seen.len() < MOST
        && let Some(node) = open.pop()
    {
        if !seen.insert(address(&node)) {
            continue;
        }
        for input in &node.inputs {
            input.values.iter().for_each(|x| held.values(x));
            match &input.node {
                Some(node) if node.is_variable() => {
                    own.extend(input.values.iter().map(storage_address))
                }
                node => open.extend(node.clone()),
            }
        }
        node.output.iter().for_each(|y| held.values(y));
        if let Rule::Operation(backward) = &node.rule {
            backward.hold(&mut held);
        }
    }
    let storages = held.storages.iter();
    let counted = storages.filter(|(address, _)| !own.contains(address));
    Graph {
        bytes: held.bytes + counted.map(|(_, size)| size).sum::<usize>(),
        tensors: tensors.iter().filter(with_graph).count(),
        is_part: !open.is_empty(),
    }
}
