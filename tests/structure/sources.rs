//! Reads the modules of a crate: their definitions, imports and names, without code for tests.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use syn::buffer::{Cursor, TokenBuffer};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Ident, Item, ItemMod, Lit, Meta, UseTree, Visibility};

pub(crate) struct Module {
    pub(crate) file: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) children: HashMap<String, usize>,
    pub(crate) items: HashMap<String, Vec<Definition>>,
    pub(crate) imports: Vec<Import>,
    /// Paths in bodies, signatures and macros.
    pub(crate) paths: BTreeSet<Vec<String>>,
    /// Names of the macros called.
    pub(crate) called: BTreeSet<String>,
    /// Identifiers in the arguments of macros between items, which may define items of these names.
    pub(crate) generated: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Types, which `::` can follow: structs, enums, aliases.
    Type,
    Trait,
    Value,
    Macro,
}

#[derive(Clone, Copy)]
pub(crate) struct Definition {
    pub(crate) file: usize,
    pub(crate) kind: Kind,
}

pub(crate) struct Import {
    pub(crate) path: Vec<String>,
    /// `None` for a glob.
    pub(crate) name: Option<String>,
    pub(crate) public: bool,
}

/// A crate's modules; the first is the root.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) files: Vec<String>,
    pub(crate) modules: Vec<Module>,
    /// The crate's name for itself (`extern crate self as …`).
    pub(crate) own_name: Option<String>,
    /// The files that define macros: textual scope is approximated by the name.
    pub(crate) macros: HashMap<String, BTreeSet<usize>>,
}

/// A function that returns a file's text, or `None` if there is no such file.
pub(crate) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

impl Sources {
    /// Reads the crate whose root is `root`, with paths relative to the folder of `read`.
    pub(crate) fn read(root: &str, read: Read) -> Self {
        let mut sources = Self::default();
        sources.file(Path::new(root), Path::new(""), None, read);
        sources
    }

