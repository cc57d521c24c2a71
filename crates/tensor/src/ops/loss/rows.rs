//! The loss of each row of logits or log-probabilities, from its class.

use crate::ops::engine::autograd::{
    Backward, Downstream, Held, Upstream, has_kernel, of_first, record,
};
use crate::ops::engine::read::read;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, Element, dispatch_dtype};
use crate::ops::lookup::or_nan;
use crate::ops::softmax::{log_softmax_as, normalizer};
use crate::tensor::{Raw, Tensor};
use candle_core::{D, DType, Result};
use std::mem::MaybeUninit;
use taper_compute::simd::multiversion;
use taper_compute::sums::{sum, sum_pairs, sum_terms};
use taper_compute::threads::map_tasks;
use taper_compute::write::{self, Parts};

/// The class that marks an ignored row.
const IGNORED: u32 = u32::MAX;
/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 14;

/// Logits or log-probabilities `(rows, classes)` with the classes `(rows,)`.
pub(super) struct Rows<'a> {
    pub(super) x: &'a Raw,
    /// Whether `x` are logits. The kernel does not store their log-probabilities.
    pub(super) logits: bool,
    pub(super) y: &'a Raw,
    /// A weight for each class.
    pub(super) weight: Option<Raw>,
    /// The class whose rows are ignored.
    pub(super) ignored: Option<i64>,
    /// The share of the target that is spread over all classes.
    pub(super) smoothing: f64,
}

/// Returns the loss of each row, `(rows,)`, and, if they are not all 1, the weights of the rows. For the
/// mean, the sum of the losses is divided by the sum of the weights.
pub(super) fn losses_of_rows(rows: Rows) -> Result<(Raw, Option<Raw>)> {
    if rows.y.elem_count() == 0 {
        let none = Raw::zeros(0, rows.x.dtype(), rows.x.device())?;
        return Ok((none, None));
    }
    match has_kernel(&[rows.x]) {
        true => dispatch_dtype!(rows.x, forward(&rows)),
        false => losses_with_candle(&rows),
    }
}

fn losses_with_candle(rows: &Rows) -> Result<(Raw, Option<Raw>)> {
    let classes = rows.x.dim(1)?;
    let mut y = rows.y.to_dtype(DType::I64)?;
    let kept = rows.ignored.map(|ignored| y.ne(ignored)).transpose()?;
    let mut x = rows.x.clone();
    if let Some(kept) = &kept {
        y = kept.where_cond(&y, &y.zeros_like()?)?;
        // The gradients of rows that do not count would be 0 · NaN for NaN logits.
        let kept = kept.unsqueeze(1)?.broadcast_as(x.shape())?;
        x = kept.where_cond(&x, &x.zeros_like()?)?;
    }
    let log_p = match rows.logits {
        true => log_softmax_as(&"cross_entropy", &x, 1.into())?,
        false => x.contiguous()?,
    };
    let target = |y: &Raw| log_p.gather(&y.unsqueeze(1)?.contiguous()?, 1)?.squeeze(1);
    let target = match y.device().is_cpu() {
        true => target(&y)?,
        false => or_nan(&y, classes, target)?,
    };
    let mut loss = (target * (rows.smoothing - 1.0))?;
    let mut weights = None;
    if let Some(weight) = &rows.weight {
        let of_rows = match y.device().is_cpu() {
            true => weight.index_select(&y, 0)?,
            false => or_nan(&y, classes, |y| weight.index_select(y, 0))?,
        };
        loss = (loss * &of_rows)?;
        weights = Some(of_rows);
    }
    if rows.smoothing > 0.0 {
        let spread = match &rows.weight {
            Some(weight) => log_p.mul(weight)?,
            None => log_p.clone(),
        };
        let spread = (spread.sum(D::Minus1)? * (rows.smoothing / classes as f64))?;
        loss = (loss - spread)?;
    }
    if let Some(kept) = &kept {
        loss = kept.where_cond(&loss, &loss.zeros_like()?)?;
        let all = match weights {
            Some(weights) => weights,
            None => loss.ones_like()?,
        };
        weights = Some(kept.where_cond(&all, &all.zeros_like()?)?);
    }
    Ok((loss, weights.map(|weights| weights.detach())))
}

