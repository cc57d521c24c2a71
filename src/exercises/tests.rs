//! Checks answers of all kinds, right and wrong.

use super::answer::Answer;
use super::judge::judge;
use super::library::Exercise;
use crate::prelude::*;

fn verdict<Kind>(name: &str, answer: impl Answer<Kind>) -> String {
    let exercise = Exercise::find(name).expect("it exists");
    judge(&exercise, &|inputs| answer.call(inputs)).to_string()
}

fn shares(x: &Tensor) -> Tensor {
    let e = x.exp();
    &e / e.sum_keepdim(1)
}

#[test]
fn functions_of_one_to_three_arguments_are_called() {
    assert_eq!(verdict("tensors.7", shares), "✓ tensors.7: 4/4");
    let celsius = |f: f64| (f - 32.0) * 5.0 / 9.0;
    assert_eq!(verdict("welcome.6", celsius), "✓ welcome.6: 5/5");
    fn vowels(text: &str) -> usize {
        text.chars().filter(|c| "aeiouAEIOU".contains(*c)).count()
    }
    assert_eq!(verdict("welcome.10", vowels), "✓ welcome.10: 5/5");
    fn powers(x: &Tensor, degree: usize) -> Tensor {
        let columns: Vec<Tensor> = (1..=degree).map(|k| x.powf(k as f64)).collect();
        Tensor::stack(&columns, 1)
    }
    let right = "✓ linear-regression.12: 3/3";
    assert_eq!(verdict("linear-regression.12", powers), right);
    fn moved(gradients: &[f64], beta: f64, rate: f64) -> f64 {
        let mut v = 0.0;
        gradients.iter().fold(0.0, |p, g| {
            v = beta * v + g;
            p - rate * v
        })
    }
    assert_eq!(verdict("optimisers.11", moved), "✓ optimisers.11: 4/4");
}

#[test]
fn values_are_compared_with_hashes_part_by_part() {
    assert_eq!(verdict("welcome.3", vec![6, 7, 1, 0]), "✓ welcome.3: 4/4");
    assert_eq!(
        verdict("welcome.3", [6.0, 7.0, 1.0, 0.0]),
        "✓ welcome.3: 4/4"
    );
    let some = "✗ welcome.3: 3/4\nfound     8 as element 1, counted from 0";
    assert_eq!(verdict("welcome.3", || vec![6, 8, 1, 0]), some);
    let short = "✗ welcome.3: 0/4\nfound     [6] instead of 4 elements";
    assert_eq!(verdict("welcome.3", [6]), short);
}

#[test]
fn a_wrong_function_is_shown_with_its_first_input() {
    let wrong = |f: f64| f - 32.0 * 5.0 / 9.0;
    let shown = "✗ welcome.6: 1/5\ninput     32.0\nexpected  0.0\nfound     14.2222";
    assert_eq!(verdict("welcome.6", wrong), shown);
    let flat = |x: &Tensor| shares(x).sum(1);
    let shown = verdict("tensors.7", flat);
    assert!(shown.ends_with("(shape [2] instead of [2, 3])"), "{shown}");
}

/// A single value has no input, so the expected value would be the answer.
#[test]
fn the_answer_is_not_shown() {
    let shown = verdict("optimisers.4", (1.0, 1.0));
    assert_eq!(shown, "✗ optimisers.4: 0/1\nfound     [1.0, 1.0]");
    let failed = || -> Result<Vec<f64>> { Err(Error::msg("no luck")) };
    let shown = verdict("optimisers.4", failed);
    assert_eq!(shown, "✗ optimisers.4: 0/1\nfound     the error “no luck”");
}

#[test]
fn a_stub_a_panic_and_an_error_are_told_apart() {
    #[expect(clippy::todo, reason = "what an exercise begins with")]
    fn stub(_: &Tensor) -> Result<Tensor> {
        todo!()
    }
    assert_eq!(verdict("tensors.7", stub), "○ tensors.7: not written yet");
    let panics = |x: &Tensor| -> Result<Tensor> { panic!("{} dimensions", x.dims().len()) };
    let shown = verdict("tensors.7", panics);
    assert!(
        shown.contains("found     the error “a panic: 2 dimensions”"),
        "{shown}"
    );
    // A wrong index is the error itself, without its second line.
    let fails = |x: &Tensor| x.get(9);
    let shown = verdict("tensors.7", fails);
    assert!(
        shown.contains(
            "found     the error “i: index 9 is out of range: there are 2, counted from 0”"
        ),
        "{shown}"
    );
}

#[test]
fn an_answer_of_another_type_is_explained() {
    let shown = verdict("tensors.7", 3.5);
    let why = "✗ tensors.7: 0/4\nexpected a function: pass its name without calling it";
    assert_eq!(shown, why);
    let two = |_: &Tensor, _: usize| 1.0;
    let shown = verdict("tensors.7", two);
    assert!(
        shown.ends_with("expected a function of 1 argument"),
        "{shown}"
    );
    let other = |_: &str| 1.0;
    assert!(verdict("welcome.6", other).contains("to which 32.0 can be passed"));
}