    /// Adds a file's module; `folder` is where the files of its child modules are.
    fn file(&mut self, path: &Path, folder: &Path, parent: Option<usize>, read: Read) -> usize {
        let text = read(path).unwrap_or_else(|| panic!("{} cannot be read", path.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.files.push(path.to_string_lossy().into_owned());
        let file = self.files.len() - 1;
        let items = match only_for_tests(&parsed.attrs) {
            true => &[][..],
            false => &parsed.items,
        };
        self.module(items, file, folder, parent, read)
    }

    fn module(
        &mut self,
        items: &[Item],
        file: usize,
        folder: &Path,
        parent: Option<usize>,
        read: Read,
    ) -> usize {
        let id = self.modules.len();
        self.modules.push(Module {
            file,
            parent,
            children: HashMap::new(),
            items: HashMap::new(),
            imports: Vec::new(),
            paths: BTreeSet::new(),
            called: BTreeSet::new(),
            generated: BTreeSet::new(),
        });
        for item in items {
            match item {
                Item::Mod(item) if only_for_tests(&item.attrs) => {}
                Item::Mod(item) => {
                    let child = self.child(item, file, folder, id, read);
                    let name = item.ident.unraw().to_string();
                    self.modules[id].children.insert(name, child);
                }
                Item::ExternCrate(item) if item.ident == "self" => {
                    self.own_name = item.rename.as_ref().map(|(_, name)| name.to_string());
                }
                _ => {
                    self.define(item, id);
                    Reader(&mut self.modules[id]).visit_item(item);
                }
            }
        }
        id
    }

    fn child(
        &mut self,
        item: &ItemMod,
        file: usize,
        folder: &Path,
        parent: usize,
        read: Read,
    ) -> usize {
        let name = item.ident.unraw().to_string();
        let below = folder.join(&name);
        if let Some((_, items)) = &item.content {
            return self.module(items, file, &below, Some(parent), read);
        }
        if let Some(path) = path_attribute(&item.attrs) {
            let beside = Path::new(&self.files[file]).parent().unwrap_or(folder);
            let path = beside.join(path);
            let folder = path.parent().unwrap_or(folder).to_owned();
            return self.file(&path, &folder, Some(parent), read);
        }
        let flat = folder.join(format!("{name}.rs"));
        let path = match read(&flat) {
            Some(_) => flat,
            None => below.join("mod.rs"),
        };
        self.file(&path, &below, Some(parent), read)
    }

    /// Records the name that an item defines.
    fn define(&mut self, item: &Item, id: usize) {
        let (ident, attributes, kind) = match item {
            Item::Const(item) => (&item.ident, &item.attrs, Kind::Value),
            Item::Enum(item) => (&item.ident, &item.attrs, Kind::Type),
            Item::Fn(item) => (&item.sig.ident, &item.attrs, Kind::Value),
            Item::Static(item) => (&item.ident, &item.attrs, Kind::Value),
            Item::Struct(item) => (&item.ident, &item.attrs, Kind::Type),
            Item::Trait(item) => (&item.ident, &item.attrs, Kind::Trait),
            Item::Type(item) => (&item.ident, &item.attrs, Kind::Type),
            Item::Union(item) => (&item.ident, &item.attrs, Kind::Type),
            Item::Macro(syn::ItemMacro {
                ident: Some(ident),
                attrs,
                ..
            }) => (ident, attrs, Kind::Macro),
            _ => return,
        };
        if only_for_tests(attributes) {
            return;
        }
        let name = ident.unraw().to_string();
        let file = self.modules[id].file;
        let definition = Definition { file, kind };
        let mut add = |module: usize| {
            let items = &mut self.modules[module].items;
            items.entry(name.clone()).or_default().push(definition);
        };
        add(id);
        if kind == Kind::Macro {
            if attributes.iter().any(|a| a.path().is_ident("macro_export")) {
                add(0);
            }
            self.macros.entry(name).or_default().insert(file);
        }
    }
}

/// Collects the imports and names in the items of one module.
struct Reader<'a>(&'a mut Module);

/// Visits a node unless it is only compiled for tests.
macro_rules! without_tests {
    ($($visit:ident: $node:ident),* $(,)?) => {$(
        fn $visit(&mut self, node: &'ast syn::$node) {
            if !only_for_tests(&node.attrs) {
                visit::$visit(self, node);
            }
        }
    )*};
}

impl<'ast> Visit<'ast> for Reader<'_> {
    without_tests! {
        visit_arm: Arm,
        visit_expr_block: ExprBlock,
        visit_field: Field,
        visit_field_value: FieldValue,
        visit_impl_item_const: ImplItemConst,
        visit_impl_item_fn: ImplItemFn,
        visit_item_const: ItemConst,
        visit_item_enum: ItemEnum,
        visit_item_fn: ItemFn,
        visit_item_impl: ItemImpl,
        visit_item_static: ItemStatic,
        visit_item_struct: ItemStruct,
        visit_item_trait: ItemTrait,
        visit_item_type: ItemType,
        visit_local: Local,
        visit_stmt_macro: StmtMacro,
        visit_trait_item_fn: TraitItemFn,
        visit_variant: Variant,
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !only_for_tests(&item.attrs) {
            let public = !matches!(item.vis, Visibility::Inherited);
            self.import(&item.tree, &mut Vec::new(), public);
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if only_for_tests(&item.attrs) {
            return;
        }
        if item.ident.is_none() {
            let tokens = TokenBuffer::new2(item.mac.tokens.clone());
            words(tokens.begin(), &mut self.0.generated);
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(name) = call.path.get_ident() {
            self.0.called.insert(name.to_string());
        }
        self.visit_path(&call.path);
        self.tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    /// Reads the arguments of an attribute; attributes themselves come from other crates.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            Meta::Path(_) => {}
            Meta::List(list) => self.tokens(TokenBuffer::new2(list.tokens.clone()).begin()),
            Meta::NameValue(pair) => self.visit_expr(&pair.value),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        let names = segments.map(|part| part.ident.unraw().to_string());
        self.0.paths.insert(names.collect());
        visit::visit_path(self, path);
    }
}

impl Reader<'_> {
    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>, public: bool) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.unraw().to_string());
                self.import(&part.tree, path, public);
                path.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path, public);
                }
            }
            UseTree::Glob(_) => self.add_import(path.clone(), None, public),
            UseTree::Name(part) => self.add_named(path, &part.ident, None, public),
            UseTree::Rename(part) => self.add_named(path, &part.ident, Some(&part.rename), public),
        }
    }

    fn add_named(&mut self, path: &[String], ident: &Ident, rename: Option<&Ident>, public: bool) {
        let mut path = path.to_vec();
        // `use a::b::{self}` imports `a::b`.
        if ident != "self" || path.is_empty() {
            path.push(ident.unraw().to_string());
        }
        let name = rename.map(|name| name.unraw().to_string());
        let name = name.or_else(|| path.last().cloned());
        self.add_import(path, name, public);
    }

    fn add_import(&mut self, path: Vec<String>, name: Option<String>, public: bool) {
        self.0.imports.push(Import { path, name, public });
    }

    /// Reads the paths in a macro's tokens.
    fn tokens(&mut self, mut cursor: Cursor) {
        let mut after_dot = false;
        while !cursor.eof() {
            if let Some((inside, _, _, rest)) = cursor.any_group() {
                self.tokens(inside);
                (cursor, after_dot) = (rest, false);
            } else if let Some((first, mut rest)) = cursor.ident() {
                let mut path = vec![first.unraw().to_string()];
                while let Some((next, after)) = path_continues(rest) {
                    path.push(next.unraw().to_string());
                    rest = after;
                }
                if !after_dot {
                    if path.len() == 1
                        && rest.punct().is_some_and(|(mark, _)| mark.as_char() == '!')
                    {
                        self.0.called.insert(path[0].clone());
                    }
                    self.0.paths.insert(path);
                }
                (cursor, after_dot) = (rest, false);
            } else if let Some((mark, rest)) = cursor.punct() {
                // A field or a method, but not the end of a range.
                after_dot = mark.as_char() == '.' && !after_dot;
                cursor = rest;
            } else {
                let Some((_, rest)) = cursor.token_tree() else {
                    return;
                };
                (cursor, after_dot) = (rest, false);
            }
        }
    }
}

