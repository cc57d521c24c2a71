//! Hints by patterns of the compiler's words: the rules of `hints.toml`, in which their syntax is described.

use super::hint::{
    Hint, besides, default_of, instead, is_float, is_integer, is_number, is_text, one, operand,
};
use super::tables::TABLES;
use crate::session::diagnostics::context::{Body, Context};
use crate::session::diagnostics::diagnostic::{Diagnostic, Label};
use crate::session::tokens::{is_name, is_plain};
use ra_ap_syntax::ast::{self, AstNode};

/// Separates the pattern of a message from that of a label.
const LABEL: &str = " // ";

/// Returns the hint of the first rule that fits.
pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let primary = diagnostic.primary();
    let others = diagnostic.labels.iter().map(Some);
    // Where several arguments are wrong, each has a label.
    let (case, text) = std::iter::once(primary).chain(others).find_map(|label| {
        TABLES
            .rules
            .iter()
            .find_map(|(codes, pattern, when, text)| {
                let mut case = Case {
                    diagnostic,
                    context,
                    label,
                    found: Vec::new(),
                };
                case.fits(codes, pattern, when).then_some((case, text))
            })
    })?;
    match text.strip_prefix("= ") {
        Some(text) => Some(instead(case.filled(text))),
        None => (!text.is_empty()).then(|| besides(case.filled(text))),
    }
}

/// An error that a rule is compared with.
struct Case<'a> {
    diagnostic: &'a Diagnostic,
    context: &'a Context<'a>,
    label: Option<&'a Label>,
    /// The parts of the compiler's words that the pattern names.
    found: Vec<(&'static str, &'a str)>,
}

impl<'a> Case<'a> {
    fn fits(&mut self, codes: &str, pattern: &'static str, when: &str) -> bool {
        let code = self.diagnostic.code.as_deref().unwrap_or_default();
        let (message, label) = pattern.split_once(LABEL).unwrap_or((pattern, ""));
        let said = self.label.map_or("", |label| &label.text);
        (codes.is_empty() || codes.split(' ').any(|it| it == code))
            && (message.is_empty() || self.is_like(message, &self.diagnostic.message))
            && (label.is_empty() || self.is_like(label, said))
            && when.split(", ").all(|condition| self.is(condition))
    }

    /// Returns whether a text has a pattern, and keeps what the pattern names.
    fn is_like(&mut self, pattern: &'static str, text: &'a str) -> bool {
        let mut rest = pattern.chars();
        let sign = rest.next();
        let rest = rest.as_str();
        let ends = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
        match sign {
            None => text.is_empty(),
            Some('~') => self.is_like(rest, text.strip_prefix('`').unwrap_or(text)),
            Some('^') => self.is_like(rest, text.trim_start_matches('&')),
            Some('…') => ends.into_iter().any(|at| self.is_like(rest, &text[at..])),
            Some('$') => {
                let (name, kind, rest) = named(rest);
                let known = self.found(name);
                ends.into_iter().any(|at| {
                    let (part, after) = text.split_at(at);
                    let before = self.found.len();
                    self.found.push((name, part));
                    let fits = known.is_none_or(|known| known == part)
                        && self.is_a(kind, part)
                        && self.is_like(rest, after);
                    if !fits {
                        self.found.truncate(before);
                    }
                    fits
                })
            }
            Some(sign) => {
                let text = text.strip_prefix(sign);
                text.is_some_and(|text| self.is_like(rest, text))
            }
        }
    }

