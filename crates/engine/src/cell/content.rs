//! The types of which a type of the notebook consists.

use std::collections::HashSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Field, Generics, Item, ItemType};

/// What a struct, an enum, a union or an alias contains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// The types of the fields, as source.
    pub(crate) types: Vec<String>,
    /// The names of the type's parameters.
    pub(crate) parameters: HashSet<String>,
}

/// Returns the content of an item, if it defines a type that has any.
pub(super) fn of(item: &Item) -> Option<Content> {
    if !matches!(
        item,
        Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Type(_)
    ) {
        return None;
    }
    let mut content = Content::default();
    content.visit_item(item);
    Some(content)
}

impl Content {
    fn add(&mut self, kind: &syn::Type) {
        self.types.extend(kind.span().source_text());
    }
}

impl Visit<'_> for Content {
    fn visit_field(&mut self, field: &Field) {
        self.add(&field.ty);
    }

    fn visit_item_type(&mut self, alias: &ItemType) {
        self.add(&alias.ty);
        visit::visit_item_type(self, alias);
    }

    fn visit_generics(&mut self, generics: &Generics) {
        let names = generics.type_params().map(|it| it.ident.to_string());
        self.parameters.extend(names);
        let constants = generics.const_params().map(|it| it.ident.to_string());
        self.parameters.extend(constants);
    }
}
