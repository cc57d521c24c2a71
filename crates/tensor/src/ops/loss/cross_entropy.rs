//! Cross-entropy of logits, and the negative log-likelihood of log-probabilities.

use super::notes;
use super::reduction::{Reduction, divided, empty, sum};
use super::rows::{Rows, losses_of_rows};
use super::targets::same_device;
use crate::error::{OrRaise, refuse};
use crate::ops::all_finite;
use crate::ops::arithmetic::{Arithmetic, arithmetic, arithmetic_number};
use crate::ops::check;
use crate::ops::contiguous_raw;
use crate::ops::lookup::check_indices;
use crate::ops::softmax::log_softmax_as;
use crate::ops::sum_as;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};

functions! {
    /// Returns the mean cross-entropy of logits, `-log softmax(y_hat)[y]`. From d2l's chapter *Softmax
    /// Regression*. [`CrossEntropyLoss`] has further settings.
    ///
    /// It applies softmax itself: leave `Softmax` out of the model. With it, the model trains
    /// without an error, but to worse results; a note is printed once.
    ///
    /// # Shapes
    /// Logits `(batch, classes, …)`, class indices `(batch, …)`; the loss is a scalar `()`. One example has logits
    /// `(classes,)` and a class index `()`.
    ///
    /// # Panics
    /// If the shapes do not fit, the devices differ, the batch is empty, or a class index is out of range. On a
    /// GPU, reading the indices would make every step wait: there, the loss is NaN if one is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let logits = tensor(&[[0.0, 0.0], [9.0, -9.0]]); // (2, 2)
    /// let loss = cross_entropy(&logits, &tensor(&[1, 0]));
    /// assert!((loss.item() - 0.5 * 2f64.ln()).abs() < 1e-6);
    /// ```
    pub fn cross_entropy(y_hat: &Tensor, y: &Tensor) = CrossEntropyLoss::new().forward(y_hat, y);

    /// Returns the mean negative log-likelihood, `-log_p[y]`, of log-probabilities such as those from
    /// [`log_softmax`](crate::ops::log_softmax). [`NLLLoss`] has further settings.
    ///
    /// # Shapes
    /// Log-probabilities `(batch, classes, …)`, class indices `(batch, …)`; the loss is a scalar `()`.
    ///
    /// # Panics
    /// As for [`cross_entropy`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let logits = randn((4, 3)); // (4, 3)
    /// let y = tensor(&[0, 2, 1, 1]);
    /// let loss = nll_loss(&log_softmax(&logits, 1), &y).item();
    /// assert!((loss - cross_entropy(&logits, &y).item()).abs() < 1e-6);
    /// ```
    pub fn nll_loss(log_p: &Tensor, y: &Tensor) = NLLLoss::new().forward(log_p, y);
}

macro_rules! class_loss {
    ($(#[$doc:meta])* $name:ident, $function:literal, $note:expr, $forward:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            settings: Settings,
        }

        impl $name {
            /// Creates the loss with the default settings: the mean over the batch.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let loss = ", stringify!($name), "::new();")]
            /// assert_eq!(loss.forward(&zeros((2, 3)), &tensor(&[0, 2])).rank(), 0);
            /// ```
            pub fn new() -> Self {
                Self::default()
            }

            setters! {
                /// Sets how the losses of the examples become the loss of the batch.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let loss = ", stringify!($name), "::new().reduction(Reduction::None);")]
                /// assert_eq!(loss.forward(&zeros((2, 3)), &tensor(&[0, 2])).dims(), [2]);
                /// ```
                pub fn reduction(self, reduction: Reduction): self.settings.reduction = reduction;

                /// Sets a weight for each class, `(classes,)`, for classes of unequal frequency. For the mean,
                /// the sum of the losses is divided by the sum of the targets' weights.
                ///
                /// A target whose class has the weight 0 does not count, also if its predictions are NaN; with label
                /// smoothing, the other classes count. If the sum of the weights is 0, the mean is NaN, and the gradients
                /// are 0.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let loss = ", stringify!($name), "::new().weight(&tensor(&[1.0, 3.0]));")]
                /// let loss = loss.reduction(Reduction::Sum);
                /// let log_p = full((2, 2), 0.5f64.ln()); // (2, 2)
                /// let loss = loss.forward(&log_p, &tensor(&[0, 1])).item();
                /// assert!((loss - 4.0 * 2f64.ln()).abs() < 1e-5);
                /// ```
                pub fn weight(self, weight: &Tensor): self.settings.weight = Some(weight.raw().detach());

                /// Sets the class index of the targets that are ignored, such as padding; -100 by default. Their
                /// predictions reach neither the loss nor a gradient, also if they are NaN. If all targets are ignored, the
                /// mean is NaN, and the gradients are 0.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let loss = ", stringify!($name), "::new().ignore_index(-1);")]
                /// let log_p = full((2, 2), 0.5f64.ln()); // (2, 2)
                /// let loss = loss.forward(&log_p, &tensor(&[0, -1])).item();
                /// assert!((loss - 2f64.ln()).abs() < 1e-6);
                /// ```
                pub fn ignore_index(self, index: i64): self.settings.ignore_index = Some(index);
            }

            /// Returns the loss of predictions.
            ///
            /// # Panics
            #[doc = concat!("As for [`", $function, "`], and if a setting is invalid.")]
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let loss = ", stringify!($name), "::new();")]
            /// let classes = tensor(&[0, 3]); // there are only 0, 1 and 2
            /// assert!(attempt(|| loss.forward(&zeros((2, 3)), &classes)).is_err());
            /// ```
            #[inline]
            #[track_caller]
            pub fn forward(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
                let loss = of_batch(&self.settings, y_hat.raw(), y.raw(), &$note, $forward);
                loss.or_raise().into()
            }
        }
    };
}