    fn found(&self, name: &str) -> Option<&'a str> {
        let found = self.found.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text)
    }

    /// Returns whether a part of the compiler's words is of a kind.
    fn is_a(&self, kind: &str, text: &str) -> bool {
        match kind {
            "" => true,
            "float" => is_float(text),
            "integer" => is_integer(text),
            "number" => is_number(text),
            "text" => is_text(text),
            "plain" => !text.contains('<'),
            "own" => self.context.defines_item(text),
            "has-own" => own_type(text, self.context).is_some(),
            "has-number" => size(text).is_some(),
            words => words.split('|').any(|word| word == text),
        }
    }

    fn place(&self) -> &'a str {
        self.context.primary(self.diagnostic)
    }

    fn marked(&self) -> &'a str {
        self.label.map_or("", |label| self.context.marked(label))
    }

    /// Returns whether a condition holds.
    fn is(&self, condition: &str) -> bool {
        let Diagnostic {
            message,
            labels,
            notes,
            ..
        } = self.diagnostic;
        let has_edits = || notes.iter().any(|note| !note.edits.is_empty());
        let (condition, value) = condition.split_once(':').unwrap_or((condition, ""));
        match condition {
            "" => true,
            "edits" => has_edits(),
            "no-edits" => !has_edits(),
            "no-notes" => notes.is_empty(),
            "product" => {
                let operation = self.context.around::<ast::BinExpr>(self.diagnostic);
                operation.is_some_and(|it| it.to_string().contains(value))
            }
            "macro" => self
                .context
                .around::<ast::MacroCall>(self.diagnostic)
                .is_some(),
            "closure" => self.context.body(self.diagnostic) == Body::Closure,
            "operator" => self.is_of_operator(),
            "begins" => self.marked().starts_with(value),
            "begins-not" => !self.marked().starts_with(value),
            "ends" => self.marked().ends_with(value),
            "has" => self.marked().contains(value),
            "elements" => {
                let element = format!("{}[", self.named("name"));
                let line = self
                    .label
                    .and_then(|label| self.context.cell.lines().nth(label.start.0 - 1));
                line.is_some_and(|line| line.matches(&element).count() > 1)
            }
            "calls" => self.receiver().ends_with(')'),
            "place" => value.split('|').any(|it| it == self.place()),
            "derives" => {
                let of = self.found("of").unwrap_or(value);
                self.context.derives(&self.named("kind"), of)
            }
            "method" => value
                .split('|')
                .any(|it| it == self.context.marked_method(self.diagnostic)),
            "taper" => !self.context.defines_item(value),
            "says" => {
                let labels = labels.iter().map(|label| &label.text);
                let mut texts = labels
                    .chain(notes.iter().map(|note| &note.message))
                    .chain([message]);
                texts.any(|text| text.contains(value))
            }
            _ => false,
        }
    }

    /// Returns whether the value is an operand of an arithmetic operator, about which there is a message of its own.
    fn is_of_operator(&self) -> bool {
        let operation = self.context.around::<ast::BinExpr>(self.diagnostic);
        operation.is_some_and(|it| {
            let is_arithmetic = matches!(it.op_kind(), Some(ast::BinaryOp::ArithOp(_)));
            is_arithmetic && it.syntax().text() != self.place()
        })
    }

    /// Returns what a method is called on.
    fn receiver(&self) -> String {
        let call = self.context.around::<ast::MethodCallExpr>(self.diagnostic);
        let receiver = call.and_then(|it| it.receiver());
        receiver.map_or_else(|| "v".to_owned(), |it| it.syntax().text().to_string())
    }

    /// Returns the operands of an operator between tensors, the second with a `&` if it is one.
    fn sides(&self) -> (String, String) {
        let sides = self.context.around::<ast::BinExpr>(self.diagnostic);
        let sides = sides.and_then(|it| Some((it.lhs()?.to_string(), it.rhs()?.to_string())));
        let (left, right) = sides.unwrap_or_else(|| ("a".to_owned(), "0.5".to_owned()));
        let mut labels = self.diagnostic.labels.iter();
        let is_tensor = labels.any(|it| it.text == "Tensor" && self.context.marked(it) == right);
        (
            left,
            if is_tensor {
                format!("&{right}")
            } else {
                right
            },
        )
    }

    /// Returns the text of a rule with what it names.
    fn filled(&self, text: &'static str) -> String {
        let mut parts = text.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, of, rest) = named(part);
            filled += &match name {
                "one" => one(&self.named(of)),
                "type" => default_of(&self.named(of)).to_owned(),
                name => self.named(name),
            };
            filled += rest;
        }
        filled
    }

    fn named(&self, name: &str) -> String {
        if let Some(found) = self.found(name) {
            return found.to_owned();
        }
        let mut found = self.found.iter().map(|(_, text)| *text);
        let marked = self.marked();
        match name {
            "value" => operand(marked),
            "negated" => operand(self.place().trim_start_matches('!')),
            "bare" => match marked.trim_start_matches('&') {
                short if operand(short) != "…" => short.to_owned(),
                _ => "…".to_owned(),
            },
            "place" => self.place().to_owned(),
            "plain" => if is_plain(self.place()) {
                self.place()
            } else {
                "x"
            }
            .to_owned(),
            "left" => operand(&self.sides().0),
            "right" => self.sides().1,
            "comparison" => match self.found("operator").unwrap_or(self.place()) {
                "==" => "eq",
                "!=" => "ne",
                "<" => "lt",
                "<=" => "le",
                ">" => "gt",
                _ => "ge",
            }
            .to_owned(),
            "derive" => match self.named("own") {
                own if own.is_empty() || self.context.derives(&own, "Debug") => String::new(),
                own => format!(", with `#[derive(Debug)]` above the definition of `{own}`"),
            },
            "receiver" => operand(&self.receiver()),
            "method" => self.context.marked_method(self.diagnostic),
            "own" => found
                .find_map(|it| own_type(it, self.context))
                .unwrap_or_default()
                .to_owned(),
            "size" => found.find_map(size).unwrap_or_default().to_owned(),
            "variable" => self
                .context
                .defined_variable(self.diagnostic)
                .unwrap_or_else(|| "x".to_owned()),
            "cast" => {
                let cast = self.context.around::<ast::CastExpr>(self.diagnostic);
                let value = cast.and_then(|cast| Some(cast.expr()?.syntax().text().to_string()));
                operand(&value.unwrap_or_default())
            }
            "body" => match self.context.body(self.diagnostic) {
                Body::Closure => "the closure",
                Body::Async => "the block",
                Body::Cell | Body::Function(_) => "the function",
            }
            .to_owned(),
            _ => String::new(),
        }
    }
}

/// Splits what follows a `$` into a name, what is said of it, and the rest: `kind:float` and `` ` is``.
pub(super) fn named(text: &'static str) -> (&'static str, &'static str, &'static str) {
    let is_of_name = |c: char| c.is_ascii_lowercase();
    let (name, rest) = text.split_at(text.find(|c| !is_of_name(c)).unwrap_or(text.len()));
    let of = rest.strip_prefix(':').unwrap_or_default();
    if let Some((words, rest)) = of.strip_prefix('[').and_then(|of| of.split_once(']')) {
        return (name, words, rest);
    }
    match of.find(|c| !is_of_name(c) && c != '-').unwrap_or(of.len()) {
        0 => (name, "", rest),
        end => (name, &of[..end], &of[end..]),
    }
}

/// Returns the type of a number within a type that cannot be a size in a shape.
fn size(kind: &str) -> Option<&str> {
    let mut sizes = kind.split(|c: char| c != '{' && c != '}' && !c.is_alphanumeric());
    sizes.find(|size| is_number(size) && !matches!(*size, "usize" | "{integer}"))
}

/// Returns the user's own type that a type is, or contains.
fn own_type<'a>(kind: &'a str, context: &Context) -> Option<&'a str> {
    let mut names = kind.split(|c: char| c != '_' && !c.is_alphanumeric());
    names.find(|name| is_name(name) && context.defines_item(name))
}
