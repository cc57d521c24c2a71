//! A macro that defines a layer, its constructor and its `forward` in one place.

/// Defines a [`Layer`](crate::nn::Layer): each field stands once, with its type and its value. The arguments of the struct
/// are those of `new`, and a value may use the fields before it.
///
/// ```
/// use taper::prelude::*;
///
/// layer! {
///     /// Two layers, whose output is added to the input.
///     struct Block(features: usize, hidden: usize) {
///         first: Linear = Linear::new(features, hidden),
///         second: Linear = Linear::new(hidden, features),
///     }
///     fn forward(&self, x: &Tensor) -> Tensor {
///         x + self.second.forward(&self.first.forward(x).relu())
///     }
/// }
///
/// let net = seq![Block::new(4, 8), Block::new(4, 16)];
/// assert_eq!(net.forward(&zeros((2, 4))).dims(), [2, 4]);
/// assert_eq!(net.parameter("0.first.weight").shape().dims(), [8, 4]);
/// ```
///
/// Functions after `forward` become methods of the struct. It is the same as a struct with `#[derive(Parameters)]`, an
/// `impl` with a function `new`, and an `impl Layer`. Write these for a layer with several inputs or constructors.
#[macro_export]
macro_rules! layer {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident $(($($argument:ident: $type:ty),* $(,)?))? {
            $($(#[$field_meta:meta])* $field:ident: $field_type:ty = $value:expr),* $(,)?
        }
        $forward:item
        $($method:item)*
    ) => {
        $(#[$meta])*
        #[derive($crate::nn::Parameters)]
        $visibility struct $name {
            $($(#[$field_meta])* $field: $field_type,)*
        }

        impl $name {
            #[doc = "Creates the layer."]
            #[allow(clippy::new_without_default)]
            $visibility fn new($($($argument: $type),*)?) -> Self {
                $(let $field: $field_type = $value;)*
                Self { $($field),* }
            }

            $($method)*
        }

        impl $crate::nn::Layer for $name {
            $forward
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::nn::{Buffer, Layer, Linear, ParametersExt};
    use crate::tensor::{Tensor, ones};

    layer! {
        struct Scaled {
            linear: Linear = Linear::new(2, 2),
            scale: Buffer = Buffer::new(&ones(1)),
            factor: f64 = 2.0,
        }
        fn forward(&self, x: &Tensor) -> Tensor {
            self.scaled(&self.linear.forward(x))
        }
        fn scaled(&self, x: &Tensor) -> Tensor {
            x * self.scale.tensor() * self.factor
        }
    }

    #[test]
    fn a_layer_has_its_parameters_and_buffers() {
        let layer = Scaled::new();
        assert_eq!(layer.num_parameters(), 6);
        assert_eq!(layer.state_dict().len(), 3);
        assert_eq!(layer.forward(&ones((1, 2))).dims(), [1, 2]);
        let copy = layer.replicate(&candle_core::Device::Cpu);
        assert_eq!(copy.factor, 2.0);
    }
}
