//! What all convolutions share: their parameters, with PyTorch's names, and their settings.

use crate::error::{OrRaise, Result, explain, raise};
use crate::nn::part::{Kind, Part};
use crate::nn::spec::Spec;
use crate::nn::summary::output_of;
use crate::nn::{Parameter, Parameters, Visitor, VisitorMut, check, visit_field};
use crate::ops::{self, Conv2dSpec, PaddingMode, Pair};
use crate::tensor::{Tensor, uniform};
use candle_core::Device;

/// A convolution of sequences or images, plain or transposed. For sequences the settings are those of
/// images of height 1.
pub(super) struct Convolution {
    name: &'static str,
    of_images: bool,
    transposed: bool,
    weight: Parameter,
    bias: Option<Parameter>,
    out_channels: usize,
    kernel: Pair,
    pub(super) spec: Conv2dSpec,
    pub(super) output_padding: Pair,
    pub(super) padding_mode: PaddingMode,
}

impl Convolution {
    /// Creates a convolution whose parameters wait for [`init`](Self::init). Its kind follows from
    /// the name of the layer.
    pub(super) fn lazy(name: &'static str, out_channels: usize, kernel: Pair) -> Self {
        let mut layer = Self {
            name,
            of_images: name.ends_with("2d"),
            transposed: name.contains("Transpose"),
            weight: Parameter::lazy_as(Spec::f32(&[])),
            bias: None,
            out_channels,
            kernel,
            spec: Conv2dSpec::new(),
            output_padding: 0.into(),
            padding_mode: PaddingMode::Zeros,
        };
        layer.weight = layer.lazy_weight();
        layer.bias = Some(layer.lazy_bias());
        layer
    }

    fn lazy_weight(&self) -> Parameter {
        let [rows, columns] = self.kernel.both().map(Some);
        let channels = match self.transposed {
            // With 0 groups, which `init` refuses, the size does not matter.
            true => [None, self.out_channels.checked_div(self.spec.groups)],
            false => [Some(self.out_channels), None],
        };
        let kernel = if self.of_images {
            vec![rows, columns]
        } else {
            vec![columns]
        };
        Parameter::lazy_as(Spec::f32(&[&channels[..], &kernel].concat()))
    }

    fn lazy_bias(&self) -> Parameter {
        Parameter::lazy_as(Spec::f32(&[Some(self.out_channels)]))
    }

    /// Sets the padding on each side.
    pub(super) fn set_padding(&mut self, padding: Pair) {
        self.spec = self.spec.padding(padding);
    }

