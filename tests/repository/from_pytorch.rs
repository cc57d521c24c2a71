//! The tables that compare PyTorch with Taper: each name of Taper in them exists, and each layer is listed.

use super::{library, read};
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = "book/src/from-pytorch.md";

#[test]
fn the_names_of_taper_exist() {
    let (prelude, functions) = (words(&read("src/prelude.rs")), functions());
    let page = read(PAGE);
    let names = names_of_taper(&page);
    assert!(names.len() > 60, "only {} names in {PAGE}", names.len());
    let exists = |name: &str| match name.split_once("::") {
        Some((owner, function)) => prelude.contains(owner) && functions.contains(function),
        None => prelude.contains(name),
    };
    let missing: Vec<&str> = names.into_iter().filter(|name| !exists(name)).collect();
    assert!(
        missing.is_empty(),
        "{PAGE} names what the prelude does not have: {missing:?}"
    );
}

#[test]
fn every_layer_is_in_the_tables() {
    /// A trait, and the types of arguments.
    const OTHERS: [&str; 5] = [
        "Activation",
        "BagMode",
        "IntoLayer",
        "Nonlinearity",
        "Triple",
    ];
    let list = ["crates/nn/src/nn/layers.rs", "crates/extra/src/layers.rs"].map(read);
    let uses = list.iter().flat_map(|list| list.split("pub use ").skip(1));
    let layers: Vec<String> = uses
        .filter_map(|one| one.split_once("::")?.1.split_once(';'))
        .flat_map(|(names, _)| words(names))
        .filter(|name| !name.is_empty() && !OTHERS.contains(&name.as_str()))
        .collect();
    assert!(layers.len() > 60, "only {} layers", layers.len());
    let page = read(PAGE);
    let names = names_of_taper(&page);
    let missing: Vec<&String> = { layers.iter() }
        .filter(|name| !names.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{PAGE} lacks {missing:?}");
}

#[test]
fn what_is_absent_says_why() {
    let page = read(PAGE);
    let absent = page.lines().filter(|line| line.contains("| – |"));
    let silent: Vec<&str> = absent.filter(|line| line.ends_with("| – | |")).collect();
    assert!(silent.is_empty(), "{PAGE} does not say why: {silent:?}");
}

/// Returns the code spans in the second column of all tables.
fn names_of_taper(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(2));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

pub(super) fn words(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).map(str::to_owned).collect()
}

/// Returns the names of all functions of the crate `taper`.
fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in library() {
        add_functions(&folder, &mut names);
    }
    names
}

fn add_functions(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder)
        .expect("a folder of sources")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            add_functions(&path, names);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let parts = text.split("fn ").skip(1);
            names.extend(parts.map(|part| {
                let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                part[..end.unwrap_or(part.len())].to_owned()
            }));
        }
    }
}
