//! The names that a cell of a submission defines.

use super::stubs::{Kind, Shape, Stubs, TRAITS, of_item, shapes};
use super::tested::Tested;
use super::types::STANDARD;
use super::words::flat;
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, Stmt, UseTree};

/// The crates from which a submission may import what the tests name.
const CRATES: [&str; 4] = ["std", "core", "alloc", "taper"];
/// What every cell can use without an import. If the assignment leaves it to students how they name their functions, only
/// these names are refused.
const COMMON: &str = "assert assert_eq assert_ne debug_assert panic print println eprint eprintln format \
    vec matches write writeln todo dbg Some None Ok Err Option Result Vec String Box f32 \
    f64 i8 i16 i32 i64 u8 u16 u32 u64 usize isize bool str char std core alloc taper Tensor \
    tensor cpu ToString Debug";

/// The variants that every cell can use without a path.
const PRELUDE: [&str; 4] = ["Some", "None", "Ok", "Err"];

/// Words before the name of what they define.
const DEFINING: [&str; 8] = [
    "fn", "struct", "enum", "union", "type", "const", "static", "trait",
];
/// Words that have an effect outside of the tokens of a macro, although they define no name there.
const OUTSIDE: [&str; 4] = ["impl", "trait", "mod", "use"];

/// Returns the names that a macro may define by its tokens, as `cfg_select!` and `layer!` do.
pub(super) fn made(call: &Macro) -> Vec<String> {
    let tokens = flat(call.tokens.clone());
    let pairs = tokens.windows(2);
    let named = pairs.filter(|pair| DEFINING.contains(&&*pair[0]));
    named.map(|pair| pair[1].clone()).collect()
}

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
                checked.definition(&name, &shape);
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
        let is_common = || COMMON.split(' ').any(|common| common == name);
        let is_open = self.stubs.open && !is_common() && !self.tested.defined.contains(name);
        self.tested.free.contains(name) && !is_open
    }

    fn is_lowercase_and_used(&self, name: &str) -> bool {
        name.starts_with(char::is_lowercase)
            && (self.stubs.defines(name) || self.tested.called.contains(name))
    }

    fn is_of_assignment(&self, name: &str) -> bool {
        self.stubs.defines(name) || self.tested.defined.contains(name)
    }

    fn hides_a_trait(&self, of: &str, method: &str, shape: &Shape) -> bool {
        let of_traits = self.stubs.of_traits(method);
        self.is_of_assignment(of) && of_traits.is_some_and(|it| !it.contains(&shape.text))
    }

    fn definition(&mut self, name: &str, shape: &Shape) {
        if let Some(difference) = self.stubs.difference(name, shape) {
            self.refuse(difference);
        }
        if self.stubs.defines(name) {
            return;
        }
        let (of, part) = name.split_once("::").unwrap_or_default();
        let is_called = self.tested.methods.contains(part);
        let used = |name| format!("it defines `{name}`, and the tests use that name");
        let refusal = match shape.kind {
            Kind::Variable if self.tested.reads(name) && self.is_used(name) => {
                format!("it defines the variable `{name}`, and the tests use that name")
            }
            // A function is not in the place of a crate.
            Kind::Item if STANDARD.contains(&name) && shape.text.starts_with("fn(") => return,
            Kind::Item if self.is_used(name) => used(name),
            // By `use Type::*`, a variant can be in the place of a function or a variable.
            Kind::Variant if PRELUDE.contains(&part) || self.is_lowercase_and_used(part) => {
                used(part)
            }
            // A method of a trait comes before one of the type itself if it takes the value and not a reference.
            Kind::TraitMethod if is_called => {
                format!("its trait has a method `{part}`, and the tests call a method of that name")
            }
            Kind::Method if is_called && self.tested.defined.contains(of) => {
                format!("it adds a method `{part}` to a type of the tests, which call it")
            }
            // A method of the type comes before one of a trait.
            Kind::Method if is_called && self.hides_a_trait(of, part, shape) => format!(
                "its method `{name}` hides a trait's method with other types, and the tests call a method of that name"
            ),
            Kind::Comparison => format!("it compares with another type: `{name}`"),
            Kind::Difference if self.stubs.has_free_types() => {
                format!("it says what is the difference to another type: `{name}`")
            }
            // Fields and methods of another type would be in the place of its own.
            Kind::Dereference if self.is_of_assignment(&shape.text) => {
                format!("it implements `{name}`, and the tests use that type")
            }
            _ => return,
        };
        self.refuse(refusal);
    }

    /// Checks the names that an import defines. `root` is the first name of its path.
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
            UseTree::Rename(name) => {
                if TRAITS.iter().any(|it| name.ident == it) {
                    self.refuse(format!("it imports `{}` by another name", name.ident));
                }
                self.imported(&name.rename.to_string(), true);
            }
            UseTree::Glob(_) => {}
        }
    }

    fn imported(&mut self, name: &str, is_own: bool) {
        if self.stubs.defines(name) || (is_own && self.is_used(name)) {
            self.refuse(format!(
                "it imports something as `{name}`, and the tests use that name"
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Checked<'_> {
    fn visit_macro(&mut self, call: &'ast Macro) {
        let tokens = flat(call.tokens.clone());
        if let Some(word) = tokens.iter().find(|token| OUTSIDE.contains(&&***token)) {
            self.refuse(format!("it uses `{word}` in the arguments of a macro"));
        }
        let is_of_tests = |name: &&String| {
            !self.stubs.made.contains(*name) && (self.stubs.defines(name) || self.is_used(name))
        };
        if let Some(name) = made(call).iter().find(is_of_tests) {
            self.refuse(format!(
                "a macro defines `{name}`, and the tests use that name"
            ));
        }
        visit::visit_macro(self, call);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        for (name, shape) in of_item(item) {
            self.definition(&name, &shape);
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
}
