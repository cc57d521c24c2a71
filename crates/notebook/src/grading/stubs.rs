//! What the cells of an assignment define that students fill in: submissions define the same, with the same types.

use super::names;
use super::tested::Tested;
use super::words::{flat, is_word};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;
use syn::{
    Attribute, Fields, ImplItem, Item, ItemImpl, Macro, Pat, PathArguments, ReturnType, Signature,
    Stmt, TraitItem, Type,
};
use taper_rust_cell::{bindings, words::in_text};

/// The traits with which a type can say that it equals a value of another type.
pub(super) const COMPARISONS: [&str; 2] = ["PartialEq", "PartialOrd"];

/// The definitions, by name; parts of types as in `Point.x`, `Point::norm` and `Color::Red`.
#[derive(Default)]
pub(super) struct Stubs {
    shapes: BTreeMap<String, Shape>,
    /// Names that macros of the assignment define, as `layer!` does: so may those of submissions.
    pub(super) made: BTreeSet<String>,
    /// Whether a solution defines nothing, so that students choose the names.
    pub(super) open: bool,
}

impl Visit<'_> for Stubs {
    fn visit_macro(&mut self, call: &Macro) {
        self.made.extend(names::made(call));
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Variable,
    Item,
    Variant,
    Field,
    Method,
    TraitMethod,
    /// An implementation of one of [`COMPARISONS`] for values of another type.
    Comparison,
}

/// What must not change of a definition.
#[derive(Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// What it is, with its types: `fn(f64) -> f64`, `struct`.
    text: String,
    /// What a type derives.
    derives: BTreeSet<String>,
}

impl Stubs {
    /// Adds a cell, of which students see these tokens.
    pub(super) fn add(&mut self, statements: &[Stmt], is_solution: bool, seen: &[String]) {
        let defines = |statement: &Stmt| matches!(statement, Stmt::Local(_) | Stmt::Item(_));
        self.open |= is_solution && !statements.iter().any(defines);
        statements.iter().for_each(|it| self.visit_stmt(it));
        for (name, mut shape) in statements.iter().flat_map(shapes) {
            if shape.kind == Kind::Variable && !seen.contains(&name) {
                shape.text = VARIABLE.to_owned();
            }
            self.shapes.insert(name, shape);
        }
    }

    /// Keeps the definitions that the tests use, with the types in them: how students solve the rest is up to them.
    pub(super) fn keep_used(&mut self, tested: &mut Tested) {
        let is_used = |tested: &Tested, name: &str, shape: &Shape| {
            let last = name.rsplit(['.', ':']).next().unwrap_or(name);
            let is_index = last.parse::<usize>().is_ok();
            shape.kind == Kind::Comparison || is_index || tested.mentions(last)
        };
        let mut count = usize::MAX;
        while count != tested.free.len() {
            count = tested.free.len();
            for (name, shape) in &self.shapes {
                if is_used(tested, name, shape) {
                    let types = in_text(&shape.text).map(str::to_owned);
                    tested.free.extend(types);
                }
            }
        }
        self.shapes
            .retain(|name, shape| is_used(tested, name, shape));
    }

    pub(super) fn defines(&self, name: &str) -> bool {
        self.shapes.contains_key(name)
    }

    /// Returns how the definition of a submission differs from that of the assignment.
    pub(super) fn difference(&self, name: &str, found: &Shape) -> Option<String> {
        let stub = self.shapes.get(name)?;
        let is_open = stub.text == VARIABLE && found.kind == Kind::Variable;
        if stub.text != found.text && !is_open {
            let (expected, found) = (&stub.text, &found.text);
            return Some(format!("`{name}` must be `{expected}`, not `{found}`"));
        }
        let missing = stub.derives.difference(&found.derives).next()?;
        Some(format!("`{name}` must derive `{missing}`"))
    }
}

/// The text of a variable without a type.
const VARIABLE: &str = "a variable";

impl Shape {
    fn new(kind: Kind, text: String) -> Shape {
        Shape {
            kind,
            text,
            derives: BTreeSet::new(),
        }
    }
}

