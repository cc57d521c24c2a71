//! The parameters, buffers and settings of a batch normalisation.

use crate::error::OrRaise;
use crate::nn::fusible::{Fusible, Kind};
use crate::nn::layers::scale::value_or;
use crate::nn::spec::Spec;
use crate::nn::summary::{self, record_output};
use crate::nn::{Buffer, Mode, Parameter, Parameters, check};
use crate::ops::{self, BatchNormOutput};
use crate::tensor::{Tensor, default_device, ones, tensor, with_device, zeros};
use candle_core::{DType, Device};
use std::sync::OnceLock;

const EPS: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

/// The parameters, buffers and settings of a batch normalisation of features or of images, which differ
/// only in the shapes of their inputs.
#[derive(Parameters)]
#[describe(
    self.num_features(),
    affine = self.weight.is_none().then_some(false),
    bias = (self.weight.is_some() && self.bias.is_none()).then_some(false),
    track_running_stats = self.running_mean.is_none().then_some(false)
)]
pub(super) struct Norm {
    weight: Option<Parameter>,
    bias: Option<Parameter>,
    running_mean: Option<Buffer>,
    running_var: Option<Buffer>,
    num_batches_tracked: Option<Buffer>,
    mode: Mode,
    /// The number of features, once `init` has set it.
    #[parameters(skip)]
    features: OnceLock<usize>,
    pub(super) eps: f64,
    pub(super) momentum: Option<f64>,
}

fn spec() -> Spec {
    Spec::f32(&[None])
}

impl Norm {
    pub(super) fn lazy() -> Self {
        Self {
            weight: Some(Parameter::lazy_as(spec())),
            bias: Some(Parameter::lazy_as(spec())),
            running_mean: Some(Buffer::lazy_as(spec())),
            running_var: Some(Buffer::lazy_as(spec())),
            num_batches_tracked: Some(Buffer::lazy_as(Spec::new(&[], DType::I64))),
            mode: Mode::new(),
            features: OnceLock::new(),
            eps: EPS,
            momentum: Some(MOMENTUM),
        }
    }

    /// Sets the values of the parameters and buffers that have none.
    pub(super) fn init(&self, features: usize, device: &Device) {
        self.features.get_or_init(|| features);
        let values: [fn(usize) -> Tensor; 4] = [ones, zeros, zeros, ones];
        for (parameter, values) in self.sized().into_iter().zip(values) {
            parameter
                .into_iter()
                .for_each(|it| it.init(device, || values(features)));
        }
        if let Some(count) = &self.num_batches_tracked {
            count.init(device, || tensor(0));
        }
    }

    /// Returns what has the size of the features: the weight, the bias, the mean and the variance.
    fn sized(&self) -> [Option<&Parameter>; 4] {
        let running = [&self.running_mean, &self.running_var];
        let [mean, var] = running.map(|it| it.as_ref().map(Buffer::parameter));
        [self.weight.as_ref(), self.bias.as_ref(), mean, var]
    }

    /// Initialises what a setter has added, unless the layer waits for its first input.
    fn init_added(&self, features: Option<usize>) {
        if let Some(features) = features {
            self.init(features, &default_device());
        }
    }

    /// Returns the weight, or else the mean.
    fn first(&self) -> Option<&Parameter> {
        let [weight, _, mean, _] = self.sized();
        weight.or(mean)
    }

    fn num_features(&self) -> Option<usize> {
        let known = self.first().and_then(|first| first.size(0));
        known.or(self.features.get().copied())
    }

    pub(super) fn is_initialized(&self) -> bool {
        let known = || self.features.get().is_some();
        self.first().map_or_else(known, Parameter::is_initialized)
    }

    /// Removes parameters, or adds those that are missing: the scale and the shift.
    pub(super) fn set_affine(&mut self, weight: bool, bias: bool) {
        let features = self.num_features();
        let lazy = || Parameter::lazy_as(spec());
        self.weight = weight.then(|| self.weight.take().unwrap_or_else(lazy));
        self.bias = bias.then(|| self.bias.take().unwrap_or_else(lazy));
        self.init_added(features);
    }

    pub(super) fn has_weight(&self) -> bool {
        self.weight.is_some()
    }

