//! The packages of `:dep` lines, compiled beside the image.
//!
//! The manifest in the work directory names `taper` and all packages that were added. cargo resolves it, so the packages
//! have the versions of the image where these fit. But cargo compiles a package once, with all features that anyone
//! enables: a package that enables one more of a dependency of `taper` would make it compile `taper` again. So the
//! packages are the dependencies of another crate, [`beside`], without `taper`. That crate also enables the features that
//! the image has. Then a package that needs no more than these is the compiled one of the image. A package that needs more
//! is compiled a second time, under another name in the same target directory, and only the added packages use it.
//!
//! What was added earlier stays as it is compiled, with its variables, even if a later package enables a feature of
//! a package that it uses: the later package gets a copy of its own. Compiled again is what is declared in another way
//! than before, and what shares types with that, since the user may pass values from the one to the other ([`stale`]).
//!
//! Where a cell passes values of such a package to `taper`, two of it would be two types: see [`SHARED`]. Only then is
//! `taper` compiled again.

use super::added::Added;
use super::artifacts::Artifacts;
use super::beside;
use super::cargo::{about_the_notebook, resolve};
use super::graph::{Features, Graph};
use super::key::NO_PACKAGES;
use super::libraries::metadata_of;
use anyhow::{Context, Error, Result, anyhow, bail};
use cargo_metadata::{Metadata, PackageId};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use taper_host::progress::Progress;

/// The packages whose types the functions of `taper` take and return. The types of these must be the same in all packages;
/// those of `half` matter where the user names it.
const SHARED: [&str; 3] = ["taper", "candle-core", "candle-nn"];
const SHARED_BY_NAME: [&str; 1] = ["half"];

/// The packages of a session.
#[derive(Clone)]
pub(crate) struct Packages {
    work: PathBuf,
    /// `taper` and its dependencies, as they are compiled; `None` until a package is added.
    below_taper: Option<Features>,
    /// Those that were added, as they are compiled.
    added: HashMap<PackageId, Package>,
    /// Where rustc finds what they and the image use.
    search: BTreeSet<OsString>,
}

/// A package that was added.
#[derive(Clone)]
struct Package {
    files: Vec<PathBuf>,
    /// How the user has declared it.
    declared: String,
    /// The features of this package and of all that it needs.
    features: Features,
}

/// What was compiled.
pub(crate) struct Compiled {
    /// The packages that cells can name, `taper` among them, with their files.
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
        Packages {
            work: work.to_owned(),
            below_taper: None,
            added: HashMap::new(),
            search: BTreeSet::new(),
        }
    }

    /// Prepares to add packages to the manifest in the work directory.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        if self.below_taper.is_none() {
            let metadata = metadata_of(&self.work).context(NO_PACKAGES)?;
            self.below_taper = Some(Graph::of(&metadata)?.below_taper());
            let image = Artifacts::read(&self.work)?;
            self.search.extend(image.search(&self.work));
        }
        Ok(())
    }

    /// Compiles the packages of the manifest in the work directory. `has_variables` says whether the user would lose
    /// variables with another `taper`.
    ///
    /// # Errors
    ///
    /// When cargo does not find or compile them, or is stopped; when `taper` would have to be compiled again, which takes
    /// the variables. Then everything stays as it was, except the manifest and the lock file.
    pub(crate) fn compile(
        &mut self,
        has_variables: bool,
        progress: &mut dyn Progress,
    ) -> Result<Compiled> {
        let metadata = resolve(&self.work, progress);
        let metadata = metadata.map_err(|error| about_the_notebook(error, &[&self.work]))?;
        let graph = Graph::of(&metadata)?;
        if let Some(program) = graph.without_library() {
            return Err(not_a_library(program));
        }
        let below = self.below_taper.get_or_insert_default();
        let shared = shared(&graph, below);
        if let Some(package) = shared.filter(|_| has_variables) {
            bail!(
                "{} and all variables would be lost. Nothing was changed. To go on without them, write `:restart` above the line \
                 `:dep` and run the cell again.",
                why_other_taper(package)
            );
        }
        let new = stale(&self.added, &graph, shared.is_some());
        if !new.is_empty() {
            let mut known = below.clone();
            let others = self.added.iter().filter(|(id, _)| !new.contains(id));
            known.extend(others.flat_map(|(_, package)| package.features.clone()));
            let manifest = beside::manifest(&self.work, &graph, &new, &known, shared.is_some())?;
            let wanted = wanted(&metadata, graph.reached(new.iter().copied()).into_keys());
            let without_digest = graph.without_digest(new.iter().copied());
            let image = std::fs::read_link(self.work.join(super::LATER)).unwrap_or_default();
            let folder = Added::of(&image)?;
            let built = folder.build(&manifest, &self.work, &without_digest, &wanted, progress);
            let built = built.map_err(|error| about_the_notebook(error, &folder.folders()))?;
            if shared.is_some() {
                *below = graph.below_taper();
            }
            self.add(&graph, new, &built)?;
        }
        let named = graph.named();
        let tokio = named.iter().find(|(name, _)| name == "tokio");
        let tokio = tokio.and_then(|(_, id)| self.added.get(id)?.features.get(id));
        Ok(Compiled {
            tokio: tokio.cloned(),
            packages: self.named(named)?,
            search: self.search.iter().cloned().collect(),
            shared: shared.map(str::to_owned),
        })
    }

    /// Adds packages that were compiled.
    fn add(&mut self, graph: &Graph, new: BTreeSet<&PackageId>, built: &Artifacts) -> Result<()> {
        for id in new {
            let files = built.files(&id.repr, &self.work)?;
            if files.is_empty() {
                return Err(not_a_library(graph.name(id)));
            }
            let reached = graph.reached(std::iter::once(id));
            let package = Package {
                files,
                declared: graph.declared(id),
                features: graph.features(reached.into_keys()),
            };
            self.added.insert(id.clone(), package);
        }
        self.search.extend(built.search(&self.work));
        Ok(())
    }

    /// Returns what cells can name, with the files.
    fn named(&self, named: Vec<(String, PackageId)>) -> Result<Vec<(String, Vec<PathBuf>)>> {
        let named = named.into_iter().map(|(name, id)| {
            let files = match self.added.get(&id) {
                Some(package) => package.files.clone(),
                None => Artifacts::read(&self.work)?.taper(&self.work)?,
            };
            Ok((name, files))
        });
        named.collect()
    }
}

