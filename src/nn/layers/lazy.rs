//! Layers that take a size from their first input.

/// Implements [`Parameters`](crate::nn::Parameters), `Debug` and `Show` for a lazy layer that wraps
/// another one: its parameters are those of the layer inside, and so is its name after the first input.
macro_rules! lazy_form {
    ($lazy:ident { $layer:ident $(, $setting:ident)* }) => {
        impl $crate::nn::Parameters for $lazy {
            fn visit(&self, visitor: &mut dyn $crate::nn::Visitor) {
                if !self.$layer.is_initialized() {
                    visitor.model(stringify!($lazy));
                }
                self.$layer.visit(visitor);
            }

            fn visit_mut(&mut self, visitor: &mut dyn $crate::nn::VisitorMut) -> crate::error::Result<()> {
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
