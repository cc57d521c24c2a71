//! Losses that are composed of operations on tensors: they have no kernels of their own; the gradients come from
//! the operations.

/// Defines a loss with its settings and a `forward` of these inputs, which calls `compute`, a method with a `Result`. A
/// setting after the semicolon has a method of its own.
macro_rules! composed_loss {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)*
            $(; $own:ident: $own_type:ty)?
        }
        $(#[$forward_doc:meta])*
        forward($($input:ident),*)
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            reduction: $crate::ops::loss::Reduction,
            $($field: $type,)*
            $($own: $own_type,)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    reduction: Default::default(),
                    $($field: $default,)*
                    $($own: Default::default(),)?
                }
            }
        }

        impl $name {
            /// Creates the loss with the default settings: the mean over the batch.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let loss = ", stringify!($name), "::new();")]
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
                #[doc = concat!("let loss = ", stringify!($name), "::new().reduction(Reduction::Sum);")]
                /// ```
                pub fn reduction(self, reduction: $crate::ops::loss::Reduction): self.reduction = reduction;

                $($(#[$field_doc])* pub fn $field(self, $field: $type): self.$field = $field;)*
            }

            $(#[$forward_doc])*
            #[inline]
            #[track_caller]
            pub fn forward(&self, $($input: &Tensor),*) -> Tensor {
                $crate::error::OrRaise::or_raise(self.compute($($input.raw()),*)).into()
            }
        }
    };
}
pub(super) use composed_loss;
