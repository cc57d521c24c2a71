//! What the cells of an assignment define that students fill in: submissions define the same, with the same types.

use super::names;
use super::tested::Tested;
use super::types::{STANDARD, of_signature, text};
use super::words::flat;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;
use syn::{
    Attribute, Fields, ImplItem, Item, ItemImpl, Macro, Pat, PathArguments, PathSegment, Signature,
    Stmt, TraitItem, Type,
};
use taper_rust_cell::{bindings, words::in_text};

/// The traits with which a type can say that it equals a value of another type.
pub(super) const COMPARISONS: [&str; 2] = ["PartialEq", "PartialOrd"];

/// The traits whose implementations change what a test compares.
pub(super) const TRAITS: [&str; 4] = ["PartialEq", "PartialOrd", "Sub", "Deref"];

/// The definitions, by name; parts of types as in `Point.x`, `Point::norm` and `Color::Red`.
#[derive(Default)]
pub(super) struct Stubs {
    shapes: BTreeMap<String, Shape>,
    /// The signatures of the methods of traits, by the method's name.
    traits: BTreeMap<String, BTreeSet<String>>,
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
    /// The method of a trait for a type.
    Implemented,
    /// An implementation of one of [`COMPARISONS`] for values of another type.
    Comparison,
    /// An implementation of `Sub` for values of another type.
    Difference,
    /// An implementation of `Deref`.
    Dereference,
}

/// What must not change of a definition.
#[derive(Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// What it is, with its types: `fn(f64) -> f64`, `struct`.
    pub(super) text: String,
    /// The comparisons that a type derives: those that students write could say what they like.
    derives: BTreeSet<String>,
}

impl Stubs {
    /// Adds the traits' methods of any cell.
    pub(super) fn add_traits(&mut self, statements: &[Stmt]) {
        for (name, shape) in statements.iter().flat_map(shapes) {
            if let (Kind::TraitMethod | Kind::Implemented, Some((_, method))) =
                (shape.kind, name.split_once("::"))
            {
                let signatures = self.traits.entry(method.to_owned()).or_default();
                signatures.insert(shape.text);
            }
        }
    }

    /// Adds a cell, of which students see these tokens.
    pub(super) fn add(&mut self, statements: &[Stmt], is_solution: bool, seen: &[String]) {
        let defines = |statement: &Stmt| matches!(statement, Stmt::Local(_) | Stmt::Item(_));
        self.open |= is_solution && !statements.iter().any(defines);
        statements.iter().for_each(|it| self.visit_stmt(it));
        for (name, mut shape) in statements.iter().flat_map(shapes) {
            if shape.kind == Kind::Implemented {
                continue;
            }
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
            shape.kind.is_of_trait() || is_index || tested.mentions(last)
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
        tested.free.extend(STANDARD.map(str::to_owned));
    }

    /// Returns whether students choose the type of something that the tests use.
    pub(super) fn has_free_types(&self) -> bool {
        self.open || self.shapes.values().any(|shape| shape.text == VARIABLE)
    }

    /// Returns the signatures that traits of the assignment have for a method.
    pub(super) fn of_traits(&self, method: &str) -> Option<&BTreeSet<String>> {
        self.traits.get(method)
    }

    pub(super) fn defines(&self, name: &str) -> bool {
        self.shapes.contains_key(name)
    }

    /// Returns how the definition of a submission differs from that of the assignment.
    pub(super) fn difference(&self, name: &str, found: &Shape) -> Option<String> {
        let stub = self.shapes.get(name)?;
        if found.kind == Kind::Implemented {
            return None;
        }
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

impl Kind {
    /// Returns whether it is one of [`TRAITS`] as a whole.
    fn is_of_trait(self) -> bool {
        matches!(
            self,
            Kind::Comparison | Kind::Difference | Kind::Dereference
        )
    }
}

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
        Item::Fn(it) => (&it.sig.ident, of_signature(&it.sig, None), &it.attrs),
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
    let name = name.to_string();
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
                let fields = text(&variant.fields);
                let shape = Shape::new(Kind::Variant, format!("variant {fields}"));
                (format!("{of}::{}", variant.ident), shape)
            });
            variants.collect()
        }
        Item::Trait(it) => {
            let methods = it.items.iter().filter_map(|part| match part {
                TraitItem::Fn(method) => Some(of_method(Kind::TraitMethod, of, &method.sig, None)),
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

fn of_method(kind: Kind, name: &str, signature: &Signature, of: Option<&Type>) -> (String, Shape) {
    let shape = Shape::new(kind, of_signature(signature, of));
    (format!("{name}::{}", signature.ident), shape)
}

/// Returns the methods of a type, and what it implements of [`TRAITS`].
fn of_implementation(item: &ItemImpl) -> Vec<(String, Shape)> {
    let of = &*item.self_ty;
    let path = item.trait_.as_ref().map(|(_, path, _)| path);
    let kind = path.map_or(Kind::Method, |_| Kind::Implemented);
    let name = last_of(of).unwrap_or_default();
    let methods = item.items.iter().filter_map(|part| match part {
        ImplItem::Fn(method) => Some(of_method(kind, &name, &method.sig, Some(of))),
        _ => None,
    });
    let last = path.and_then(|path| path.segments.last());
    let implemented = last.and_then(|last| of_trait(last, &text(of), name.clone()));
    methods.chain(implemented).collect()
}

/// Returns an implementation of one of [`TRAITS`] for the type `own`. Between values of one type, a comparison and a
/// difference are as students like.
fn of_trait(path: &PathSegment, own: &str, name: String) -> Option<(String, Shape)> {
    let is_other = match &path.arguments {
        PathArguments::AngleBracketed(with) => {
            let with = text(&with.args);
            !["Self", own.trim_start_matches('&')].contains(&with.trim_start_matches('&'))
        }
        _ => false,
    };
    let kind = match &*path.ident.to_string() {
        it if is_other && COMPARISONS.contains(&it) => Kind::Comparison,
        "Sub" if is_other => Kind::Difference,
        "Deref" => Kind::Dereference,
        _ => return None,
    };
    Some((format!("{} for {own}", text(path)), Shape::new(kind, name)))
}

/// Returns the last name of a type's path.
fn last_of(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(of) => of.path.segments.last().map(|last| last.ident.to_string()),
        Type::Reference(of) => last_of(&of.elem),
        Type::Paren(of) => last_of(&of.elem),
        _ => None,
    }
}

fn derives(attributes: &[Attribute]) -> BTreeSet<String> {
    let derives = attributes.iter().filter(|it| it.path().is_ident("derive"));
    let tokens = derives.flat_map(|it| flat(it.meta.to_token_stream()));
    tokens.filter(|it| COMPARISONS.contains(&&**it)).collect()
}
