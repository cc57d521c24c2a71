//! The layers: which crate may use which, and no cycles of files or rooms inside a crate.
//!
//! A *room* is a top-level module of a crate. The check reads names: it does not see methods of values
//! or the expansion of macros. It leaves out code that is only compiled for tests.

mod graph;
mod invented;
mod resolve;
mod sources;

use cargo_metadata::{Metadata, MetadataCommand, TargetKind};
use graph::Arrows;
use sources::Sources;
use std::path::Path;
use std::sync::LazyLock;

/// Each crate with its direct dependencies; it may use their dependencies as well.
const CRATES: &[(&str, &[&str])] = &[
    (
        "taper-cli",
        &["taper-book", "taper-session", "taper-kernel"],
    ),
    ("taper-book", &["taper-notebook"]),
    ("taper-notebook", &["taper-evaluator", "taper-rust-cell"]),
    ("taper-kernel", &["taper-evaluator"]),
    ("taper-session", &["taper-engine"]),
    ("taper-engine", &["taper-evaluator", "taper-rust-cell"]),
    ("taper-evaluator", &["taper-host"]),
    ("taper-host", &[]),
    ("taper-rust-cell", &[]),
    ("taper", &["taper-macros"]),
    ("taper-macros", &[]),
    // Packages for tests only.
    ("taper-tests", &[]),
    ("stock-evcxr-jupyter", &[]),
];

/// Rooms of the crate `taper`, lower ones first: none may use a room that follows it.
const ROOMS: &[&[&str]] = &[
    &["tensor", "ops", "nn", "optim", "train", "tensorboard"],
    &["device", "ops", "nn", "optim", "train", "bench"],
    &["tensor", "data", "train"],
    &["nn", "text"],
    &["data", "text"],
    &["notebook", "text"],
    &["notebook", "plot", "train"],
];

static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo lists the workspace")
});

/// The arrows between the files of each library and program, by the package's name.
static FILES: LazyLock<Vec<(String, Arrows)>> = LazyLock::new(|| {
    let targets: Vec<(String, &Path)> = METADATA
        .packages
        .iter()
        .flat_map(|package| package.targets.iter().map(move |target| (package, target)))
        .filter(|(_, target)| !target.kind.iter().any(is_outside_the_crate))
        .map(|(package, target)| (package.name.to_string(), target.src_path.as_std_path()))
        .collect();
    std::thread::scope(|scope| {
        let readers: Vec<_> = targets
            .into_iter()
            .map(|(name, root)| scope.spawn(move || (name, arrows_below(root))))
            .collect();
        readers
            .into_iter()
            .map(|reader| reader.join().expect("the sources are read"))
            .collect()
    })
});

fn is_outside_the_crate(kind: &TargetKind) -> bool {
    matches!(
        kind,
        TargetKind::Test | TargetKind::Example | TargetKind::Bench | TargetKind::CustomBuild
    )
}

fn arrows_below(root: &Path) -> Arrows {
    let folder = root.parent().expect("a source file is in a folder");
    let name = root.file_name().expect("a source file has a name");
    let read = |path: &Path| std::fs::read_to_string(folder.join(path)).ok();
    resolve::arrows(&Sources::read(&name.to_string_lossy(), &read))
}

#[test]
fn crates_use_only_what_is_below_them() {
    let packages: Vec<(&str, Vec<&str>)> = METADATA
        .packages
        .iter()
        .map(|package| {
            let names = package.dependencies.iter().map(|used| used.name.as_str());
            (package.name.as_str(), names.collect())
        })
        .collect();
    let wrong = wrong_crates(&packages);
    assert!(
        wrong.is_empty(),
        "the workspace's crates do not have the layers of CRATES in tests/structure/main.rs:\n{}\n\
         Move what both need into a crate below them, or let the crate above pass it as an argument.",
        wrong.join("\n")
    );
}

/// Compares the workspace's packages and what each depends on with `CRATES`.
fn wrong_crates(packages: &[(&str, Vec<&str>)]) -> Vec<String> {
    let listed = |name: &str| CRATES.iter().any(|(known, _)| *known == name);
    let mut wrong: Vec<String> = CRATES
        .iter()
        .filter(|(known, _)| packages.iter().all(|(name, _)| name != known))
        .map(|(known, _)| format!("  {known}: no such package in the workspace"))
        .collect();
    for (name, used) in packages {
        if !listed(name) {
            wrong.push(format!(
                "  {name}: not in the list: add it with its dependencies"
            ));
            continue;
        }
        let is_wrong = |used: &&&str| listed(used) && !is_below(used, name);
        for used in used.iter().filter(is_wrong) {
            wrong.push(format!("  {name} -> {used}: {used} is not below {name}"));
        }
    }
    wrong
}

fn is_below(used: &str, name: &str) -> bool {
    CRATES
        .iter()
        .filter(|(known, _)| *known == name)
        .flat_map(|(_, below)| below.iter())
        .any(|below| *below == used || is_below(used, below))
}

#[test]
fn no_cycle_of_files() {
    let cycles: String = FILES
        .iter()
        .map(|(name, files)| graph::describe_cycles(name, "files", files))
        .collect();
    assert!(
        cycles.is_empty(),
        "{cycles}\nFile -> file: the names that the first takes from the second. Files of a cycle can only be \
         understood and changed together.\nMove what both need into a file below them, or pass it as an argument."
    );
}

#[test]
fn no_cycle_of_rooms() {
    let cycles: String = FILES
        .iter()
        .map(|(name, files)| graph::describe_cycles(name, "rooms", &graph::rooms(files)))
        .collect();
    assert!(
        cycles.is_empty(),
        "{cycles}\nRoom -> room: the names that the first takes from the second. A room is a top-level module.\n\
         Move what both need into a room below them, or pass it as an argument."
    );
}

#[test]
fn rooms_of_taper_use_only_what_is_below_them() {
    let (_, files) = FILES
        .iter()
        .find(|(name, _)| name == "taper")
        .expect("the workspace has the package `taper`");
    let upward = graph::upward(ROOMS, &graph::rooms(files));
    assert!(
        upward.is_empty(),
        "rooms of src/ use rooms above them (ROOMS in tests/structure/main.rs):\n{upward}\n\
         Move what both need into the lower room, or pass it as an argument."
    );
}