/// Returns what a statement defines that a test may use, by name.
pub(super) fn shapes(statement: &Stmt) -> Vec<(String, Shape)> {
    match statement {
        Stmt::Item(item) => of_item(item),
        Stmt::Local(local) => {
            let text = match &local.pat {
                Pat::Type(typed) => format!("{VARIABLE} of type {}", text(&typed.ty)),
                _ => VARIABLE.to_owned(),
            };
            let shape = || Shape::new(Kind::Variable, text.clone());
            let names = bindings::names(&local.pat);
            names.map(|name| (name, shape())).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns what an item defines: itself, and its parts.
pub(super) fn of_item(item: &Item) -> Vec<(String, Shape)> {
    let typed = |word: &str, ty: &Type| format!("{word} {}", text(ty));
    let (name, text, attributes) = match item {
        Item::Fn(it) => (&it.sig.ident, types_of(&it.sig), &it.attrs),
        Item::Const(it) => (&it.ident, typed("const", &it.ty), &it.attrs),
        Item::Static(it) => (&it.ident, typed("static", &it.ty), &it.attrs),
        Item::Struct(it) => (&it.ident, "struct".to_owned(), &it.attrs),
        Item::Enum(it) => (&it.ident, "enum".to_owned(), &it.attrs),
        Item::Union(it) => (&it.ident, "union".to_owned(), &it.attrs),
        Item::Type(it) => (&it.ident, typed("type", &it.ty), &it.attrs),
        Item::Trait(it) => (&it.ident, "trait".to_owned(), &it.attrs),
        Item::TraitAlias(it) => (&it.ident, "trait".to_owned(), &it.attrs),
        Item::Mod(it) => (&it.ident, "mod".to_owned(), &it.attrs),
        Item::Impl(it) => return of_implementation(it),
        _ => return Vec::new(),
    };
    let name = name.to_string().trim_start_matches("r#").to_owned();
    let own = Shape {
        derives: derives(attributes),
        ..Shape::new(Kind::Item, text)
    };
    let mut shapes = parts(item, &name);
    shapes.push((name, own));
    shapes
}

/// Returns the fields, variants and methods of the type with this name.
fn parts(item: &Item, of: &str) -> Vec<(String, Shape)> {
    match item {
        Item::Struct(it) => fields(&it.fields, of),
        Item::Enum(it) => {
            let variants = it.variants.iter().map(|variant| {
                let fields = variant.fields.to_token_stream();
                let shape = Shape::new(Kind::Variant, format!("variant {fields}"));
                (format!("{of}::{}", variant.ident), shape)
            });
            variants.collect()
        }
        Item::Trait(it) => {
            let methods = it.items.iter().filter_map(|part| match part {
                TraitItem::Fn(method) => Some(of_method(Kind::TraitMethod, of, &method.sig)),
                _ => None,
            });
            methods.collect()
        }
        _ => Vec::new(),
    }
}

fn fields(fields: &Fields, of: &str) -> Vec<(String, Shape)> {
    let fields = fields.iter().enumerate().map(|(index, field)| {
        let name = field.ident.as_ref().map(ToString::to_string);
        let name = name.unwrap_or_else(|| index.to_string());
        let shape = Shape::new(Kind::Field, text(&field.ty));
        (format!("{of}.{name}"), shape)
    });
    fields.collect()
}

fn of_method(kind: Kind, of: &str, signature: &Signature) -> (String, Shape) {
    let shape = Shape::new(kind, types_of(signature));
    (format!("{of}::{}", signature.ident), shape)
}

/// Returns the methods of a type. An implementation of a trait has the types of the trait; one of a comparison counts as a
/// whole.
fn of_implementation(item: &ItemImpl) -> Vec<(String, Shape)> {
    let Some(of) = last_of(&item.self_ty) else {
        return Vec::new();
    };
    let Some((_, path, _)) = &item.trait_ else {
        let name = of.ident.to_string();
        let methods = item.items.iter().filter_map(|part| match part {
            ImplItem::Fn(method) => Some(of_method(Kind::Method, &name, &method.sig)),
            _ => None,
        });
        return methods.collect();
    };
    let compares = path.segments.last().filter(|last| {
        let is_other = match &last.arguments {
            PathArguments::AngleBracketed(with) => {
                !["Self", &text(of)].contains(&&*text(&with.args))
            }
            _ => false,
        };
        is_other && COMPARISONS.iter().any(|name| last.ident == name)
    });
    let comparison = compares.map(|with| {
        let name = format!("{} for {}", text(with), text(of));
        (name, Shape::new(Kind::Comparison, String::new()))
    });
    comparison.into_iter().collect()
}

/// Returns the last part of a type's path.
fn last_of(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(of) => of.path.segments.last(),
        Type::Reference(of) => last_of(&of.elem),
        _ => None,
    }
}

fn text(syntax: &impl ToTokens) -> String {
    syntax.to_token_stream().to_string()
}

/// Returns a signature without the names of its parameters.
fn types_of(signature: &Signature) -> String {
    let inputs = signature.inputs.iter().map(|input| match input {
        syn::FnArg::Receiver(receiver) => text(receiver),
        syn::FnArg::Typed(typed) => text(&typed.ty),
    });
    let inputs = inputs.collect::<Vec<_>>().join(", ");
    let (generics, clause) = (&signature.generics, &signature.generics.where_clause);
    let asynchronous = match signature.asyncness {
        Some(_) => "async ",
        None => "",
    };
    let output = match &signature.output {
        ReturnType::Default => String::new(),
        output => format!(" {}", text(output)),
    };
    let types = format!(
        "{asynchronous}fn{}({inputs}){output} {}",
        text(generics),
        text(clause)
    );
    types.trim().to_owned()
}

fn derives(attributes: &[Attribute]) -> BTreeSet<String> {
    let derives = attributes.iter().filter(|it| it.path().is_ident("derive"));
    let tokens = derives.flat_map(|it| flat(it.meta.to_token_stream()));
    tokens.filter(|it| is_word(it) && it != "derive").collect()
}
