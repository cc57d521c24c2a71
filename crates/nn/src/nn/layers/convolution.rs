//! What all convolutions share: their parameters, with PyTorch's names, and their settings.

use crate::error::{OrRaise, raise};
use crate::nn::fusible::{Fusible, Kind};
use crate::nn::layers::affine::Affine;
use crate::nn::summary::output_of;
use crate::nn::{Parameters, check};
use crate::ops::{self, Conv2dSpec, PaddingMode, Pair};
use crate::tensor::{Tensor, default_device};
use candle_core::Device;

/// A convolution of sequences or images, plain or transposed. For sequences the settings are those of
/// images of height 1.
#[derive(Parameters)]
#[describe(
    self.in_channels(),
    self.out_channels,
    kernel_size = self.size(self.kernel),
    stride = self.size(self.spec.stride),
    padding = self.spec.same.then_some("same"),
    padding = self.unusual(self.spec.padding, 0).filter(|_| !self.spec.same),
    output_padding = self.unusual(self.output_padding, 0),
    dilation = self.unusual(self.spec.dilation, 1),
    groups = (self.spec.groups != 1).then_some(self.spec.groups),
    bias = self.affine.bias.is_none().then_some(false),
    padding_mode = (self.padding_mode != PaddingMode::Zeros)
        .then(|| format!("{:?}", self.padding_mode).to_lowercase())
)]
pub(super) struct Convolution {
    name: &'static str,
    of_images: bool,
    transposed: bool,
    #[parameters(flatten)]
    affine: Affine,
    out_channels: usize,
    kernel: Pair,
    #[parameters(skip)]
    pub(super) spec: Conv2dSpec,
    pub(super) output_padding: Pair,
    #[parameters(skip)]
    pub(super) padding_mode: PaddingMode,
}

impl Convolution {
    /// Creates a convolution whose parameters wait for the first input. Its kind follows from the name of the layer.
    pub(super) fn lazy(name: &'static str, out_channels: usize, kernel: Pair) -> Self {
        let mut layer = Self {
            name,
            of_images: name.ends_with("2d"),
            transposed: name.contains("Transpose"),
            affine: Affine::lazy(&[], out_channels),
            out_channels,
            kernel,
            spec: Conv2dSpec::new(),
            output_padding: 0.into(),
            padding_mode: PaddingMode::Zeros,
        };
        layer.set_groups(1);
        layer
    }

    /// Creates a convolution of this many input channels, on the default device.
    #[track_caller]
    pub(super) fn new(name: &'static str, channels: [usize; 2], kernel: Pair) -> Self {
        let layer = Self::lazy(name, channels[1], kernel);
        layer.init(channels[0], &default_device());
        layer
    }

    /// Returns a size as the layer's user writes it.
    fn size(&self, pair: Pair) -> Pair {
        match self.of_images {
            true => pair,
            false => pair.width.into(),
        }
    }

    fn unusual(&self, pair: Pair, usual: usize) -> Option<Pair> {
        let size = self.size(pair);
        (size != usual.into()).then_some(size)
    }

    /// Returns the sizes of the weight: `inputs` are the input channels of the convolution, or those of a group.
    fn weight_sizes<T>(&self, channels: [T; 2], size: fn(usize) -> T) -> Vec<T> {
        let [rows, columns] = self.kernel.both();
        let rows = self.of_images.then_some(rows);
        let kernel = rows.into_iter().chain([columns]).map(size);
        channels.into_iter().chain(kernel).collect()
    }

    /// Draws the parameters of a lazy layer.
    #[track_caller]
    fn init(&self, in_channels: usize, device: &Device) {
        let (out_channels, groups) = (self.out_channels, self.spec.groups);
        let least = self.kernel.least();
        check_channels(self.name, in_channels, out_channels, least, groups);
        let channels = match self.transposed {
            true => [in_channels, out_channels / groups],
            false => [out_channels, in_channels / groups],
        };
        let shape = self.weight_sizes(channels, |size| size);
        self.affine.init(&shape, out_channels, device);
    }

