//! Writes skeletons of packages: their public items and documentation, without bodies of functions. From a skeleton,
//! rust-analyzer answers what it answers from the source, in two thirds of the time and of the memory.

use ra_ap_syntax::ast::{self, AstNode, AstToken};
use ra_ap_syntax::{
    Edition, NodeOrToken, SourceFile, SyntaxKind, SyntaxNode, SyntaxToken, TextRange,
};
use std::cmp::Reverse;
use std::fs::{self, File};
use std::iter::successors;
use std::path::Path;
use taper_host::cache;

/// Attributes that neither a completion nor documentation shows.
const ATTRIBUTES: [&str; 11] = [
    "allow",
    "cold",
    "expect",
    "inline",
    "must_use",
    "rustc_allow_const_fn_unstable",
    "rustc_const_stable",
    "rustc_const_unstable",
    "rustc_inherit_overflow_checks",
    "stable",
    "track_caller",
];

/// The longest value of a constant that is kept, in bytes.
const VALUE: u32 = 80;

/// Brings the skeletons of the sources in the folder `from` into the folder `to`. A skeleton has the time of its source,
/// by which a change is found.
pub(super) fn update(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (source, skeleton) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            update(&source, &skeleton);
        } else if source.extension().is_some_and(|it| it == "rs") {
            // What cannot be written is missing in what is known.
            let _ = update_file(&source, &skeleton);
        }
    }
}

fn update_file(source: &Path, skeleton: &Path) -> Option<()> {
    let time = fs::metadata(source).ok()?.modified().ok()?;
    let before = fs::metadata(skeleton).and_then(|it| it.modified());
    if before.is_ok_and(|it| it == time) {
        return Some(());
    }
    let text = of(&fs::read_to_string(source).ok()?);
    cache::make(skeleton.parent()?).ok()?;
    cache::write_atomically(skeleton, text.as_bytes()).ok()?;
    let file = File::options().append(true).open(skeleton).ok()?;
    file.set_modified(time).ok()
}

