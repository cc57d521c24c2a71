//! The recorded backward pass of a kernel that computes many operations at once.

use super::Walk;
use crate::ops::contiguous::copied_in_order;
use crate::ops::engine::autograd::{Downstream, Recorded, link_of};
use crate::tensor::Raw;
use candle_core::Result;
use std::collections::HashSet;

/// Computes what [`Backward::recorded`](crate::ops::engine::autograd::Backward::recorded) returns. `compute` computes the
/// kernel's output from its inputs by operations that have second derivatives. It must not use other tensors that have
/// gradients. The kernel must [keep](crate::ops::engine::autograd::Backward::keeps) its inputs.
pub(in crate::ops) fn gradients_of_composed(
    upstream: &Recorded<'_>,
    compute: impl FnOnce(&[Raw]) -> Result<Raw>,
) -> Result<Downstream> {
    let mut inputs = vec![];
    for (input, wanted) in upstream.inputs.iter().zip(upstream.wanted) {
        // The walk from the output ends at these copies, whose graphs go on to what computed the inputs.
        inputs.extend(match input {
            Some(input) if wanted => Some(copied_in_order(input)?),
            input => input.as_ref().map(Raw::detach),
        });
    }
    let links = inputs.iter().map(link_of).collect::<Vec<_>>();
    let ends = links.iter().flatten().map(|link| link.address());
    let output = compute(&inputs)?;
    let mut walk = Walk::new(&output, ends.collect());
    walk.run(upstream.gradient.clone(), &HashSet::new())?;
    let mut gradients = [None, None, None];
    for ((gradient, link), input) in gradients.iter_mut().zip(links).zip(&inputs) {
        if let Some(link) = link {
            *gradient = match walk.sums.remove(&link.address()) {
                Some(sum) => Some(sum),
                None => Some(input.zeros_like()?),
            };
        }
    }
    Ok(gradients)
}
