//! The part of the engine that is compiled for the cells, as a part of this test.

#[path = "../support.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "cells use the rest, from outside"
)]
mod support;

use std::rc::Rc;
use support::{freeze, keep, put, run, run_fallible, take};

#[test]
fn a_variable_is_taken_out_and_put_back() {
    keep("support_a", vec![1, 2]);
    // SAFETY: the variable has this type, here and below.
    let mut value: Vec<i32> = unsafe { take("support_a") };
    value.push(3);
    put("support_a", value);
    // SAFETY: see above.
    let value: Vec<i32> = unsafe { take("support_a") };
    assert_eq!(value, [1, 2, 3]);
    let again = || {
        // SAFETY: see above.
        unsafe { take::<Vec<i32>>("support_a") };
    };
    assert!(!run(again), "it is not there any more");
}

#[test]
fn a_variable_that_is_defined_again_is_dropped() {
    let counted = Rc::new(());
    keep("support_b", counted.clone());
    keep("support_b", ());
    assert_eq!(Rc::strong_count(&counted), 1);
    keep("support_b", counted.clone());
    let name = support::Text {
        start: "support_b".as_ptr(),
        length: 9,
    };
    // SAFETY: it is a valid text.
    unsafe { support::taper_support_forget(name) };
    assert_eq!(Rc::strong_count(&counted), 1);
}

#[test]
fn another_type_is_refused() {
    keep("support_c", 1u32);
    let wrong = || {
        // SAFETY: the type is checked.
        unsafe { take::<i32>("support_c") };
    };
    assert!(!run(wrong));
}

#[test]
fn a_body_says_whether_it_came_to_its_end() {
    assert!(run(|| {}));
    let fails = || -> Result<(), support::Failure> {
        "a".parse::<i32>()?;
        Ok(())
    };
    assert!(!run_fallible(fails));
    assert_eq!(support::futures::block_on(std::future::ready(3)), 3);
    assert_eq!(freeze(String::from("a")), "a");
}
