//! The packages whose sources are loaded: Rust's library, and what a cell can see.

use cargo_metadata::{DependencyKind, Metadata, Node, Package as Listed, PackageId, TargetKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::{library_source, toolchain};

/// The dependencies of `taper` whose types a variable of a cell can have. Of packages that a student
/// adds with `:dep`, all dependencies are loaded.
pub(crate) const SEEN_BELOW_TAPER: [&str; 4] = ["candle-core", "candle-nn", "half", "taper-macros"];

/// Rust's library, each crate with those before it.
const LIBRARY: [&str; 3] = ["core", "alloc", "std"];

/// All packages that a cell can see, and the options for which they are compiled.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// Each with the crates on which it depends before it.
    pub(super) crates: Vec<Crate>,
    /// What the cells' crate can name, with the place in `crates`.
    pub(super) named: Vec<(String, usize)>,
    /// Lines such as `unix` and `target_os="linux"`.
    pub(super) options: Vec<String>,
    /// The release of Rust, such as `1.95.0`: what is unstable in it is not proposed.
    pub(super) release: String,
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
        let mut packages = Packages {
            options: options().unwrap_or_default(),
            release: toolchain::release().unwrap_or_default().to_owned(),
            ..Packages::default()
        };
        if let Ok(folder) = library_source::find() {
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

/// What cargo says about packages and their dependencies.
struct Graph<'a> {
    packages: HashMap<&'a PackageId, &'a Listed>,
    nodes: HashMap<&'a PackageId, &'a Node>,
}

/// Asks rustc for which options packages are compiled.
fn options() -> Option<Vec<String>> {
    let rustc = &toolchain::get().ok()?.rustc;
    let output = Command::new(rustc).args(["--print", "cfg"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.lines().map(ToOwned::to_owned).collect())
}
