//! The constructor and the settings of RNN, LSTM and GRU.

/// Implements the constructor and the settings of a layer with a field `layers: Recurrent`.
macro_rules! recurrent_settings {
    ($name:ident, $cell:expr) => {
        impl $name {
            /// Creates one layer with random parameters, on the default device. As in PyTorch, all are drawn uniformly
            /// between `-1/√hidden_size` and `1/√hidden_size`.
            ///
            /// # Panics
            /// If one of the sizes is 0.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4);")]
            /// assert_eq!(layer.parameter("weight_hh_l0").size(1), Some(4));
            /// ```
            #[track_caller]
            pub fn new(input_size: usize, hidden_size: usize) -> Self {
                let layers = Recurrent::new(stringify!($name), $cell, input_size, hidden_size);
                Self { layers }
            }

            setters! {
                /// Sets the number of layers, each of which takes the output of the one before; 1 by default.
                /// The weights are initialised again.
                ///
                /// # Panics
                /// If `num_layers` is 0.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4).num_layers(2);")]
                /// assert_eq!(layer.parameter("weight_ih_l1").size(1), Some(4));
                /// ```
                #[track_caller]
                pub fn num_layers(self, num_layers: usize): self.layers.set_num_layers(num_layers);

                /// Sets whether there is a second direction, from the last step to the first, whose output features
                /// are appended to those of the first direction; `false` by default. The weights are initialised again.
                ///
                /// # Panics
                /// If there is not enough memory.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4).bidirectional(true);")]
                /// let (y, _) = layer.forward(&zeros((5, 2, 3)), None); // (5, 2, 8)
                /// assert_eq!(y.dims(), [5, 2, 8]);
                /// ```
                #[track_caller]
                pub fn bidirectional(self, bidirectional: bool): self.layers.set_bidirectional(bidirectional);

                /// Sets the probability with which, in training mode, each output of a layer is dropped
                /// before the next layer; 0 by default. With one layer, nothing is dropped.
                ///
                /// # Panics
                /// If `p` is not between 0 and 1.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4).num_layers(2).dropout(0.5);")]
                /// ```
                #[track_caller]
                pub fn dropout(self, p: f64): self.layers.set_dropout(p);

                /// Sets whether the layer takes and returns `(batch, steps, features)` instead of
                /// `(steps, batch, features)`; `false` by default. The shape of the states does not change.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4).batch_first(true);")]
                /// let (y, _) = layer.forward(&zeros((2, 5, 3)), None); // (2, 5, 4)
                /// assert_eq!(y.dims(), [2, 5, 4]);
                /// ```
                pub fn batch_first(self, batch_first: bool): self.layers.batch_first = batch_first;

                /// Sets whether the layer has biases, as by default. Adding them again initialises the weights again.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4).bias(false);")]
                /// assert_eq!(layer.parameters().len(), 2);
                /// ```
                #[track_caller]
                pub fn bias(self, bias: bool): self.layers.set_bias(bias);
            }
        }

        impl $crate::nn::Layer for $name {
            $crate::nn::layer::boxed_here!();

            /// Computes the outputs of all steps, from a state of zeros.
            fn forward(&self, input: &Tensor) -> Tensor {
                self.layers.forward(self, input, None, None).0
            }
        }
    };
}

pub(super) use recurrent_settings;
