//! The calls with which a profiled cell reports its line: before each statement, also in loops, closures and functions.

use crate::config::SUPPORT;
use syn::parse::Parser;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, ExprClosure, ExprConst, ExprRepeat, GenericArgument, ImplItemFn, Item,
    ItemFn, Pat, Signature, Stmt, TraitItemFn, Type,
};
use taper_rust_cell::position::position_of;
use taper_rust_cell::range;

/// A call that is written into the cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The position in the source.
    pub(crate) at: usize,
    /// The source of the call, a statement.
    pub(crate) text: String,
}

/// Returns the calls; several at one position are in their order. None if the cell is not valid Rust.
pub(crate) fn marks(source: &str) -> Vec<Mark> {
    let grammar = |input: syn::parse::ParseStream| {
        input.call(Attribute::parse_inner)?;
        input.call(Block::parse_within)
    };
    let mut marks = Marks {
        source,
        found: Vec::new(),
    };
    if let Ok(statements) = grammar.parse_str(source) {
        marks.statements(&statements);
    }
    marks.found
}

struct Marks<'a> {
    source: &'a str,
    found: Vec<Mark>,
}

impl Marks<'_> {
    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            let at = range(statement).start;
            if !matches!(statement, Stmt::Item(_)) {
                let (line, _) = position_of(self.source, at);
                self.add(at, format!("::{SUPPORT}::profile::line({line}); "));
            }
            self.visit_stmt(statement);
        }
    }

    fn add(&mut self, at: usize, text: String) {
        self.found.push(Mark { at, text });
    }

    fn function(&mut self, signature: &Signature, body: &Block) {
        // A constant function can call no other kind.
        if signature.constness.is_none() {
            self.visit_block(body);
        }
    }
}

impl Visit<'_> for Marks<'_> {
    /// When a block ends, also early, the line that contains it continues.
    fn visit_block(&mut self, block: &Block) {
        if let Some(first) = block.stmts.first() {
            let guard = format!("let _taper_block = ::{SUPPORT}::profile::block(); ");
            self.add(range(first).start, guard);
        }
        self.statements(&block.stmts);
    }

    fn visit_item(&mut self, item: &Item) {
        // The compiler computes the values of other items.
        if let Item::Fn(_) | Item::Impl(_) | Item::Trait(_) | Item::Mod(_) = item {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &TraitItemFn) {
        if let Some(body) = &function.default {
            self.function(&function.sig, body);
        }
    }

    fn visit_expr_closure(&mut self, closure: &ExprClosure) {
        self.visit_expr(&closure.body);
    }

    fn visit_expr_repeat(&mut self, array: &ExprRepeat) {
        self.visit_expr(&array.expr);
    }

    // What follows is computed by the compiler.
    fn visit_expr_const(&mut self, _: &ExprConst) {}

    fn visit_impl_item_const(&mut self, _: &syn::ImplItemConst) {}

    fn visit_trait_item_const(&mut self, _: &syn::TraitItemConst) {}

    fn visit_generic_argument(&mut self, _: &GenericArgument) {}

    fn visit_pat(&mut self, _: &Pat) {}

    fn visit_type(&mut self, _: &Type) {}

    // Attributes may have expressions.
    fn visit_attribute(&mut self, _: &Attribute) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cell with `L` and the line, or `B`, in place of the calls.
    #[track_caller]
    fn check(source: &str, expected: &str) {
        let (mut text, mut from) = (String::new(), 0);
        let mut marks = marks(source);
        marks.sort_by_key(|mark| mark.at);
        for mark in marks {
            text += &source[from..mark.at];
            from = mark.at;
            match mark.text.split_once("line(") {
                Some((_, rest)) => text += &format!("L{} ", &rest[..rest.len() - 3]),
                None => text += "B ",
            }
        }
        assert_eq!(text + &source[from..], expected);
    }

    #[test]
    fn each_statement_is_marked_and_each_block_is_guarded() {
        check("let x = 1;\nx + 1", "L1 let x = 1;\nL2 x + 1");
        check(
            "for i in 0..9 {\n    f(i);\n}",
            "L1 for i in 0..9 {\n    B L2 f(i);\n}",
        );
        check(
            "let y = if a { 1 } else {\n  loop { break 2 } };",
            "L1 let y = if a { B L1 1 } else {\n  B L2 loop { B L2 break 2 } };",
        );
        check(
            "let Some(a) = b else { return };",
            "L1 let Some(a) = b else { B L1 return };",
        );
    }

    #[test]
    fn functions_and_closures_of_the_cell_are_marked() {
        check(
            "fn f() {\n  fn g() {}\n  g()\n}\nlet h = |x| { f(); x };",
            "fn f() {\n  B fn g() {}\n  L3 g()\n}\nL5 let h = |x| { B L5 f(); L5 x };",
        );
        check(
            "impl A { fn a(&self) { self.b() } }\ntrait T { fn d(&self) { 1; } }",
            "impl A { fn a(&self) { B L1 self.b() } }\ntrait T { fn d(&self) { B L2 1; } }",
        );
        check(
            "mod m { pub fn f() { 1; } }",
            "mod m { pub fn f() { B L1 1; } }",
        );
    }

    #[test]
    fn what_the_compiler_computes_is_left_alone() {
        for source in [
            "const A: usize = { 1; 2 };",
            "static B: i32 = { 3 };",
            "const fn f() -> usize { 1 }",
            "struct S([u8; { 1 + 1 }]);",
        ] {
            check(source, source);
        }
        check(
            "let x = [0; { 3 }]; let y = const { 4 };",
            "L1 let x = [0; { 3 }]; L1 let y = const { 4 };",
        );
        check("not valid {", "not valid {");
    }
}
