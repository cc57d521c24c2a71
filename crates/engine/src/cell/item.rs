//! An item of a cell, and what it defines and mentions.

use super::attributes::Attributes;
use super::content::{self, Content};
use super::macros::{self, Reading};
use super::statics::{self, Static};
use super::uses::Uses;
use super::work::{self, Work};
use std::collections::HashSet;
use std::ops::Range;
use syn::visit::Visit;
use syn::{Attribute, Item, MacroDelimiter, StmtMacro};
use taper_rust_cell::keys::{self, Key};
use taper_rust_cell::range;
use taper_rust_cell::words;

/// An item of a cell.
#[derive(Clone)]
pub(crate) struct ParsedItem {
    /// Where it is in the source.
    pub(crate) range: Range<usize>,
    /// The names that it defines, each with the part of the item that does.
    pub(crate) keys: Vec<(Key, Range<usize>)>,
    /// The names that it mentions.
    pub(crate) mentions: HashSet<String>,
    /// What the parts of the item that define its keys use, and what changes with their source.
    pub(crate) parts: Vec<(Uses, u64)>,
    /// The types in a type.
    pub(crate) content: Option<Content>,
    /// What keeps its value over cells.
    pub(crate) statics: Vec<Static>,
    /// The definition without comments, attributes and spaces, to tell whether it has changed.
    pub(crate) digest: String,
    /// Where `mod name;` ends before the semicolon, and the name: a module in a file of its own.
    pub(crate) file: Option<(usize, String)>,
    /// Whether values can have a type that this item defines or is part of.
    pub(crate) shapes_types: bool,
    /// The name, if this is a macro, and what its rules show.
    pub(crate) makes: Option<(String, Option<Reading>)>,
    /// The path of the macro, if this is a call of one.
    pub(crate) calls: Option<String>,
    /// Whether what is passed to that macro looks like items.
    pub(crate) looks_like_items: bool,
    /// Whether it is a call that needs a semicolon as an item.
    pub(crate) needs_semicolon: bool,
    /// Whether it is a macro or a call that may make a static of which nothing is known.
    pub(crate) may_copy: bool,
    /// Where it names macros, if its place matters.
    pub(crate) names_macros: Vec<(String, Range<usize>)>,
    /// Whether its place matters: a macro must be before all that use it, a call behind its macro.
    pub(crate) is_textual: bool,
    /// How much it may compute.
    pub(crate) work: Work,
    /// The levels of lints that its cell sets, as attributes.
    pub(crate) levels: String,
}

/// Returns an item of a cell with these attributes.
pub(super) fn of(item: &Item, source: &str, attributes: &Attributes) -> ParsedItem {
    let whole = range(item);
    let statics = statics::of(item);
    ParsedItem {
        levels: match item {
            Item::Macro(_) => String::new(),
            _ => attributes.levels_of_item(!statics.is_empty()),
        },
        keys: keys::of(item),
        mentions: words::of(&source[whole.clone()]),
        parts: parts_of(item, source),
        content: content::of(item),
        work: work::of(&source[whole.clone()]),
        statics,
        digest: keys::digest(item),
        file: file_of(item),
        makes: macros::defined(item),
        calls: None,
        looks_like_items: false,
        needs_semicolon: false,
        may_copy: match item {
            Item::Macro(it) => macros::mentions_static(it.mac.tokens.clone()),
            _ => false,
        },
        shapes_types: !matches!(item, Item::Fn(_) | Item::Static(_) | Item::Impl(_)),
        names_macros: match item {
            Item::Macro(it) => macros::named(&it.mac, it.ident.as_ref()),
            _ => Vec::new(),
        },
        is_textual: is_textual(item),
        range: whole,
    }
}

fn parts_of(item: &Item, source: &str) -> Vec<(Uses, u64)> {
    let versions = keys::of(item).into_iter();
    let versions = versions.map(|(_, range)| keys::version(&source[range]));
    Uses::of_parts(item).into_iter().zip(versions).collect()
}

/// Returns a call of a macro that expands to items.
pub(super) fn of_call(call: &StmtMacro, source: &str) -> ParsedItem {
    let whole = range(call);
    let statics = statics::of_call(call);
    let mut keys: Vec<Key> = statics
        .iter()
        .flat_map(|it| it.values())
        .map(|(name, _)| Key::Value(name.to_owned()))
        .collect();
    if keys.is_empty() {
        keys.push(Key::MacroCall(source[whole.clone()].to_owned()));
    }
    let mut uses = Uses::default();
    uses.visit_macro(&call.mac);
    let part = (uses, keys::version(&source[whole.clone()]));
    let is_known = !statics.is_empty();
    ParsedItem {
        parts: vec![part; keys.len()],
        keys: keys.into_iter().map(|key| (key, whole.clone())).collect(),
        // A macro that gets other rules does not change what its calls have made.
        mentions: words::of(&call.mac.tokens.to_string()),
        content: None,
        work: work::of(&source[whole.clone()]),
        statics,
        digest: call.mac.tokens.to_string(),
        file: None,
        makes: None,
        calls: Some(macros::path_of(&call.mac)),
        looks_like_items: macros::looks_like_items(call.mac.tokens.clone()),
        may_copy: !is_known && macros::mentions_static(call.mac.tokens.clone()),
        needs_semicolon: call.semi_token.is_none()
            && !matches!(call.mac.delimiter, MacroDelimiter::Brace(_)),
        shapes_types: true,
        names_macros: macros::named(&call.mac, None),
        is_textual: true,
        levels: String::new(),
        range: whole,
    }
}

/// Returns whether the place of an item matters to macros.
fn is_textual(item: &Item) -> bool {
    match item {
        Item::Macro(_) => true,
        Item::Mod(module) => module
            .attrs
            .iter()
            .any(|it| it.path().is_ident("macro_use")),
        _ => false,
    }
}

/// Returns the module's name, and where its path belongs, if its content is in another file.
fn file_of(item: &Item) -> Option<(usize, String)> {
    let Item::Mod(module) = item else {
        return None;
    };
    let has_path = |attribute: &Attribute| attribute.path().is_ident("path");
    let is_elsewhere = module.content.is_none() && !module.attrs.iter().any(has_path);
    is_elsewhere.then(|| (range(module).start, module.ident.to_string()))
}
