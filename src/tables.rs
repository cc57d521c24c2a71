//! Tables of functions: each line is a function that would take five lines otherwise.

/// Public functions of one expression, which return a tensor and panic at the user's line: after `=>`, a result is
/// [raised](crate::error::OrRaise).
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
macro_rules! setters {
    ($($(#[$doc:meta])* pub fn $name:ident($self:ident $(, $arg:ident: $type:ty)*): $change:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut $self $(, $arg: $type)*) -> Self {
            $change;
            $self
        }
    )*};
}
