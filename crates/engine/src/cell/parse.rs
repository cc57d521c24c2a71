//! Splits the source of a cell.

use super::attributes::Attributes;
use super::calls::{self, Call};
use super::closures::{Closure, Closures};
use super::flow::{self, Flow};
use super::item::{self, ParsedItem};
use super::macros::{self, Macros, Own, Reading};
use super::places::{Place, Places};
use super::temporaries::{self, Temporary};
use super::uses::Uses;
use super::work::{self, Work};
use std::collections::HashSet;
use std::ops::Range;
use syn::parse::Parser;
use syn::visit::Visit;
use syn::{Attribute, Block, Expr, Item, Local, Stmt};
use taper_rust_cell::bindings::{self, Binding};
use taper_rust_cell::imports::{self, Import};
use taper_rust_cell::keys::Key;
use taper_rust_cell::range;
use taper_rust_cell::words;

/// A cell that Rust's grammar accepts.
#[derive(Default)]
pub(crate) struct Parsed {
    /// Its inner attributes.
    pub(crate) attributes: Attributes,
    /// All items but imports.
    pub(crate) items: Vec<ParsedItem>,
    /// The `use` items.
    pub(crate) imports: Vec<(Range<usize>, Vec<Import>)>,
    /// The expression at the end, without a semicolon.
    pub(crate) tail: Option<Range<usize>>,
    /// The variables that the cell defines.
    pub(crate) bindings: Vec<Binding>,
    /// Where variables are named.
    pub(crate) places: Vec<Place>,
    /// The closures.
    pub(crate) closures: Vec<Closure>,
    /// Each variable of a `let`, also where a later one shadows it, with the end of the statement.
    pub(crate) defined: Vec<(String, usize)>,
    /// The statements.
    pub(crate) statements: Vec<Range<usize>>,
    /// The values without a name that new variables borrow from.
    pub(crate) temporaries: Vec<Temporary>,
    /// The names that the statements mention before the cell defines them itself.
    pub(crate) mentions: HashSet<String>,
    /// What the statements use.
    pub(crate) uses: Uses,
    /// Variables that a statement assigns to before the cell mentions them otherwise.
    pub(crate) overwrites: HashSet<String>,
    /// The names that the value of each new variable mentions.
    pub(crate) origins: Vec<(String, HashSet<String>)>,
    /// The calls of macros that are read as values or statements.
    pub(crate) calls: Vec<Call>,
    /// Whether a `?` can end the cell.
    pub(crate) has_try: bool,
    /// Whether the cell waits for a future.
    pub(crate) has_await: bool,
    /// How much the statements may compute.
    pub(crate) work: Work,
}

impl Parsed {
    /// Returns the names of the functions, constants and statics that the cell defines.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        let keys = self.items.iter().flat_map(|item| &item.keys);
        keys.filter_map(|(key, _)| match key {
            Key::Value(name) => Some(&**name),
            _ => None,
        })
    }
}

/// Splits the source of a cell; returns `None` if it is not valid Rust, which rustc explains better.
pub(crate) fn parse(source: &str, macros: &Macros) -> Option<Parsed> {
    let grammar = |input: syn::parse::ParseStream| {
        let attributes = input.call(Attribute::parse_inner)?;
        Ok((attributes, input.call(Block::parse_within)?))
    };
    let (attributes, statements) = grammar.parse_str(source).ok()?;
    let mut parsed = Parsed {
        attributes: Attributes::of(&attributes),
        ..Parsed::default()
    };
    let mut places = Places::default();
    let mut closures = Closures::default();
    let mut own = Own::new();
    let last = statements.len().wrapping_sub(1);
    for (index, statement) in statements.into_iter().map(calls::as_call).enumerate() {
        let statement = &statement;
        if !matches!(statement, Stmt::Item(_)) {
            parsed.statements.push(range(statement));
            closures.visit_stmt(statement);
        }
        match statement {
            Stmt::Item(Item::Use(import)) => {
                parsed.imports.push((range(import), imports::of(import)));
            }
            Stmt::Item(item) => {
                own.extend(macros::defined(item));
                let item = item::of(item, source, &parsed.attributes);
                parsed.items.push(item);
            }
            Stmt::Local(local) => {
                let mentions = words_of_initializer(local, source);
                let mut uses = Uses::default();
                if let Some(init) = &local.init {
                    uses.visit_local_init(init);
                }
                uses.add_pattern(&local.pat);
                temporaries::collect(local, &mut parsed.temporaries);
                if let Some(init) = &local.init {
                    places.visit_local_init(init);
                }
                let mut new = Vec::new();
                bindings::collect(&local.pat, range(local).end, &mut new);
                let ends = new.iter().map(|it| (it.name.clone(), it.statement));
                parsed.defined.extend(ends);
                let names = new.iter().map(|it| (it.name.clone(), mentions.clone()));
                parsed.origins.extend(names);
                parsed.mention(mentions, uses);
                parsed.bindings.append(&mut new);
                parsed.add(&flow::of(statement));
            }
            Stmt::Expr(expression, semicolon) => {
                parsed.assign(expression, source);
                places.visit_expr(expression);
                let mut uses = Uses::default();
                uses.visit_expr(expression);
                parsed.mention(words::of(&source[range(statement)]), uses);
                parsed.add(&flow::of(statement));
                if semicolon.is_none() && index == last && has_value(expression) {
                    parsed.tail = Some(range(expression));
                }
            }
            Stmt::Macro(call) => {
                let reading = macros.reading(&call.mac, range(call).start, &own);
                if reading == Reading::Items {
                    parsed.statements.pop();
                    parsed.items.push(item::of_call(call, source));
                    continue;
                }
                parsed.calls.push(Call::of(call));
                places.visit_macro(&call.mac);
                let mut uses = Uses::default();
                uses.visit_macro(&call.mac);
                parsed.mention(words::of(&source[range(statement)]), uses);
                parsed.add(&flow::of(statement));
                let has_value = reading == Reading::Value && call.semi_token.is_none();
                if has_value && index == last {
                    parsed.tail = Some(range(call));
                }
            }
        }
    }
    let statements = parsed.statements.iter();
    let statements: Vec<&str> = statements.map(|it| &source[it.clone()]).collect();
    parsed.work = work::of(&statements.join("\n"));
    parsed.places = places.finish();
    parsed.closures = closures.0;
    bindings::keep_last(&mut parsed.bindings);
    Some(parsed)
}

