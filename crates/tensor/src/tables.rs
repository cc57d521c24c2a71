//! Tables of functions: each line is a function that would take five lines otherwise.

/// Public functions of one expression, which return a tensor and panic at the user's line: after `=>`, a result is
/// [raised](crate::error::OrRaise).
#[doc(hidden)]
#[macro_export]
macro_rules! functions {
    ($($(#[$doc:meta])* pub fn $name:ident($($arg:ident: $type:ty),*) $(= $value:expr)? $(=> $result:expr)?;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name($($arg: $type),*) -> $crate::tensor::Tensor {
            $($value)?
            $($crate::error::OrRaise::or_raise($result).into())?
        }
    )*};
}

/// Methods of one expression. They panic at the user's line.
#[doc(hidden)]
#[macro_export]
macro_rules! methods {
    ($($(#[$doc:meta])* pub fn $name:ident $(<$generic:ident: $bound:path>)?
        (&$self:ident $(, $arg:ident: $type:ty)*) -> $output:ty = $value:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name $(<$generic: $bound>)? (&$self $(, $arg: $type)*) -> $output {
            $value
        }
    )*};
}

/// Settings: methods that change a value and return it.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident $(<$generic:ident: $bound:path>)?
        ($self:ident $(, $arg:ident: $type:ty)*): $change:expr;)*) => {$(
        $(#[$doc])*
        $visibility fn $name $(<$generic: $bound>)? (mut $self $(, $arg: $type)*) -> Self {
            $change;
            $self
        }
    )*};
}

/// A struct of settings: `new` with the defaults, and a setter of its name for each field up to the semicolon.
#[doc(hidden)]
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(#[$new:meta])* new;
            $($(#[$doc:meta])* set $field:ident: $type:ty = $default:expr,)*
            $(; $($own:ident: $own_type:ty = $own_default:expr),*)?
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($field: $type,)*
            $($($own: $own_type,)*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($own: $own_default,)*)?
                }
            }
        }

        impl $name {
            $(#[$new])*
            pub fn new() -> Self {
                Self::default()
            }

            $crate::setters! {
                $($(#[$doc])* pub fn $field(self, $field: $type): self.$field = $field;)*
            }
        }
    };
}
