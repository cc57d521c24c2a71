//! `cargo metadata` without the packages that no cell sees.

use crate::analysis::SEEN_BELOW_TAPER;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Returns the output of `cargo metadata` without the packages that no cell sees, or `None` if `output`
/// is something else.
pub(crate) fn seen(output: &[u8]) -> Option<Vec<u8>> {
    let mut metadata: Value = serde_json::from_slice(output).ok()?;
    let kept = reached(&metadata)?;
    let is_kept = |id: &Value| id.as_str().is_some_and(|id| kept.contains(id));
    list(&mut metadata["packages"])?.retain(|package| is_kept(&package["id"]));
    let nodes = list(&mut metadata["resolve"]["nodes"])?;
    nodes.retain(|node| is_kept(&node["id"]));
    for node in nodes {
        list(&mut node["dependencies"])?.retain(&is_kept);
        list(&mut node["deps"])?.retain(|dependency| is_kept(&dependency["pkg"]));
    }
    for package in list(&mut metadata["packages"])? {
        if package["name"] == "taper" {
            narrow(package);
        }
    }
    serde_json::to_vec(&metadata).ok()
}

fn list(value: &mut Value) -> Option<&mut Vec<Value>> {
    value.as_array_mut()
}

/// Moves the path of a package's manifest into `src`. rust-analyzer reads all sources below the
/// manifest's folder: in a clone, also the command, the tests and `target`.
fn narrow(package: &mut Value) {
    let manifest = package["manifest_path"].as_str();
    if let Some(folder) = manifest.and_then(|path| path.strip_suffix("/Cargo.toml")) {
        package["manifest_path"] = json!(format!("{folder}/src/Cargo.toml"));
    }
}

/// Returns the ids of the packages that the cells' crate reaches through its dependencies. Of the
/// dependencies of `taper`, only [`SEEN_BELOW_TAPER`] count.
fn reached(metadata: &Value) -> Option<HashSet<String>> {
    let packages = metadata["packages"].as_array()?.iter();
    let names: HashMap<&str, &str> = packages
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array()?.iter();
    let nodes: HashMap<&str, &Value> = nodes
        .filter_map(|node| Some((node["id"].as_str()?, &node["deps"])))
        .collect();
    let is_ours = |name: &str| name == "taper" || SEEN_BELOW_TAPER.contains(&name);
    let mut found = HashSet::new();
    let members = metadata["workspace_members"].as_array()?.iter();
    let mut wanted: Vec<&str> = members.filter_map(Value::as_str).collect();
    while let Some(id) = wanted.pop() {
        if !found.insert(id.to_owned()) {
            continue;
        }
        let of_ours = names.get(id).is_some_and(|name| is_ours(name));
        let below = nodes.get(id).and_then(|deps| deps.as_array());
        let below = below
            .into_iter()
            .flatten()
            .filter_map(|d| d["pkg"].as_str());
        wanted
            .extend(below.filter(|id| !of_ours || names.get(id).is_some_and(|name| is_ours(name))));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> Value {
        json!({ "id": name, "name": name, "manifest_path": format!("/{name}/Cargo.toml") })
    }

    fn node(name: &str, below: &[&str]) -> Value {
        let deps: Vec<Value> = below.iter().map(|id| json!({ "pkg": id })).collect();
        json!({ "id": name, "dependencies": below, "deps": deps })
    }

    #[test]
    fn below_taper_little_is_seen_and_elsewhere_everything() {
        let names = [
            "ctx",
            "taper",
            "candle-core",
            "gemm",
            "pulp",
            "ndarray",
            "rawpointer",
        ];
        let metadata = json!({
            "packages": names.map(package),
            "workspace_members": ["ctx"],
            "resolve": { "root": "ctx", "nodes": [
                node("ctx", &["taper", "ndarray"]),
                node("taper", &["candle-core"]),
                node("candle-core", &["gemm", "rawpointer"]),
                node("gemm", &["pulp"]),
                node("pulp", &[]),
                node("ndarray", &["rawpointer"]),
                node("rawpointer", &[]),
            ] },
        });
        let seen = seen(&serde_json::to_vec(&metadata).expect("JSON")).expect("it is metadata");
        let seen: Value = serde_json::from_slice(&seen).expect("JSON");
        let left: Vec<&str> = seen["packages"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|package| package["name"].as_str())
            .collect();
        assert_eq!(
            left,
            ["ctx", "taper", "candle-core", "ndarray", "rawpointer"]
        );
        let candle = &seen["resolve"]["nodes"][2];
        assert_eq!(candle["dependencies"], json!(["rawpointer"]));
        assert_eq!(
            seen["packages"][1]["manifest_path"],
            "/taper/src/Cargo.toml"
        );
    }

    #[test]
    fn what_is_no_metadata_is_left_alone() {
        assert_eq!(seen(b"error: no such command"), None);
        assert_eq!(
            seen(br#"{ "packages": [], "workspace_members": [], "resolve": null }"#),
            None
        );
    }
}