    /// Changes the number of groups, and draws the parameters again, unless they wait for the first input.
    #[track_caller]
    pub(super) fn set_groups(&mut self, groups: usize) {
        let known = self
            .in_channels()
            .map(|channels| (channels, self.affine.weight.device()));
        self.spec.groups = groups;
        let (out_channels, has_bias) = (self.out_channels, self.affine.bias.is_some());
        let channels = match self.transposed {
            // With 0 groups, which `init` refuses, the size does not matter.
            true => [None, out_channels.checked_div(groups)],
            false => [Some(out_channels), None],
        };
        self.affine = Affine::lazy(&self.weight_sizes(channels, Some), out_channels);
        self.affine.set_bias(has_bias, out_channels);
        if let Some((channels, device)) = known {
            self.init(channels, &device);
        }
    }

    #[track_caller]
    pub(super) fn set_bias(&mut self, bias: bool) {
        self.affine.set_bias(bias, self.out_channels);
    }

    /// Returns the number of input channels; `None` before the first input.
    fn in_channels(&self) -> Option<usize> {
        match self.transposed {
            true => self.affine.weight.size(0),
            false => Some(self.affine.weight.size(1)? * self.spec.groups),
        }
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.affine.is_initialized()
    }

    /// Returns the output; `layer` is the layer itself, for errors.
    #[track_caller]
    pub(super) fn forward(&self, layer: &dyn Parameters, x: &Tensor) -> Tensor {
        let channels = match (self.of_images, x.dims()) {
            (true, [channels, _, _]) | (false, [channels, _]) => *channels,
            (true, _) => check::image(layer, x).1,
            (false, _) => check::sequences(layer, x).1,
        };
        if !self.is_initialized() {
            self.init(channels, x.device());
        }
        let name = check::name(layer);
        let (weight, bias) = self.affine.tensors();
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
    pub(super) fn fusible(&self) -> Fusible {
        if !self.of_images || self.transposed || !self.is_initialized() {
            return Fusible::default();
        }
        let (weight, bias) = self.affine.tensors();
        Fusible(Some(Kind::Convolution {
            weight,
            bias,
            spec: self.spec,
            padding_mode: self.padding_mode,
        }))
    }
}

/// Checks the numbers of channels, the least size of the kernel, and the groups.
#[doc(hidden)]
#[track_caller]
pub fn check_channels(
    name: &str,
    in_channels: usize,
    out_channels: usize,
    kernel: usize,
    groups: usize,
) {
    let sizes = [
        ("in_channels", in_channels),
        ("out_channels", out_channels),
        ("kernel", kernel),
        ("groups", groups),
    ];
    check::positive(name, &sizes);
    raise!(if !in_channels.is_multiple_of(groups) || !out_channels.is_multiple_of(groups);
        "{name}: {groups} groups cannot share {in_channels} input and {out_channels} output channels";
        "Choose a number of groups that divides both");
}

/// Returns a kernel size, stride or dilation of sequences as that of images of height 1.
pub(super) fn row_extent(width: usize) -> Pair {
    Pair { height: 1, width }
}

/// Returns a padding of sequences as that of images of height 1.
pub(super) fn row_margin(width: usize) -> Pair {
    Pair { height: 0, width }
}

/// Defines a convolution and its lazy form. `$extent` converts a size, and `$margin` a padding, to a
/// [`Pair`]. The literals are for the examples: the elements of a kernel of size 3, an input of size 9, and
/// the shapes of its outputs with stride 2, padding 1 and dilation 2.
macro_rules! convolution {
    (
        $(#[$doc:meta])* $name:ident, $(#[$lazy_doc:meta])* $lazy:ident, ($($size:tt)+), $extent:path, $margin:path,
        $elements:literal, $x:literal, $strided:literal, $padded:literal, $dilated:literal
    ) => {
        $(#[$doc])*
        #[derive(Parameters)]
        #[parameters(name = if self.conv.is_initialized() { stringify!($name) } else { stringify!($lazy) })]
        pub struct $name {
            #[parameters(flatten)]
            conv: Convolution,
        }

        $(#[$lazy_doc])*
        pub enum $lazy {}

        impl $lazy {
            /// Creates a layer with this many output channels and a kernel of this size.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let net = seq![", stringify!($lazy), "::new(6, 5), ReLU, ", stringify!($lazy), "::new(16, 5)];")]
            /// assert_eq!(net.num_parameters(), 0); // until the first input
            /// ```
            #[allow(clippy::new_ret_no_self)]
            pub fn new(out_channels: usize, kernel: $($size)+) -> $name {
                let conv = Convolution::lazy(stringify!($name), out_channels, $extent(kernel));
                $name { conv }
            }
        }

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
                let channels = [in_channels, out_channels];
                let conv = Convolution::new(stringify!($name), channels, $extent(kernel));
                Self { conv }
            }

            setters! {
                /// Splits the channels into groups that are convolved separately; one group by default. The
                /// weights are initialised again, since there are fewer.
                ///
                /// # Panics
                /// If `groups` does not divide both numbers of channels; a lazy layer panics at its first input.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(4, 4, 3).groups(4);")]
                #[doc = concat!("assert_eq!(layer.num_parameters(), 4 * ", $elements, " + 4);")]
                /// ```
                #[track_caller]
                pub fn groups(self, groups: usize): self.conv.set_groups(groups);

                /// Sets the stride, by which the kernel moves from one element to the next; 1 by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3).stride(2);")]
                #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $strided, ");")]
                /// ```
                pub fn stride(self, stride: $($size)+): self.conv.spec.stride = $extent(stride);

                /// Sets the padding on each side: elements that are added to the input of a convolution, or removed
                /// from the output of a transposed one; 0 by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3).padding(1);")]
                #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $padded, ");")]
                /// ```
                pub fn padding(self, padding: $($size)+): self.conv.spec = self.conv.spec.padding($margin(padding));

                /// Sets the distance between neighbouring elements of the kernel; 1 by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3).dilation(2);")]
                #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $dilated, ");")]
                /// ```
                pub fn dilation(self, dilation: $($size)+): self.conv.spec.dilation = $extent(dilation);

                /// Sets whether the layer has a bias, as by default. Before a batch normalisation it has no effect.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(1, 1, 3).bias(false).parameters().len(), 1);")]
                /// ```
                #[track_caller]
                pub fn bias(self, bias: bool): self.conv.set_bias(bias);
            }
        }

        impl Layer for $name {
            $crate::nn::layer::boxed_here!();

            fn forward(&self, input: &Tensor) -> Tensor {
                self.conv.forward(self, input)
            }

            fn fusible(&self) -> $crate::nn::fusible::Fusible {
                self.conv.fusible()
            }
        }
    };
}
pub(super) use convolution;

/// Implements `padding_same` and `padding_mode`, for convolutions that are not transposed.
macro_rules! padding_mode {
    ($name:ident, $x:literal, $y:literal) => {
        impl $name {
            setters! {
                /// Pads so that the output has the size of the input, whatever the kernel and its dilation: PyTorch's
                /// `padding="same"`. For an even kernel there is one element more at the end than at the start. An input panics
                /// if the stride is not 1.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3).dilation(2).padding_same();")]
                #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $y, ");")]
                /// ```
                pub fn padding_same(self): self.conv.spec.same = true;

                /// Sets the values of the padding; zeros by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3).padding(1).padding_mode(PaddingMode::Circular);")]
                #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $y, ");")]
                /// ```
                pub fn padding_mode(self, padding_mode: PaddingMode): self.conv.padding_mode = padding_mode;
            }
        }
    };
}
pub(super) use padding_mode;

/// Implements `output_padding`, for transposed convolutions.
macro_rules! output_padding {
    ($name:ident, ($($size:tt)+), $margin:path, $x:literal, $y:literal) => {
        impl $name {
            setters! {
                /// Sets the size that is added to the end of the output; 0 by default. A convolution with a
                /// stride maps several input sizes to the same output size; this chooses among them.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(1, 1, 3).stride(2).padding(1).output_padding(1);")]
                #[doc = concat!("assert_eq!(layer.forward(&zeros(", $x, ")).dims(), ", $y, ");")]
                /// ```
                pub fn output_padding(self, output_padding: $($size)+):
                    self.conv.output_padding = $margin(output_padding);
            }
        }
    };
}
pub(super) use output_padding;