class_loss!(
    /// The cross-entropy of logits, [`cross_entropy`], with settings. Leave `Softmax` out of the
    /// model.
    ///
    /// Targets are class indices `(batch, …)`, or probabilities with the shape of the logits.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let logits = zeros((2, 4)); // (2, 4)
    /// let loss = CrossEntropyLoss::new().label_smoothing(0.1).reduction(Reduction::Sum);
    /// let loss = loss.forward(&logits, &tensor(&[3, 0]));
    /// assert!((loss.item() - 2.0 * 4f64.ln()).abs() < 1e-5);
    /// ```
    CrossEntropyLoss, "cross_entropy", notes::CROSS_ENTROPY, forward
);

class_loss!(
    /// The negative log-likelihood of log-probabilities, [`nll_loss`], with settings.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let log_p = tensor(&[[-0.5, -1.0]]); // (1, 2)
    /// let loss = NLLLoss::new().forward(&log_p, &tensor(&[1]));
    /// assert_eq!(loss.item(), 1.0);
    /// ```
    NLLLoss, "nll_loss", notes::NLL, |settings: &Settings, log_p: &Raw, y: &Raw| {
        settings.of_log_probabilities("nll_loss", log_p, y)
    }
);

impl CrossEntropyLoss {
    /// Sets the share of each target that is spread evenly over all classes, from 0 to 1. From Szegedy et
    /// al., 2016.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = CrossEntropyLoss::new().label_smoothing(2.0);
    /// let loss = attempt(|| loss.forward(&zeros((1, 2)), &tensor(&[0])));
    /// assert!(loss.is_err());
    /// ```
    pub fn label_smoothing(mut self, smoothing: f64) -> Self {
        self.settings.label_smoothing = smoothing;
        self
    }
}

/// The class index that is ignored unless another is set, as in PyTorch.
const IGNORED: i64 = -100;

#[derive(Clone, Debug, Default)]
struct Settings {
    reduction: Reduction,
    weight: Option<Raw>,
    ignore_index: Option<i64>,
    label_smoothing: f64,
}

/// Computes a loss; one example without a batch is a batch of one.
fn of_batch(
    settings: &Settings,
    y_hat: &Raw,
    y: &Raw,
    expected: &notes::Expectation,
    forward: fn(&Settings, &Raw, &Raw) -> Result<Raw>,
) -> Result<Raw> {
    expected.check(y_hat, usize::from(y_hat.rank() > 1));
    let fits = y.rank() == 0 || y.dtype().is_float() && y.dims() == y_hat.dims();
    if y_hat.rank() != 1 || !fits {
        return forward(settings, y_hat, y);
    }
    let loss = forward(settings, &y_hat.unsqueeze(0)?, &y.unsqueeze(0)?)?;
    match settings.reduction {
        Reduction::None => loss.squeeze(0),
        _ => Ok(loss),
    }
}

