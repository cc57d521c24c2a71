//! The addresses at which rustdoc documents the names of the crate `taper`.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::read_to_string;
use std::path::Path;

/// How a name is used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Context<'a> {
    Function,
    Macro,
    Method,
    Type,
    /// After `Type::`.
    Within(&'a str),
}

/// The addresses of all names, relative to the folder of the documentation.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Api {
    /// The version of the crate's sources.
    pub(crate) sources: String,
    functions: BTreeMap<String, String>,
    macros: BTreeMap<String, String>,
    types: BTreeMap<String, String>,
    /// Methods of traits; the address is empty if several traits have a method of this name.
    methods: BTreeMap<String, String>,
    /// Methods, variants and associated constants, by `Type::name`.
    within: BTreeMap<String, String>,
}

/// The links from the names in a page's code to their documentation.
pub(crate) struct Links<'a> {
    api: Option<&'a Api>,
    /// The names that the notebook itself defines.
    own: HashSet<String>,
    /// The path from the page to the folder of the documentation.
    base: String,
}

impl<'a> Links<'a> {
    pub(crate) fn new(api: Option<&'a Api>, own: HashSet<String>, base: String) -> Self {
        Links { api, own, base }
    }

    /// Creates links that link no name, for code that is not in the book.
    pub(crate) fn none() -> Self {
        Links::new(None, HashSet::new(), String::new())
    }

    /// Returns the address of the documentation of a name.
    pub(crate) fn href(&self, name: &str, context: &Context) -> Option<String> {
        let api = self.api?;
        let page = match context {
            _ if self.own.contains(name) => None,
            Context::Function => api.functions.get(name).or_else(|| api.types.get(name)),
            Context::Macro => api.macros.get(name),
            Context::Method => api.methods.get(name).filter(|page| !page.is_empty()),
            Context::Type => api.types.get(name),
            Context::Within("taper" | "prelude") => {
                api.functions.get(name).or_else(|| api.types.get(name))
            }
            Context::Within(owner) if self.own.contains(*owner) => None,
            Context::Within(owner) => api.within.get(&format!("{owner}::{name}")),
        };
        page.map(|page| format!("{}{page}", self.base))
    }
}

impl Api {
    /// Reads rustdoc's list of all items, and the pages of types and traits.
    pub(crate) fn read(pages: &Path, sources: String) -> Result<Api> {
        let mut api = Api {
            sources,
            ..Api::default()
        };
        let root = pages.join("taper");
        let mut inherent = BTreeSet::new();
        let list = root.join("all.html");
        let all = read_to_string(&list)
            .with_context(|| format!("reading rustdoc's list of all items {}", list.display()))?;
        for page in all
            .split("<li><a href=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let file = page.rsplit('/').next().unwrap_or(page);
            let Some((kind, name)) = file
                .strip_suffix(".html")
                .and_then(|file| file.split_once('.'))
            else {
                continue;
            };
            let address = format!("taper/{page}");
            match kind {
                "fn" => drop(api.functions.insert(name.to_owned(), address)),
                "macro" => drop(api.macros.insert(name.to_owned(), address)),
                "struct" | "enum" | "trait" | "type" => {
                    let file = root.join(page);
                    let text = read_to_string(&file)
                        .with_context(|| format!("reading {}", file.display()))?;
                    api.read_members(kind, name, &address, &text);
                    inherent.extend(inherent_methods(kind, &text).map(str::to_owned));
                    api.types.insert(name.to_owned(), address);
                }
                "constant" => drop(api.types.insert(name.to_owned(), address)),
                _ => {}
            }
        }
        // A call of such a name may call the type's own method, not the trait's.
        api.methods.retain(|name, _| !inherent.contains(name));
        Ok(api)
    }

    fn read_members(&mut self, kind: &str, owner: &str, address: &str, text: &str) {
        for id in ids(text) {
            let Some((what, name)) = id.split_once('.') else {
                continue;
            };
            let is_member = matches!(
                what,
                "method" | "tymethod" | "variant" | "associatedconstant"
            );
            // rustdoc adds a dash and a number to a repeated id: a trait implemented for several types.
            if !is_member || name.contains(['-', '.']) {
                continue;
            }
            let member = format!("{address}#{id}");
            self.within
                .entry(format!("{owner}::{name}"))
                .or_insert_with(|| member.clone());
            if kind == "trait" {
                let known = self
                    .methods
                    .entry(name.to_owned())
                    .or_insert_with(|| member.clone());
                if *known != member {
                    known.clear();
                }
            }
        }
    }
}

/// Returns the ids of a page, in order.
fn ids(page: &str) -> impl Iterator<Item = &str> {
    let begins = page.split(" id=\"").skip(1);
    begins.filter_map(|rest| rest.split('"').next())
}

/// Returns the inherent methods of a type: rustdoc lists them before those of traits.
fn inherent_methods<'p>(kind: &str, page: &'p str) -> impl Iterator<Item = &'p str> {
    let page = if kind == "trait" { "" } else { page };
    ids(page)
        .take_while(|id| *id != "trait-implementations")
        .filter_map(|id| id.strip_prefix("method."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api() -> Api {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("taper/nn");
        std::fs::create_dir_all(&root).expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join("taper").join(name), text).expect("a page");
        };
        write(
            "all.html",
            "<li><a href=\"fn.cpu.html\">cpu</a></li><li><a href=\"nn/struct.Linear.html\">nn::Linear</a></li>\
             <li><a href=\"trait.A.html\">A</a></li><li><a href=\"trait.B.html\">B</a></li>\
             <li><a href=\"macro.seq.html\">seq</a></li>",
        );
        write(
            "nn/struct.Linear.html",
            "<section id=\"method.new\"> <section id=\"method.own\"> <h2 id=\"trait-implementations\"> \
             <section id=\"method.clone-1\"> <section id=\"method.only_a\">",
        );
        write(
            "trait.A.html",
            "<section id=\"tymethod.both\"> <section id=\"method.only_a\"> <section id=\"method.own\">",
        );
        write("trait.B.html", "<section id=\"tymethod.both\">");
        Api::read(folder.path(), "1".into()).expect("it reads")
    }

    #[test]
    fn names_link_to_their_pages() {
        let api = api();
        let links = Links::new(
            Some(&api),
            HashSet::from(["seq".to_owned()]),
            "../api/".into(),
        );
        let href = |name, context| links.href(name, &context);
        assert_eq!(
            href("cpu", Context::Function).as_deref(),
            Some("../api/taper/fn.cpu.html")
        );
        assert_eq!(
            href("new", Context::Within("Linear")).as_deref(),
            Some("../api/taper/nn/struct.Linear.html#method.new")
        );
        assert_eq!(
            href("only_a", Context::Method).as_deref(),
            Some("../api/taper/trait.A.html#method.only_a")
        );
    }

    #[test]
    fn ambiguous_names_have_no_link() {
        let api = api();
        let links = Links::new(Some(&api), HashSet::from(["seq".to_owned()]), String::new());
        let href = |name, context| links.href(name, &context);
        assert_eq!(href("both", Context::Method), None, "two traits have it");
        assert_eq!(
            href("own", Context::Method),
            None,
            "a type has an inherent method"
        );
        assert_eq!(href("seq", Context::Macro), None, "the notebook defines it");
        assert_eq!(href("clone", Context::Within("Linear")), None);
        assert_eq!(href("new", Context::Method), None, "of which type?");
    }
}
