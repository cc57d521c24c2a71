//! The update rule of an optimiser, by which one kind of optimiser differs from another.

use crate::ops::{Formula, Numeric, StepRule};

/// How an optimiser updates one parameter, with the settings that only this kind of optimiser has.
pub(super) trait Rule: Boxed + Send + 'static {
    /// Returns the names of all tensors that a parameter's state can have.
    fn state_names(&self) -> &'static [&'static str];

    /// Returns whether the state has this tensor under these settings.
    fn needs(&self, _name: &str) -> bool {
        true
    }

    /// Returns the initial value of the state's tensors.
    fn initial(&self) -> f64 {
        0.0
    }

    /// Returns the name, the value and the limit of each setting that must be at least 0 and below its
    /// limit.
    fn limits(&self) -> Vec<(&'static str, f64, f64)>;

    /// Returns what was expected, what was found and what to do, if settings do not fit each other.
    fn conflict(&self) -> Option<(&'static str, String, &'static str)> {
        None
    }

    /// Formats the settings; `decay` is the weight decay.
    fn print(&self, lr: f64, decay: &str) -> String;
}

/// A rule whose formula is implemented for [`Step`].
pub(super) trait Boxed {
    /// Returns the formula of a step.
    fn step(&self, update: Update) -> Box<dyn StepRule>;
}

impl<R: Copy> Boxed for R
where
    Step<R>: Formula,
{
    fn step(&self, update: Update) -> Box<dyn StepRule> {
        let rule = *self;
        Box::new(Step { rule, update })
    }
}

/// Defines the settings of a rule with their defaults: the struct, a setter of the optimiser for each, the [`Rule`]
/// with the names of the state, the text of the settings, their limits, and further methods, and the formula, which has
/// the gradient with the weight decay.
macro_rules! rule {
    (
        $(#[$meta:meta])*
        $rule:ident of $name:ident, $states:expr, $settings:literal $(, $part:ident = $text:expr)*;
        $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr $(, below $limit:expr)?;)*
        { $($method:item)* }
        |$this:ident, $update:ident, $value:ident, $g:ident, $state:ident| $new:block
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(super) struct $rule {
            $(pub(super) $field: $type,)*
        }

        impl $rule {
            const DEFAULT: Self = Self { $($field: $default,)* };
        }

        impl $name {
            setters! {
                $($(#[$doc])* pub fn $field(self, $field: $type): self.groups.first().rule.$field = $field;)*
            }
        }

        impl $crate::optim::rule::Rule for $rule {
            fn state_names(&self) -> &'static [&'static str] {
                &$states
            }

            fn limits(&self) -> Vec<(&'static str, f64, f64)> {
                vec![$($((stringify!($field), self.$field, $limit),)?)*]
            }

            fn print(&self, lr: f64, decay: &str) -> String {
                let Self { $($field,)* } = self;
                format!($settings, lr = lr, decay = decay $(, $part = $text)*)
            }

            $($method)*
        }

        impl $crate::ops::Formula for $crate::optim::rule::Step<$rule> {
            #[inline(always)]
            fn apply<Q: $crate::ops::Numeric>(self, $value: Q, gradient: Q, $state: &mut [Q]) -> Q {
                let Self { rule: $this, update: $update } = self;
                let $g = $crate::optim::rule::decayed($value, gradient, $update.weight_decay);
                $new
            }
        }
    };
}
pub(super) use rule;

/// What the settings of a group say about an update.
#[derive(Clone, Copy)]
pub(super) struct Update {
    pub(super) lr: f64,
    pub(super) weight_decay: f64,
    /// The number of this step of the parameter, from 1. A step without a gradient does not count.
    pub(super) step: f64,
}

/// A rule with the settings of one update: what the formula of an optimiser computes with.
#[derive(Clone, Copy)]
pub(super) struct Step<R> {
    pub(super) rule: R,
    pub(super) update: Update,
}

/// Returns the gradient with the weight decay.
#[inline(always)]
pub(super) fn decayed<Q: Numeric>(value: Q, gradient: Q, decay: f64) -> Q {
    match decay == 0.0 {
        true => gradient,
        false => gradient + value * decay,
    }
}

/// Returns the moving mean after a new term.
#[inline(always)]
pub(super) fn mean<Q: Numeric>(old: Q, new: Q, share: f64) -> Q {
    old * share + new * (1.0 - share)
}

#[cfg(test)]
mod gpu_tests;
#[cfg(test)]
mod tests;
