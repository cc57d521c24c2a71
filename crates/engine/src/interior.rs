//! Which values can change although no cell borrows them with `&mut`.

use crate::items::Items;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, Type, TypeBareFn, TypePath, TypePtr, TypeReference};
use syn::{TypeImplTrait, TypeMacro, TypeTraitObject};

/// Returns whether a value of this type may contain parts that change through `&`, such as a `RefCell`. A type that
/// is neither known nor one of the notebook may contain anything.
pub(crate) fn can_change_inside(kind: &str, items: &Items, immutable: &[String]) -> bool {
    let mut search = Search {
        items,
        immutable,
        parameters: HashSet::new(),
        seen: HashSet::new(),
        can_change: false,
    };
    search.read(kind);
    search.can_change
}

struct Search<'a> {
    items: &'a Items,
    immutable: &'a [String],
    /// Parameters of the type that is read. What they stand for is where the type is named.
    parameters: HashSet<String>,
    seen: HashSet<String>,
    can_change: bool,
}

impl Search<'_> {
    fn read(&mut self, kind: &str) {
        match syn::parse_str::<Type>(kind) {
            Ok(kind) => self.visit_type(&kind),
            Err(_) => self.can_change = true,
        }
    }

    /// Reads the fields of a type of the notebook; returns whether it is one.
    fn read_content(&mut self, name: &str) -> bool {
        let Some(content) = self.items.content(name) else {
            return false;
        };
        if self.seen.insert(name.to_owned()) {
            let outer = std::mem::replace(&mut self.parameters, content.parameters.clone());
            for kind in &content.types {
                self.read(kind);
            }
            self.parameters = outer;
        }
        true
    }
}

impl Visit<'_> for Search<'_> {
    fn visit_type_path(&mut self, kind: &TypePath) {
        let Some(last) = kind.path.segments.last() else {
            return;
        };
        let name = last.ident.to_string();
        let is_parameter = self.parameters.contains(&name);
        let is_own = kind.path.segments.len() == 1 && self.read_content(&name);
        let is_known = KNOWN.contains(&name.as_str()) || self.immutable.contains(&name);
        self.can_change |= kind.qself.is_some() || !(is_parameter || is_own || is_known);
        if let PathArguments::AngleBracketed(arguments) = &last.arguments {
            for argument in &arguments.args {
                if let GenericArgument::Type(kind) = argument {
                    self.visit_type(kind);
                }
            }
        }
    }

    // A function has no state.
    fn visit_type_bare_fn(&mut self, _: &TypeBareFn) {}

    fn visit_type_ptr(&mut self, _: &TypePtr) {
        self.can_change = true;
    }

    fn visit_type_reference(&mut self, kind: &TypeReference) {
        // What it refers to can change although the variable is not `mut`.
        self.can_change |= kind.mutability.is_some();
        visit::visit_type_reference(self, kind);
    }

    fn visit_type_trait_object(&mut self, _: &TypeTraitObject) {
        self.can_change = true;
    }

    fn visit_type_impl_trait(&mut self, _: &TypeImplTrait) {
        self.can_change = true;
    }

    fn visit_type_macro(&mut self, _: &TypeMacro) {
        self.can_change = true;
    }
}

/// Types of Rust's library that do not change through `&`, unless their parameters do.
#[rustfmt::skip]
const KNOWN: [&str; 92] = [
    "Arc", "BTreeMap", "BTreeSet", "BinaryHeap", "Box", "Bytes", "CStr", "CString", "Chain", "CharIndices",
    "Chars", "Chunks", "Cloned", "Copied", "Cow", "Cycle", "Duration", "Enumerate", "FromUtf8Error",
    "HashMap", "HashSet", "Infallible", "Instant", "IntoIter", "IpAddr", "Ipv4Addr", "Ipv6Addr", "Iter",
    "Keys", "Layout", "Lines", "LinkedList", "ManuallyDrop", "MaybeUninit", "NonZero", "Option", "Ordering",
    "OsStr", "OsString", "ParseFloatError", "ParseIntError", "Path", "PathBuf", "Peekable", "PhantomData",
    "Pin", "RandomState", "Range", "RangeFrom", "RangeFull", "RangeInclusive", "RangeTo",
    "RangeToInclusive", "Rc", "Result", "Rev", "Reverse", "Saturating", "Skip", "SocketAddr", "Split",
    "SplitWhitespace", "StepBy", "String", "SystemTime", "Take", "ThreadId", "TypeId", "Values", "Vec",
    "VecDeque", "Weak", "Windows", "Wrapping", "Zip", "bool", "char", "f32", "f64", "i128", "i16", "i32",
    "i64", "i8", "isize", "str", "u128", "u16", "u32", "u64", "u8", "usize",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Macros, parse};

    #[test]
    fn types_are_followed_into_their_fields() {
        let source = "struct Plain<T> { list: Vec<T> }\nstruct Hidden(std::cell::Cell<u8>);\nenum Tree { Leaf, Node(Box<Tree>) }\ntype Alias = Option<Hidden>;";
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        let (items, _) = Items::default().with(1, source, &cell);
        let check = |kind| can_change_inside(kind, &items, &["Tensor".to_owned()]);
        for kind in [
            "Vec<(i32, &'static str, [u8; 3])>",
            "HashMap<String, Plain<Tensor>>",
            "Tree",
            "fn(&Hidden) -> u8",
            "Rc<taper::Tensor>",
        ] {
            assert!(!check(kind), "{kind}");
        }
        for kind in [
            "Plain<Hidden>",
            "Alias",
            "Rc<RefCell<i32>>",
            "*const u8",
            "Box<dyn Fn()>",
            "&'static mut u8",
            "SGD",
            "Vec<other::Plain<u8>>",
        ] {
            assert!(check(kind), "{kind}");
        }
    }
}
