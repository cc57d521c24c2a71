//! What a piece of source uses, as far as its syntax shows.
//!
//! Only rustc knows which variable a name means. So [`Uses::variables`] contains a name only where the syntax
//! leaves no doubt; the cell's source asks rustc about the others that it mentions.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use std::collections::HashSet;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Expr, ExprField, ExprMethodCall, ExprPath, FieldValue, ImplItem, ImplItemFn, Item, ItemFn,
};
use syn::{Lit, Macro, Member, Pat, PatIdent, Path, Token, TraitItemFn, TypeTraitObject};
use taper_rust_cell::{keys, words};

/// The names in a piece of source, by what they are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// Names that are an expression, such as `x` in `x + 1`: variables, unless a pattern inside defines them.
    variables: HashSet<String>,
    /// Names that patterns inside the source define.
    bound: HashSet<String>,
    /// Names in paths of expressions, types, traits and macros; `dyn Shape` for the trait of an object.
    pub(crate) paths: HashSet<String>,
    /// Names of fields and methods, after a dot.
    pub(crate) members: HashSet<String>,
    /// The functions that an item contains.
    pub(crate) functions: HashSet<String>,
}

/// Returns which argument of a macro is a text to format, if its arguments are expressions.
fn format_argument(name: &str) -> Option<usize> {
    match name {
        "eprint" | "eprintln" | "format" | "panic" | "print" | "println" => Some(0),
        "assert" | "debug_assert" | "write" | "writeln" => Some(1),
        "assert_eq" | "assert_ne" | "debug_assert_eq" | "debug_assert_ne" => Some(2),
        "dbg" | "vec" => Some(usize::MAX),
        _ => None,
    }
}

impl Uses {
    /// Returns whether the source certainly uses a variable of this name from outside.
    pub(crate) fn is_used(&self, name: &str) -> bool {
        self.variables.contains(name)
    }

    /// Adds a statement, before which the cell has defined variables with these names.
    pub(super) fn add_statement(&mut self, mut statement: Uses, own: &dyn Fn(&str) -> bool) {
        let Uses { bound, .. } = &statement;
        let is_outside = |name: &String| !bound.contains(name) && !own(name);
        self.variables.extend(
            statement
                .variables
                .iter()
                .filter(|it| is_outside(it))
                .cloned(),
        );
        statement.paths.retain(|name| !own(name));
        self.add_items(&statement);
    }

    /// Returns what the parts of an item use, in the order of the item's keys.
    pub(super) fn of_parts(item: &Item) -> Vec<Uses> {
        let uses = |visit: &dyn Fn(&mut Uses)| {
            let mut uses = Uses::default();
            visit(&mut uses);
            uses
        };
        match item {
            Item::Impl(it) if it.trait_.is_none() => {
                let parts = it.items.iter();
                let parts = parts.filter(|it| {
                    matches!(it, ImplItem::Fn(_) | ImplItem::Const(_) | ImplItem::Type(_))
                });
                parts
                    .map(|part| uses(&|uses| uses.visit_impl_item(part)))
                    .collect()
            }
            item => vec![uses(&|uses| uses.visit_item(item)); keys::of(item).len()],
        }
    }

    /// Adds the types that the pattern of a `let` names.
    pub(super) fn add_pattern(&mut self, pattern: &Pat) {
        let mut uses = Uses::default();
        uses.visit_pat(pattern);
        self.add_items(&uses);
    }

    /// Adds what a type names, as rustc or the source writes it.
    pub(crate) fn add_type(&mut self, kind: &str) {
        match syn::parse_str::<syn::Type>(kind) {
            Ok(kind) => self.visit_type(&kind),
            Err(_) => self.paths.extend(words::in_text(kind).map(str::to_owned)),
        }
    }

    /// Adds what another piece of source uses, without its variables.
    pub(crate) fn add_items(&mut self, other: &Uses) {
        self.paths.extend(other.paths.iter().cloned());
        self.members.extend(other.members.iter().cloned());
    }