fn path_continues(cursor: Cursor<'_>) -> Option<(Ident, Cursor<'_>)> {
    let (first, rest) = cursor.punct()?;
    let (second, rest) = rest.punct()?;
    let is_separator = first.as_char() == ':' && second.as_char() == ':';
    is_separator.then(|| rest.ident()).flatten()
}

fn words(mut cursor: Cursor, found: &mut BTreeSet<String>) {
    while !cursor.eof() {
        if let Some((inside, _, _, rest)) = cursor.any_group() {
            words(inside, found);
            cursor = rest;
        } else if let Some((word, rest)) = cursor.ident() {
            found.insert(word.unraw().to_string());
            cursor = rest;
        } else if let Some((_, rest)) = cursor.token_tree() {
            cursor = rest;
        } else {
            return;
        }
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<PathBuf> {
    attributes.iter().find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
                Lit::Str(path) => Some(path.value().into()),
                _ => None,
            },
            _ => None,
        }
    })
}

/// Returns whether attributes contain `#[test]` or a `#[cfg(…)]` that is true in tests only.
fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|predicate| needs_test(&predicate))
    })
}

fn needs_test(predicate: &Meta) -> bool {
    let parts = || match predicate {
        Meta::List(list) => list
            .parse_args_with(syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated)
            .unwrap_or_default(),
        _ => Default::default(),
    };
    let path = predicate.path();
    path.is_ident("test")
        || path.is_ident("all") && parts().iter().any(needs_test)
        || path.is_ident("any") && !parts().is_empty() && parts().iter().all(needs_test)
}
