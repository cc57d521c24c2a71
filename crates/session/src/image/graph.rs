//! Which package depends on which, as cargo has resolved them.

use super::artifacts::TAPER;
use super::key::NO_PACKAGES;
use anyhow::{Context, Result};
use cargo_metadata::{Dependency, DependencyKind, Metadata, Node, Package, PackageId, TargetKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Features by package.
pub(super) type Features = HashMap<PackageId, BTreeSet<String>>;

/// For what a package is compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// For cells.
    pub(super) target: bool,
    /// For build scripts and macros.
    pub(super) host: bool,
}

/// The packages of a session.
pub(super) struct Graph<'a> {
    nodes: HashMap<&'a PackageId, &'a Node>,
    packages: HashMap<&'a PackageId, &'a Package>,
    root: &'a Node,
}

impl<'a> Graph<'a> {
    pub(super) fn of(metadata: &'a Metadata) -> Result<Graph<'a>> {
        let resolve = metadata.resolve.as_ref();
        let nodes = resolve.into_iter().flat_map(|resolve| &resolve.nodes);
        let nodes: HashMap<_, _> = nodes.map(|node| (&node.id, node)).collect();
        let root = resolve.and_then(|resolve| resolve.root.as_ref());
        Ok(Graph {
            root: root
                .and_then(|root| nodes.get(root).copied())
                .context(NO_PACKAGES)?,
            packages: metadata.packages.iter().map(|it| (&it.id, it)).collect(),
            nodes,
        })
    }

    pub(super) fn name(&self, id: &PackageId) -> &'a str {
        self.packages.get(id).map_or("", |package| &package.name)
    }

    /// Returns the name and the version of a package of a registry.
    pub(super) fn registered(&self, id: &PackageId) -> Option<(&'a str, String)> {
        let package = self.packages.get(id)?;
        let is_registered = package.source.as_ref()?.repr.starts_with("registry+")
            || package.source.as_ref()?.repr.starts_with("sparse+");
        is_registered.then(|| (&**package.name, package.version.to_string()))
    }

    /// Returns the names by which cells know packages.
    pub(super) fn named(&self) -> Vec<(String, PackageId)> {
        let named = self.root.deps.iter();
        named
            .map(|used| (used.name.clone(), used.pkg.clone()))
            .collect()
    }

    /// Returns the packages that were added.
    pub(super) fn added(&self) -> impl Iterator<Item = &'a PackageId> {
        let named = self.root.deps.iter();
        named
            .filter(|used| used.name != TAPER)
            .map(|used| &used.pkg)
    }

    /// Returns how the user has declared a package, in words that change with it.
    pub(super) fn declared(&self, id: &PackageId) -> String {
        let all = self.dependencies().filter(|it| it.name == self.name(id));
        let all = all.map(|it| (&it.req, &it.features, it.uses_default_features));
        format!("{:?}", all.collect::<Vec<_>>())
    }

    /// Returns a package that the user has declared and that cells cannot name, such as a program.
    pub(super) fn without_library(&self) -> Option<&'a str> {
        let named: BTreeSet<&str> = self.root.deps.iter().map(|it| self.name(&it.pkg)).collect();
        let mut declared = self.dependencies().filter(|it| !it.optional);
        let other = declared.find(|it| !named.contains(it.name.as_str()))?;
        Some(&other.name)
    }

    fn dependencies(&self) -> impl Iterator<Item = &'a Dependency> {
        let root = self.packages.get(&self.root.id);
        root.into_iter().flat_map(|root| &root.dependencies)
    }

    /// Returns `taper`.
    pub(super) fn taper(&self) -> Option<&'a PackageId> {
        let mut named = self.root.deps.iter();
        let taper = named.find(|used| used.name == TAPER);
        taper.map(|used| &used.pkg)
    }

    /// Returns the packages whose files cargo names without a digest: shared libraries in folders. Each comes with a text
    /// that is another one where cargo would write another file of that name.
    pub(super) fn without_digest(
        &self,
        from: impl Iterator<Item = &'a PackageId>,
    ) -> BTreeMap<String, String> {
        let is_shared = |id: &&PackageId| {
            let package = self.packages.get(id).filter(|it| it.source.is_none());
            let targets = package.into_iter().flat_map(|it| &it.targets);
            let mut kinds = targets.flat_map(|target| &target.kind);
            kinds.any(|kind| matches!(kind, TargetKind::DyLib | TargetKind::CDyLib))
        };
        let shared = self.reached(from).into_keys().filter(is_shared);
        let described = shared.map(|id| {
            let all = self.reached(std::iter::once(id)).into_keys();
            let features: BTreeMap<PackageId, _> = self.features(all).into_iter().collect();
            (self.name(id).to_owned(), format!("{id} {features:?}"))
        });
        described.collect()
    }

    /// Returns packages with all that they need.
    pub(super) fn reached(
        &self,
        from: impl Iterator<Item = &'a PackageId>,
    ) -> HashMap<&'a PackageId, Place> {
        let mut found: HashMap<&PackageId, Place> = HashMap::new();
        let mut left: Vec<(&PackageId, bool)> = from.map(|id| (id, false)).collect();
        while let Some((id, is_host)) = left.pop() {
            let place = found.entry(id).or_default();
            let is_known = std::mem::replace(
                match is_host {
                    true => &mut place.host,
                    false => &mut place.target,
                },
                true,
            );
            let Some(node) = self.nodes.get(id).filter(|_| !is_known) else {
                continue;
            };
            let is_host = is_host || self.is_macro(id);
            for used in &node.deps {
                let kinds = used.dep_kinds.iter().map(|it| it.kind);
                let kinds = kinds.filter(|kind| *kind != DependencyKind::Development);
                left.extend(
                    kinds.map(|kind| (&used.pkg, is_host || kind == DependencyKind::Build)),
                );
            }
        }
        found
    }

    fn is_macro(&self, id: &PackageId) -> bool {
        let targets = self.packages.get(id).into_iter().flat_map(|it| &it.targets);
        targets
            .flat_map(|target| &target.kind)
            .any(|kind| *kind == TargetKind::ProcMacro)
    }

    /// Returns `taper` and all that it needs, with their features.
    pub(super) fn below_taper(&self) -> Features {
        let reached = self.reached(self.taper().into_iter());
        self.features(reached.into_keys())
    }

    /// Returns the features of packages.
    pub(super) fn features<'b>(&self, of: impl Iterator<Item = &'b PackageId>) -> Features {
        let features = |id: &PackageId| {
            let features = self
                .nodes
                .get(id)
                .into_iter()
                .flat_map(|node| &node.features);
            features.map(ToString::to_string).collect()
        };
        of.map(|id| (id.clone(), features(id))).collect()
    }

    /// Returns the packages below `taper` that are not as they were compiled.
    pub(super) fn grown(&self, compiled: &Features) -> BTreeSet<&'a PackageId> {
        let now = self.below_taper();
        let is_grown = |id: &&PackageId| {
            let features = now.get(*id);
            features.is_some() && features != compiled.get(*id)
        };
        self.nodes.keys().copied().filter(is_grown).collect()
    }
}
