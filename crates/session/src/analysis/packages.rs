//! The packages that rust-analyzer reads: Rust's library, and what a cell can see.

use super::skeleton;
use cargo_metadata::{DependencyKind, Metadata, Node, Package as Listed, PackageId, TargetKind};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use taper_host::{components, toolchain};

/// The crates below `taper` whose types a variable of a cell can have. Of packages that a student
/// adds with `:dep`, all dependencies are loaded.
pub(crate) const SEEN_BELOW_TAPER: [&str; 11] = [
    "candle-core",
    "candle-nn",
    "half",
    "taper-data",
    "taper-display",
    "taper-distributed",
    "taper-extra",
    "taper-macros",
    "taper-nn",
    "taper-tensor",
    "taper-train",
];

/// The crate of the cells.
pub(super) const CELLS: &str = "cells";

/// The file with a cell, which exists only in what rust-analyzer knows.
pub(super) const CELL: &str = "/__taper_cells__/cell.rs";

/// Rust's library, each crate with those before it.
const LIBRARY: [&str; 3] = ["core", "alloc", "std"];

/// All packages that a cell can see.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// Each with the crates on which it depends before it.
    pub(super) crates: Vec<Crate>,
    /// What the cells' crate can name, with the place in `crates`.
    pub(super) named: Vec<(String, usize)>,
}

#[derive(Debug)]
pub(super) struct Crate {
    pub(super) name: String,
    /// The file in which the crate begins.
    pub(super) root: PathBuf,
    pub(super) edition: String,
    pub(super) features: Vec<String>,
    /// The names of its dependencies, with their places in the list.
    pub(super) dependencies: Vec<(String, usize)>,
    pub(super) is_proc_macro: bool,
    pub(super) is_of_rust: bool,
}

impl Packages {
    /// Returns what the root of this metadata can see. Without the source of Rust's library, that is missing.
    pub(super) fn of(metadata: &Metadata) -> Option<Packages> {
        let mut packages = Packages::default();
        if let Ok(folder) = components::library_source() {
            packages.add_library(&folder);
        }
        let resolve = metadata.resolve.as_ref()?;
        let graph = Graph {
            packages: metadata.packages.iter().map(|it| (&it.id, it)).collect(),
            nodes: resolve.nodes.iter().map(|it| (&it.id, it)).collect(),
        };
        let mut places = HashMap::new();
        packages.named = packages.add_dependencies(resolve.root.as_ref()?, &graph, &mut places);
        Some(packages)
    }

    /// Adds Rust's library from the folder with its source.
    pub(super) fn add_library(&mut self, folder: &Path) {
        for name in LIBRARY {
            let before = self.crates.iter().enumerate();
            self.crates.push(Crate {
                name: name.to_owned(),
                root: folder.join(name).join("src/lib.rs"),
                edition: "2024".to_owned(),
                features: Vec::new(),
                dependencies: before.map(|(at, it)| (it.name.clone(), at)).collect(),
                is_proc_macro: false,
                is_of_rust: true,
            });
        }
    }

    /// Brings the skeletons of the packages below the folder up to date.
    pub(super) fn update(&self, folder: &Path) {
        for it in &self.crates {
            let source = it.root.parent().unwrap_or(&it.root);
            skeleton::update(source, &below(folder, source));
        }
    }

    /// Returns the packages as rust-analyzer's `rust-project.json`, with their skeletons below the folder.
    pub(super) fn project(&self, folder: &Path) -> Value {
        let list = |is_of_rust: bool| {
            let crates = self.crates.iter();
            let of_this_list = crates.filter(move |it| it.is_of_rust == is_of_rust);
            of_this_list.map(move |it| {
                let features = it.features.iter().map(|it| format!("feature=\"{it}\""));
                json!({
                    "display_name": it.name,
                    "root_module": below(folder, &it.root),
                    "edition": it.edition,
                    "deps": self.dependencies(&it.dependencies, is_of_rust),
                    "cfg": features.collect::<Vec<_>>(),
                    "is_proc_macro": it.is_proc_macro,
                    // What is not a member is not looked at for changes.
                    "is_workspace_member": false,
                })
            })
        };
        let cells = json!({
            "display_name": CELLS,
            "root_module": CELL,
            "edition": "2024",
            "deps": self.dependencies(&self.named, false),
            "is_workspace_member": true,
        });
        // All files in this folder are read.
        let library = self.crates.first().filter(|it| it.is_of_rust);
        let library = library.and_then(|core| core.root.ancestors().nth(3));
        json!({
            "sysroot": toolchain::sysroot().ok(),
            "sysroot_src": library.map_or(folder.join("none"), |it| below(folder, it)),
            "sysroot_project": { "crates": list(true).collect::<Vec<_>>() },
            "crates": list(false).chain([cells]).collect::<Vec<_>>(),
        })
    }

