//! The documentation of the crate `taper`, and where in it a name is explained.

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use taper_host::cache;
use taper_host::checkout;
use taper_host::lock::Lock;
use taper_host::progress::{Progress, duration};

/// The addresses of all names, written when the documentation is complete.
const INDEX: &str = "taper-names.json";

/// How a name is used.
#[derive(Debug, Clone, Copy)]
pub enum Context<'a> {
    Function,
    Macro,
    Method,
    Type,
    /// Behind `Type::`.
    Within(&'a str),
}

/// Where names are explained, as addresses below the documentation's folder.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Api {
    /// The crate's sources, of which this is the documentation.
    sources: String,
    functions: BTreeMap<String, String>,
    macros: BTreeMap<String, String>,
    types: BTreeMap<String, String>,
    /// Methods of traits; empty where several traits have one of this name.
    methods: BTreeMap<String, String>,
    /// `Type::name`
    within: BTreeMap<String, String>,
}

/// The names that one page may link.
pub struct Links<'a> {
    api: Option<&'a Api>,
    /// What the notebook itself defines.
    own: HashSet<String>,
    /// From the page to the folder of the documentation.
    base: String,
}

impl<'a> Links<'a> {
    pub fn new(api: Option<&'a Api>, own: HashSet<String>, base: String) -> Self {
        Links { api, own, base }
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Links::new(None, HashSet::new(), String::new())
    }

    pub fn href(&self, name: &str, context: &Context) -> Option<String> {
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

/// The folder of the documentation, in the cache.
pub fn folder() -> Result<PathBuf> {
    Ok(cache::folder()?.join("book").join("api"))
}

impl Api {
    /// That of the documentation that is there, if any.
    pub fn find() -> Option<Api> {
        let index = std::fs::read(folder().ok()?.join(INDEX)).ok()?;
        serde_json::from_slice(&index).ok()
    }
}

/// Has rustdoc document the crate, unless this was done since it last changed; `sources` tells its
/// versions apart.
pub fn document(sources: String, progress: &mut dyn Progress) -> Result<()> {
    let folder = folder()?;
    let is_current = || Api::find().is_some_and(|api| api.sources == sources);
    if is_current() {
        return Ok(());
    }
    let parent = folder.parent().context("it lies in the cache")?;
    cache::make(parent)?;
    let _lock = Lock::exclusive(parent, progress)?;
    // Another build may have done it while we waited.
    if is_current() {
        return Ok(());
    }
    progress.line("Documenting the crate taper (cargo doc).");
    let start = Instant::now();
    let new = rustdoc()?;
    let index = Api::read(&new, sources)?;
    std::fs::write(new.join(INDEX), serde_json::to_vec(&index)?)?;
    replace(&new, &folder)?;
    progress.line(&format!("Documented in {}.", duration(start.elapsed())));
    Ok(())
}

/// Runs `cargo doc`, gives the folder of its pages. It begins in an empty one: the pages of other
/// packages, among them our own program of the same name, are not part of the book.
fn rustdoc() -> Result<PathBuf> {
    let home = checkout::folder();
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| home.join("target"), PathBuf::from);
    let pages = target.join("doc");
    if pages.exists() {
        std::fs::remove_dir_all(&pages).with_context(|| format!("removing {}", pages.display()))?;
    }
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "doc",
            "--quiet",
            "--locked",
            "--package",
            "taper",
            "--lib",
            "--no-deps",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(&home)
        .env_remove("RUSTDOCFLAGS");
    let output = cargo.output().context("starting cargo")?;
    if !output.status.success() {
        bail!(
            "The crate's documentation could not be made; `cargo doc --package taper` says:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(pages)
}

/// Puts the folder `new` in the place of `old`; a copy where they lie on different disks.
fn replace(new: &Path, old: &Path) -> Result<()> {
    if old.exists() {
        std::fs::remove_dir_all(old).with_context(|| format!("removing {}", old.display()))?;
    }
    if std::fs::rename(new, old).is_err() {
        // The index makes it complete.
        super::site::copy_tree(new, old, &|path| !path.ends_with(INDEX))?;
        std::fs::copy(new.join(INDEX), old.join(INDEX))?;
        std::fs::remove_dir_all(new)?;
    }
    Ok(())
}

impl Api {
    /// From rustdoc's list of all items and from the pages of types and traits.
    fn read(pages: &Path, sources: String) -> Result<Api> {
        let mut api = Api {
            sources,
            ..Api::default()
        };
        let root = pages.join("taper");
        let mut inherent = BTreeSet::new();
        let all = std::fs::read_to_string(root.join("all.html"))
            .context("rustdoc wrote no list of all items")?;
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
                    let text = std::fs::read_to_string(root.join(page))?;
                    api.read_members(kind, name, &address, &text);
                    inherent.extend(inherent_methods(kind, &text).map(str::to_owned));
                    api.types.insert(name.to_owned(), address);
                }
                "constant" => drop(api.types.insert(name.to_owned(), address)),
                _ => {}
            }
        }
        // Such a method may as well be that of the type.
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
            // A dash begins the number of a second one of the name: some trait's, for some type.
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

/// The ids of a page, in order.
fn ids(page: &str) -> impl Iterator<Item = &str> {
    let begins = page.split(" id=\"").skip(1);
    begins.filter_map(|rest| rest.split('"').next())
}

/// The methods that a type has of its own: rustdoc lists them before those of traits.
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
    fn a_name_leads_to_its_page() {
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
    fn a_name_that_could_be_several_leads_nowhere() {
        let api = api();
        let links = Links::new(Some(&api), HashSet::from(["seq".to_owned()]), String::new());
        let href = |name, context| links.href(name, &context);
        assert_eq!(href("both", Context::Method), None, "two traits have it");
        assert_eq!(
            href("own", Context::Method),
            None,
            "a type has it of its own"
        );
        assert_eq!(
            href("seq", Context::Macro),
            None,
            "the notebook has one of its own"
        );
        assert_eq!(href("clone", Context::Within("Linear")), None);
        assert_eq!(href("new", Context::Method), None, "of which type?");
    }
}
