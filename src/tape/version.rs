//! Whether the values that a backward pass reads are still those with which the loss was computed.

use super::{Backward, Node, Rule, sorted};
use crate::error::explain;
use crate::tensor::Raw;
use candle_core::{Error, Result};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// When the values of a variable have changed in place. A backward pass must not compute with newer values than the loss.
#[derive(Default)]
pub(crate) struct Version {
    changed_at: AtomicU64,
    /// The path in the model, if it is known.
    path: OnceLock<Arc<str>>,
}

/// How many changes of variables there have been.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Returns the time, counted in changes of variables.
pub(crate) fn now() -> u64 {
    CHANGES.load(Relaxed)
}

impl Version {
    /// Notes that the values of the variable with this path have changed.
    pub(crate) fn change(&self, path: Option<&Arc<str>>) {
        if let Some(path) = path {
            self.path.get_or_init(|| path.clone());
        }
        self.changed_at
            .store(CHANGES.fetch_add(1, Relaxed) + 1, Relaxed);
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
                && version.changed_at.load(Relaxed) > self.recorded_at
            {
                return Err(changed_variable(leaf, version));
            }
        }
        Ok(())
    }
}

/// Returns an error if a variable from which `loss` is computed has changed after this time.
pub(crate) fn check_unchanged(loss: &Raw, since: u64) -> Result<()> {
    let Some(root) = loss.node() else {
        return Ok(());
    };
    for node in sorted(root, &HashSet::new()) {
        if let Rule::Leaf(version) = &node.rule
            && version.changed_at.load(Relaxed) > since
        {
            return Err(changed_variable(&node, version));
        }
    }
    Ok(())
}

fn changed_variable(leaf: &Node, version: &Version) -> Error {
    let name = match version.path.get() {
        Some(path) => format!("the parameter {path}"),
        None => "a parameter".to_owned(),
    };
    explain(
        format_args!(
            "backward: {name} of shape {:?} has changed since the loss was computed with it",
            leaf.shape
        ),
        "Compute the loss again after a step of the optimiser or a call of set(…), or call backward() before it",
    )
    .into()
}