fn not_a_library(package: &str) -> Error {
    anyhow!(
        "the package `{package}` has no library that Rust code can use. If it is a program, install it with \
         `!cargo install {package}`."
    )
}

/// Returns why a package needs another `taper`, and with it another process for the cells.
fn why_other_taper(package: &str) -> String {
    match package {
        "taper" => "Another Taper would be loaded".to_owned(),
        _ => format!(
            "Taper shares the types of `{package}` with the package, so it would be compiled again"
        ),
    }
}

/// Returns the packages to compile: those that are new or declared in another way, and those that share types with these.
fn stale<'a>(
    compiled: &HashMap<PackageId, Package>,
    graph: &Graph<'a>,
    with_taper: bool,
) -> BTreeSet<&'a PackageId> {
    let declared: BTreeSet<&PackageId> = graph.added().collect();
    // More features do no harm.
    let fits = |id: &PackageId, package: &Package| {
        let now = graph.features(std::iter::once(id));
        let features = now.get(id).zip(package.features.get(id));
        features.is_some_and(|(now, then)| now.is_subset(then))
    };
    let is_current = |id: &PackageId, package: &Package| {
        // The source of a package in a folder may have changed.
        let is_kept = graph.registered(id).is_some();
        is_kept && graph.declared(id) == package.declared && fits(id, package)
    };
    let is_compiled = |id: &PackageId| compiled.get(id).is_some_and(|it| is_current(id, it));
    let mut stale: BTreeSet<&PackageId> = match with_taper {
        true => declared.iter().copied().chain(graph.taper()).collect(),
        false => declared
            .iter()
            .copied()
            .filter(|id| !is_compiled(id))
            .collect(),
    };
    loop {
        let used = graph.reached(stale.iter().copied());
        let is_affected = |id: &&PackageId| {
            let Some(package) = compiled.get(*id) else {
                return false;
            };
            let mut below = graph.reached(std::iter::once(*id)).into_keys();
            let is_shared = |below| used.contains_key(*id) || declared.contains(below);
            below.any(|below| stale.contains(below) || is_shared(below) && !fits(below, package))
        };
        let others = declared.difference(&stale).copied();
        let more: Vec<&PackageId> = others.filter(is_affected).collect();
        if more.is_empty() {
            return stale;
        }
        stale.extend(more);
    }
}

/// Returns the name of a package that is not as `compiled` for `taper`, if its types must be the same for `taper` and for
/// the added packages.
fn shared<'a>(graph: &Graph<'a>, compiled: &Features) -> Option<&'a str> {
    let (now, grown) = (graph.below_taper(), graph.grown(compiled));
    let below = graph.reached(graph.added()).into_keys();
    let below = below.filter(|id| SHARED.contains(&graph.name(id)));
    let by_name = graph
        .added()
        .filter(|id| SHARED_BY_NAME.contains(&graph.name(id)));
    let own = graph.taper().filter(|id| grown.contains(id));
    let is_affected = |id: &&PackageId| {
        let reached = graph.reached(std::iter::once(*id));
        now.contains_key(*id) && grown.iter().any(|grown| reached.contains_key(grown))
    };
    let found = below.chain(by_name).chain(own).find(is_affected);
    found.map(|id| graph.name(id))
}

/// Returns cargo's description with these packages alone.
fn wanted<'a>(metadata: &Metadata, packages: impl Iterator<Item = &'a PackageId>) -> Metadata {
    let packages: BTreeSet<&PackageId> = packages.collect();
    let mut metadata = metadata.clone();
    if let Some(resolve) = &mut metadata.resolve {
        resolve.nodes.retain(|node| packages.contains(&node.id));
    }
    metadata
}
