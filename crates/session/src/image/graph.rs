//! Which package depends on which, as cargo has resolved them.

use crate::error::{Error, Result};
use cargo_metadata::{DependencyKind, Metadata, Node, Package, PackageId, TargetKind};
use std::collections::{BTreeSet, HashMap};

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
                .ok_or(Error::NoPackages)?,
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
            .filter(|used| used.name != "taper")
            .map(|used| &used.pkg)
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
    pub(super) fn below_taper(&self) -> HashMap<PackageId, BTreeSet<String>> {
        let taper = self.root.deps.iter().filter(|used| used.name == "taper");
        let reached = self.reached(taper.map(|used| &used.pkg));
        self.features(reached.into_keys())
    }

    /// Returns the features of packages.
    pub(super) fn features<'b>(
        &self,
        of: impl Iterator<Item = &'b PackageId>,
    ) -> HashMap<PackageId, BTreeSet<String>> {
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
    pub(super) fn grown(
        &self,
        compiled: &HashMap<PackageId, BTreeSet<String>>,
    ) -> BTreeSet<&'a PackageId> {
        let now = self.below_taper();
        let is_grown = |id: &&PackageId| {
            let features = now.get(*id);
            features.is_some() && features != compiled.get(*id)
        };
        self.nodes.keys().copied().filter(is_grown).collect()
    }
}
