//! The translations of the course: each catalogue in `po` belongs to its document, and what it says is faithful.
//!
//! A changed English paragraph makes its translation fuzzy: readers see it in English until it is translated again.
//! That fails nothing by itself; the share of current translations may not fall below `po/LANGUAGE/coverage.txt`. With
//! `TAPER_RELEASE` set, as a release does, all must be translated.
//!
//!     TAPER_UPDATE_CATALOGUES=02-tensors cargo test --test translations
//!
//! merges the catalogues with the documents: it adds entries, marks changed ones as fuzzy, and removes what is no longer used.
//! A document that has no catalogue yet, such as `02-tensors` or `pages/index`, gets one if it is named.

#[path = "translations/catalogue.rs"]
mod catalogue;
#[path = "translations/faithful.rs"]
mod faithful;

use catalogue::{Catalogue, Count};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use taper_notebook::{Edition, Unit, has_words, notebook_units, page_units};

/// Pages that are generated from PyTorch's names, or for maintainers.
const ENGLISH_ONLY: [&str; 2] = ["pytorch-samples", "engines"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn po() -> PathBuf {
    root().join("po")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the files in a folder, by their names without the ending.
fn files(folder: &str, ending: &str) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(root().join(folder)).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let of_kind = paths.filter(|path| path.extension().is_some_and(|kind| kind == ending));
    let name = |path: &PathBuf| {
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    of_kind.map(|path| (name(&path), path)).collect()
}

/// Returns all that is to be translated: for each document the units, in order.
fn documents() -> BTreeMap<String, Vec<Unit>> {
    let mut found = BTreeMap::new();
    for (folder, prefix) in [("notebooks", ""), ("notebooks/solutions", "solutions/")] {
        for (name, path) in files(folder, "ipynb") {
            let document = serde_json::from_str(&read(&path)).expect("JSON");
            found.insert(format!("{prefix}{name}"), notebook_units(&document));
        }
    }
    for (name, path) in files("book/src", "md") {
        if !ENGLISH_ONLY.contains(&name.as_str()) {
            found.insert(format!("pages/{name}"), page_units(&read(&path)));
        }
    }
    found.insert("hints".into(), hint_units());
    let labels = taper_book::labels().map(|label| unit("", label));
    found.insert("labels".into(), labels.collect());
    found
}

/// Returns the hints of the exercises, each with the name of its exercise, after the word before a hint; then what the kernel
/// says.
fn hint_units() -> Vec<Unit> {
    let cases: Value =
        serde_json::from_str(&read(&root().join("src/exercises/cases.json"))).expect("JSON");
    let mut units = vec![unit("", "Hint:")];
    for (exercise, case) in cases.as_object().expect("an object") {
        let hints = case["hints"].as_array().into_iter().flatten();
        let hints = hints.map(|hint| hint.as_str().expect("a text"));
        units.extend(
            hints
                .filter(|hint| has_words(hint))
                .map(|hint| unit(exercise, hint)),
        );
    }
    units.extend(taper_session::sentences().map(|sentence| unit("kernel", &sentence)));
    units
}

fn unit(context: &str, text: &str) -> Unit {
    Unit {
        context: context.into(),
        text: text.into(),
    }
}

fn glossary(language: &str) -> faithful::Glossary {
    faithful::Glossary::read(&read(&po().join(language).join("glossary.tsv")))
}

#[test]
fn the_documents_have_units() {
    let documents = documents();
    let units: usize = documents.values().map(Vec::len).sum();
    assert!(
        documents.len() > 60 && units > 3000,
        "{} documents, {units} units",
        documents.len()
    );
    for (name, units) in &documents {
        assert!(!units.is_empty(), "{name} has nothing to translate");
    }
}

#[test]
fn catalogues_are_current_and_faithful() {
    let documents = documents();
    let mut problems = Vec::new();
    for language in Edition::available(&po()).expect("the folder po") {
        let (mut total, mut behind) = (Count::default(), Vec::new());
        for (name, units) in &documents {
            let path = po().join(&language).join(format!("{name}.po"));
            let merged = Catalogue::read(&path).merged(units, &language);
            match std::env::var("TAPER_UPDATE_CATALOGUES") {
                Ok(new) if path.exists() || new == *name => merged.write(&path),
                _ => {}
            }
            total += merged.count();
            if merged.count().percent() < 100.0 {
                behind.push(format!("{language}/{name}: {}", merged.count()));
            }
            for (source, translation) in merged.current() {
                let wrong = faithful::differences(source, translation);
                problems.extend(
                    wrong
                        .iter()
                        .map(|it| format!("{language}/{name}: {it}\n  {source}\n  {translation}")),
                );
            }
        }
        problems.extend(strangers(&language, &documents));
        let least: f64 = read(&po().join(&language).join("coverage.txt"))
            .trim()
            .parse()
            .expect("a number");
        let terms = glossary(&language).len();
        println!("{language}: {total}; {terms} terms in the glossary");
        let least = if std::env::var_os("TAPER_RELEASE").is_some() {
            100.0
        } else {
            least
        };
        if total.percent() < least {
            problems.push(format!("{language}: {total}; expected at least {least} %"));
            problems.extend(behind);
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

/// Returns the catalogues whose document is gone.
fn strangers(language: &str, documents: &BTreeMap<String, Vec<Unit>>) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "solutions", "pages"] {
        let path = format!("po/{language}/{folder}");
        for name in files(&path, "po").into_keys() {
            let name = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            if !documents.contains_key(&name) {
                found.push(format!(
                    "po/{language}/{name}.po: there is no such document"
                ));
            }
        }
    }
    found
}

#[test]
fn terms_are_those_of_the_glossary() {
    let mut problems = Vec::new();
    for language in Edition::available(&po()).expect("the folder po") {
        let glossary = glossary(&language);
        assert!(
            glossary.len() >= 40,
            "{language}: the glossary has {} terms",
            glossary.len()
        );
        for name in documents().into_keys() {
            let catalogue = Catalogue::read(&po().join(&language).join(format!("{name}.po")));
            for (source, translation) in catalogue.current() {
                let missing = glossary.missing(source, translation);
                problems.extend(
                    missing
                        .iter()
                        .map(|it| format!("{language}/{name}: {it}\n  {source}\n  {translation}")),
                );
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