    /// Removes the running statistics, or adds new ones.
    pub(super) fn set_tracking(&mut self, tracked: bool) {
        if tracked == self.running_mean.is_some() {
            return;
        }
        let new = Self::lazy();
        self.running_mean = new.running_mean.filter(|_| tracked);
        self.running_var = new.running_var.filter(|_| tracked);
        self.num_batches_tracked = new.num_batches_tracked.filter(|_| tracked);
        self.init_added(self.num_features());
    }

    /// Normalises `(batch, features, …)`.
    #[track_caller]
    pub(super) fn forward(&self, layer: &dyn Parameters, x: &Tensor) -> Tensor {
        let [weight, bias] = self.affine(x);
        let running = self.running(x);
        let statistics = { running.as_ref() }.map(|(mean, var)| (mean.raw(), var.raw()));
        let (name, x) = (check::name(layer), x.raw());
        let output = ops::batch_norm(&name, x, weight.raw(), bias.raw(), statistics, self.eps);
        let output = output.or_raise();
        if running.is_none() {
            self.track(&output);
        }
        record_output(layer, output.y.into())
    }

    /// Returns the scale and the shift, or constants in their place.
    fn affine(&self, x: &Tensor) -> [Tensor; 2] {
        let features = self.num_features().unwrap_or(0);
        [(&self.weight, 1.0), (&self.bias, 0.0)]
            .map(|(parameter, value)| value_or(parameter, value, features, x))
    }

    /// Normalises a training batch, and computes the ReLU of it.
    #[track_caller]
    pub(super) fn forward_relu(&self, layer: &dyn Parameters, x: &Tensor) -> Tensor {
        let [weight, bias] = self.affine(x);
        let inputs = [x.raw(), weight.raw(), bias.raw()];
        let output = ops::batch_norm_relu(&check::name(layer), inputs, self.eps).or_raise();
        self.track(&output);
        output.y.into()
    }

    /// Returns what is computed: in evaluation mode, if no input is needed for it.
    pub(super) fn fusible(&self) -> Fusible {
        if self.mode.is_training() {
            return Fusible(Some(Kind::NormOfBatch));
        }
        let [Some(weight), Some(bias), Some(mean), Some(var)] = self.sized() else {
            return Fusible::default();
        };
        if !self.is_initialized() {
            return Fusible::default();
        }
        Fusible(Some(Kind::Norm {
            weight: weight.tensor(),
            bias: bias.tensor(),
            mean: mean.tensor().detach(),
            var: var.tensor().detach(),
            eps: self.eps,
        }))
    }

    /// Returns the mean and variance to normalise with; `None` if the batch has them.
    fn running(&self, x: &Tensor) -> Option<(Tensor, Tensor)> {
        let is_recording = summary::is_recording();
        if self.mode.is_training() && !is_recording {
            return None;
        }
        match (&self.running_mean, &self.running_var) {
            (Some(mean), Some(var)) => Some((mean.tensor(), var.tensor())),
            _ if !is_recording => None,
            // A batch without examples has no statistics.
            _ => with_device(x.device(), || {
                let features = self.num_features().unwrap_or(0);
                let values = (zeros(features), ones(features));
                Some((values.0.to_dtype(x.dtype()), values.1.to_dtype(x.dtype())))
            }),
        }
    }

    /// Updates the running statistics: `running = (1 - momentum) · running + momentum · batch`. On the CPU, a statistic
    /// that is not finite is left out, because the running one would stay NaN.
    fn track(&self, batch: &BatchNormOutput) {
        let (Some(running_mean), Some(running_var), Some(batches)) = (
            &self.running_mean,
            &self.running_var,
            &self.num_batches_tracked,
        ) else {
            return;
        };
        if summary::is_watching() {
            return;
        }
        let (mean, var) = (Tensor::from(&batch.mean), Tensor::from(&batch.var));
        let unbiased = var * (batch.values as f64 / (batch.values - 1) as f64);
        let count = batches.tensor() + 1;
        let momentum = self.momentum.unwrap_or_else(|| 1.0 / count.item());
        for (running, new) in [(running_mean, mean), (running_var, unbiased)] {
            let old = running.tensor();
            let new = new.to_dtype(old.dtype());
            let mut next = &old * (1.0 - momentum) + &new * momentum;
            if new.device().is_cpu() && !matches!(ops::all_finite(new.raw()), Ok(true)) {
                next = new.isfinite().where_cond(next, old);
            }
            running.set(&next);
        }
        batches.set(&count);
    }
}
