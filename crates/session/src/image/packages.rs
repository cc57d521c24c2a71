//! The packages of `:dep` lines, compiled beside the image.
//!
//! The manifest in the work directory names `taper` and all packages that were added. cargo resolves it, so the packages
//! have the versions of the image where these fit. But cargo compiles a package once, with all features that anyone
//! enables: a package that enables one more of a dependency of `taper` would make it compile `taper` again. So the
//! packages are the dependencies of another crate, in the folder `beside`, without `taper`. That crate also enables the
//! features that the image has ([`pin`]). Then a package that needs no more than these is the compiled one of the image.
//! A package that needs more is compiled a second time, under another name in the same target directory, and only the
//! added packages use it.
//!
//! What was added earlier stays as it is compiled, with its variables, even if a later package enables a feature of
//! a package that it uses: the later package gets a copy of its own. Only an added package that the later package itself
//! uses is compiled again, since the user may pass values from the one to the other.
//!
//! Where a cell passes values of such a package to `taper`, two of it would be two types: see [`SHARED`]. Only then is
//! `taper` compiled again.
//!
//! What was compiled is kept beside the image for later sessions.

use super::artifacts::{self, Artifacts};
use super::cargo::{build_beside, resolve};
use super::clone;
use super::graph::{Graph, Place};
use super::layout::{self, KEPT};
use super::taken;
use crate::error::{Error, Result};
use cargo_metadata::{Metadata, PackageId};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::cache;
use taper_host::error::Context as _;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// The packages whose types the functions of `taper` take and return. The types of these must be the same in all packages;
/// those of `half` matter where the user names it.
const SHARED: [&str; 3] = ["taper", "candle-core", "candle-nn"];
const SHARED_BY_NAME: [&str; 1] = ["half"];

/// The folder in the work directory with the crate that depends on the packages.
const BESIDE: &str = "beside";

/// Features by package.
type Features = HashMap<PackageId, BTreeSet<String>>;

/// The packages of a session.
pub(crate) struct Packages {
    work: PathBuf,
    /// The folder of the image, which may be another user's.
    image: PathBuf,
    /// Whether cargo would compile the image's packages again, because it has their sources in another folder.
    is_moved: bool,
    /// Where compiled packages are kept.
    kept: Option<PathBuf>,
    /// `taper` and its dependencies, as they are compiled; `None` until a package is added.
    below_taper: Option<Features>,
    groups: Vec<Group>,
    /// Where rustc finds what they and the image use; empty until a package is added.
    search: BTreeSet<OsString>,
}

/// Packages that were added and compiled together.
struct Group {
    added: BTreeSet<PackageId>,
    /// The features of these and of all that they need.
    features: Features,
    /// What cells can name, with the files.
    packages: Vec<(String, Vec<PathBuf>)>,
    /// The features of `tokio`, if it is one of these.
    tokio: Option<BTreeSet<String>>,
}

/// What was compiled.
pub(crate) struct Compiled {
    /// The packages that cells can name, with their files.
    pub(crate) packages: Vec<(String, Vec<PathBuf>)>,
    /// The features of `tokio`, if cells can name it.
    pub(crate) tokio: Option<BTreeSet<String>>,
    /// Where rustc finds what they use: values of its option `-L`.
    pub(crate) search: Vec<OsString>,
    /// The package for which `taper` was compiled again.
    pub(crate) shared: Option<String>,
}

impl Packages {
    /// Returns the packages of a session that has just begun in `work`.
    pub(crate) fn new(work: &Path) -> Packages {
        let image = std::fs::read_link(work.join(super::LATER)).ok();
        let name = image.as_deref().and_then(Path::file_name);
        let images = cache::folder().map(|cache| cache.join("images")).ok();
        Packages {
            is_moved: image.as_deref().is_some_and(taken::is_needed),
            kept: images
                .zip(name)
                .map(|(images, name)| images.join(name).join(KEPT)),
            image: image.unwrap_or_default(),
            work: work.to_owned(),
            below_taper: None,
            groups: Vec::new(),
            search: BTreeSet::new(),
        }
    }

