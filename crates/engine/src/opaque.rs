//! New variables whose values later cells cannot have as they are: their types have no name, or they borrow from what
//! does not live on.
//!
//! A closure, a future or an `impl Trait` that owns all that it uses is kept in a box, behind the trait that it implements,
//! such as `Box<dyn Fn(i32) -> i32>`. rustc infers the types in it. Anything else lives until its cell ends, as it would in
//! a block, and [`Gone`] says afterwards why.

use crate::cell::{Closure, Parsed};
use crate::compile::types;
use crate::words;
use serde::{Deserialize, Serialize};

/// A variable that lived until its cell ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The number of the evaluation that defined it.
    pub cell: u32,
    /// Its type, as rustc writes it; empty if that is not known.
    pub kind: String,
    /// What it borrowed from, if that has a name.
    pub from: Option<String>,
    /// The statement that defined it.
    pub statement: String,
}

/// The bound of a value that another thread can have.
const SEND: &str = " + ::core::marker::Send";

/// How a new variable is kept that cannot be kept as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opaque {
    /// Its type, as rustc writes it.
    pub(crate) kind: String,
    /// What it borrows from, if that has a name.
    pub(crate) from: Option<String>,
    /// The forms that are left to try. Without one, the variable is not kept.
    forms: Vec<Form>,
    /// Whether the form is the whole type, with nothing to infer.
    is_written: bool,
    /// Where `move` is written in front of a closure that borrows.
    pub(crate) moves_at: Option<usize>,
}

/// A type in which the value is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Form {
    /// The type; `_` is inferred.
    kind: String,
    /// What makes it of the value.
    make: String,
}

impl Opaque {
    /// Returns how to keep a value that owns all that it uses.
    pub(crate) fn owned(kind: &str, closure: Option<&Closure>) -> Opaque {
        Opaque {
            kind: kind.to_owned(),
            forms: forms(kind, closure),
            ..Opaque::default()
        }
    }

    /// Returns how to keep a value that borrows. A closure that only reads copies does not need to: whether it is one, the
    /// next attempt shows.
    pub(crate) fn borrowed(kind: &str, from: Option<String>, closure: Option<&Closure>) -> Opaque {
        let copies = closure.filter(|closure| !closure.is_move);
        Opaque {
            kind: kind.to_owned(),
            from,
            moves_at: copies.map(|closure| closure.start),
            // What it changes would be a copy.
            forms: copies
                .into_iter()
                .flat_map(|it| [SEND, ""].map(|send| boxed("Fn", it, send)))
                .collect(),
            ..Opaque::default()
        }
    }

    /// Returns the form in which the variable is kept, if it is.
    pub(crate) fn form(&self) -> Option<&Form> {
        self.forms.first()
    }

    /// Tries the next form, because the value does not have this one.
    pub(crate) fn try_next(&mut self) {
        if !self.forms.is_empty() {
            self.forms.remove(0);
        }
        if self.forms.is_empty() {
            self.moves_at = None;
        }
    }

    /// Notes the type that rustc has inferred. Returns whether another attempt must write it: only then are references
    /// in it those of any lifetime.
    pub(crate) fn infer(&mut self, kind: &str) -> bool {
        if !types::has_a_name(kind) {
            self.forms.clear();
            self.moves_at = None;
            return true;
        }
        let Some(form) = self.forms.first_mut() else {
            return false;
        };
        let must_write = !self.is_written && form.kind.contains('_') && kind.contains(['&', '\'']);
        if must_write {
            kind.clone_into(&mut form.kind);
            self.forms.truncate(1);
            self.is_written = true;
        }
        must_write
    }
}

impl Form {
    /// Returns the statement that turns the value of a variable into this form.
    pub(crate) fn statement(&self, name: &str) -> String {
        format!("let {name}: {} = {}({name});", self.kind, self.make)
    }

    fn boxed(kind: String) -> Form {
        Form {
            kind: format!("::std::boxed::Box<dyn {kind}>"),
            make: "::std::boxed::Box::new".to_owned(),
        }
    }

    fn future(kind: &str) -> Form {
        Form {
            kind: format!("::std::pin::Pin<::std::boxed::Box<dyn {kind}>>"),
            make: "::std::boxed::Box::pin".to_owned(),
        }
    }
}