    /// Adds the names in the arguments of a macro that may be of any form.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut is_after_dot = false;
        for token in tokens {
            let mut is_dot = false;
            match token {
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Ident(word) if is_after_dot => {
                    self.members.insert(word.to_string());
                }
                TokenTree::Ident(word) => {
                    // It may be pasted after a dot.
                    self.members.insert(word.to_string());
                    self.paths.insert(word.to_string());
                }
                TokenTree::Punct(mark) => {
                    is_dot = mark.as_char() == '.' && mark.spacing() == Spacing::Alone;
                }
                TokenTree::Literal(_) => {}
            }
            is_after_dot = is_dot;
        }
    }

    /// Reads the arguments of a macro as expressions, of which one is a text to format. Returns whether they are
    /// expressions.
    fn add_arguments(&mut self, call: &Macro, format: usize) -> bool {
        let tokens = call.tokens.clone();
        let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens.clone());
        let repeated = |input: syn::parse::ParseStream| {
            let value: Expr = input.parse()?;
            input.parse::<Token![;]>()?;
            Ok([value, input.parse()?])
        };
        let Ok(arguments) = list
            .map(|list| list.into_iter().collect::<Vec<Expr>>())
            .or_else(|_| repeated.parse2(tokens).map(Vec::from))
        else {
            return false;
        };
        let named = arguments.iter().filter_map(|argument| match argument {
            Expr::Assign(named) => match &*named.left {
                Expr::Path(path) => Some(path.path.get_ident()?.to_string()),
                _ => None,
            },
            _ => None,
        });
        let named: HashSet<String> = named.collect();
        for (index, argument) in arguments.iter().enumerate() {
            match argument {
                Expr::Assign(named) => self.visit_expr(&named.right),
                Expr::Lit(literal) if index == format => {
                    if let Lit::Str(text) = &literal.lit {
                        let names = words::in_format(&text.value()).into_iter();
                        self.variables
                            .extend(names.filter(|name| !named.contains(name)));
                    }
                }
                argument => self.visit_expr(argument),
            }
        }
        true
    }
}

impl Visit<'_> for Uses {
    fn visit_expr_path(&mut self, path: &ExprPath) {
        if let Some(name) = path.path.get_ident() {
            self.variables.insert(name.to_string());
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_path(&mut self, path: &Path) {
        let segments = path.segments.iter();
        self.paths
            .extend(segments.map(|segment| segment.ident.to_string()));
        visit::visit_path(self, path);
    }

    fn visit_pat_ident(&mut self, pattern: &PatIdent) {
        let name = pattern.ident.to_string();
        // It may be a constant or a unit struct.
        if name.starts_with(char::is_uppercase) {
            self.paths.insert(name);
        } else {
            self.bound.insert(name);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr_field(&mut self, field: &ExprField) {
        if let Member::Named(name) = &field.member {
            self.members.insert(name.to_string());
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        self.members.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_field_value(&mut self, field: &FieldValue) {
        self.visit_expr(&field.expr);
    }

    fn visit_type_trait_object(&mut self, object: &TypeTraitObject) {
        for bound in &object.bounds {
            if let syn::TypeParamBound::Trait(bound) = bound
                && let Some(last) = bound.path.segments.last()
            {
                self.paths.insert(format!("dyn {}", last.ident));
            }
        }
        visit::visit_type_trait_object(self, object);
    }

    fn visit_macro(&mut self, call: &Macro) {
        self.visit_path(&call.path);
        let name = call.path.segments.last();
        let name = name.map(|name| name.ident.to_string()).unwrap_or_default();
        let are_expressions =
            format_argument(&name).is_some_and(|format| self.add_arguments(call, format));
        if !are_expressions {
            self.add_tokens(call.tokens.clone());
        }
    }

    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.functions.insert(function.sig.ident.to_string());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        self.functions.insert(function.sig.ident.to_string());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &TraitItemFn) {
        self.functions.insert(function.sig.ident.to_string());
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use crate::cell::{Macros, parse};

    #[test]
    fn only_what_is_certain_is_a_use_of_a_variable() {
        let source = "let y = a + b.c; f(|d| d + 1); P { e: 1, g }; println!(\"{h} {}\", \"{i}\", j = k); print!(\"{q}\", q = 1); own!(l); vec![m; n]; match o { p => p }";
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        let is_used = |name: &&str| cell.uses.is_used(name);
        let all = [
            "a", "b", "c", "d", "e", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
        ];
        let used: Vec<&str> = all.into_iter().filter(is_used).collect();
        assert_eq!(used, ["a", "b", "g", "h", "k", "m", "n", "o"]);
        assert!(cell.mentions.contains("l") && cell.mentions.contains("i"));
    }
}
