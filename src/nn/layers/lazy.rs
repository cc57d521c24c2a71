//! Layers that take a size from their first input.

/// Implements what the derive would, for a layer that wraps another one: its parameters are those of
/// the layer inside, and until the first input its name is the lazy one.
macro_rules! lazy_form {
    ($lazy:ident { $layer:ident $(, $setting:ident)* }) => {
        impl $crate::nn::Parameters for $lazy {
            fn visit(&self, visitor: &mut dyn $crate::nn::Visitor) {
                if !self.$layer.is_initialized() {
                    visitor.model(stringify!($lazy));
                }
                self.$layer.visit(visitor);
            }

            fn visit_mut(&mut self, visitor: &mut dyn $crate::nn::VisitorMut) -> candle_core::Result<()> {
                self.$layer.visit_mut(visitor)
            }

            fn shallow_copy(&self) -> Self {
                Self {
                    $layer: self.$layer.shallow_copy(),
                    $($setting: self.$setting,)*
                }
            }
        }

        $crate::nn::parameters::print_as_described!($lazy);
    };
}
pub(super) use lazy_form;

/// Implements a layer that wraps another one and initialises it with the channels of the first input.
macro_rules! lazy_layer {
    ($lazy:ident, |$x:ident| $channels:expr) => {
        impl $crate::nn::Layer for $lazy {
            fn forward(
                &self,
                input: &candle_core::Tensor,
            ) -> candle_core::Result<candle_core::Tensor> {
                if !self.layer.is_initialized() {
                    let $x = input;
                    let channels = $channels(self)?;
                    self.layer.init(channels, input.device())?;
                }
                self.layer.forward(input)
            }
        }

        $crate::nn::layers::lazy::lazy_form!($lazy { layer });
    };
}
pub(super) use lazy_layer;
