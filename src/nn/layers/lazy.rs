//! Layers for pictures that find out their input's channels by themselves.

use crate::nn::{BatchNorm1d, BatchNorm2d, Conv2d, Copier, Layer, Parameters, Replicate};
use crate::nn::{StateEntry, check, print_as_described};
use candle_core::{Result, Tensor};

/// A layer that is another one, whose numbers come with the first input.
macro_rules! lazy_layer {
    ($lazy:ident, $inner:ident, |$x:ident| $channels:expr) => {
        impl Layer for $lazy {
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                if !self.layer.is_initialized() {
                    let $x = input;
                    let channels = $channels(self)?;
                    self.layer.init(channels, input.device())?;
                }
                self.layer.forward(input)
            }
        }

        impl Parameters for $lazy {
            fn fields(&self) -> Vec<(String, &dyn Parameters)> {
                self.layer.fields()
            }

            fn describe(&self) -> String {
                self.layer.describe()
            }

            fn collect_state(&self, path: &str, found: &mut Vec<StateEntry>) {
                self.layer.collect_state(path, found);
            }

            fn place(&mut self, copier: &mut Copier) -> Result<()> {
                self.layer.place(copier)
            }
        }

        impl Replicate for $lazy {
            fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
                let layer = self.layer.replicate_with(copier)?;
                Ok(Self { layer })
            }
        }

        print_as_described!($lazy);
    };
}

/// A [`Conv2d`] that takes its number of input channels from the first input.
///
/// # Shapes
/// As for [`Conv2d`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = LazyConv2d::new(6, 5).padding(2);
/// let y = layer.forward(&zeros((8, 1, 28, 28), &cpu())?)?; // (8, 6, 28, 28)
/// assert_eq!(layer.describe(), "Conv2d(1, 6, kernel_size=5, stride=1, padding=2)");
/// # Ok::<(), Error>(())
/// ```
pub struct LazyConv2d {
    layer: Conv2d,
}

impl LazyConv2d {
    /// A layer with this many output channels and a square kernel of this size.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![LazyConv2d::new(6, 5), ReLU, LazyConv2d::new(16, 5)];
    /// assert_eq!(net.num_parameters(), 0); // until the first input
    /// ```
    pub fn new(out_channels: usize, kernel: usize) -> Self {
        let layer = Conv2d::lazy(out_channels, kernel);
        Self { layer }
    }

    /// See [`Conv2d::stride`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LazyConv2d::new(6, 5).stride(2).describe(), "LazyConv2d(6, kernel_size=5, stride=2)");
    /// ```
    pub fn stride(mut self, stride: usize) -> Self {
        self.layer.spec_mut().stride = stride;
        self
    }

    /// See [`Conv2d::padding`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(6, 5).padding(2);
    /// ```
    pub fn padding(mut self, padding: usize) -> Self {
        self.layer.spec_mut().padding = padding;
        self
    }

    /// See [`Conv2d::dilation`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(6, 5).dilation(2);
    /// ```
    pub fn dilation(mut self, dilation: usize) -> Self {
        self.layer.spec_mut().dilation = dilation;
        self
    }

    /// See [`Conv2d::groups`]; that they share out evenly is checked at the first input.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(4, 3).groups(2);
    /// assert!(layer.forward(&zeros((1, 3, 8, 8), &cpu())?).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn groups(mut self, groups: usize) -> Self {
        self.layer.spec_mut().groups = groups;
        self
    }

    /// See [`Conv2d::without_bias`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LazyConv2d::new(6, 5).without_bias();
    /// ```
    pub fn without_bias(mut self) -> Self {
        self.layer = self.layer.without_bias();
        self
    }
}

lazy_layer!(LazyConv2d, Conv2d, |x| |layer| Ok::<_, candle_core::Error>(
    check::image(layer, x)?.1
));

/// A [`BatchNorm1d`] that takes its number of features from the first input.
///
/// # Shapes
/// As for [`BatchNorm1d`].
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![LazyLinear::new(8), LazyBatchNorm1d::new(), ReLU];
/// let y = net.forward(&ones((4, 3), &cpu())?)?; // (4, 8)
/// # Ok::<(), Error>(())
/// ```
pub struct LazyBatchNorm1d {
    layer: BatchNorm1d,
}

/// A [`BatchNorm2d`] that takes its number of channels from the first input.
///
/// # Shapes
/// As for [`BatchNorm2d`].
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![LazyConv2d::new(8, 3), LazyBatchNorm2d::new(), ReLU];
/// let y = net.forward(&ones((4, 1, 8, 8), &cpu())?)?; // (4, 8, 6, 6)
/// # Ok::<(), Error>(())
/// ```
pub struct LazyBatchNorm2d {
    layer: BatchNorm2d,
}

macro_rules! lazy_norm {
    ($lazy:ident, $inner:ident) => {
        impl $lazy {
            /// A layer without numbers yet.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("assert_eq!(", stringify!($lazy), "::new().num_parameters(), 0);")]
            /// ```
            #[allow(clippy::new_without_default)]
            pub fn new() -> Self {
                let layer = $inner::lazy();
                Self { layer }
            }
        }

        lazy_layer!($lazy, $inner, |x| |layer| $inner::features_of(layer, x));
    };
}

lazy_norm!(LazyBatchNorm1d, BatchNorm1d);
lazy_norm!(LazyBatchNorm2d, BatchNorm2d);
