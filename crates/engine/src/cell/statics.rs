//! Statics, thread-local and lazy ones among them, which keep their value over cells.
//!
//! All items are compiled again with each cell. A static must not be: only the cell that defines it contains
//! it, under a symbol of its own, and later cells link to that symbol.

use crate::config::SUPPORT;
use std::ops::Range;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Item, ItemStatic, Macro, StaticMutability, StmtMacro};
use syn::{ParenthesizedGenericArguments, Token, Type, TypeBareFn, TypeReference, Visibility};
use taper_rust_cell::range;

/// Something that keeps a value over cells.
#[derive(Clone, Debug)]
pub(crate) struct Static {
    /// The item in the source of its cell.
    pub(crate) range: Range<usize>,
    /// The declarations: one for a static, several for a macro.
    declared: Vec<Declared>,
    form: Form,
}

/// What declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Static,
    /// `thread_local!`.
    ThreadLocal,
    /// `lazy_static!`.
    Lazy,
}

#[derive(Clone, Debug)]
struct Declared {
    name: String,
    visibility: String,
    kind: String,
    is_mutable: bool,
}

impl Static {
    /// Returns the names and types; `None` in place of the type where the value can change whatever the type is.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let can_change = |it: &Declared| self.form == Form::ThreadLocal || it.is_mutable;
        let kind = move |it: &'_ Declared| (!can_change(it)).then_some(());
        self.declared
            .iter()
            .map(move |it| (&*it.name, kind(it).map(|()| &*it.kind)))
    }

    /// Returns what to write before and after the item in the cell that defines it.
    pub(crate) fn exported(&self, symbol: &str) -> (String, String) {
        let export = |d: &Declared| {
            let Declared { name, kind, .. } = d;
            let attribute = format!("#[unsafe(export_name = \"{symbol}_{name}\")]");
            match self.form {
                Form::Static => attribute + " ",
                Form::ThreadLocal => {
                    format!(
                        " {attribute} static TAPER_{name}: &::std::thread::LocalKey<{kind}> = &{name};"
                    )
                }
                Form::Lazy => {
                    format!(
                        " {attribute} static TAPER_{name}: fn() -> &'static {kind} = || &*{name};"
                    )
                }
            }
        };
        let text = self.declared.iter().map(export).collect();
        match self.form {
            Form::Static => (text, String::new()),
            Form::ThreadLocal | Form::Lazy => (String::new(), text),
        }
    }

    /// Returns the item for later cells.
    pub(crate) fn imported(&self, symbol: &str) -> String {
        let import = |d: &Declared| {
            let Declared {
                name,
                visibility,
                kind,
                is_mutable,
            } = d;
            let link = format!("unsafe extern \"C\" {{ #[link_name = \"{symbol}_{name}\"]");
            match (self.form, is_mutable) {
                (Form::Static, true) => {
                    format!("{link} {visibility} static mut {name}: {kind}; }}")
                }
                (Form::Static, false) => {
                    format!("{link} {visibility} safe static {name}: {kind}; }}")
                }
                (Form::ThreadLocal, _) => format!(
                    "{link} {visibility} safe static {name}: &'static ::std::thread::LocalKey<{kind}>; }}"
                ),
                (Form::Lazy, _) => format!(
                    "{link} safe static TAPER_{name}: fn() -> &'static {kind}; }} {visibility} static {name}: \
                     ::{SUPPORT}::Lazy<{kind}> = ::{SUPPORT}::Lazy(|| TAPER_{name}());"
                ),
            }
        };
        self.declared.iter().map(import).collect()
    }
}

/// Returns the statics of an item, also those within functions and modules.
pub(super) fn of(item: &Item) -> Vec<Static> {
    let mut finder = Finder(Vec::new());
    finder.visit_item(item);
    finder.0
}

/// Returns the statics of a macro's call.
pub(super) fn of_call(call: &StmtMacro) -> Vec<Static> {
    of_macro(&call.mac, range(call)).into_iter().collect()
}

/// Returns whether a macro of this name expands to items.
pub(super) fn is_known(call: &Macro) -> bool {
    let name = call.path.segments.last();
    name.is_some_and(|name| name.ident == "thread_local" || name.ident == "lazy_static")
}

struct Finder(Vec<Static>);