    /// Removes the bias, or adds one with random values.
    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        if bias != self.bias.is_some() {
            self.bias = bias.then(|| self.lazy_bias());
            if let (Some(in_channels), true) = (self.in_channels(), bias) {
                self.init(in_channels, &self.weight.device());
            }
        }
    }

    /// Draws the parameters of a lazy layer: uniform between `-1/√n` and `1/√n`.
    #[track_caller]
    pub(super) fn init(&self, in_channels: usize, device: &Device) {
        let (out_channels, groups) = (self.out_channels, self.spec.groups);
        let sizes = [
            ("in_channels", in_channels),
            ("out_channels", out_channels),
            ("kernel", self.kernel.least()),
            ("groups", groups),
        ];
        check::positive(self.name, &sizes);
        if !in_channels.is_multiple_of(groups) || !out_channels.is_multiple_of(groups) {
            raise(explain(
                format!(
                    "{}: {groups} groups cannot share {in_channels} input and {out_channels} output channels",
                    self.name
                ),
                "Choose a number of groups that divides both",
            ))
        }
        let [first, second] = match self.transposed {
            true => [in_channels, out_channels / groups],
            false => [out_channels, in_channels / groups],
        };
        let [rows, columns] = self.kernel.both();
        let bound = 1.0 / (second as f64 * rows as f64 * columns as f64).sqrt();
        let shape = match self.of_images {
            true => vec![first, second, rows, columns],
            false => vec![first, second, columns],
        };
        self.weight
            .init(device, || uniform(-bound, bound, &shape[..]));
        if let Some(bias) = &self.bias {
            bias.init(device, || uniform(-bound, bound, out_channels));
        }
    }

    /// Changes the number of groups, and draws the parameters again.
    #[track_caller]
    pub(super) fn regroup(&mut self, groups: usize) {
        let (in_channels, device) = (self.in_channels().unwrap_or(0), self.weight.device());
        self.set_groups(groups);
        self.init(in_channels, &device);
    }

    /// Changes the number of groups; the parameters wait for [`init`](Self::init).
    pub(super) fn set_groups(&mut self, groups: usize) {
        self.spec.groups = groups;
        self.weight = self.lazy_weight();
        self.bias = self.bias.take().map(|_| self.lazy_bias());
    }

    /// Returns the number of input channels; `None` before the first input.
    fn in_channels(&self) -> Option<usize> {
        match self.transposed {
            true => self.weight.size(0),
            false => Some(self.weight.size(1)? * self.spec.groups),
        }
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.weight.is_initialized()
    }

    /// Returns the number of channels of an input.
    #[track_caller]
    pub(super) fn channels(&self, layer: &dyn Parameters, x: &Tensor) -> usize {
        match (self.of_images, x.dims()) {
            (true, [channels, _, _]) | (false, [channels, _]) => *channels,
            (true, _) => check::image(layer, x).1,
            (false, _) => check::sequences(layer, x).1,
        }
    }

    /// Returns the output; `layer` is the layer itself, for errors.
    #[track_caller]
    pub(super) fn forward(&self, layer: &dyn Parameters, x: &Tensor) -> Tensor {
        self.channels(layer, x);
        let name = check::name(layer);
        let (weight, bias) = (
            self.weight.tensor(),
            { self.bias.as_ref() }.map(Parameter::tensor),
        );
        let (weight, bias) = (weight.raw(), bias.as_ref().map(Tensor::raw));
        let added = self.output_padding;
        let (x, spec) =
            ops::padded(&name, x.raw(), weight, self.spec, self.padding_mode).or_raise();
        let y = match (self.of_images, self.transposed) {
            (true, false) => ops::conv2d_as(&name, &x, weight, bias, spec),
            (false, false) => ops::conv1d_as(&name, &x, weight, bias, spec),
            (true, true) => ops::conv_transpose2d(&name, &x, weight, bias, spec, added),
            (false, true) => ops::conv_transpose1d(&name, &x, weight, bias, spec, added),
        };
        output_of(layer, y)
    }

    /// Returns what is computed, if it is a plain convolution of images.
    pub(super) fn part(&self) -> Part {
        if !self.of_images || self.transposed || !self.is_initialized() {
            return Part::default();
        }
        Part(Some(Kind::Convolution {
            weight: self.weight.tensor(),
            bias: { self.bias.as_ref() }.map(Parameter::tensor),
            spec: self.spec,
            padding_mode: self.padding_mode,
        }))
    }
}

impl Parameters for Convolution {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.model(self.name);
        visitor.settings(&|visitor| {
            let size = |pair: Pair| {
                if self.of_images {
                    pair
                } else {
                    pair.width.into()
                }
            };
            let (spec, padding_mode) =
                (self.spec, format!("{:?}", self.padding_mode).to_lowercase());
            visit_field(visitor, "0", &self.in_channels());
            visit_field(visitor, "1", &self.out_channels);
            visit_field(visitor, "kernel_size", &size(self.kernel));
            visit_field(visitor, "stride", &size(spec.stride));
            let mut unusual = |name, value: &dyn Parameters, is_unusual: bool| {
                if is_unusual {
                    visit_field(visitor, name, value);
                }
            };
            let [padding, added] = [spec.padding, self.output_padding].map(size);
            match spec.same {
                true => unusual("padding", &"same".to_owned(), true),
                false => unusual("padding", &padding, padding != 0.into()),
            }
            unusual("output_padding", &added, added != 0.into());
            let dilation = size(spec.dilation);
            unusual("dilation", &dilation, dilation != 1.into());
            unusual("groups", &spec.groups, spec.groups != 1);
            unusual("bias", &false, self.bias.is_none());
            unusual("padding_mode", &padding_mode, padding_mode != "zeros");
        });
        visit_field(visitor, "weight", &self.weight);
        visit_field(visitor, "bias", &self.bias);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        self.weight.visit_mut(visitor)?;
        self.bias.visit_mut(visitor)
    }

    fn shallow_copy(&self) -> Self {
        Self {
            weight: self.weight.shallow_copy(),
            bias: self.bias.shallow_copy(),
            ..*self
        }
    }
}

