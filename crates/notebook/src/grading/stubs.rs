//! What the cells of an assignment define that students fill in: submissions define the same, with the same types.

use super::words::{self, Token};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Attribute, Item, Pat, ReturnType, Signature, Stmt, Type};
use taper_rust_cell::bindings;

/// The definitions, by name.
#[derive(Default)]
pub(super) struct Stubs {
    shapes: BTreeMap<String, Shape>,
    types: BTreeSet<String>,
    /// Whether a cell defines nothing, so that students choose the names.
    pub(super) open: bool,
}

/// What must not change of a definition.
#[derive(Debug, PartialEq)]
pub(super) struct Shape {
    /// The kind, as the message names it.
    kind: &'static str,
    /// The types of a function, or of a variable or constant.
    types: String,
    /// What a type derives.
    derives: BTreeSet<String>,
}

impl Stubs {
    pub(super) fn add(&mut self, statements: &[Stmt]) {
        let before = self.shapes.len();
        for statement in statements {
            for (name, shape) in shapes(statement) {
                self.shapes.insert(name, shape);
            }
            if let Stmt::Item(Item::Fn(function)) = statement {
                self.types.extend(types_in(&function.sig));
            }
        }
        let imports = |statement: &Stmt| matches!(statement, Stmt::Item(Item::Use(_)));
        self.open |= before == self.shapes.len() && !statements.iter().all(imports);
    }

    pub(super) fn types(&self) -> impl Iterator<Item = String> {
        self.types.iter().cloned()
    }

    pub(super) fn defines(&self, name: &str) -> bool {
        self.shapes.contains_key(name)
    }

    /// Returns how the definition of a submission differs from that of the assignment: `None` if the assignment has no
    /// definition of this name.
    pub(super) fn difference(&self, name: &str, found: &Shape) -> Option<Option<String>> {
        let stub = self.shapes.get(name)?;
        let missing = stub.derives.difference(&found.derives).next();
        Some(if stub.kind != found.kind {
            Some(format!(
                "it defines `{name}` as a {}, not as a {}",
                found.kind, stub.kind
            ))
        } else if !stub.types.is_empty() && stub.types != found.types {
            let (expected, found) = (&stub.types, &found.types);
            Some(format!(
                "`{name}` must have the types `{expected}`, not `{found}`"
            ))
        } else {
            missing.map(|missing| format!("`{name}` must derive `{missing}`"))
        })
    }
}

/// Returns what a statement defines that a test may use, by name.
pub(super) fn shapes(statement: &Stmt) -> Vec<(String, Shape)> {
    let shape = |kind, types: String, attributes: &[Attribute]| Shape {
        kind,
        types,
        derives: derives(attributes),
    };
    let text = |ty: &Type| ty.to_token_stream().to_string();
    match statement {
        Stmt::Item(item) => of_item(item).into_iter().collect(),
        Stmt::Local(local) => {
            let types = match &local.pat {
                Pat::Type(typed) => text(&typed.ty),
                _ => String::new(),
            };
            bindings::names(&local.pat)
                .map(|name| (name, shape("variable", types.clone(), &[])))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the name of an item and what must not change of it.
pub(super) fn of_item(item: &Item) -> Option<(String, Shape)> {
    let (name, kind, types, attributes) = match item {
        Item::Fn(found) => (
            &found.sig.ident,
            "function",
            types_of(&found.sig),
            &found.attrs,
        ),
        Item::Const(found) => (
            &found.ident,
            "constant",
            found.ty.to_token_stream().to_string(),
            &found.attrs,
        ),
        Item::Static(found) => (
            &found.ident,
            "static variable",
            found.ty.to_token_stream().to_string(),
            &found.attrs,
        ),
        Item::Struct(found) => (&found.ident, "struct", String::new(), &found.attrs),
        Item::Enum(found) => (&found.ident, "enum", String::new(), &found.attrs),
        Item::Union(found) => (&found.ident, "union", String::new(), &found.attrs),
        Item::Type(found) => (
            &found.ident,
            "type alias",
            found.ty.to_token_stream().to_string(),
            &found.attrs,
        ),
        Item::Trait(found) => (&found.ident, "trait", String::new(), &found.attrs),
        Item::TraitAlias(found) => (&found.ident, "trait alias", String::new(), &found.attrs),
        Item::Mod(found) => (&found.ident, "module", String::new(), &found.attrs),
        _ => return None,
    };
    let derives = derives(attributes);
    Some((
        name.to_string().trim_start_matches("r#").to_owned(),
        Shape {
            kind,
            types,
            derives,
        },
    ))
}

/// Returns a signature without the names of its parameters.
fn types_of(signature: &Signature) -> String {
    let inputs = signature.inputs.iter().map(|input| match input {
        syn::FnArg::Receiver(receiver) => receiver.to_token_stream().to_string(),
        syn::FnArg::Typed(typed) => typed.ty.to_token_stream().to_string(),
    });
    let inputs = inputs.collect::<Vec<_>>().join(", ");
    let (generics, clause) = (&signature.generics, &signature.generics.where_clause);
    let asynchronous = if signature.asyncness.is_some() {
        "async "
    } else {
        ""
    };
    let output = match &signature.output {
        ReturnType::Default => String::new(),
        output => format!(" {}", output.to_token_stream()),
    };
    let text = format!(
        "{asynchronous}fn{}({inputs}){output} {}",
        generics.to_token_stream(),
        clause.to_token_stream()
    );
    text.trim().to_owned()
}

/// Returns the words of a signature's types, without generic parameters.
fn types_in(signature: &Signature) -> BTreeSet<String> {
    let generic = words::flat(signature.generics.params.to_token_stream());
    let generic: BTreeSet<String> = generic.iter().filter_map(Token::word).collect();
    let mut types = proc_macro2::TokenStream::new();
    for input in &signature.inputs {
        if let syn::FnArg::Typed(typed) = input {
            typed.ty.to_tokens(&mut types);
        }
    }
    signature.output.to_tokens(&mut types);
    let words = words::flat(types)
        .iter()
        .filter_map(Token::word)
        .collect::<BTreeSet<_>>();
    words.difference(&generic).cloned().collect()
}

fn derives(attributes: &[Attribute]) -> BTreeSet<String> {
    let derive = |attribute: &&Attribute| attribute.path().is_ident("derive");
    let tokens = attributes
        .iter()
        .filter(derive)
        .flat_map(|attribute| words::flat(attribute.meta.to_token_stream()));
    tokens
        .filter_map(|token| token.word())
        .filter(|word| word != "derive")
        .collect()
}

/// Returns the name of the item that a statement defines.
pub(super) fn item_name(statement: &Stmt) -> Option<String> {
    match statement {
        Stmt::Item(item) => of_item(item).map(|(name, _)| name),
        _ => None,
    }
}