    /// Returns dependencies with their places among the crates of Rust, which are first, or among the others.
    fn dependencies(&self, of: &[(String, usize)], is_of_rust: bool) -> Value {
        let rusts = self.crates.iter().filter(|it| it.is_of_rust).count();
        let first = if is_of_rust { 0 } else { rusts };
        let of_this_list = of.iter().filter_map(|(name, place)| {
            Some(json!({ "name": name, "crate": place.checked_sub(first)? }))
        });
        of_this_list.collect()
    }

    /// Adds the dependencies of a package and returns their names and places. `places` are those of packages that
    /// were added already.
    fn add_dependencies<'a>(
        &mut self,
        of: &'a PackageId,
        graph: &Graph<'a>,
        places: &mut HashMap<&'a PackageId, usize>,
    ) -> Vec<(String, usize)> {
        let (Some(node), Some(package)) = (graph.nodes.get(of), graph.packages.get(of)) else {
            return Vec::new();
        };
        let is_ours = |name: &str| name == "taper" || SEEN_BELOW_TAPER.contains(&name);
        let mut found = Vec::new();
        for dependency in &node.deps {
            let Some(other) = graph.packages.get(&dependency.pkg) else {
                continue;
            };
            let mut kinds = dependency.dep_kinds.iter();
            let is_normal = kinds.any(|it| it.kind == DependencyKind::Normal);
            if !is_normal || is_ours(&package.name) && !is_ours(&other.name) {
                continue;
            }
            if let Some(place) = self.add(other, graph, places) {
                found.push((dependency.name.clone(), place));
            }
        }
        found
    }

    fn add<'a>(
        &mut self,
        package: &'a Listed,
        graph: &Graph<'a>,
        places: &mut HashMap<&'a PackageId, usize>,
    ) -> Option<usize> {
        if let Some(place) = places.get(&package.id) {
            return Some(*place);
        }
        let is_wanted = |kind: &TargetKind| {
            use TargetKind::{CDyLib, DyLib, Lib, ProcMacro, RLib, StaticLib};
            matches!(kind, CDyLib | DyLib | Lib | ProcMacro | RLib | StaticLib)
        };
        let mut targets = package.targets.iter();
        let target = targets.find(|target| target.kind.iter().any(is_wanted))?;
        let is_proc_macro = target.kind.contains(&TargetKind::ProcMacro);
        // What a macro needs to expand is not seen.
        let dependencies = match is_proc_macro {
            true => Vec::new(),
            false => self.add_dependencies(&package.id, graph, places),
        };
        let features = graph.nodes.get(&package.id).map(|node| &node.features);
        let features = features.into_iter().flatten();
        self.crates.push(Crate {
            name: target.name.replace('-', "_"),
            root: target.src_path.clone().into_std_path_buf(),
            edition: target.edition.to_string(),
            features: features.map(ToString::to_string).collect(),
            dependencies,
            is_proc_macro,
            is_of_rust: false,
        });
        places.insert(&package.id, self.crates.len() - 1);
        Some(self.crates.len() - 1)
    }
}

/// Returns where a file or folder is in the folder of skeletons.
fn below(folder: &Path, path: &Path) -> PathBuf {
    folder.join(path.strip_prefix("/").unwrap_or(path))
}

/// What cargo says about packages and their dependencies.
struct Graph<'a> {
    packages: HashMap<&'a PackageId, &'a Listed>,
    nodes: HashMap<&'a PackageId, &'a Node>,
}
