//! What RNN, LSTM and GRU have in common: the struct, the constructor, the settings and the forward pass.

/// Defines a layer: its name, the type of its state, its cell, and a pattern of the state for the examples.
macro_rules! recurrent_layer {
    ($(#[$doc:meta])* $name:ident($state:ty), $cell:expr, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Parameters)]
        pub struct $name {
            #[parameters(flatten)]
            layers: Recurrent,
        }

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

            /// Returns the outputs of all steps, and the state after the last step. `state` is the initial state; `None`
            /// means zeros.
            ///
            /// # Panics
            /// If the shapes do not match.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4);")]
            /// let x = randn((6, 2, 3)); // (steps, batch, features)
            /// let (y, _) = layer.forward(&x, None);
            /// let (_, state) = layer.forward(&x.narrow(0, 0, 3), None);
            /// let (rest, _) = layer.forward(&x.narrow(0, 3, 3), Some(&state)); // goes on
            /// assert_eq!(rest.to_vec3::<f32>(), y.narrow(0, 3, 3).to_vec3::<f32>());
            /// ```
            #[track_caller]
            pub fn forward(&self, x: &Tensor, state: Option<&$state>) -> (Tensor, $state) {
                self.layers.forward(self, x, None, state)
            }

            /// Returns the outputs and the last state as [`forward`](Self::forward) does, for sequences of
            /// unequal lengths that are padded to the longest: each ends after its own last step. The
            /// outputs of the padding are 0, and the padding may hold anything, also NaN.
            ///
            /// This is what PyTorch computes for a `PackedSequence`. `lengths` are integers, `(batch,)`.
            ///
            /// # Panics
            /// If the shapes do not match.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let layer = ", stringify!($name), "::new(3, 4);")]
            /// let x = randn((6, 2, 3)); // (steps, batch, features)
            #[doc = concat!("let (_, ", $pattern, ") = layer.forward_lengths(&x, &tensor(&[6, 2]), None);")]
            /// let (short, _) = layer.forward(&x.narrow(0, 0, 2), None);
            /// assert_eq!(h.i((0, 1)).to_vec1::<f32>(), short.i((1, 1)).to_vec1::<f32>());
            /// ```
            #[track_caller]
            pub fn forward_lengths(
                &self,
                x: &Tensor,
                lengths: &Tensor,
                state: Option<&$state>,
            ) -> (Tensor, $state) {
                self.layers.forward(self, x, Some(lengths), state)
            }
        }

        impl $crate::nn::Layer for $name {
            $crate::nn::layer::boxed_here!();

            /// Computes the outputs of all steps, from a state of zeros.
            fn forward(&self, input: &Tensor) -> Tensor {
                self.layers.run(self, input, None, None).0
            }
        }
    };
}

pub(super) use recurrent_layer;
