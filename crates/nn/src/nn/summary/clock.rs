//! Measures the layers that a thread calls.
//!
//! A layer [reports its output](Clock::passed). The time and the memory since the previous report count for this
//! layer. So what a model's own `forward` computes between two layers counts for the second one. The output is
//! [marked](crate::ops::tape::Node::mark): a backward pass notes when it comes to a mark, and what follows until the next mark
//! counts for the layer.

use super::row::{Cost, Row};
use crate::nn::{Parameter, Parameters, state_of};
use crate::ops::profile;
use crate::tensor::{Tensor, with_counters};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How many reports read the memory in use, which takes longer with more allocated blocks.
const LOOKS: u64 = 1000;

/// A layer, and what it has taken.
struct Measured {
    row: Row,
    cost: Cost,
    description: String,
    parameter: Option<Parameter>,
    /// The layer before it, which identifies a layer without parameters.
    previous: Option<usize>,
}

/// The measurement of a thread.
#[derive(Default)]
pub(super) struct Clock {
    /// Part of its marks, so that they differ from the marks of an earlier measurement.
    number: u64,
    layers: Vec<Measured>,
    previous: Option<usize>,
    /// The layer that calls others.
    open: Option<usize>,
    /// When the next layer began; `None` where that is not known.
    since: Option<Instant>,
    multiply_adds: u64,
    memory: Option<i64>,
    looks: u64,
}

impl Clock {
    pub(super) fn new() -> Clock {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Clock {
            number: NUMBER.fetch_add(1, Relaxed) << 32,
            ..Clock::default()
        }
    }

    /// Returns the layers that were called, and what they took.
    pub(super) fn end(mut self) -> Vec<(Row, Cost)> {
        self.end_backward();
        let layers = self.layers.into_iter();
        layers.map(|it| (it.row, it.cost)).collect()
    }

    /// A model begins, or a chain of layers that is in no other one.
    pub(super) fn begin_pass(&mut self) {
        self.end_backward();
        self.previous = None;
        self.go_on();
    }

    /// What was computed so far is a part of a layer, which calls others next.
    pub(super) fn part(&mut self, layer: &dyn Parameters) {
        self.end_backward();
        let index = self.index_of(layer);
        self.charge(index);
        self.open = Some(index);
        self.go_on();
    }

    /// A layer has returned its output.
    pub(super) fn passed(&mut self, layer: &dyn Parameters, output: &Tensor) {
        // A GPU computes later.
        let _ = output.device().synchronize();
        self.end_backward();
        let index = self.index_of(layer);
        self.charge(index);
        let measured = &mut self.layers[index];
        measured.row = Row::of(layer, output.dims());
        measured.cost.calls += 1;
        if let Some(node) = output.raw().node() {
            node.mark(self.number + index as u64);
        }
        self.previous = Some(index);
        self.go_on();
    }

    /// Adds what has happened since the last report to a layer.
    fn charge(&mut self, index: usize) {
        let now = Instant::now();
        let memory = self.memory_in_use();
        let counted = with_counters(|it| (it.began, it.multiply_adds));
        let (began, multiply_adds) = counted.unwrap_or_default();
        let is_open = self.open == Some(index);
        if is_open {
            self.open = None;
        }
        // Between two passes of a model with a `forward` of its own, other things happen.
        let is_new_pass = !is_open && self.previous.is_some_and(|previous| index <= previous);
        let since = self.since.filter(|_| !is_new_pass).or(began);
        let cost = &mut self.layers[index].cost;
        cost.forward += since.map_or(Duration::ZERO, |since| now.duration_since(since));
        cost.multiply_adds += multiply_adds - self.multiply_adds;
        if let (Some(before), Some(now)) = (self.memory, memory) {
            cost.memory = cost.memory.max(Some(now - before));
        }
    }

    /// Begins the next layer.
    fn go_on(&mut self) {
        let counted = with_counters(|it| it.multiply_adds);
        self.multiply_adds = counted.unwrap_or_default();
        self.memory = self.memory_in_use();
        self.since = Some(Instant::now());
    }

    /// The input of the last layer was dropped.
    pub(super) fn input_dropped(&mut self) {
        let (before, now) = (self.memory, self.memory_in_use());
        if let (Some(last), Some(before), Some(now)) = (self.previous, before, now) {
            let memory = &mut self.layers[last].cost.memory;
            *memory = memory.map(|memory| memory + now - before);
            self.memory = Some(now);
            self.since = Some(Instant::now());
        }
    }

    /// Returns the bytes in use, for the first reports.
    fn memory_in_use(&mut self) -> Option<i64> {
        self.looks += 1;
        (self.looks <= LOOKS).then(profile::memory_in_use).flatten()
    }

    /// Adds the times of the backward passes since the last report.
    fn end_backward(&mut self) {
        let backward = with_counters(|it| std::mem::take(&mut it.backward));
        let backward = backward.unwrap_or_default();
        for (&(mark, began), (_, ended)) in backward.iter().zip(backward.iter().skip(1)) {
            let index = mark.wrapping_sub(self.number) as usize;
            if let Some(layer) = self.layers.get_mut(index).filter(|_| mark > 0) {
                *layer.cost.back.get_or_insert_default() += ended.duration_since(began);
            }
        }
        if !backward.is_empty() {
            (self.previous, self.since) = (None, None);
        }
    }

    /// Returns the index of a layer, which is added if it is a new one.
    fn index_of(&mut self, layer: &dyn Parameters) -> usize {
        let description = layer.describe();
        let first = state_of(layer).into_iter().next();
        let parameter = first.map(|entry| entry.parameter);
        let previous = self.previous;
        let is_it = |it: &Measured| {
            let is_same = match (&it.parameter, &parameter) {
                (Some(one), Some(other)) => one.is_same(other),
                (None, None) => it.previous == previous,
                _ => false,
            };
            is_same && it.description == description
        };
        if let Some(found) = self.layers.iter().position(is_it) {
            return found;
        }
        self.layers.push(Measured {
            row: Row::of(layer, &[]),
            cost: Cost::default(),
            description,
            parameter,
            previous,
        });
        self.layers.len() - 1
    }
}