fn forward(settings: &Settings, y_hat: &Raw, y: &Raw) -> Result<Raw> {
    check::floating(&"cross_entropy", y_hat)?;
    if check::is_half(y_hat) {
        return check::in_single([y_hat], |[single]| forward(settings, &single, y));
    }
    refuse!(if !(0.0..=1.0).contains(&settings.label_smoothing);
        argument("cross_entropy", settings.label_smoothing);
        "a label smoothing from 0 to 1", "Use a small share; 0.1 is common");
    settings.check_rows("cross_entropy", "logits", y_hat)?;
    match y.dtype().is_float() && y.dims() == y_hat.dims() {
        true if settings.ignore_index.is_some_and(|index| index >= 0) => {
            refuse!(argument("cross_entropy", "probabilities");
            "class indices as targets, for ignore_index",
            "Leave out .ignore_index(…), or pass class indices")
        }
        true => settings.of_probabilities(y_hat, y),
        false => {
            settings.check("cross_entropy", "logits", y_hat, y)?;
            settings.of_rows("cross_entropy", y_hat, y, true)
        }
    }
}

/// Checks that the class indices that are not ignored are in range.
fn check_classes(caller: &str, y: &Raw, classes: usize, ignored: Option<i64>) -> Result<()> {
    let checked = match ignored {
        Some(ignored) => {
            let kept = y.to_dtype(DType::I64)?;
            let kept = kept.ne(ignored)?.where_cond(&kept, &kept.zeros_like()?)?;
            std::borrow::Cow::Owned(kept)
        }
        None => std::borrow::Cow::Borrowed(y),
    };
    let remedy = "give the model more outputs";
    check_indices(&caller, "class", &checked, classes, remedy)
}

/// Returns the logarithms of the probabilities of the classes, `(batch, classes, …)`.
fn log_probabilities(logits: &Raw) -> Result<Raw> {
    log_softmax_as(&"cross_entropy", logits, 1.into())
}

impl Settings {
    /// Checks that `y_hat` has the shape `(batch, classes, …)`, and that there is a weight for each class.
    fn check_rows(&self, caller: &str, what: &str, y_hat: &Raw) -> Result<()> {
        let dims = y_hat.dims();
        refuse!(if dims.len() < 2 || dims[1] == 0;
            "{caller} cannot take {what} of shape {dims:?}";
            "Expected a row of {what} for each example: (batch, classes)");
        let classes = dims[1];
        let Some(weight) = &self.weight else {
            return Ok(());
        };
        refuse!(if weight.dims() != [classes]; shape(caller, weight.dims());
            "a weight for each of {classes} classes", "Pass a weight of shape ({classes},)");
        same_device(caller, y_hat, weight)
    }

    /// Checks that targets fit the logits or log-probabilities.
    fn check(&self, caller: &str, what: &str, y_hat: &Raw, y: &Raw) -> Result<()> {
        let (dims, labels) = (y_hat.dims(), y.dims());
        self.check_rows(caller, what, y_hat)?;
        let (batch, places) = (dims[0], &dims[2..]);
        if labels != [&[batch], places].concat() {
            let expected = match places {
                [] => format!("({batch},)"),
                _ => format!("{:?}", [&[batch], places].concat()),
            };
            refuse!(
                "{caller}: {what} of shape {dims:?} do not fit classes of shape {labels:?}";
                "Expected a class index for each example: {expected}");
        }
        if y.dtype().is_float() {
            let found = y.dtype().as_str();
            refuse!(
                "{caller} takes class indices, but the targets are {found}";
                "Convert them: y.to_dtype(DType::I64)");
        }
        same_device(caller, y_hat, y)
    }

    fn of_log_probabilities(&self, caller: &str, log_p: &Raw, y: &Raw) -> Result<Raw> {
        check::floating(&caller, log_p)?;
        self.check(caller, "log-probabilities", log_p, y)?;
        if check::is_half(log_p) {
            return check::in_single([log_p], |[single]| self.of_rows(caller, &single, y, false));
        }
        self.of_rows(caller, log_p, y, false)
    }