/// Returns a kernel size, stride or dilation of sequences as that of images of height 1.
pub(super) fn row_extent(width: usize) -> Pair {
    Pair { height: 1, width }
}

/// Returns a padding of sequences as that of images of height 1.
pub(super) fn row_margin(width: usize) -> Pair {
    Pair { height: 0, width }
}

/// Implements a convolution and its lazy form. `$extent` converts a size, and `$margin` a padding, to a
/// [`Pair`]. The literals are for the examples: the elements of a kernel of size 3, an input of size 9, and
/// the shapes of its outputs with stride 2, padding 1 and dilation 2.
macro_rules! convolution {
    (
        $name:ident, $lazy:ident, ($($size:tt)+), $extent:path, $margin:path,
        $elements:literal, $x:literal, $strided:literal, $padded:literal, $dilated:literal
    ) => {
        impl $name {
            /// Creates a layer with random weights, on the default device: stride 1, no padding.
            ///
            /// # Panics
            /// If one of the sizes is 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($name), "::new(4, 2, 3).num_parameters(), 2 * 4 * ", $elements, " + 2);")]
            /// ```
            #[track_caller]
            pub fn new(in_channels: usize, out_channels: usize, kernel: $($size)+) -> Self {
                let conv = Convolution::lazy(stringify!($name), out_channels, $extent(kernel));
                conv.init(in_channels, &default_device());
                Self { conv }
            }

            /// Splits the channels into groups that are convolved separately; one group by default. The
            /// weights are initialised again, since there are fewer.
            ///
            /// # Panics
            /// If `groups` does not divide both numbers of channels.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(4, 4, 3).groups(4);")]
            #[doc = concat!("assert_eq!(layer.num_parameters(), 4 * ", $elements, " + 4);")]
            /// ```
            #[track_caller]
            pub fn groups(mut self, groups: usize) -> Self {
                self.conv.regroup(groups);
                self
            }
        }

        impl $lazy {
            /// Creates a layer with this many output channels and a kernel of this size.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let net = seq![", stringify!($lazy), "::new(6, 5), ReLU, ", stringify!($lazy), "::new(16, 5)];")]
            /// assert_eq!(net.num_parameters(), 0); // until the first input
            /// ```
            pub fn new(out_channels: usize, kernel: $($size)+) -> Self {
                let conv = Convolution::lazy(stringify!($name), out_channels, $extent(kernel));
                Self { layer: $name { conv } }
            }

            /// Sets the number of groups of channels that are convolved separately. The first input panics
            /// if `groups` does not divide both numbers of channels.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($lazy), "::new(4, 3).groups(4);")]
            #[doc = concat!("assert!(attempt(|| layer.forward(&zeros(", $x, "))).is_err()); // 1 channel")]
            /// ```
            pub fn groups(mut self, groups: usize) -> Self {
                self.layer.conv.set_groups(groups);
                self
            }
        }

        convolution!(settings $name, [conv], concat!(stringify!($name), "::new(1, 1, 3)"),
            ($($size)+), $extent, $margin, $x, $strided, $padded, $dilated);
        convolution!(settings $lazy, [layer.conv], concat!(stringify!($lazy), "::new(1, 3)"),
            ($($size)+), $extent, $margin, $x, $strided, $padded, $dilated);

        impl Layer for $name {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                self.conv.forward(self, input)
            }

            fn part(&self) -> $crate::nn::part::Part {
                self.conv.part()
            }
        }

        impl Layer for $lazy {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                let conv = &self.layer.conv;
                if !conv.is_initialized() {
                    conv.init(conv.channels(self, input), input.device());
                }
                self.layer.forward(input)
            }

            fn part(&self) -> $crate::nn::part::Part {
                self.layer.part()
            }
        }

        impl $name {
            fn is_initialized(&self) -> bool {
                self.conv.is_initialized()
            }
        }

        lazy_form!($lazy { layer });
    };
    (
        settings $name:ident, [$($conv:ident).+], $new:expr, ($($size:tt)+), $extent:path, $margin:path,
        $x:literal, $strided:literal, $padded:literal, $dilated:literal
    ) => {
        impl $name {
            /// Sets the stride, by which the kernel moves from one element to the next; 1 by default.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", $new, ".stride(2);")]
            #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $strided, ");")]
            /// ```
            pub fn stride(mut self, stride: $($size)+) -> Self {
                self.$($conv).+.spec.stride = $extent(stride);
                self
            }

            /// Sets the padding on each side: elements that are added to the input of a convolution, or removed
            /// from the output of a transposed one; 0 by default.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", $new, ".padding(1);")]
            #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $padded, ");")]
            /// ```
            pub fn padding(mut self, padding: $($size)+) -> Self {
                self.$($conv).+.set_padding($margin(padding));
                self
            }

            /// Sets the distance between neighbouring elements of the kernel; 1 by default.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", $new, ".dilation(2);")]
            #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $dilated, ");")]
            /// ```
            pub fn dilation(mut self, dilation: $($size)+) -> Self {
                self.$($conv).+.spec.dilation = $extent(dilation);
                self
            }

            /// Sets whether the layer has a bias, as by default. Before a batch normalisation it has no effect.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert!(", $new, ".bias(false).parameters().len() <= 1);")]
            /// ```
            #[track_caller]
            pub fn bias(mut self, bias: bool) -> Self {
                self.$($conv).+.set_bias(bias);
                self
            }
        }
    };
}
pub(super) use convolution;