    /// Prepares to add packages to the manifest in the work directory.
    pub(crate) fn prepare(&mut self, progress: &mut dyn Progress) -> Result<()> {
        super::complete(&self.work)?;
        if let Some(kept) = self.kept.as_deref().filter(|kept| kept.exists()) {
            // What is missing is compiled.
            let _lock = Lock::shared(kept)?;
            let library = artifacts::library(&self.work)?;
            let is_wanted = |to: &Path, _: &Path| !to.exists() || self.is_moved && *to != library;
            let _ = copy_new(kept, &self.work, &is_wanted);
        }
        if self.search.is_empty() {
            self.search
                .extend(Artifacts::read(&self.work)?.search(&self.work));
        }
        if self.below_taper.is_none() {
            let metadata = resolve(&self.work, progress)?;
            self.below_taper = Some(Graph::of(&metadata)?.below_taper());
        }
        Ok(())
    }

    /// Compiles the packages of the manifest in the work directory.
    ///
    /// # Errors
    ///
    /// When cargo does not find or compile them, or is stopped.
    pub(crate) fn compile(&mut self, progress: &mut dyn Progress) -> Result<Compiled> {
        let mut metadata = resolve(&self.work, progress)?;
        let graph = Graph::of(&metadata)?;
        let below = self.below_taper.get_or_insert_default();
        let (now, grown) = (graph.below_taper(), graph.grown(below));
        let all = shared(&graph, &grown);
        let with_taper = !all.is_empty();
        let is_affected = |id: &&PackageId| {
            let reached = graph.reached(std::iter::once(*id));
            grown.iter().any(|grown| reached.contains_key(grown))
        };
        let shared = all.into_iter().find(is_affected);
        let shared = shared.map(|id| graph.name(id).to_owned());
        let (added, left) = regroup(std::mem::take(&mut self.groups), &graph, with_taper);
        self.groups = left;
        if added.is_empty() && !with_taper {
            return Ok(self.compiled(shared));
        }
        let mut features: Features = below.clone();
        features.extend(self.groups.iter().flat_map(|group| group.features.clone()));
        let added_ids: BTreeSet<PackageId> = added.iter().map(|id| (*id).clone()).collect();
        let reached = graph.reached(added.into_iter());
        let own = graph.features(reached.keys().copied());
        let manifest = manifest(&self.work, &graph, &added_ids, &features, with_taper)?;
        let beside = self.work.join(BESIDE);
        write_crate(&self.work, &beside, &manifest)?;
        let named = graph.named();
        if !with_taper {
            let left: BTreeSet<_> = reached.into_keys().cloned().collect();
            leave(&mut metadata, &left);
        }
        let prepare = |cargo: &mut Command| {
            if self.is_moved {
                taken::prepare(cargo, &self.image, &self.work);
            }
        };
        let built = build_beside(&self.work, &beside, &metadata, prepare, progress)?;
        if with_taper {
            *below = now;
        }
        let (mut packages, mut tokio) = (Vec::new(), None);
        for (name, id) in named {
            if name == "tokio" {
                tokio = own.get(&id).cloned();
            }
            let files = built.files(&id.repr, &self.work)?;
            if !files.is_empty() {
                packages.push((name, files));
            }
        }
        self.search.extend(built.search(&self.work));
        self.groups.push(Group {
            packages,
            tokio,
            added: added_ids,
            features: own,
        });
        self.keep();
        Ok(self.compiled(shared))
    }

    fn compiled(&self, shared: Option<String>) -> Compiled {
        let packages = self.groups.iter().flat_map(|group| group.packages.clone());
        Compiled {
            packages: packages.collect(),
            tokio: self.groups.iter().find_map(|group| group.tokio.clone()),
            search: self.search.iter().cloned().collect(),
            shared,
        }
    }

    /// Keeps what was compiled for later sessions. Without, they compile it again.
    fn keep(&self) {
        let Some(kept) = &self.kept else { return };
        let image = self.image.join(layout::WORK);
        let is_new = |to: &Path, from: &Path| {
            let below = from.strip_prefix(&self.work).unwrap_or(from);
            let modified = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
            let of_image = image.join(below);
            layout::belongs_to_image(below)
                && (!of_image.exists() || self.is_moved && modified(&of_image) != modified(from))
                && modified(to) != modified(from)
        };
        let keep = || -> Result<()> {
            cache::make(kept)?;
            match Lock::if_free(kept) {
                Some(_lock) => copy_new(&self.work, kept, &is_new),
                None => Ok(()),
            }
        };
        let _ = keep();
    }
}