fn forward<T: Element>(rows: &Rows) -> Result<(Raw, Option<Raw>)> {
    let count = rows.x.dim(1)?;
    let classes: Vec<i64> = rows.y.to_dtype(DType::I64)?.to_vec1()?;
    let weights = match &rows.weight {
        Some(weight) => weight.to_vec1::<T>()?,
        None => Vec::new(),
    };
    // With smoothing, the other classes count in a row whose own class has the weight 0.
    let counts = |class: usize| rows.smoothing > 0.0 || weights.get(class) != Some(&T::ZERO);
    let class = |class: i64| match Some(class) != rows.ignored && counts(class as usize) {
        true => class as u32,
        false => IGNORED,
    };
    let input = in_order(rows.x)?;
    let classes = classes.into_iter().map(class).collect();
    let mut rule = Rule {
        classes,
        // Each class gets this part of its weight in every row, and the row's own class the rest.
        spread: T::of(rows.smoothing / count as f64),
        own: T::of(1.0 - rows.smoothing),
        weights,
        count,
        logits: rows.logits.then(|| input.detach()),
        normalizers: Vec::new(),
    };
    let tasks = rule.classes.len().div_ceil(rule.rows());
    let of_task = |task: usize, x: &[T]| {
        let rows = task * rule.rows()..((task + 1) * rule.rows()).min(rule.classes.len());
        let mut scratch = Vec::with_capacity(count);
        let scratch = &mut scratch.spare_capacity_mut()[..count];
        let loss = |row: usize| rule.loss(row, &x[row * count..][..count], scratch);
        rows.map(loss).collect::<Vec<(T, [T; 2])>>()
    };
    let found = read([&input], |[x]| map_tasks(tasks, |task| of_task(task, x)))?;
    let (losses, normalizers): (Vec<T>, _) = found.into_iter().flatten().unzip();
    rule.normalizers = normalizers;
    let of_rows = (rows.weight.is_some() || rows.ignored.is_some()).then(|| {
        let weights = rule.classes.iter().map(|class| rule.weight_of(*class));
        Raw::from_vec(
            weights.collect::<Vec<T>>(),
            rule.classes.len(),
            rows.y.device(),
        )
    });
    let shape = losses.len();
    Ok((
        record(&[rows.x], losses, shape, || rule)?,
        of_rows.transpose()?,
    ))
}

/// The class of each row and the settings, as both passes need them.
struct Rule<T> {
    classes: Vec<u32>,
    spread: T,
    own: T,
    /// A weight for each class; empty if all are 1.
    weights: Vec<T>,
    /// The number of classes.
    count: usize,
    /// The logits; `None` if the rows are log-probabilities.
    logits: Option<Raw>,
    /// For each row, the two values that are subtracted from the logits, one after the other, to get the
    /// log-probabilities.
    normalizers: Vec<[T; 2]>,
}

impl<T: Element> Rule<T> {
    /// Returns the number of rows of one task.
    fn rows(&self) -> usize {
        (CHUNK / self.count).max(1)
    }

    fn weight_of(&self, class: u32) -> T {
        match class {
            IGNORED => T::ZERO,
            class => self.weights.get(class as usize).copied().unwrap_or(T::ONE),
        }
    }

    /// Returns the loss of a row, and its normalizers, which are zeros for log-probabilities.
    fn loss(&self, row: usize, x: &[T], scratch: &mut [MaybeUninit<T>]) -> (T, [T; 2]) {
        let class = self.classes[row];
        if class == IGNORED {
            return (T::ZERO, [T::ZERO; 2]);
        }
        let normal = match self.logits {
            Some(_) => normalizer(x, scratch),
            None => [T::ZERO; 2],
        };
        let weight = self.weight_of(class);
        let own = match weight == T::ZERO {
            true => T::ZERO,
            false => -(x[class as usize] - normal[0] - normal[1]) * self.own * weight,
        };
        let loss = match self.spread == T::ZERO {
            true => own,
            false => own - weighted_sum(x, normal, &self.weights) * self.spread,
        };
        (loss, normal)
    }
}

multiversion! {
    /// Returns the sum of the log-probabilities, with their weights if there are any.
    fn weighted_sum<T: Element>(x: &[T], normal: [T; 2], weights: &[T]) -> T {
        let log_p = |x: T| x - normal[0] - normal[1];
        let [sum] = match weights {
            [] => sum_terms(x, |x| [log_p(x)]),
            _ => sum_pairs(x, weights, |x, weight| {
                [if weight == T::ZERO { T::ZERO } else { log_p(x) * weight }]
            }),
        };
        sum
    }
}