/// Returns the skeleton of a source.
fn of(source: &str) -> String {
    let file = SourceFile::parse(source, Edition::CURRENT).tree();
    let mut cuts = Cuts::default();
    cuts.read(file.syntax());
    let kept = cuts.apply(source);
    let lines = kept.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// What is replaced in a source, and by what.
#[derive(Default)]
struct Cuts(Vec<(TextRange, &'static str)>);

impl Cuts {
    fn cut(&mut self, range: TextRange) {
        self.0.push((range, ""));
    }

    fn apply(mut self, source: &str) -> String {
        self.0
            .sort_by_key(|(range, _)| (range.start(), Reverse(range.end())));
        let (mut text, mut end) = (String::with_capacity(source.len()), 0);
        for (range, replacement) in self.0 {
            // What is inside of another range is gone.
            if end <= range.start().into() {
                text += &source[end..range.start().into()];
                text += replacement;
                end = range.end().into();
            }
        }
        text + &source[end..]
    }

    /// Reads a node and those in it.
    fn read(&mut self, node: &SyntaxNode) {
        let attributes = node.children().filter(|it| it.kind() == SyntaxKind::ATTR);
        for attribute in attributes {
            let text = attribute.text().to_string();
            if is_of_test(&text) {
                return self.cut(node.text_range());
            }
            if ATTRIBUTES.contains(&name_of(&text)) {
                self.cut(attribute.text_range());
            }
        }
        self.cut_comments(node);
        match node.kind() {
            SyntaxKind::FN => ast::Fn::cast(node.clone()).map_or((), |it| self.function(&it)),
            SyntaxKind::CONST | SyntaxKind::STATIC => self.value(node),
            SyntaxKind::RECORD_FIELD => self.field(node),
            SyntaxKind::MACRO_RULES => {
                let rules = node
                    .children()
                    .filter(|it| it.kind() == SyntaxKind::TOKEN_TREE);
                // Patterns are kept as they are; what a macro expands to follows each.
                let trees = rules.flat_map(|it| it.children().skip(1).step_by(2));
                trees.for_each(|it| self.tokens(&it));
            }
            SyntaxKind::TOKEN_TREE => self.tokens(node),
            _ => node.children().for_each(|it| self.read(&it)),
        }
    }

    /// Cuts the body of a function, or a function that a cell cannot call. What a trait requires is known from the trait.
    fn function(&mut self, function: &ast::Fn) {
        let node = function.syntax();
        let owner = node.parent().and_then(|list| list.parent());
        let is_of_trait = owner
            .as_ref()
            .is_some_and(|it| ast::Trait::can_cast(it.kind()));
        let implementation = owner.and_then(ast::Impl::cast);
        let implements = implementation.is_some_and(|it| it.trait_().is_some());
        let is_known_to_rustc = || {
            let mut attributes = node.children().filter(|it| it.kind() == SyntaxKind::ATTR);
            attributes.any(|it| name_of(&it.text().to_string()) == "lang")
        };
        if implements || !(is_of_trait || is_public(node) || is_known_to_rustc()) {
            self.cut(node.text_range());
        } else if let Some(body) = function.body() {
            let kind = function.ret_type().map(|it| it.syntax().to_string());
            // With an empty body, `impl Trait` would stand for the type `()`.
            let is_opaque = kind.is_some_and(|it| it.contains("impl "));
            let empty = if is_opaque { "{loop{}}" } else { "{}" };
            self.0.push((body.syntax().text_range(), empty));
        }
    }

    /// Cuts the value of a constant if it is long.
    fn value(&mut self, constant: &SyntaxNode) {
        let end = constant.text_range().end();
        let equals = tokens_of(constant).find(|it| it.kind() == SyntaxKind::EQ);
        let value = equals.map(|it| TextRange::new(it.text_range().start(), end));
        if let Some(value) = value.filter(|it| u32::from(it.len()) > VALUE) {
            self.0.push((value, ";"));
        }
    }

    /// Cuts a private field of a structure, with the comma after it.
    fn field(&mut self, field: &SyntaxNode) {
        let is_of_structure = |it: &SyntaxNode| it.kind() == SyntaxKind::STRUCT;
        let owner = field.parent().and_then(|list| list.parent());
        if !owner.is_some_and(|it| is_of_structure(&it)) || is_public(field) {
            return self.cut_comments(field);
        }
        let mut after = successors(field.next_sibling_or_token(), |it| {
            it.next_sibling_or_token()
        });
        let comma = after.find(|it| !it.kind().is_trivia());
        let comma = comma.filter(|it| it.kind() == SyntaxKind::COMMA);
        let end = comma.map_or(field.text_range(), |it| it.text_range());
        self.cut(field.text_range().cover(end));
    }

    /// Cuts comments and the bodies of functions in the tokens of a macro.
    fn tokens(&mut self, tree: &SyntaxNode) {
        self.cut_comments(tree);
        // After `fn NAME`; the type `fn(…)` has no name.
        let (mut is_keyword, mut is_function) = (false, false);
        for it in tree.children_with_tokens() {
            match it {
                NodeOrToken::Token(token) if token.kind().is_trivia() => {}
                NodeOrToken::Token(token) => {
                    is_function &= token.kind() != SyntaxKind::SEMICOLON;
                    is_function |= is_keyword;
                    is_keyword = token.kind() == SyntaxKind::FN_KW;
                }
                NodeOrToken::Node(node) => {
                    is_keyword = false;
                    if !is_function {
                        self.tokens(&node);
                    } else if node.text().char_at(0.into()) == Some('{') {
                        self.0.push((node.text_range(), "{}"));
                        is_function = false;
                    }
                }
            }
        }
    }

    /// Cuts the comments that are not documentation.
    fn cut_comments(&mut self, node: &SyntaxNode) {
        for comment in tokens_of(node).filter_map(ast::Comment::cast) {
            if !comment.is_doc() {
                self.cut(comment.syntax().text_range());
            }
        }
    }
}

fn is_public(item: &SyntaxNode) -> bool {
    let mut children = item.children();
    children.any(|it| it.kind() == SyntaxKind::VISIBILITY && it.text() == "pub")
}

fn tokens_of(node: &SyntaxNode) -> impl Iterator<Item = SyntaxToken> {
    let children = node.children_with_tokens();
    children.filter_map(NodeOrToken::into_token)
}

/// Returns whether this attribute marks what only tests contain.
fn is_of_test(attribute: &str) -> bool {
    let text: String = attribute.split_whitespace().collect();
    text == "#[test]" || text == "#[cfg(test)]" || text.starts_with("#[cfg(all(test,")
}

/// Returns the name of an attribute.
fn name_of(attribute: &str) -> &str {
    let name = attribute.trim_start_matches(['#', '!', '[', ' ']);
    let end = name.find(|c: char| c != '_' && !c.is_alphanumeric());
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skeleton_has_what_a_cell_can_use() {
        let source = "//! A kettle.\n// Not for users.\nuse std::fmt;\n/// Boils.\n#[derive(Clone)]\npub struct Kettle { litres: f64, /* own */ pub lid: bool, f: fn() }\n\
            pub enum E { A { x: u8 } }\nimpl Kettle {\n    /// Adds *water*.\n    #[inline]\n    pub fn fill(&self, f: fn(u8) -> u8) -> f64 { self.pour() /* now */ }\n    fn pour(&self) -> f64 { 1.0 }\n}\n\
            impl Iterator for Kettle {\n    type Item = f64;\n    fn next(&mut self) -> Option<f64> { None }\n}\n\
            pub trait Boil { fn boil(&self) -> bool { true } fn cool(&self); }\n\
            pub const SIZE: usize = 3;\n#[cfg(test)]\nmod tests { fn a() {} }\n#[test]\nfn b() {}\nfn private() {}\n";
        let expected = "//! A kettle.\nuse std::fmt;\n/// Boils.\n#[derive(Clone)]\npub struct Kettle {   pub lid: bool,  }\n\
            pub enum E { A { x: u8 } }\nimpl Kettle {\n/// Adds *water*.\npub fn fill(&self, f: fn(u8) -> u8) -> f64 {}\n}\n\
            impl Iterator for Kettle {\ntype Item = f64;\n}\n\
            pub trait Boil { fn boil(&self) -> bool {} fn cool(&self); }\n\
            pub const SIZE: usize = 3;\n";
        assert_eq!(of(source), expected);
    }

    #[test]
    fn macros_expand_to_the_same_items() {
        let source = "macro_rules! number { ($t:ty, { $($name:ident)* }) => { impl $t { $(/// Is it?\n\
            pub fn $name(self, f: fn(u8)) -> bool where Self: Sized { let x = { 1 }; x == 1 })* } };\n\
            () => { fn f(); mod m { 1 } } }\nnumber! { u8, { a b } }\n";
        let expected = "macro_rules! number { ($t:ty, { $($name:ident)* }) => { impl $t { $(/// Is it?\n\
            pub fn $name(self, f: fn(u8)) -> bool where Self: Sized {})* } };\n\
            () => { fn f(); mod m { 1 } } }\nnumber! { u8, { a b } }\n";
        assert_eq!(of(source), expected);
    }

    #[test]
    fn a_changed_source_has_another_skeleton() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("inner")).expect("a folder");
        let write = |text: &str| fs::write(from.join("inner/a.rs"), text).expect("a file");
        let read = || fs::read_to_string(to.join("inner/a.rs")).expect("a skeleton");
        write("pub fn a() { 1 }");
        update(&from, &to);
        assert_eq!(read(), "pub fn a() {}\n");
        fs::write(to.join("inner/a.rs"), "kept").expect("a file");
        let time = fs::metadata(from.join("inner/a.rs")).and_then(|it| it.modified());
        let file = File::options().append(true).open(to.join("inner/a.rs"));
        let time = time.expect("a time");
        file.and_then(|it| it.set_modified(time))
            .expect("it is ours");
        update(&from, &to);
        assert_eq!(read(), "kept");
        write("pub struct A;");
        let later = time + std::time::Duration::from_secs(1);
        let file = File::options().append(true).open(from.join("inner/a.rs"));
        file.and_then(|it| it.set_modified(later))
            .expect("it is ours");
        update(&from, &to);
        assert_eq!(read(), "pub struct A;\n");
    }
}
