//! Values that cannot be changed, moved or borrowed.

use super::hint::{Hint, besides, instead, quoted, quotes};
use crate::session::diagnostics::context::{Body, Context};
use crate::session::diagnostics::diagnostic::Diagnostic;

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let code = diagnostic.code.as_deref()?;
    if let Some(hint) = made_without_mut(diagnostic) {
        return Some(hint);
    }
    let message = &*diagnostic.message;
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    let text = match code {
        "E0382" => return moved_tensor(diagnostic),
        "E0384" if !has_edits => "a variable that changes begins with `let mut`.".to_owned(),
        "E0499" if !has_edits => two_mutable_borrows(diagnostic, context),
        "E0502" if !has_edits => borrowed_and_changed(message),
        "E0505" if !has_edits => {
            "the value is still borrowed. Use the reference before this line, or pass a copy with `.clone()`.".to_owned()
        }
        "E0507" if !has_edits => moved_out(message),
        "E0515" if !has_edits => {
            "the borrowed value is dropped when the function ends. Return an owned value: `String` in place of `&str`, `Vec` in \
             place of `&[…]`."
                .to_owned()
        }
        "E0594" | "E0596" if !has_edits => unchangeable(message)?,
        "E0373" if !has_edits => match message.starts_with("async block") {
            true => "the block lives longer than what it borrows. Write `async move { … }`.".to_owned(),
            false => "the closure lives longer than what it borrows. Write `move` before its bars: `move |x| …`.".to_owned(),
        },
        "E0716" if !has_edits => {
            let is_static = |text: &str| text.contains("'static");
            if diagnostic.labels.iter().any(|label| is_static(&label.text)) {
                return None;
            }
            "the value is dropped at the end of the statement. Keep it in a variable first.".to_owned()
        }
        "E0728" => not_async(diagnostic, context),
        "E0133" => unsafe_code(message),
        _ => return None,
    };
    Some(besides(text))
}

/// Explains assignments to a variable of an earlier cell, where rustc would change the engine's code.
fn made_without_mut(diagnostic: &Diagnostic) -> Option<Hint> {
    let mut notes = diagnostic.notes.iter();
    notes.find(|note| note.is_outside_cell && note.message.ends_with("to be mutable"))?;
    // The name of a field may be before it: "cannot assign to `p.x`, as `p` is not declared as mutable".
    let place = quoted(&diagnostic.message);
    let name = place.trim_start_matches('*').split(['.', '[']).next()?;
    Some(instead(format!(
        "an earlier cell made `{name}` without `mut`, so it cannot change. \
         Write `let mut {name} = …` there, or begin this cell with `let mut {name} = {name};`."
    )))
}

/// Explains a tensor that an operator has moved.
fn moved_tensor(diagnostic: &Diagnostic) -> Option<Hint> {
    let labels = || diagnostic.labels.iter().map(|label| &*label.text);
    let is_operator = labels().any(|text| text.contains("due to usage in operator"));
    let notes = diagnostic.notes.iter().map(|note| &*note.message);
    let is_tensor = labels()
        .chain(notes)
        .any(|text| text.contains("has type `Tensor`"));
    if !is_operator || !is_tensor {
        return None;
    }
    let name = quoted(&diagnostic.message);
    Some(besides(format!(
        "an operator moves a tensor. Borrow it: `&{name}`, as in `&{name} * &{name}`."
    )))
}

fn two_mutable_borrows(diagnostic: &Diagnostic, context: &Context) -> String {
    let name = quoted(&diagnostic.message);
    let element = format!("{name}[");
    let line = diagnostic.primary().map_or(0, |label| label.start.0);
    let line = context
        .cell
        .lines()
        .nth(line.saturating_sub(1))
        .unwrap_or_default();
    let how = match line.matches(&element).count() > 1 {
        true => format!(
            "Two elements are exchanged with `{name}.swap(0, 1)`, and borrowed with `{name}.split_at_mut(1)`."
        ),
        false => {
            "Let the first borrow end before the second begins, with a block `{ … }`.".to_owned()
        }
    };
    format!("a value has one mutable borrow at a time. {how}")
}

fn borrowed_and_changed(message: &str) -> String {
    let name = quoted(message);
    match message.ends_with("borrowed as immutable") {
        true => format!(
            "`{name}` cannot change while it is borrowed. Copy what you need first, as in `let x = v[0];`, or let the borrow \
             end before, with a block `{{ … }}`."
        ),
        false => format!(
            "`{name}` cannot be used while it is borrowed to be changed. Let that borrow end before, with a block `{{ … }}`."
        ),
    }
}

fn moved_out(message: &str) -> String {
    let how = if message.contains("out of index of `Vec<") {
        "Borrow it with `&`, copy it with `.clone()`, or take it out of the list, with `.remove(i)` or a loop over the list."
    } else if message.contains("captured variable") {
        "A closure that is called more than once cannot move what it captures: pass a copy, with `.clone()`."
    } else if message.contains("mutable reference") {
        "Borrow it with `&`, copy it with `.clone()`, or leave another value there: `.take()` of an `Option`, \
         `std::mem::take(…)`."
    } else {
        "Borrow it with `&`, or copy it with `.clone()`."
    };
    format!("the value cannot be moved out of here. {how}")
}

/// Explains what cannot be changed, by rustc's reason.
fn unchangeable(message: &str) -> Option<String> {
    let mut quotes = quotes(message);
    Some(if message.contains("immutable static item") {
        format!(
            "a `static` does not change. A value that does is in a `Mutex`: `static {}: std::sync::Mutex<…> = …;`.",
            quotes.next()?
        )
    } else if message.contains("data in an `Rc`") {
        "the value of an `Rc` does not change, because others may use it. Put it into a `RefCell`: `Rc<RefCell<…>>`, and change \
         it with `.borrow_mut()`."
            .to_owned()
    } else if message.contains("data in an `Arc`") {
        "the value of an `Arc` does not change, because others may use it. Put it into a `Mutex`: `Arc<Mutex<…>>`, and change \
         it with `.lock()`."
            .to_owned()
    } else if message.contains("in an index of") {
        "an element that is found by a key is changed with `.get_mut(key)`, or with `.entry(key)`."
            .to_owned()
    } else if message.contains("captured variable in a `Fn` closure") {
        "the function calls its closure as an `Fn`, which changes nothing. A parameter `mut f: impl FnMut()` takes closures \
         that do."
            .to_owned()
    } else if message.contains("behind a `&` reference") {
        "a value behind `&` does not change: borrow it with `&mut`.".to_owned()
    } else if message.contains("not declared as mutable") {
        "a variable that changes begins with `let mut`.".to_owned()
    } else {
        return None;
    })
}

fn not_async(diagnostic: &Diagnostic, context: &Context) -> String {
    let how = match context.body(diagnostic) {
        Body::Closure => "in a closure, write `async move { … }` around it",
        _ => "begin this function with `async fn`",
    };
    format!("`.await` is for cells, and for `async` functions and blocks: {how}.")
}

fn unsafe_code(message: &str) -> String {
    let what = if message.starts_with("call to unsafe") {
        "this function is `unsafe`: there is nearly always a safe one."
    } else if message.contains("mutable static") {
        "a `static mut` is `unsafe`, because threads share it. Use a variable, or a `static` with a `Mutex` or an atomic."
    } else if message.contains("raw pointer") {
        "a raw pointer may point to nothing. Use a reference, `&x` or `&mut x`."
    } else {
        "this needs an `unsafe` block, in which you promise that it is right."
    };
    what.to_owned()
}
