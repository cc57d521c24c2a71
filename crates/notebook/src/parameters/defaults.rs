//! The lines of a cell that set defaults.

use super::kind::Kind;
use super::value::Given;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::ops::Range;
use syn::visit::{self, Visit};
use syn::{Expr, Item, Local, Pat, Stmt};
use taper_rust_cell::commands::without_commands;
use taper_rust_cell::{range, statements};

/// A parameter: the line that sets its default.
pub(super) struct Default {
    pub(super) name: String,
    /// The type to which a value is converted: that of the default, or of the only literal in it.
    pub(super) kind: Kind,
    /// The statement.
    pub(super) line: String,
    /// The comment behind it.
    pub(super) comment: String,
    /// What comes before the name: `let`, `let mut`, `const`.
    keyword: String,
    annotation: Option<String>,
    /// The expression after the `=`.
    value: String,
    /// Where the value goes, if it replaces the only literal of the expression.
    literal: Option<Range<usize>>,
}

/// Returns the parameters of a cell.
pub(super) fn read(source: &str) -> Vec<Default> {
    let rust = without_commands(source);
    let Ok(statements) = statements(&rust) else {
        return Vec::new();
    };
    let cell = Cell {
        source: &rust,
        names: { statements.iter() }
            .flat_map(|statement| identifiers(statement.to_token_stream()))
            .collect(),
    };
    statements
        .iter()
        .flat_map(|statement| cell.defaults(statement))
        .collect()
}

/// The names in a text of Rust, each as often as it occurs.
fn identifiers(tokens: TokenStream) -> Vec<String> {
    let names = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Ident(name) => vec![name.to_string()],
        TokenTree::Group(group) => identifiers(group.stream()),
        _ => Vec::new(),
    });
    names.collect()
}

struct Cell<'a> {
    source: &'a str,
    names: Vec<String>,
}

impl Cell<'_> {
    fn defaults(&self, statement: &Stmt) -> Vec<Default> {
        let range = range(statement);
        let one = |name: &syn::Ident, keyword: String, annotation, value| {
            self.default(name, keyword, annotation, value, &range)
        };
        match statement {
            Stmt::Local(local) => self.local(local, &range),
            Stmt::Item(Item::Const(item)) => {
                let keyword = keyword(&item.vis, "const");
                vec![one(&item.ident, keyword, Some(&*item.ty), &item.expr)]
            }
            Stmt::Item(Item::Static(item)) => {
                let mutable = item.mutability.to_token_stream().to_string();
                let keyword = keyword(&item.vis, &format!("static {mutable}"));
                vec![one(&item.ident, keyword, Some(&*item.ty), &item.expr)]
            }
            _ => Vec::new(),
        }
    }

    fn local(&self, local: &Local, range: &Range<usize>) -> Vec<Default> {
        let Some(value) = local.init.as_ref().map(|init| &*init.expr) else {
            return Vec::new();
        };
        let (pattern, annotation) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pattern => (pattern, None),
        };
        let one = |pattern: &Pat, annotation, value: &Expr| match pattern {
            Pat::Ident(name) if name.by_ref.is_none() => {
                let keyword = if name.mutability.is_some() {
                    "let mut"
                } else {
                    "let"
                };
                Some(self.default(&name.ident, keyword.into(), annotation, value, range))
            }
            _ => None,
        };
        match (pattern, value) {
            (Pat::Tuple(names), Expr::Tuple(values)) if annotation.is_none() => {
                let pairs = names.elems.iter().zip(&values.elems);
                pairs
                    .filter_map(|(name, value)| one(name, None, value))
                    .collect()
            }
            _ => one(pattern, annotation, value).into_iter().collect(),
        }
    }

    fn default(
        &self,
        name: &syn::Ident,
        keyword: String,
        annotation: Option<&syn::Type>,
        value: &Expr,
        statement: &Range<usize>,
    ) -> Default {
        let name = name.to_string();
        let mut kind = Kind::of(annotation, value);
        let mut literal = None;
        if kind == Kind::Unknown {
            let mut literals = Literals::default();
            literals.visit_expr(value);
            if let [(expression, found)] = &literals.found[..] {
                let start = range(value).start;
                kind = Kind::of(None, expression);
                literal = Some(found.start - start..found.end - start);
            }
        } else if self.names.iter().filter(|other| **other == name).count() == 1 {
            kind = kind.settled();
        }
        let comment = self.source[statement.end..]
            .lines()
            .next()
            .unwrap_or_default();
        let comment = comment
            .split_once("//")
            .map_or("", |(_, comment)| comment.trim());
        Default {
            name,
            kind,
            line: self.source[statement.clone()].to_owned(),
            comment: comment.to_owned(),
            keyword,
            annotation: annotation.map(|kind| self.source[range(kind)].to_owned()),
            value: self.source[range(value)].to_owned(),
            literal,
        }
    }
}

fn keyword(visibility: &syn::Visibility, word: &str) -> String {
    format!("{} {word}", visibility.to_token_stream())
        .trim()
        .to_owned()
}

impl Default {
    /// Returns the default as the cell has it.
    pub(super) fn text(&self) -> &str {
        &self.value
    }

    /// Returns a value for a command line, as an example.
    pub(super) fn example(&self) -> Option<&str> {
        let text = match &self.literal {
            Some(range) => &self.value[range.clone()],
            None => &self.value,
        };
        let text = match self.kind {
            Kind::Str | Kind::Text => text.split('"').nth(1)?,
            _ => text,
        };
        let given = Given::Text(text.to_owned());
        let is_short = text.len() < 40 && !text.contains(['\n', '\'', '"', ' ']);
        (is_short && given.as_rust(&self.kind).is_some()).then_some(text)
    }

    /// Returns the line that sets another value, or `None` if the value is not of the type.
    pub(super) fn set(&self, given: &Given) -> Option<String> {
        let Default {
            name,
            keyword,
            kind,
            ..
        } = self;
        let mut value = given.as_rust(kind)?;
        if let Some(range) = &self.literal {
            let mut whole = self.value.clone();
            whole.replace_range(range.clone(), &value);
            value = whole;
        }
        let has_unknown_parts = !kind.is_stated() && *kind != Kind::Unknown;
        Some(match &self.annotation {
            Some(annotation) => format!("{keyword} {name}: {annotation} = {value};"),
            None if self.literal.is_some() => format!("{keyword} {name} = {value};"),
            None if kind.is_stated() => format!("{keyword} {name}: {kind} = {value};"),
            // Other lines of the cell decide on the type: that of the variable is kept.
            None if has_unknown_parts => format!(
                "#[allow(unused_assignments)]\n\
                 {keyword} {name} = {{ let mut value = {name}; value = {value}; value }};"
            ),
            None => format!("{keyword} {name} = {value};"),
        })
    }
}

/// The literals in an expression, each with its sign.
#[derive(Default)]
struct Literals {
    found: Vec<(Expr, Range<usize>)>,
}

impl<'e> Visit<'e> for Literals {
    fn visit_expr(&mut self, expression: &'e Expr) {
        let is_literal = match expression {
            Expr::Lit(_) => true,
            Expr::Unary(unary) => matches!(&*unary.expr, Expr::Lit(_)),
            _ => false,
        };
        match is_literal {
            true => self.found.push((expression.clone(), range(expression))),
            false => visit::visit_expr(self, expression),
        }
    }
}