/// Returns the forms that a value of this type may have, the best first.
fn forms(kind: &str, closure: Option<&Closure>) -> Vec<Form> {
    let is_part = |text: &str| text.contains('{') || text.contains(words::IMPL);
    if kind.starts_with(words::CLOSURE) {
        let closures = closure.into_iter();
        let all = closures.flat_map(|it| {
            [SEND, ""]
                .into_iter()
                .flat_map(move |send| ["Fn", "FnMut", "FnOnce"].map(|name| boxed(name, it, send)))
        });
        return all.collect();
    }
    if kind.starts_with(words::ASYNC_BLOCK) {
        return [SEND, ""]
            .map(|send| Form::future(&format!("::core::future::Future<Output = _>{send}")))
            .into();
    }
    if let Some((pointer, _)) = kind.split_once(" {").filter(|(it, _)| is_function(it)) {
        return vec![Form {
            kind: pointer.to_owned(),
            make: String::new(),
        }];
    }
    if let Some(bounds) = kind.strip_prefix(words::IMPL).filter(|it| !is_part(it)) {
        let bounds = bounds.replace(" + Unpin", "");
        return match bounds.starts_with("Future<") || bounds.contains("::Future<") {
            true => [SEND, ""]
                .map(|send| Form::future(&format!("{bounds}{send}")))
                .into(),
            false => [SEND, ""]
                .map(|send| Form::boxed(format!("{bounds}{send}")))
                .into(),
        };
    }
    [SEND, ""]
        .map(|send| Form::boxed(format!("::core::iter::Iterator<Item = _>{send}")))
        .into()
}

fn is_function(kind: &str) -> bool {
    ["fn(", "unsafe fn(", "extern ", "for<"]
        .iter()
        .any(|start| kind.starts_with(start))
        && !kind.contains('{')
}

fn boxed(name: &str, closure: &Closure, send: &str) -> Form {
    let parameters = vec!["_"; closure.parameters].join(", ");
    Form::boxed(format!("{name}({parameters}) -> _{send}"))
}

impl Parsed {
    /// Returns the statement that defines a variable.
    pub(crate) fn statement_of(&self, name: &str) -> Option<&std::ops::Range<usize>> {
        let binding = self.bindings.iter().find(|it| it.name == name)?;
        let mut statements = self.statements.iter();
        statements.find(|it| it.end == binding.statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(kind: &str, closure: Option<&Closure>) -> Vec<String> {
        let forms = forms(kind, closure);
        forms.iter().map(|form| form.statement("f")).collect()
    }

    #[test]
    fn a_value_has_the_forms_of_what_it_implements() {
        let closure = Closure {
            start: 8,
            parameters: 2,
            is_move: false,
        };
        let found = statements("{closure@cell-1:1:9: 1:15}", Some(&closure));
        let first = "let f: ::std::boxed::Box<dyn Fn(_, _) -> _ + ::core::marker::Send> = ::std::boxed::Box::new(f);";
        assert_eq!((found.len(), &*found[0]), (6, first));
        assert_eq!(found[3], first.replace(SEND, ""));
        assert!(statements("{closure@other:1:9: 1:15}", None).is_empty());
        let found = statements("fn(i32) -> i32 {double}", None);
        assert_eq!(found, ["let f: fn(i32) -> i32 = (f);"]);
        let found = statements("impl Iterator<Item = u8> + Send", None);
        assert!(
            found[1].contains("Box<dyn Iterator<Item = u8> + Send>"),
            "{found:?}"
        );
        let found = statements("impl Future<Output = u8>", None);
        assert!(found[0].ends_with("Box::pin(f);"), "{found:?}");
    }

    #[test]
    fn references_in_an_inferred_type_are_written() {
        let closure = Closure {
            start: 8,
            parameters: 1,
            is_move: true,
        };
        let mut opaque = Opaque::owned("{closure@cell-1:1:9: 1:15}", Some(&closure));
        assert!(!opaque.infer("Box<dyn Fn(i32) -> i32>"));
        assert!(opaque.infer("Box<dyn Fn(&str) -> usize>"));
        let written = opaque.form().expect("a form").statement("f");
        assert!(written.starts_with("let f: Box<dyn Fn(&str) -> usize> ="));
        assert!(!opaque.infer("Box<dyn Fn(&str) -> usize>"));
        opaque.try_next();
        assert_eq!(opaque.form(), None, "no other form has the same references");
    }
}