impl Visit<'_> for Finder {
    fn visit_item_static(&mut self, item: &ItemStatic) {
        let declared = Declared {
            name: item.ident.to_string(),
            visibility: source(&item.vis),
            kind: source_of_type(&item.ty),
            is_mutable: matches!(item.mutability, StaticMutability::Mut(_)),
        };
        let is_named = |attribute: &Attribute| {
            let text = source(attribute);
            text.contains("no_mangle") || text.contains("export_name")
        };
        // One with a symbol of the user's own is left as it is.
        if !item.attrs.iter().any(is_named) {
            self.0.push(Static {
                range: range(item),
                declared: vec![declared],
                form: Form::Static,
            });
        }
    }

    fn visit_item_macro(&mut self, item: &syn::ItemMacro) {
        self.0.extend(of_macro(&item.mac, range(item)));
    }

    fn visit_stmt_macro(&mut self, call: &StmtMacro) {
        self.0.extend(of_macro(&call.mac, range(call)));
        visit::visit_stmt_macro(self, call);
    }
}

/// Returns what a call of `thread_local!` or `lazy_static!` at this place declares.
fn of_macro(call: &Macro, range: Range<usize>) -> Option<Static> {
    let form = match &*call.path.segments.last()?.ident.to_string() {
        "thread_local" => Form::ThreadLocal,
        "lazy_static" => Form::Lazy,
        _ => return None,
    };
    let found = call.parse_body::<InMacro>().ok()?;
    Some(Static {
        range,
        declared: found.0,
        form,
    })
}

struct InMacro(Vec<Declared>);

impl Parse for InMacro {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut found = Vec::new();
        while !input.is_empty() {
            input.call(Attribute::parse_outer)?;
            let visibility: Visibility = input.parse()?;
            input.parse::<Token![static]>()?;
            input.parse::<Option<Token![ref]>>()?;
            let name: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            let kind: Type = input.parse()?;
            input.parse::<Token![=]>()?;
            input.parse::<Option<Token![const]>>()?;
            input.parse::<Expr>()?;
            input.parse::<Option<Token![;]>>()?;
            found.push(Declared {
                name: name.to_string(),
                visibility: source(&visibility),
                kind: source_of_type(&kind),
                is_mutable: false,
            });
        }
        Ok(InMacro(found))
    }
}

/// Returns a type as it must be written where a static is declared that another crate defines: with the lifetime of its
/// references, which a definition may leave out.
fn source_of_type(kind: &Type) -> String {
    let mut elided = Elided(Vec::new());
    elided.visit_type(kind);
    let mut text = source(kind);
    for at in elided.0.into_iter().rev() {
        text.insert_str(at - range(kind).start, "'static ");
    }
    text
}

/// Where references have no lifetime.
struct Elided(Vec<usize>);

impl Visit<'_> for Elided {
    fn visit_type_reference(&mut self, reference: &TypeReference) {
        if reference.lifetime.is_none() {
            self.0.push(range(&reference.and_token).end);
        }
        visit::visit_type_reference(self, reference);
    }

    // There, another lifetime is meant.
    fn visit_type_bare_fn(&mut self, _: &TypeBareFn) {}

    fn visit_parenthesized_generic_arguments(&mut self, _: &ParenthesizedGenericArguments) {}
}

fn source(syntax: &impl Spanned) -> String {
    syntax.span().source_text().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::cell::{Macros, parse};

    #[test]
    fn statics_are_found_wherever_they_are() {
        let source = "pub static A: u8 = 1;\nfn f() { static B: u8 = 2; }\nmod m { static mut C: u8 = 3; }\nimpl S { fn g() { static D: u8 = 4; } }
            thread_local! { static E: Cell<u8> = const { Cell::new(5) }; pub static F: u8 = 6; }\nlazy_static::lazy_static! { pub static ref H: u8 = 8; }\n#[unsafe(no_mangle)] static G: u8 = 7;";
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        let found = cell.items.iter().flat_map(|item| &item.statics);
        let imported: Vec<String> = found.map(|found| found.imported("s")).collect();
        assert_eq!(imported.len(), 6);
        assert!(imported[5].starts_with("unsafe extern \"C\" { #[link_name = \"s_H\"] safe static TAPER_H: fn() -> &'static u8; } pub static H: "));
        assert_eq!(
            imported[0],
            "unsafe extern \"C\" { #[link_name = \"s_A\"] pub safe static A: u8; }"
        );
        assert!(imported[2].contains("  static mut C: u8;"));
        assert!(imported[4].contains("safe static F: &'static ::std::thread::LocalKey<u8>;"));
        let references = "static R: &[(&str, fn(&str) -> &str)] = &[];";
        let cell = parse(references, &Macros::NONE).expect("it is valid");
        let imported = cell.items[0].statics[0].imported("s");
        assert!(
            imported.contains("R: &'static [(&'static str, fn(&str) -> &str)];"),
            "{imported}"
        );
    }
}