/// Implements `padding_same` and `padding_mode`, for convolutions that are not transposed.
macro_rules! padding_mode {
    ($name:ident, [$($conv:ident).+], $new:expr, $x:literal, $y:literal) => {
        impl $name {
            /// Pads so that the output has the size of the input, whatever the kernel and its dilation: PyTorch's
            /// `padding="same"`. For an even kernel there is one element more at the end than at the start. An input panics
            /// if the stride is not 1.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", $new, ".dilation(2).padding_same();")]
            #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $y, ");")]
            /// ```
            pub fn padding_same(mut self) -> Self {
                self.$($conv).+.spec.same = true;
                self
            }

            /// Sets the values of the padding; zeros by default.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", $new, ".padding(1).padding_mode(PaddingMode::Circular);")]
            #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $y, ");")]
            /// ```
            pub fn padding_mode(mut self, padding_mode: PaddingMode) -> Self {
                self.$($conv).+.padding_mode = padding_mode;
                self
            }
        }
    };
}
pub(super) use padding_mode;

/// Implements `output_padding`, for transposed convolutions.
macro_rules! output_padding {
    ($name:ident, [$($conv:ident).+], $new:expr, ($($size:tt)+), $margin:path, $x:literal, $y:literal) => {
        impl $name {
            /// Sets the size that is added to the end of the output; 0 by default. A convolution with a
            /// stride maps several input sizes to the same output size; this chooses among them.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", $new, ".stride(2).padding(1).output_padding(1);")]
            #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $y, ");")]
            /// ```
            pub fn output_padding(mut self, output_padding: $($size)+) -> Self {
                self.$($conv).+.output_padding = $margin(output_padding);
                self
            }
        }
    };
}
pub(super) use output_padding;
