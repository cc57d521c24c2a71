//! Hints by the compiler's code and a part of its text.

use super::hint::{Hint, besides, marked};
use crate::session::diagnostics::diagnostic::Diagnostic;
use crate::session::tokens::is_name;

/// Returns the hint of the first row that fits.
pub(super) fn hint(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    let code = diagnostic.code.as_deref().unwrap_or_default();
    let says = |text: &str| {
        let mut labels = diagnostic.labels.iter();
        let mut notes = diagnostic.notes.iter();
        diagnostic.message.contains(text)
            || labels.any(|label| label.text.contains(text))
            || notes.any(|note| note.message.contains(text))
    };
    let (_, part, text) = TABLE.iter().find(|row| row.0 == code && says(row.1))?;
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    if part.is_empty() && has_edits {
        // The compiler's suggestion is better than a hint about all errors of this code.
        return None;
    }
    let marked = diagnostic.primary().map_or("", |label| marked(label, cell));
    if text.contains("{}") && !is_name(marked) {
        return None;
    }
    Some(besides(text.replace("{}", marked)))
}

/// An error's code, a part of its message, and the hint, in which `{}` is the marked part of the cell.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str)] = &[
    ("E0277", "doesn't implement `Debug`", "Rust has to know how to print a value. Write `#[derive(Debug)]` above the definition of its type; or end the line with `;`, to show nothing."),
    ("E0277", "the `?` operator cannot be applied to type `Tensor`", "a function on tensors returns the tensor itself: remove the `?`. A wrong shape, type or index ends the cell with its error."),
    ("E0277", "`?` operator can only be used on `Result`s, not `Option`s", "this is an `Option`: a value, or nothing. Write `.ok_or(\"what is missing\")?`, or `.unwrap()`."),
    ("E0277", "`?` operator can only be used in", "`?` returns an error to the caller, so the function has to return a `Result`: `-> Result<…>`, and `Ok(…)` at its end."),
    ("E0277", "the type `[", "an index is a `usize`. Convert it: `[{} as usize]`."),
    ("E0277", "Number: From<", "a tensor calculates with `f64`, `f32`, `i64`, `i32`, `u32`, `u8` and `usize`: convert with `n as f64`."),
    ("E0277", "`!: WithDType`", "write the type of the elements: `x.to_vec1::<f32>()`; one element is `x.item()`."),
    ("E0277", "`!:", "Rust cannot tell which type is meant. Write it: `let x: f64 = …`."),
    ("E0277", "`Tensor` is not an iterator", "iterate over the indices of its rows: `for i in 0..t.dim(0) { let row = t.i(i); … }`."),
    ("E0282", "", "Rust cannot tell which type is meant. Write it: `let x: Vec<f64> = …`."),
    ("E0283", "WithDType", "write the type of the elements: `x.to_vec1::<f32>()`; one element is `x.item()`."),
    ("E0283", "", "Rust cannot tell which type is meant. Write it: `let x: f64 = …`."),
    ("E0284", "", "Rust cannot tell which type is meant. Write it: `let x: Vec<f64> = …`."),
    ("E0061", "`&[&dyn taper::plot::Values]` is missing", "a figure needs the values of both axes: `plot(&x, &[&y])`."),
    ("E0308", "types differ in mutability", "the function changes its argument: borrow it with `&mut`, as in `f(&mut v)`."),
    ("E0308", "found `()`", "the block has no value. Is there a `;` after its last line that should not be there?"),
    ("E0599", "exists for array `[", "the elements of an array are reached with `.iter()`: `v.iter().sum::<i32>()`, `v.iter().map(|x| 2 * x)`."),
    ("E0599", "for unit type `()`", "the value is `()`, because the code that should produce it has a `;` after its last line. Remove the `;`."),
    ("E0608", "of type `Tensor`", "a tensor is indexed with `.i(…)`: `t.i(0)` is its first row, `t.i(-1)` the last, `t.i((0, 1))` one element."),
    ("E0614", "cannot be dereferenced", "Rust has no `**`. A power is `x.powi(2)` of a float, `n.pow(2)` of an integer, `t.pow(2)` of a tensor."),
    ("E0618", "expected function", "`{}` is a variable in this notebook, and hides the function of that name. Give the variable another name and restart the kernel."),
    ("E0369", "`==` cannot be applied to type `Tensor`", "tensors are compared element by element: `a.eq(&b)` is 1 where they are equal, and 0 elsewhere."),
    ("E0277", "Into<Shape>", "a shape is a tuple: `zeros((2, 3))`."),
    ("E0277", "NdArray", "an array is borrowed with `&`: `tensor(&[1.0, 2.0])`."),
    ("E0277", "can't compare `Tensor` with", "tensors are compared element by element: `x.gt(0.5)` is 1 where this is true, and 0 elsewhere."),
    ("E0277", "cannot be built from an iterator", "write the type of the collection: `.collect::<Vec<_>>()`."),
    ("E0277", "the `?` operator can only be applied to values that implement `Try`", "`?` is for a `Result` or an `Option`, and this is neither: remove the `?`. Functions on tensors and layers return the value itself. For the documentation of a name, press Shift-Tab on it."),
    ("E0277", "is not an iterator", "iterate over a list with `for x in &v`, over integers with `for i in 0..n`."),
    ("E0277", "cannot add", "both sides need the same type: convert one with `as f64`, or print several values with `println!(\"{a} {b}\")`."),
    ("E0277", "doesn't implement `std::fmt::Display`", "print it with `{:?}`: `println!(\"{x:?}\")`."),
    ("E0277", "doesn't implement `Display`", "print it with `{:?}`: `println!(\"{x:?}\")`."),
    ("E0277", "the size for values of type `str`", "a string in a variable is a `String` or a `&str`: `let s = \"a\".to_string();`."),
    ("E0277", "the trait bound `f64: Ord`", "floats are sorted with `v.sort_by(f64::total_cmp);`."),
    ("E0277", "the trait bound `f32: Ord`", "floats are sorted with `v.sort_by(f32::total_cmp);`."),
    ("E0277", "expected a `Fn", "a closure takes its arguments between bars: `|x| x + 1`."),
    ("E0277", "`Rc<", "an `Rc` cannot be shared between threads. Use an `Arc`."),
    ("E0369", "binary operation `>` cannot be applied to type `Tensor`", "tensors are compared element by element: `x.gt(0.5)` is 1 where this is true, and 0 elsewhere."),
    ("E0369", "binary operation `<` cannot be applied to type `Tensor`", "tensors are compared element by element: `x.lt(0.5)` is 1 where this is true, and 0 elsewhere."),
    ("E0369", "binary operation `>=` cannot be applied to type `Tensor`", "tensors are compared element by element: `x.ge(0.5)` is 1 where this is true, and 0 elsewhere."),
    ("E0369", "binary operation `<=` cannot be applied to type `Tensor`", "tensors are compared element by element: `x.le(0.5)` is 1 where this is true, and 0 elsewhere."),
    ("E0369", "cannot multiply `&str`", "a string is repeated with `\"a\".repeat(3)`."),
    ("E0369", "cannot multiply `String`", "a string is repeated with `s.repeat(3)`."),
    ("E0369", "cannot multiply `Vec", "the elements are multiplied with `v.iter().map(|x| x * 2).collect::<Vec<_>>()`; for calculations, `tensor(&[1.0, 2.0])`."),
    ("E0369", "cannot add `Vec", "the elements are added with `a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<_>>()`; two lists are joined with `a.extend(b)`."),
    ("E0369", "binary operation `==` cannot be applied", "write `#[derive(PartialEq)]` above the definition of the type."),
    ("E0599", "no method named `append` found for struct `Vec", "an element is added with `v.push(x)`."),
    ("E0308", "expected `&Device`, found `&str`", "a device is found by its name and borrowed: `&device(\"cuda:0\")?`, or `&cpu()`."),
    ("E0308", "expected `&Device`", "a device is borrowed with `&`: `x.to_device(&try_gpu(0))`."),
    ("E0308", "expected `Tensor`, found `Result<_, _>`", "a function on tensors returns the tensor itself, or panics; `attempt(|| …)` returns a `Result`."),
    ("E0308", "expected `&Tensor`, found `&Parameter`", "the tensor of a parameter is `w.tensor()`: `gradients.of(&w.tensor())`."),
    ("E0308", "expected `&Tensor`, found", "a tensor is borrowed with `&`: `a.matmul(&b)`."),
    ("E0308", "expected `bool`, found integer", "a condition is a comparison: `x != 0`."),
    ("E0308", "expected `bool`, found", "a condition is a comparison: `x > 0`, `!v.is_empty()`, `x.is_some()`."),
    ("E0308", "expected `String`, found `&str`", "an owned string is `\"a\".to_string()`."),
    ("E0308", "expected `f64`, found `f32`", "convert: `x as f64`."),
    ("E0308", "expected `f32`, found `f64`", "convert: `x as f32`."),
    ("E0308", "expected `usize`, found", "convert: `n as usize`."),
    ("E0308", "expected `Vec<", "a list is `vec![1, 2, 3]`."),
    ("E0317", "", "an `if` that has a value needs an `else`: `let x = if a { 1 } else { 2 };`."),
    ("E0382", "Tensor", "an operator moves a tensor. Borrow it: `&a * &a`."),
    ("E0384", "", "a variable that changes begins with `let mut`."),
    ("E0432", "could not find", "is the name spelled correctly? Press Tab after `::` for the names that exist."),
    ("E0432", "", "is the name spelled correctly, and the package loaded with `:dep name = \"*\"`?"),
    ("E0499", "", "a value has one mutable borrow at a time. Let the first borrow end before the second begins, with a block `{ … }`."),
    ("E0502", "", "a value cannot change while it is borrowed. Copy what you need first, `let x = v[0];`, or put the borrow into a block `{ … }`."),
    ("E0505", "", "the value is still borrowed. Use the reference before this line, or pass a copy with `.clone()`."),
    ("E0507", "", "the value cannot be moved out of here. Borrow it with `&`, or copy it with `.clone()`."),
    ("E0515", "", "the borrowed value is dropped when the function ends. Return an owned value: `String` in place of `&str`, `Vec` in place of `&[…]`."),
    ("E0119", "trait `Debug`", "another derive implements `Debug` already, as `Parameters` does: leave `Debug` out."),
    ("E0106", "", "a function that returns a reference has to say from which argument it borrows: `fn f<'a>(x: &'a str) -> &'a str`. Easier: return a `String`."),
    ("E0004", "", "a `match` covers all cases. Add the missing ones, or `_ => …` for all others."),
    ("E0023", "", "write one name for each value of the variant, or `..` for all."),
    ("E0040", "", "a value is dropped with `drop(x)`."),
    ("E0054", "", "a number becomes a `bool` by a comparison: `x != 0`."),
    ("E0060", "", "pass the arguments that the function's definition lists."),
    ("E0072", "", "a type cannot hold itself; put it in a box: `Option<Box<Node>>`."),
    ("E0117", "", "a foreign trait can only be implemented for your own types: `struct Mine(Vec<f64>);`."),
    ("E0133", "", "this function is `unsafe`: there is nearly always a safe one."),
    ("E0373", "", "the closure lives longer than what it borrows. Write `move` before its bars: `move |x| …`."),
    ("E0423", "macro", "a macro has a `!` after its name."),
    ("E0424", "", "a method names `self` first: `fn area(&self) -> f64`."),
    ("E0428", "", "two items of this cell have the same name. Rename one of them."),
    ("E0434", "", "a function does not see the variables around it. Pass them as arguments."),
    ("E0594", "", "a variable that changes begins with `let mut`, or is borrowed with `&mut`."),
    ("E0596", "", "a variable that changes begins with `let mut`, or is borrowed with `&mut`."),
    ("E0600", "apply unary operator `!`", "`!` negates a `bool`; compare first: `x == 0`."),
    ("E0604", "", "only a `u8` becomes a character: `97u8 as char`, or `char::from_u32(n)`."),
    ("E0605", "", "`as` converts a number to another type. A string becomes a number with `s.parse::<f64>()?`, and a number a string with `n.to_string()`."),
    ("E0606", "str` as", "`as` converts a number to another type. A string becomes a number with `s.parse::<f64>()?`."),
    ("E0606", "", "a reference is dereferenced before the conversion: `*x as f64`."),
    ("E0620", "", "`as` converts a number to another type; a list becomes a slice with `&v[..]`."),
    ("E0716", "", "the value is dropped at the end of the line. Keep it in a variable first."),
    ("E0728", "", "`.await` is for `async` functions. Most of Rust's library needs none."),
    ("E0765", "", "a string ends with `\"`."),
    ("E0267", "", "`break` and `continue` are only allowed inside `loop`, `while` or `for`."),
    ("E0658", "the `!` type", "a variable of this cell never gets a value, so it cannot be kept. Put `{ … }` around the lines that use it."),
    ("", "Unrecognised command", "a line that begins with `:` is a command of the kernel. `:help` lists them all."),
    ("", "found `@`", "matrix multiplication is a method: `a.matmul(&b)`."),
];
