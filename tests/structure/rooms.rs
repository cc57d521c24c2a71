//! Which rooms of a crate use which others, read from the paths `crate::…` in its files.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each room with the rooms that it uses, and one file that does.
pub(crate) type Arrows = BTreeMap<String, BTreeMap<String, PathBuf>>;

/// What the tokens of a file say, without code that is only compiled for tests.
#[derive(Default)]
struct Source {
    /// The names behind `crate::`.
    used: BTreeSet<String>,
    /// The modules that are files.
    modules: BTreeSet<String>,
    /// Items of other modules that the file exports or imports, with the module.
    imported: BTreeMap<String, String>,
}

/// Returns the arrows between the rooms of the crate whose root is this file.
pub(crate) fn arrows(root: &Path) -> Arrows {
    let facade = Source::read(root);
    let folder = root.parent().expect("a source file is in a folder");
    let mut arrows = Arrows::new();
    for room in &facade.modules {
        let mut files = Vec::new();
        add_files(folder, room, &mut files);
        let used = arrows.entry(room.clone()).or_default();
        for (file, source) in files {
            for name in source.used {
                let to = facade
                    .modules
                    .get(&name)
                    .or_else(|| facade.imported.get(&name));
                if let Some(to) = to.filter(|to| *to != room) {
                    used.entry(to.clone()).or_insert_with(|| file.clone());
                }
            }
        }
    }
    arrows
}

/// Adds the files of a module and of those in it.
fn add_files(folder: &Path, module: &str, files: &mut Vec<(PathBuf, Source)>) {
    let below = folder.join(module);
    let candidates = [below.with_extension("rs"), below.join("mod.rs")];
    // A module with a `#[path]` is code for tests or generated.
    let Some(file) = candidates.into_iter().find(|file| file.exists()) else {
        return;
    };
    let source = Source::read(&file);
    for inner in &source.modules {
        add_files(&below, inner, files);
    }
    files.push((file, source));
}

impl Source {
    fn read(file: &Path) -> Source {
        let text = std::fs::read_to_string(file).expect("a source file");
        Source::of(text.parse().expect("Rust"))
    }

    pub(crate) fn of(tokens: TokenStream) -> Source {
        let mut source = Source::default();
        source.add(tokens);
        source
    }

    fn add(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at..] {
                [TokenTree::Punct(sign), TokenTree::Group(group), ..] if sign.as_char() == '#' => {
                    at += match is_for_tests(&group.stream()) {
                        true => 2 + item_length(&tokens[at + 2..]),
                        false => 2,
                    };
                    continue;
                }
                [
                    TokenTree::Ident(word),
                    TokenTree::Ident(name),
                    TokenTree::Punct(end),
                    ..,
                ] if word == "mod" && end.as_char() == ';' => {
                    self.modules.insert(name.to_string());
                }
                [TokenTree::Ident(word), rest @ ..] if word == "use" => self.import(rest),
                [TokenTree::Ident(word), _, _, next, ..] if word == "crate" => {
                    self.used.extend(first_names(next));
                }
                [TokenTree::Group(group), ..] => self.add(group.stream()),
                _ => {}
            }
            at += 1;
        }
    }

    /// Notes what `use module::{A, B};` imports.
    fn import(&mut self, tokens: &[TokenTree]) {
        let end =
            |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ';');
        let path = tokens.split(end).next().unwrap_or_default();
        let path: TokenStream = path.iter().cloned().collect();
        let mut names = Vec::new();
        add_names(path, &mut names);
        let mut names = names
            .into_iter()
            .filter(|name| name != "crate" && name != "self");
        if let Some(module) = names.next() {
            self.imported
                .extend(names.map(|name| (name, module.clone())));
        }
    }
}

fn add_names(tokens: TokenStream, names: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => names.push(name.to_string()),
            TokenTree::Group(group) => add_names(group.stream(), names),
            _ => {}
        }
    }
}

/// Returns the name, or the first name of each path between braces.
fn first_names(token: &TokenTree) -> Vec<String> {
    let TokenTree::Group(group) = token else {
        return vec![token.to_string()];
    };
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',');
    let paths = tokens.split(comma);
    paths
        .filter_map(|path| Some(path.first()?.to_string()))
        .collect()
}

/// Returns whether these are the tokens of `#[cfg(test)]` or of another attribute that needs it.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let mut names = Vec::new();
    add_names(attribute.clone(), &mut names);
    names.first().is_some_and(|name| name == "cfg") && names.iter().any(|name| name == "test")
}

/// Returns the number of tokens of the item that these begin with.
fn item_length(tokens: &[TokenTree]) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Punct(sign) => sign.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    let end = tokens.iter().position(is_end);
    end.map_or(tokens.len(), |end| end + 1)
}

/// Returns the rooms that use each other, directly or through others.
pub(crate) fn cycles(arrows: &Arrows) -> BTreeSet<String> {
    let reaches = |from: &str, to: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(room) = open.pop() {
            for next in arrows.get(room).into_iter().flat_map(|used| used.keys()) {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached.contains(to)
    };
    arrows
        .keys()
        .filter(|room| reaches(room, room))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_modules_and_imports_are_read_without_code_for_tests() {
        let source = "
            mod nn; pub mod ops { mod inner; }
            #[cfg(test)] mod tests;
            pub use nn::{Linear, layers::Conv as Convolution};
            use crate::{data::Batch, error, tensor::{self, Tensor}};
            /// A link to [crate::train::Trainer].
            fn f() { macro_call!(crate::plot::line()) }
            #[cfg(all(test, unix))] fn g() { crate::bench::f() }
            fn h() -> crate::text::Vocab {}";
        let source = Source::of(source.parse().unwrap());
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(names(&source.used), "data error plot tensor text");
        assert_eq!(names(&source.modules), "inner nn");
        assert_eq!(source.imported["Linear"], "nn");
        assert_eq!(source.imported["Convolution"], "nn");
    }

    #[test]
    fn a_cycle_through_a_third_room_is_found() {
        let arrow = |to: &str| BTreeMap::from([(to.to_owned(), PathBuf::new())]);
        let names = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")];
        let arrows: Arrows = names.map(|(from, to)| (from.to_owned(), arrow(to))).into();
        assert_eq!(cycles(&arrows), ["a", "b", "c"].map(str::to_owned).into());
    }
}
