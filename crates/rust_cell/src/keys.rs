//! Which earlier items an item replaces: those with the same name, implementation or method.

use crate::range;
use proc_macro2::TokenStream;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use syn::spanned::Spanned;
use syn::{Attribute, Fields, ForeignItem, ImplItem, Item, ItemImpl};

/// What an item defines. A later cell that defines the same replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A type, a trait or a module.
    Type(String),
    /// A function, a constant, a static, or the constructor of a tuple struct.
    Value(String),
    /// A macro.
    Macro(String),
    /// A call of a macro that expands to items.
    MacroCall(String),
    /// The implementation of a trait for a type.
    Implementation(String, String),
    /// A method or another part of a type's own implementation.
    Method(String, String),
}

impl Key {
    /// Returns the name by which a user knows it.
    pub fn label(&self) -> String {
        match self {
            Key::Type(name) | Key::Value(name) => name.clone(),
            Key::Macro(name) => format!("{name}!"),
            Key::MacroCall(call) => call.chars().take(40).take_while(|&c| c != '\n').collect(),
            Key::Implementation(name, of) => format!("impl {} for {}", compact(name), compact(of)),
            Key::Method(of, name) => format!("{}::{name}", compact(of)),
        }
    }
}

/// Removes the spaces between tokens, but for those between two words.
fn compact(text: &str) -> String {
    let mut words = text.split(' ').peekable();
    let mut compact = String::new();
    while let Some(word) = words.next() {
        compact += word;
        let is_word =
            |it: &str, end: Option<char>| !it.is_empty() && end.is_some_and(char::is_alphanumeric);
        let next = words.peek().copied().unwrap_or_default();
        if is_word(word, word.chars().last()) && is_word(next, next.chars().next()) {
            compact.push(' ');
        }
    }
    compact
}

/// Returns what an item defines, each with the part of the source that does.
pub fn of(item: &Item) -> Vec<(Key, Range<usize>)> {
    let kind = |name: &syn::Ident| vec![(Key::Type(name.to_string()), range(item))];
    let value = |name: &syn::Ident| vec![(Key::Value(name.to_string()), range(item))];
    match item {
        Item::Struct(it) if !matches!(it.fields, Fields::Named(_)) => {
            [kind(&it.ident), value(&it.ident)].concat()
        }
        Item::Struct(it) => kind(&it.ident),
        Item::Enum(it) => kind(&it.ident),
        Item::Union(it) => kind(&it.ident),
        Item::Trait(it) => kind(&it.ident),
        Item::TraitAlias(it) => kind(&it.ident),
        Item::Type(it) => kind(&it.ident),
        Item::Mod(it) => kind(&it.ident),
        Item::ExternCrate(it) => kind(it.rename.as_ref().map_or(&it.ident, |(_, name)| name)),
        Item::Fn(it) => value(&it.sig.ident),
        Item::Const(it) if it.ident != "_" => value(&it.ident),
        Item::Static(it) => value(&it.ident),
        Item::Macro(it) => {
            let name = it.ident.as_ref();
            let key = |name: &syn::Ident| (Key::Macro(name.to_string()), range(item));
            name.map(key).into_iter().collect()
        }
        Item::Impl(it) => of_implementation(it),
        Item::ForeignMod(it) => it.items.iter().filter_map(of_foreign).collect(),
        _ => Vec::new(),
    }
}

fn of_implementation(item: &ItemImpl) -> Vec<(Key, Range<usize>)> {
    let of_type = text(&item.self_ty.span().source_text().unwrap_or_default());
    if let Some((_, path, _)) = &item.trait_ {
        let last = path.segments.last();
        let name = last.and_then(|segment| segment.span().source_text());
        let key = Key::Implementation(text(&name.unwrap_or_default()), of_type);
        return vec![(key, range(item))];
    }
    let part = |part: &ImplItem| {
        let name = match part {
            ImplItem::Fn(it) => &it.sig.ident,
            ImplItem::Const(it) => &it.ident,
            ImplItem::Type(it) => &it.ident,
            _ => return None,
        };
        Some((Key::Method(of_type.clone(), name.to_string()), range(part)))
    };
    item.items.iter().filter_map(part).collect()
}

fn of_foreign(item: &ForeignItem) -> Option<(Key, Range<usize>)> {
    let name = match item {
        ForeignItem::Fn(it) => &it.sig.ident,
        ForeignItem::Static(it) => &it.ident,
        _ => return None,
    };
    Some((Key::Value(name.to_string()), range(item)))
}

/// Returns the definition without comments, spaces and the attributes before it, but for those that change the
/// layout.
pub fn digest(item: &Item) -> String {
    let attributes = attributes(item);
    let layout = attributes.iter().filter(|it| it.path().is_ident("repr"));
    let layout = layout.filter_map(|it| it.span().source_text());
    let whole = item.span().source_text().unwrap_or_default();
    let start = attributes
        .last()
        .map_or(0, |it| range(it).end - range(item).start);
    let definition = whole.get(start..).unwrap_or(&whole);
    text(&(layout.collect::<String>() + definition))
}

/// Returns the attributes of an item that can define a type, or on which types can depend.
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Struct(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Const(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        _ => &[],
    }
}

/// Returns a number that changes with what the source does, and not with comments and spaces.
pub fn version(source: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut tokens: Vec<String> = Vec::new();
    if let Ok(stream) = source.parse::<TokenStream>() {
        for token in stream {
            let token = token.to_string();
            if token.starts_with("[doc =") {
                tokens.pop();
            } else {
                tokens.push(token);
            }
        }
    }
    tokens.hash(&mut hasher);
    hasher.finish()
}

/// Returns source without comments and with one space between tokens.
fn text(source: &str) -> String {
    let tokens = source.parse::<TokenStream>();
    tokens.map_or_else(|_| source.to_owned(), |tokens| tokens.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(source: &str) -> Item {
        syn::parse_str(source).expect("it is valid")
    }

    fn keys(source: &str) -> Vec<Key> {
        of(&item(source)).into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn the_same_implementation_has_the_same_key() {
        assert_eq!(
            keys("impl fmt::Display for Op { }"),
            keys("impl std::fmt::Display for  Op {}")
        );
        assert_ne!(
            keys("impl From<u8> for Op { }"),
            keys("impl From<u16> for Op {}")
        );
        let method = |of: &str, name: &str| Key::Method(of.to_owned(), name.to_owned());
        assert_eq!(
            keys("impl<T> M<T> { const A: u8 = 1; fn b() {} }"),
            [method("M < T >", "A"), method("M < T >", "b")]
        );
    }

    #[test]
    fn a_definition_changes_with_its_fields_and_not_with_its_comments() {
        let digest = |source: &str| digest(&item(source));
        let first = digest("struct P { x: i32 }");
        assert_eq!(
            first,
            digest("/// A point.\n#[derive(Debug)]\nstruct P {\n x: i32 /* m */ }")
        );
        assert_ne!(first, digest("#[repr(C)] struct P { x: i32 }"));
        assert_ne!(first, digest("struct P { x: i64 }"));
    }
}
