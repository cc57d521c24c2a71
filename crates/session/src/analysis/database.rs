//! Loads the sources of packages into rust-analyzer's database.

use super::packages::{Crate, Packages};
use ra_ap_hir::{CfgAtom, CfgOptions, ChangeWithProcMacros, Symbol};
use ra_ap_ide_db::base_db::{
    AbsPathBuf, CrateBuilderId, CrateDisplayName, CrateGraphBuilder, CrateName, CrateOrigin,
    CrateWorkspaceData, DependencyBuilder, Env, FileId, FileSet, LangCrateOrigin, SourceRoot,
    Version, VfsPath,
};
use ra_ap_ide_db::{FilePosition, RootDatabase};
use ra_ap_syntax::Edition;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The crate of the cells.
pub(super) const CELLS: &str = "cells";

/// What rust-analyzer knows.
pub(super) struct Database {
    pub(super) db: RootDatabase,
    /// The source in which a cell is.
    file: FileId,
}

impl Database {
    /// Loads packages. Only the source of a cell is local: rust-analyzer does not ask whether what it knows about
    /// a library still holds.
    pub(super) fn load(packages: &Packages) -> Database {
        let file = FileId::from_raw(0);
        let mut cells = FileSet::default();
        cells.insert(file, VfsPath::new_virtual_path("/cells.rs".to_owned()));
        let mut sources = Sources::default();
        for it in &packages.crates {
            sources.add(it.root.parent().unwrap_or(&it.root));
        }
        let mut change = ChangeWithProcMacros::default();
        change.set_roots(vec![
            SourceRoot::new_local(cells),
            SourceRoot::new_library(sources.set),
        ]);
        change.change_file(file, Some(String::new()));
        for (file, text) in sources.texts {
            change.change_file(file, Some(text));
        }
        change.set_crate_graph(graph(packages, file, &sources.files));
        let mut db = RootDatabase::new(None);
        db.apply_change(change);
        Database { db, file }
    }

    /// Sets the source, and returns a position in it.
    pub(super) fn set(&mut self, text: &str, offset: usize) -> FilePosition {
        let mut change = ChangeWithProcMacros::default();
        change.change_file(self.file, Some(text.to_owned()));
        self.db.apply_change(change);
        FilePosition {
            file_id: self.file,
            offset: u32::try_from(offset).unwrap_or(u32::MAX).into(),
        }
    }
}

/// The files of all packages.
#[derive(Default)]
struct Sources {
    set: FileSet,
    files: HashMap<PathBuf, FileId>,
    texts: Vec<(FileId, String)>,
}

impl Sources {
    /// Adds the sources in a folder and in its folders.
    fn add(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.add(&path);
            } else if path.extension().is_some_and(|it| it == "rs")
                && !self.files.contains_key(&path)
                && let Ok(text) = std::fs::read_to_string(&path)
                && let Some(name) = path.to_str()
            {
                // The first one contains the cells.
                let file = FileId::from_raw(self.texts.len() as u32 + 1);
                self.set
                    .insert(file, VfsPath::new_real_path(name.to_owned()));
                self.texts.push((file, text));
                self.files.insert(path, file);
            }
        }
    }
}

/// Returns the crates. The last one contains the cells.
fn graph(
    packages: &Packages,
    cells: FileId,
    files: &HashMap<PathBuf, FileId>,
) -> CrateGraphBuilder {
    let mut graph = CrateGraphBuilder::default();
    let mut ids: Vec<Option<CrateBuilderId>> = Vec::new();
    for it in &packages.crates {
        let id = files.get(&it.root).map(|file| {
            let id = add(&mut graph, it, *file, packages);
            link(&mut graph, id, packages, &it.dependencies, &ids);
            id
        });
        ids.push(id);
    }
    let own = Crate {
        name: CELLS.to_owned(),
        root: PathBuf::new(),
        edition: "2024".to_owned(),
        features: Vec::new(),
        dependencies: Vec::new(),
        is_proc_macro: false,
        is_of_rust: false,
    };
    let own = add(&mut graph, &own, cells, packages);
    link(&mut graph, own, packages, &packages.named, &ids);
    graph
}

fn add(
    graph: &mut CrateGraphBuilder,
    package: &Crate,
    file: FileId,
    all: &Packages,
) -> CrateBuilderId {
    let mut enabled = CfgOptions::default();
    enabled.extend(all.options.iter().map(|option| atom(option)));
    let features = package.features.iter();
    enabled.extend(features.map(|feature| atom(&format!("feature=\"{feature}\""))));
    let name = Symbol::intern(&package.name);
    let origin = match package.is_of_rust {
        true => CrateOrigin::Lang(LangCrateOrigin::from(&*package.name)),
        false if package.root.as_os_str().is_empty() => CrateOrigin::Local {
            repo: None,
            name: Some(name),
        },
        false => CrateOrigin::Library { repo: None, name },
    };
    let folder = AbsPathBuf::try_from("/").expect("it is absolute");
    graph.add_crate_root(
        file,
        package.edition.parse().unwrap_or(Edition::CURRENT),
        Some(CrateDisplayName::from_canonical_name(&package.name)),
        None,
        enabled,
        None,
        Env::default(),
        origin,
        Vec::new(),
        package.is_proc_macro,
        folder.into(),
        CrateWorkspaceData {
            target: Err("not asked for".into()),
            toolchain: Version::parse(&all.release).ok(),
        }
        .into(),
    )
}

/// Adds its dependencies to a crate, and Rust's library.
fn link(
    graph: &mut CrateGraphBuilder,
    from: CrateBuilderId,
    packages: &Packages,
    dependencies: &[(String, usize)],
    ids: &[Option<CrateBuilderId>],
) {
    let mut add = |name: &str, to: CrateBuilderId, is_of_rust| {
        let name = CrateName::normalize_dashes(name);
        let dependency = DependencyBuilder::with_prelude(name, to, true, is_of_rust);
        // Cargo's graph has no cycles.
        let _ = graph.add_dep(from, dependency);
    };
    for (it, to) in packages.crates.iter().zip(ids) {
        if let (true, Some(to)) = (it.is_of_rust && *to != Some(from), to) {
            add(&it.name, *to, true);
        }
    }
    for (name, place) in dependencies {
        let of_rust = packages.crates[*place].is_of_rust;
        if let (false, Some(Some(to))) = (of_rust, ids.get(*place)) {
            add(name, *to, false);
        }
    }
}

/// Returns a line such as `unix` or `target_os="linux"` as an option.
fn atom(option: &str) -> CfgAtom {
    match option.split_once('=') {
        Some((key, value)) => CfgAtom::KeyValue {
            key: Symbol::intern(key),
            value: Symbol::intern(value.trim_matches('"')),
        },
        None => CfgAtom::Flag(Symbol::intern(option)),
    }
}
