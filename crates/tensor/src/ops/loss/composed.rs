//! Losses that are composed of operations on tensors: they have no kernels of their own; the gradients come from
//! the operations.

/// Defines a loss with its settings and a `forward` of these inputs, which calls `compute`, a method with a `Result`. The
/// settings after the semicolon have methods of their own.
#[doc(hidden)]
#[macro_export]
macro_rules! composed_loss {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:expr,)*
            $(; $($own:ident: $own_type:ty),*)?
        }
        $(#[$forward_doc:meta])*
        forward($($input:ident),*)
    ) => {
        $crate::settings! {
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name {
                /// Creates the loss with the default settings: the mean over the batch.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let loss = ", stringify!($name), "::new();")]
                /// ```
                new;

                /// Sets how the losses of the examples become the loss of the batch.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let loss = ", stringify!($name), "::new().reduction(Reduction::Sum);")]
                /// ```
                set reduction: $crate::ops::Reduction = Default::default(),

                $($(#[$field_doc])* set $field: $type = $default,)*
                $(; $($own: $own_type = Default::default()),*)?
            }
        }

        impl $name {
            $(#[$forward_doc])*
            #[inline]
            #[track_caller]
            pub fn forward(&self, $($input: &Tensor),*) -> Tensor {
                $crate::error::OrRaise::or_raise(self.compute($($input.raw()),*)).into()
            }
        }
    };
}
pub(super) use crate::composed_loss;