impl Parsed {
    fn add(&mut self, flow: &Flow) {
        self.has_try |= flow.has_try;
        self.has_await |= flow.has_await;
    }

    /// Adds names that are not those of the cell's own variables.
    fn mention(&mut self, names: HashSet<String>, uses: Uses) {
        let is_own = |name: &str| self.bindings.iter().any(|own| own.name == name);
        self.mentions
            .extend(names.into_iter().filter(|name| !is_own(name)));
        self.uses.add_statement(uses, &is_own);
    }

    /// Notes that a statement assigns to a variable which the cell has not mentioned yet.
    fn assign(&mut self, statement: &Expr, source: &str) {
        if let Expr::Assign(it) = statement
            && let Expr::Path(path) = &*it.left
            && let Some(name) = path.path.get_ident().map(ToString::to_string)
            && !self.mentions.contains(&name)
            && !words::of(&source[range(&it.right)]).contains(&name)
        {
            self.overwrites.insert(name);
        }
    }
}

/// Returns the names in what follows the `=` of a `let`.
fn words_of_initializer(local: &Local, source: &str) -> HashSet<String> {
    match &local.init {
        Some(init) => words::of(&source[range(&init.eq_token).start..range(local).end]),
        None => HashSet::new(),
    }
}

/// Returns whether an expression can have a value to show.
fn has_value(expression: &Expr) -> bool {
    !matches!(expression, Expr::Verbatim(_) | Expr::Assign(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str) -> Parsed {
        parse(source, &Macros::NONE).expect("it is valid")
    }

    #[test]
    fn a_cell_is_split_into_items_statements_and_a_value() {
        let source = "#![allow(unused)]\nuse std::fmt;\n/// A point.\nstruct P { x: i32 }\nlet é = P { x: 1 };\né.x + 1";
        let cell = parsed(source);
        assert_eq!(cell.attributes.ranges.len(), 1);
        assert_eq!(cell.imports.len(), 1);
        assert_eq!(
            &source[cell.items[0].range.clone()],
            "/// A point.\nstruct P { x: i32 }"
        );
        assert_eq!(cell.bindings[0].name, "é");
        assert_eq!(&source[cell.tail.expect("a value")], "é.x + 1");
    }

    #[test]
    fn a_macro_that_defines_functions_is_an_item() {
        let source = "macro_rules! getter { ($n:ident) => { fn $n() {} }; }\ngetter!(seven);\nprintln!(\"a\");";
        let cell = parsed(source);
        assert_eq!(cell.items.len(), 2);
        let macros = Macros {
            known: &|name| match name {
                "getter" => Reading::Items,
                _ => Reading::Value,
            },
            ..Macros::NONE
        };
        let known = parse("getter!(nine);\nnine()", &macros).expect("valid");
        assert_eq!(known.items.len(), 1);
        assert!(known.tail.is_some());
    }

    #[test]
    fn a_question_mark_counts_unless_it_is_in_a_closure() {
        assert!(parsed("let a = f()?;").has_try);
        assert!(parsed("println!(\"{}\", f()?);").has_try);
        assert!(!parsed("let f = || -> Option<i32> { Some(g()?) };").has_try);
        assert!(!parsed("fn f() -> Option<i32> { g()? }").has_try);
        assert!(parsed("g().await").has_await);
        assert!(!parsed("let f = async { g().await };").has_await);
    }

    #[test]
    fn an_invalid_cell_is_left_to_rustc() {
        assert!(parse("let a = ;", &Macros::NONE).is_none());
    }
}