    /// Returns the loss of logits or log-probabilities that have been checked.
    fn of_rows(&self, caller: &str, x: &Raw, y: &Raw, logits: bool) -> Result<Raw> {
        let classes = x.dim(1)?;
        let rows = match x.rank() {
            2 => x.clone(),
            rank => {
                // (batch, …, classes), in the order of the targets
                let order: Vec<usize> = [0].into_iter().chain(2..rank).chain([1]).collect();
                contiguous_raw(&x.permute(order)?)?.reshape(((), classes))?
            }
        };
        let y = y.flatten_all()?;
        let ignored = self.ignored(&y)?;
        if y.elem_count() > 0 {
            check_classes(caller, &y, classes, ignored)?;
        }
        let weight = self.weight.as_ref();
        let (losses, weights) = losses_of_rows(Rows {
            x: &rows,
            logits,
            y: &y,
            weight: weight.map(|w| w.to_dtype(x.dtype())).transpose()?,
            ignored,
            smoothing: self.label_smoothing,
        })?;
        let mut shape = x.dims().to_vec();
        shape.remove(1);
        match self.reduction {
            Reduction::None => losses.reshape(shape),
            Reduction::Sum => sum(&losses),
            _ if losses.elem_count() == 0 => Err(empty(caller)),
            Reduction::BatchMean => divided(&sum(&losses)?, shape[0]),
            Reduction::Mean => match weights {
                Some(weights) => mean_by_weight(&losses, &weights),
                None => divided(&sum(&losses)?, losses.elem_count()),
            },
        }
    }

    /// Returns the class index whose rows are ignored; `None` if no row has it, so that a mean needs no weights.
    fn ignored(&self, y: &Raw) -> Result<Option<i64>> {
        if self.ignore_index.is_some() {
            return Ok(self.ignore_index);
        }
        let may_occur = match (y.dtype(), y.device().is_cpu()) {
            (DType::U8 | DType::U32, _) => false,
            (_, true) => y.to_dtype(DType::I64)?.to_vec1::<i64>()?.contains(&IGNORED),
            (_, false) => true,
        };
        Ok(may_occur.then_some(IGNORED))
    }

    /// Returns the loss for targets that are probabilities.
    fn of_probabilities(&self, logits: &Raw, y: &Raw) -> Result<Raw> {
        same_device("cross_entropy", logits, y)?;
        let (classes, smoothing) = (logits.dim(1)?, self.label_smoothing);
        let y = y.to_dtype(logits.dtype())?;
        let y = arithmetic_number(Arithmetic::Mul, &y, (1.0 - smoothing).into(), false)?;
        let y = arithmetic_number(
            Arithmetic::Add,
            &y,
            (smoothing / classes as f64).into(),
            false,
        )?;
        let y = match &self.weight {
            Some(weight) => {
                let mut shape = vec![1; logits.rank()];
                shape[1] = classes;
                let weight = weight.to_dtype(logits.dtype())?.reshape(shape)?;
                arithmetic(Arithmetic::Mul, &y, &weight)?
            }
            None => y,
        };
        let terms = match logits.device().is_cpu() && !all_finite(logits)? {
            true => terms_that_count(logits, &y)?,
            false => arithmetic(Arithmetic::Mul, &log_probabilities(logits)?, &y)?,
        };
        let losses = sum_as(&"cross_entropy", &terms, &[1], false)?;
        let losses = arithmetic_number(Arithmetic::Mul, &losses, (-1).into(), false)?;
        super::reduction::reduce("cross_entropy", &losses, self.reduction)
    }
}

/// Returns the logarithms of the probabilities times `y`, and 0 where `y` is 0: there, logits may be NaN or infinite.
fn terms_that_count(logits: &Raw, y: &Raw) -> Result<Raw> {
    let is_zero = Tensor::from_raw_ref(y).detach().eq(0.0);
    let no_class = is_zero.min_keepdim(1);
    let logits = Tensor::from_raw_ref(logits).masked_fill(&no_class, 0.0);
    let log_p = Tensor::from_raw(log_probabilities(logits.raw())?);
    let terms = log_p.masked_fill(&is_zero, 0.0) * Tensor::from_raw_ref(y);
    Ok(terms.into())
}

/// Returns the sum of the losses of the rows, divided by the sum of their weights. If no row counts, that is NaN, and
/// its gradient is 0.
fn mean_by_weight(losses: &Raw, weights: &Raw) -> Result<Raw> {
    let total = sum(weights)?;
    let none_counts = total.eq(0.0)?;
    let losses = Tensor::from_raw_ref(losses);
    let losses = losses.masked_fill(Tensor::from_raw_ref(&none_counts), 0.0);
    arithmetic(Arithmetic::Div, &sum(losses.raw())?, &total)
}

#[cfg(test)]
mod tests;
