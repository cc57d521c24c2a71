//! A macro that defines a layer, its constructor and its `forward` in one place.

/// Defines a [`Layer`](crate::nn::Layer): each field stands once, with its value. The arguments of the struct are those of
/// `new`, and a value may use the fields and the lines with a `;` before it.
///
/// ```
/// use taper::prelude::*;
///
/// layer! {
///     /// Two layers, whose output is added to the input.
///     struct Block(features: usize, factor: usize) {
///         let hidden = factor * features;
///         first = Linear::new(features, hidden),
///         second = Linear::new(hidden, features),
///         scale: f64 = 0.5,
///     }
///     fn forward(&self, x: &Tensor) -> Tensor {
///         x + self.second.forward(&self.first.forward(x).relu()) * self.scale
///     }
/// }
///
/// let net = seq![Block::new(4, 2), Block::new(4, 4)];
/// assert_eq!(net.forward(&zeros((2, 4))).dims(), [2, 4]);
/// assert_eq!(net.parameter("0.first.weight").shape().dims(), [8, 4]);
/// ```
///
/// - A field needs no type if its value begins with the type, as in `Linear::new(…)`, or is a `seq![…]`.
/// - A field without a value, `heads: usize`, has the value of the argument or the `let` line of this name.
/// - With `set` before a field there is a method of this name, which sets it: `set scale: f64 = 0.5`.
/// - A `forward` of other inputs and outputs is a method of the struct, and so are the functions after it.
///
/// ```
/// use taper::prelude::*;
///
/// layer! {
///     struct Joined(width: usize) {
///         a = Linear::new(width, width),
///         b = Linear::new(width, width),
///         set scale: f64 = 1.0,
///     }
///     fn forward(&self, x: &Tensor, y: &Tensor) -> (Tensor, Tensor) {
///         let x = self.a.forward(x) * self.scale;
///         (&x + self.b.forward(y), x)
///     }
/// }
///
/// let (sum, x) = Joined::new(3).scale(0.5).forward(&zeros((2, 3)), &ones((2, 3)));
/// assert_eq!(sum.dims(), x.dims());
/// ```
///
/// It is the same as a struct with `#[derive(Parameters)]`, an `impl` with a function `new`, and an `impl Layer`. Write
/// these for a layer with several constructors.
#[macro_export]
macro_rules! layer {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident $(($($argument:ident: $type:ty),* $(,)?))? { $($fields:tt)* }
        $($functions:tt)*
    ) => {
        $crate::layer! {
            @fields [$(#[$meta])* $visibility struct $name($($($argument: $type),*)?)]
            [] [] [] [$($fields)*] [$($fields)*]
        }
        $crate::layer! { @functions $name $($functions)* }
    };

    // The beginning of the struct; its fields, the lines of `new` and the setters so far; what is left of the fields,
    // twice: a value is read as an expression, and for the type with which it begins.
    (@fields $head:tt $fields:tt [$($lines:tt)*] $set:tt [let $name:pat = $value:expr; $($rest:tt)*] $again:tt) => {
        $crate::layer! {
            @fields $head $fields [$($lines)* let $name = $value;] $set [$($rest)*] [$($rest)*]
        }
    };
    (
        @fields $head:tt $fields:tt $lines:tt [$($set:tt)*]
        [$(#[$meta:meta])* set $field:ident: $type:ty $(= $value:expr)? $(, $($rest:tt)*)?] $again:tt
    ) => {
        $crate::layer! {
            @fields $head $fields $lines [$($set)* [$(#[$meta])*] $field: $type,]
            [$field: $type $(= $value)? $(, $($rest)*)?] []
        }
    };
    (
        @fields $head:tt [$($fields:tt)*] [$($lines:tt)*] $set:tt
        [$(#[$meta:meta])* $field:ident: $type:ty $(= $value:expr)? $(, $($rest:tt)*)?] $again:tt
    ) => {
        $crate::layer! {
            @fields $head [$($fields)* $(#[$meta])* $field: $type,]
            [$($lines)* $(let $field: $type = $value;)?] $set [$($($rest)*)?] [$($($rest)*)?]
        }
    };
    (
        @fields $head:tt $fields:tt $lines:tt $set:tt
        [$(#[$meta:meta])* $field:ident = $value:expr $(, $($rest:tt)*)?]
        [$(#[$_meta:meta])* $_field:ident = seq! $($_more:tt)*]
    ) => {
        $crate::layer! {
            @fields $head $fields $lines $set
            [$(#[$meta])* $field: $crate::nn::Sequential = $value $(, $($rest)*)?] []
        }
    };
    (
        @fields $head:tt $fields:tt $lines:tt $set:tt
        [$(#[$meta:meta])* $field:ident = $value:expr $(, $($rest:tt)*)?]
        [$(#[$_meta:meta])* $_field:ident = $type:ident::$($_more:tt)*]
    ) => {
        $crate::layer! {
            @fields $head $fields $lines $set
            [$(#[$meta])* $field: $type = $value $(, $($rest)*)?] []
        }
    };
    (@fields $head:tt $fields:tt $lines:tt $set:tt [$(#[$meta:meta])* $field:ident = $($rest:tt)*] $again:tt) => {
        compile_error!(concat!("write the type of the field: `", stringify!($field), ": Type = …`"));
    };
    (@fields $head:tt $fields:tt [$($lines:tt)*] $set:tt [$check:expr; $($rest:tt)*] $again:tt) => {
        $crate::layer! { @fields $head $fields [$($lines)* $check;] $set [$($rest)*] [$($rest)*] }
    };
    (
        @fields [$(#[$meta:meta])* $visibility:vis struct $name:ident($($argument:ident: $type:ty),*)]
        [$($(#[$field_meta:meta])* $field:ident: $field_type:ty,)*]
        [$($lines:tt)*]
        [$([$(#[$set_meta:meta])*] $set:ident: $set_type:ty,)*]
        [] $again:tt
    ) => {
        #[derive($crate::nn::Parameters)]
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field: $field_type,)*
        }

        impl $name {
            #[doc = "Creates the layer."]
            #[track_caller]
            $visibility fn new($($argument: $type),*) -> Self {
                $($lines)*
                Self { $($field),* }
            }

            $(
                $(#[$set_meta])*
                $visibility fn $set(mut self, $set: $set_type) -> Self {
                    self.$set = $set;
                    self
                }
            )*
        }

        $crate::layer! { @default $name [$($argument)*] }
    };

    (@default $name:ident []) => {
        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (@default $name:ident $arguments:tt) => {};

    (
        @functions $name:ident
        $(#[$meta:meta])* fn forward(&$self:ident, $x:ident: &$input:ident) -> $output:ident $body:block
        $($method:item)*
    ) => {
        $crate::layer! {
            @forward [$input $output] $name
            [$(#[$meta])* fn forward(&$self, $x: &$input) -> $output $body]
        }

        impl $name {
            $($method)*
        }
    };
    (@functions $name:ident $($method:item)*) => {
        impl $name {
            $($method)*
        }
    };

    (@forward [Tensor Tensor] $name:ident [$($forward:tt)*]) => {
        impl $crate::nn::Layer for $name {
            fn into_box(self) -> ::std::boxed::Box<dyn $crate::nn::Layer> {
                ::std::boxed::Box::new(self)
            }

            $($forward)*
        }
    };
    (@forward $types:tt $name:ident [$($forward:tt)*]) => {
        impl $name {
            $($forward)*
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::nn::{Buffer, Layer, Linear, ParametersExt, ReLU, Sequential};
    use crate::seq;
    use crate::tensor::{Tensor, manual_seed, ones, rand};

    layer! {
        struct Scaled {
            linear = Linear::new(2, 2),
            /// A field has the attributes that are written above it.
            scale = Buffer::new(&ones(1)),
            set factor: f64 = 2.0,
        }
        fn forward(&self, x: &Tensor) -> Tensor {
            self.scaled(&self.linear.forward(x))
        }
        fn scaled(&self, x: &Tensor) -> Tensor {
            x * self.scale.tensor() * self.factor
        }
    }

    layer! {
        struct Net(widths: [usize; 2], heads: usize) {
            let [inputs, outputs] = widths;
            let hidden = inputs * outputs;
            assert!(hidden > 0);
            net = seq![Linear::new(inputs, hidden), ReLU],
            head: Option<Linear> = (heads > 0).then(|| Linear::new(hidden, outputs)),
            heads: usize,
            hidden: usize,
            set shift: usize = heads,
        }
        fn forward(&self, x: &Tensor, y: &Tensor) -> (Tensor, Tensor) {
            let x = self.net.forward(x);
            (self.head.forward(&x) + self.shift as f64, x + y)
        }
    }

    #[test]
    fn a_layer_has_its_parameters_and_buffers() {
        let layer = Scaled::new().factor(3.0);
        assert_eq!(layer.num_parameters(), 6);
        assert_eq!(layer.state_dict().len(), 3);
        assert_eq!(layer.forward(&ones((1, 2))).dims(), [1, 2]);
        let copy = layer.replicate(&candle_core::Device::Cpu);
        assert_eq!(copy.factor, 3.0);
        assert_eq!(seq![layer].num_parameters(), 6);
    }

    #[test]
    fn a_forward_of_several_tensors_is_a_method() {
        let net = Net::new([2, 3], 1).shift(4);
        assert_eq!((net.heads, net.hidden, net.shift), (1, 6, 4));
        let (y, x) = net.forward(&ones((5, 2)), &ones((5, 6)));
        assert_eq!((y.dims(), x.dims()), (&[5, 3][..], &[5, 6][..]));
    }

    #[test]
    fn values_are_computed_in_the_order_of_the_lines() {
        manual_seed(3);
        let net = Net::new([2, 3], 1);
        let next = rand(1).to_vec::<f32>();
        manual_seed(3);
        let _layers = (Linear::new(2, 6), Linear::new(6, 3));
        assert_eq!(rand(1).to_vec::<f32>(), next);
        let layers = (0..3).map(|_| Linear::new(2, 2));
        assert_eq!(layers.collect::<Sequential>().len(), 3);
        assert_eq!(net.named_parameters()[2].0, "head.weight");
    }
}
