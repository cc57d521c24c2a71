//! The messages of errors of any type, with advice for those that contain none: those of Candle and of Rust's standard
//! library.

use super::candle::{NOT_A_FLOAT, NOT_AN_INTEGER, join, of_error, of_io};
use candle_core::Error;
use std::any::TypeId;
use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;
use std::num::{ParseFloatError, ParseIntError};

/// An error of any type. Code that takes it is compiled once, in this crate, and not for each type of error
/// in each cell.
#[doc(hidden)]
pub struct AnyError<'a> {
    value: *const (),
    id: TypeId,
    print: fn(*const (), &mut Formatter<'_>) -> fmt::Result,
    borrowed: PhantomData<&'a ()>,
}

#[doc(hidden)]
impl<'a> AnyError<'a> {
    #[inline]
    pub fn new<T: Display>(error: &'a T) -> AnyError<'a> {
        AnyError {
            value: std::ptr::from_ref(error).cast(),
            id: type_id::<T>(),
            // SAFETY: it is called with `value` alone, which points to a `T`.
            print: |value, formatter| unsafe { (*value.cast::<T>()).fmt(formatter) },
            borrowed: PhantomData,
        }
    }

    /// Returns the error as a `B`, if that is its type.
    fn get<B: 'static>(&self) -> Option<&'a B> {
        // SAFETY: `value` points to a value that is borrowed for `'a`, and whose type is `B` except for lifetimes:
        // `type_id` ignores them. The value may be a `Box<dyn Error + 'b>` where `B` is `Box<dyn Error + 'static>`, so
        // `get` is private, and its callers only format what it returns, within the call.
        (self.id == TypeId::of::<B>()).then(|| unsafe { &*self.value.cast::<B>() })
    }
}

impl Display for AnyError<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        (self.print)(self.value, formatter)
    }
}

/// Returns the message of an error, and a line about what to do unless the message has one.
#[doc(hidden)]
pub fn described(error: &AnyError<'_>) -> String {
    type Own = dyn std::error::Error;
    type Sent = dyn std::error::Error + Send;
    type Shared = dyn std::error::Error + Send + Sync;

    let boxed = error.get::<Box<Own>>().map(|error| of_any(&**error));
    let boxed = boxed.or_else(|| error.get::<Box<Sent>>().map(|error| of_any(&**error)));
    let boxed = boxed.or_else(|| error.get::<Box<Shared>>().map(|error| of_any(&**error)));
    boxed
        .or_else(|| advised!(error.get))
        .unwrap_or_else(|| error.to_string())
}

/// Returns the same as [`described`], for an error in a box.
#[doc(hidden)]
pub fn of_any(error: &(dyn std::error::Error + 'static)) -> String {
    advised!(error.downcast_ref).unwrap_or_else(|| error.to_string())
}

/// Returns the message of an error with its advice, if it is of a type for which there is advice. `$get` returns the error
/// as a type.
macro_rules! advised {
    ($error:ident.$get:ident) => {{
        let own = $error.$get::<super::Error>().map(super::Error::as_candle);
        let candle = own.or_else(|| $error.$get::<Error>()).map(of_error);
        candle.or_else(|| {
            let advice = if let Some(error) = $error.$get::<std::io::Error>() {
                of_io(error.kind())
            } else if $error.$get::<ParseIntError>().is_some() {
                Some(NOT_AN_INTEGER)
            } else {
                $error.$get::<ParseFloatError>().map(|_| NOT_A_FLOAT)
            };
            advice.map(|advice| join(&$error.to_string(), Some(advice)))
        })
    }};
}
use advised;

/// Returns the id of a type that may contain references, for which `TypeId::of` is not callable. Types that
/// differ in lifetimes alone have the same id.
fn type_id<T>() -> TypeId {
    trait Id {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Id for PhantomData<T> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let of: &dyn Id = &PhantomData::<T>;
    // SAFETY: the method reads nothing: it has no value of the type, only the id that the compiler gave it.
    let of = unsafe { std::mem::transmute::<&dyn Id, &(dyn Id + 'static)>(of) };
    of.id()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Raw;
    use candle_core::{DType, Device};

    fn described<T: Display>(error: &T) -> String {
        super::described(&AnyError::new(error))
    }

    fn failed<T>(result: candle_core::Result<T>) -> String {
        described(&result.err().expect("it fails"))
    }

    #[test]
    fn the_advice_depends_on_the_type_and_not_on_the_text() {
        let device = Device::Cpu;
        let x = Raw::zeros((2, 3), DType::F32, &device).expect("a tensor");
        assert!(failed(x.matmul(&x)).contains("\nA product needs"));
        let x = candle_core::Tensor::zeros((2, 3), DType::F32, &device).expect("a tensor");
        let sum = &x + x.t().expect("two dimensions");
        assert!(failed(sum).contains("\nBoth shapes must be equal"));
        let text = "shape mismatch in matmul, lhs: [2, 3], rhs: [2, 3]";
        assert_eq!(described(&text), text);
        assert_eq!(described(&Error::Msg(text.to_owned())), text);
        let full = Error::Cuda("CUDA_ERROR_OUT_OF_MEMORY".into());
        assert!(described(&full).contains("\nThe GPU's memory is full."));
    }

    #[test]
    fn a_reshape_says_how_many_elements_there_are() {
        let x = Raw::zeros(12, DType::F32, &Device::Cpu).expect("a tensor");
        let text = failed(x.reshape((5, 3)));
        let message = "shape mismatch: [5, 3] has 15 elements, but there are 12";
        assert_eq!(text.lines().next(), Some(message));
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn an_error_in_a_box_has_the_advice_of_its_type() {
        let number = "tall".parse::<f64>().expect_err("a word");
        let boxed: Box<dyn std::error::Error> = Box::new(number.clone());
        assert_eq!(described(&boxed), described(&number));
        let number = "tall".parse::<u8>().expect_err("a word");
        let boxed: Box<dyn std::error::Error> = Box::new(number.clone());
        assert_eq!(described(&boxed), described(&number));
        assert!(of_any(&number).ends_with(NOT_AN_INTEGER));
    }

    #[test]
    fn errors_of_two_lines_keep_their_own_advice() {
        let error = crate::error::argument("Cup::fill", "more than 0", 0, "Pour some water");
        assert_eq!(described(&error), error.to_string());
        assert_eq!(described(&"what\nwhat to do"), "what\nwhat to do");
    }

    #[test]
    fn errors_of_rusts_library_are_recognised_in_a_box_too() {
        let missing = || std::fs::read("nothing.txt").expect_err("there is no such file");
        let text = described(&missing());
        assert!(text.contains("\nCheck the name"), "{text}");
        let boxed: Box<dyn std::error::Error> = missing().into();
        assert_eq!(described(&boxed), text);
        let number = "x".parse::<i32>().expect_err("not a number");
        assert!(described(&number).contains("\nThe text is not a number"));
    }

    #[test]
    fn an_error_may_borrow() {
        struct Borrows<'a>(&'a str);
        impl Display for Borrows<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        let text = String::from("no");
        assert_eq!(described(&Borrows(&text)), "no");
    }

    #[test]
    fn a_box_may_be_of_an_error_for_threads() {
        let number = "tall".parse::<f64>().expect_err("a word");
        let boxed: Box<dyn std::error::Error + Send> = Box::new(number.clone());
        assert_eq!(described(&boxed), described(&number));
        let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(number.clone());
        assert_eq!(described(&boxed), described(&number));
    }
}