/// Returns the packages to compile together, which are new or must share types with new ones, and the groups that stay.
fn regroup<'a>(
    mut groups: Vec<Group>,
    graph: &Graph<'a>,
    with_taper: bool,
) -> (BTreeSet<&'a PackageId>, Vec<Group>) {
    // The source of a package in a folder may have changed.
    let is_same = |id: &PackageId, group: &Group| {
        let now = graph.features(std::iter::once(id));
        graph.registered(id).is_some() && now.get(id) == group.features.get(id)
    };
    let is_old = |id: &&PackageId| {
        let mut groups = groups.iter();
        groups.any(|group| group.added.contains(id) && is_same(id, group))
    };
    let mut new: BTreeSet<&PackageId> = graph.added().filter(|id| !is_old(id)).collect();
    loop {
        let reached = graph.reached(new.iter().copied());
        let is_affected = |id: &&PackageId, group: &Group| {
            let below = graph.reached(std::iter::once(*id));
            below.into_keys().any(|below| !is_same(below, group))
        };
        let joins = |group: &Group| {
            let added = graph.added().filter(|id| group.added.contains(id));
            let mut used = added.filter(|id| with_taper || reached.contains_key(id));
            used.any(|id| with_taper || is_affected(&id, group))
        };
        let Some(index) = groups.iter().position(joins) else {
            return (new, groups);
        };
        let joined = groups.remove(index);
        new.extend(graph.added().filter(|id| joined.added.contains(id)));
    }
}

/// Returns the packages whose types must be the same for `taper` and for the added packages.
fn shared<'a>(graph: &Graph<'a>, grown: &BTreeSet<&'a PackageId>) -> Vec<&'a PackageId> {
    let below = graph.reached(graph.added()).into_keys();
    let below = below.filter(|id| SHARED.contains(&graph.name(id)));
    let by_name = graph
        .added()
        .filter(|id| SHARED_BY_NAME.contains(&graph.name(id)));
    let own = grown.iter().copied().filter(|id| graph.name(id) == "taper");
    below.chain(by_name).chain(own).collect()
}

/// Leaves only these packages in cargo's description.
fn leave(metadata: &mut Metadata, left: &BTreeSet<PackageId>) {
    if let Some(resolve) = &mut metadata.resolve {
        resolve.nodes.retain(|node| left.contains(&node.id));
    }
}

/// Returns the manifest of the crate beside.
fn manifest(
    work: &Path,
    graph: &Graph,
    added: &BTreeSet<PackageId>,
    compiled: &Features,
    with_taper: bool,
) -> Result<String> {
    let file = work.join("Cargo.toml");
    let text = std::fs::read_to_string(&file).on_file("read", &file)?;
    let mut manifest: toml::Table = text.parse().map_err(Error::toml("Cargo.toml"))?;
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
    toml::to_string(&manifest).map_err(|error| Error::Cargo {
        advice: "The manifest of the packages cannot be written:".to_owned(),
        output: error.to_string(),
    })
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

fn write_crate(work: &Path, beside: &Path, manifest: &str) -> Result<()> {
    cache::make(&beside.join("src"))?;
    cache::write_atomically(&beside.join("src/lib.rs"), b"")?;
    cache::write_atomically(&beside.join("Cargo.toml"), manifest.as_bytes())?;
    let (from, to) = (work.join("Cargo.lock"), beside.join("Cargo.lock"));
    std::fs::copy(&from, to).on_file("copy", &from)?;
    Ok(())
}

/// Links or copies the files of cargo's target directory in one folder into another, where `is_wanted` returns true for
/// the new path and the old one.
fn copy_new(from: &Path, to: &Path, is_wanted: &dyn Fn(&Path, &Path) -> bool) -> Result<()> {
    fn walk(
        from: &Path,
        to: &Path,
        is_wanted: &dyn Fn(&Path, &Path) -> bool,
    ) -> taper_host::error::Result<()> {
        for entry in std::fs::read_dir(from).on_file("read", from)?.flatten() {
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() == "incremental" => {}
                Ok(kind) if kind.is_dir() => walk(&from, &to, is_wanted)?,
                _ if is_wanted(&to, &from) => {
                    let _ = std::fs::remove_file(&to);
                    clone::file(&from, &to)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
    let target = |folder: &Path| folder.join("target");
    Ok(walk(&target(from), &target(to), is_wanted)?)
}
