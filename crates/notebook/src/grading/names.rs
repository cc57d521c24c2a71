//! The names that a cell of a submission defines.

use super::stubs::{Shape, Stubs, of_item, shapes};
use super::tested::Tested;
use syn::visit::{self, Visit};
use syn::{Item, ItemEnum, ItemImpl, ItemMod, ItemUse, Stmt, TraitItemFn, UseTree};

/// The crates from which a submission may import what the tests name.
const CRATES: [&str; 4] = ["std", "core", "alloc", "taper"];
/// What every cell can use without an import. If the assignment leaves it to students how they name their functions, only
/// these names are refused.
const COMMON: [&str; 48] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "panic",
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "vec",
    "matches",
    "write",
    "writeln",
    "todo",
    "dbg",
    "Some",
    "None",
    "Ok",
    "Err",
    "Option",
    "Result",
    "Vec",
    "String",
    "Box",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "isize",
    "bool",
    "str",
    "char",
    "std",
    "core",
    "taper",
    "Tensor",
    "tensor",
    "cpu",
    "ToString",
    "Debug",
];

/// Returns why these statements are refused, or `None`.
pub(super) fn refusal(statements: &[Stmt], tested: &Tested, stubs: &Stubs) -> Option<String> {
    let mut checked = Checked {
        tested,
        stubs,
        refusal: None,
    };
    for statement in statements {
        if let Stmt::Local(_) = statement {
            for (name, shape) in shapes(statement) {
                checked.variable(&name, &shape);
            }
        }
        checked.visit_stmt(statement);
    }
    checked.refusal
}

struct Checked<'a> {
    tested: &'a Tested,
    stubs: &'a Stubs,
    refusal: Option<String>,
}

impl Checked<'_> {
    fn refuse(&mut self, reason: String) {
        self.refusal.get_or_insert(reason);
    }

    fn is_used(&self, name: &str) -> bool {
        let is_open =
            self.stubs.open && !COMMON.contains(&name) && !self.tested.defined.contains(name);
        self.tested.uses(name) && !is_open
    }

    fn variable(&mut self, name: &str, shape: &Shape) {
        if let Some(difference) = self.stubs.difference(name, shape) {
            difference
                .into_iter()
                .for_each(|reason| self.refuse(reason));
        } else if self.tested.reads(name) && self.is_used(name) {
            self.refuse(format!(
                "it defines the variable `{name}`, and the tests use that name"
            ));
        }
    }

    fn item(&mut self, name: &str, shape: &Shape) {
        if let Some(difference) = self.stubs.difference(name, shape) {
            difference
                .into_iter()
                .for_each(|reason| self.refuse(reason));
        } else if self.is_used(name) {
            self.refuse(format!("it defines `{name}`, and the tests use that name"));
        }
    }

    /// Checks the names that an import defines. `root` is the first name of its path, and `whole` is false inside of it.
    fn import(&mut self, tree: &UseTree, root: Option<String>) {
        match tree {
            UseTree::Path(path) => {
                let root = root.or_else(|| Some(path.ident.to_string()));
                self.import(&path.tree, root);
            }
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(tree, root.clone())),
            UseTree::Name(name) => {
                let is_own = !root.is_some_and(|root| CRATES.contains(&root.as_str()));
                self.imported(&name.ident.to_string(), is_own);
            }
            UseTree::Rename(name) => self.imported(&name.rename.to_string(), true),
            UseTree::Glob(_) => {}
        }
    }

    fn imported(&mut self, name: &str, is_own: bool) {
        let name = name.trim_start_matches("r#");
        if self.stubs.defines(name) || (is_own && self.is_used(name)) {
            self.refuse(format!(
                "it imports something as `{name}`, and the tests use that name"
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Checked<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if let Some((name, shape)) = of_item(item) {
            self.item(&name, &shape);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, None);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.content.is_none() {
            self.refuse(format!("the module `{}` is in another file", module.ident));
        }
        visit::visit_item_mod(self, module);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        let variants = item
            .variants
            .iter()
            .map(|variant| variant.ident.to_string());
        for name in variants.filter(|name| ["Some", "None", "Ok", "Err"].contains(&name.as_str())) {
            self.refuse(format!(
                "it defines `{name}`, which is a name of the standard library"
            ));
        }
    }

    /// A method of a trait comes before a method of the type itself if it takes the value and not a reference.
    fn visit_trait_item_fn(&mut self, method: &'ast TraitItemFn) {
        let name = method.sig.ident.to_string();
        if self.tested.methods.contains(&name) && !self.stubs.defines(&name) {
            self.refuse(format!(
                "its trait has a method `{name}`, and the tests call a method of that name"
            ));
        }
        visit::visit_trait_item_fn(self, method);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let is_of_the_tests = name.is_some_and(|name| self.tested.defined.contains(&name));
        for method in item
            .items
            .iter()
            .filter(|_| is_of_the_tests && item.trait_.is_none())
        {
            if let syn::ImplItem::Fn(method) = method
                && self.tested.methods.contains(&method.sig.ident.to_string())
            {
                let name = &method.sig.ident;
                self.refuse(format!(
                    "it adds a method `{name}` to a type of the tests, which call it"
                ));
            }
        }
        visit::visit_item_impl(self, item);
    }
}
