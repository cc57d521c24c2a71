//! The manifest of the crate that depends on the packages of `:dep` lines, beside that of the cells.

use super::graph::{Features, Graph, Place};
use anyhow::{Context, Result, anyhow};
use cargo_metadata::PackageId;
use std::collections::BTreeSet;
use std::path::Path;
use taper_host::error::OnFile as _;

/// Returns the manifest for the packages `added`, with the features of `compiled` packages, and with `taper` if that is to
/// be compiled again.
pub(super) fn manifest(
    work: &Path,
    graph: &Graph,
    added: &BTreeSet<&PackageId>,
    compiled: &Features,
    with_taper: bool,
) -> Result<String> {
    let file = work.join("Cargo.toml");
    let text = std::fs::read_to_string(&file).on_file("read", &file)?;
    let mut manifest: toml::Table = text.parse().context("cannot parse Cargo.toml")?;
    let set = |table: &mut toml::Table, name: &str, value: toml::Value| {
        table.insert(name.to_owned(), value);
    };
    set(&mut manifest, "workspace", toml::Table::new().into());
    if let Some(library) = manifest.get_mut("lib").and_then(toml::Value::as_table_mut) {
        set(library, "crate-type", vec!["rlib"].into());
    }
    let mut tables = [toml::Table::new(), toml::Table::new()];
    if let Some(toml::Value::Table(named)) = manifest.remove("dependencies") {
        tables[0] = named;
    }
    if !with_taper {
        let added = || graph.added().filter(|id| added.contains(id));
        let names: BTreeSet<&str> = added().map(|id| graph.name(id)).collect();
        tables[0].retain(|key, value| {
            let package = value.get("package").and_then(toml::Value::as_str);
            names.contains(package.unwrap_or(key))
        });
        let reached = graph.reached(added());
        let features = graph.features(reached.keys().copied());
        for (id, places) in reached
            .into_iter()
            .filter(|(id, _)| compiled.contains_key(id))
        {
            pin(&mut tables, graph, id, &features[id], places);
        }
    }
    for (name, table) in ["dependencies", "build-dependencies"].iter().zip(tables) {
        set(&mut manifest, name, table.into());
    }
    let text = toml::to_string(&manifest);
    text.map_err(|error| anyhow!("The manifest of the packages cannot be written:\n{error}"))
}

/// Enables the features that a package has in the image, for the target and for build scripts and macros.
fn pin(
    tables: &mut [toml::Table; 2],
    graph: &Graph,
    id: &PackageId,
    features: &BTreeSet<String>,
    places: Place,
) {
    let Some((name, version)) = graph.registered(id) else {
        return;
    };
    let is_it = |(key, value): (&String, &toml::Value)| {
        let package = value.get("package").and_then(toml::Value::as_str);
        (package.unwrap_or(key) == name).then(|| key.clone())
    };
    // A package must have one name, whoever depends on it.
    let own = graph.added().any(|added| added == id);
    let own = own.then(|| tables[0].iter().find_map(is_it)).flatten();
    let key = own.unwrap_or_else(|| format!("pin-{name}-{}", version.replace(['.', '+'], "-")));
    for (table, is_wanted) in tables.iter_mut().zip([places.target, places.host]) {
        if !is_wanted {
            continue;
        }
        let pinned = || {
            let mut pinned = toml::Table::new();
            pinned.insert("package".to_owned(), name.into());
            pinned.insert("version".to_owned(), format!("={version}").into());
            pinned.insert("default-features".to_owned(), false.into());
            pinned.into()
        };
        let entry = table.entry(key.clone()).or_insert_with(pinned);
        if let toml::Value::String(version) = entry {
            let mut named = toml::Table::new();
            named.insert("version".to_owned(), std::mem::take(version).into());
            *entry = named.into();
        }
        let listed = entry.as_table_mut().map(|entry| {
            let listed = entry.entry("features");
            listed.or_insert_with(|| toml::Value::Array(Vec::new()))
        });
        if let Some(toml::Value::Array(listed)) = listed {
            listed.extend(features.iter().map(|feature| feature.clone().into()));
        }
    }
}