multiversion! {
    /// Turns the gradient of log-probabilities into that of their logits.
    fn to_gradient_of_logits<T: Element>(gradient: &mut [T], x: &[T], normal: [T; 2]) {
        let common = sum(gradient);
        for (g, x) in gradient.iter_mut().zip(x) {
            *g -= (*x - normal[0] - normal[1]).exp::<FUSED>() * common;
        }
    }
}

impl<T: Element> Backward for Rule<T> {
    fn hold(&self, held: &mut Held) {
        held.slice(&self.classes);
        held.slice(&self.normalizers);
    }

    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let logits = self.logits.as_ref().map(CpuView::of).transpose()?;
        let logits = logits.as_ref().map(|x| x.as_slice::<T>()).transpose()?;
        let shape = (self.classes.len(), self.count);
        let chunk = self.rows() * self.count;
        let of_x = write::by_chunks(shape.0 * shape.1, chunk, |first, out| {
            let rows = first / self.count..(first + out.len()) / self.count;
            let mut parts = Parts::new(out);
            for row in rows {
                let class = self.classes[row];
                let factor = match class {
                    IGNORED => T::ZERO,
                    _ => -g[row],
                };
                let out = fill_row(factor * self.spread, &self.weights, parts.next(self.count));
                if class != IGNORED {
                    out[class as usize] += factor * self.own * self.weight_of(class);
                    if let Some(x) = logits {
                        let x = &x[row * self.count..][..self.count];
                        to_gradient_of_logits(out, x, self.normalizers[row]);
                    }
                }
                parts.push(out);
            }
            parts.finish()
        });
        of_first(of_x, shape)
    }

    fn keeps(&self) -> [bool; 3] {
        [self.logits.is_some(), false, false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let mut targets = vec![T::ZERO; self.classes.len() * self.count];
        for (class, row) in self
            .classes
            .iter()
            .zip(targets.chunks_exact_mut(self.count))
        {
            if *class != IGNORED {
                for (i, target) in row.iter_mut().enumerate() {
                    *target = self.spread * self.weight_of(i as u32);
                }
                row[*class as usize] += self.own * self.weight_of(*class);
            }
        }
        let shape = (self.classes.len(), self.count);
        let targets = Tensor::from_raw(Raw::from_vec(targets, shape, upstream.gradient.device())?);
        let g = upstream.g().unsqueeze(1); // (rows, 1)
        let of_x = match self.logits {
            None => -(g * targets),
            Some(_) => {
                let totals = targets.sum_keepdim(1);
                let x = upstream.x(0)?.masked_fill(&totals.eq(0.0), 0.0);
                g * (x.softmax(1) * totals - targets)
            }
        };
        Ok([Some(of_x.into()), None, None])
    }
}

/// Fills a row with a value, times the weights if there are any.
fn fill_row<'a, T: Element>(value: T, weights: &[T], out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
    match weights {
        [] => write::fill(out, value),
        _ => write::each(out, weights.iter().map(|weight| value * *weight)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};
    use candle_core::Device;

    #[test]
    fn the_kernel_agrees_with_candle() {
        type Losses = fn(Rows) -> Result<(Raw, Option<Raw>)>;
        compare("losses_of_rows", 40, |case| {
            let (count, classes) = (case.between(1, 70), case.between(1, 40));
            let y: Vec<i64> = (0..count)
                .map(|_| case.between(0, classes - 1) as i64)
                .collect();
            let y = Raw::from_vec(y, count, &Device::Cpu).unwrap();
            let inputs = vec![case.input(randn((count, classes)))];
            let weight = case
                .one_of(&[true, false])
                .then(|| case.input(rand(classes)));
            let ignored = case.one_of(&[None, Some(0)]);
            let smoothing = case.one_of(&[0.0, 0.3]);
            let logits = case.one_of(&[false, true]);
            let run = move |losses: Losses| {
                let (y, weight) = (y.clone(), weight.clone());
                move |x: &[Raw]| {
                    let rows = Rows {
                        x: &x[0],
                        logits,
                        y: &y,
                        weight: weight.clone(),
                        ignored,
                        smoothing,
                    };
                    Ok(losses(rows)?.0)
                }
            };
            let kernel = run(losses_of_rows);
            let candle = run(|rows| losses_with_candle(&rows));
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
