//! No cycles of rooms inside a crate, and the order of the library's rooms. Between crates, cargo allows none.
//!
//! A *room* is a top-level module of a crate.

mod rooms;

use cargo_metadata::{MetadataCommand, TargetKind};

/// Rooms of the crate `taper`, lower ones first: none may use a room that follows it.
const ORDERS: &[&[&str]] = &[
    &["tensor", "ops", "nn", "optim", "train", "tensorboard"],
    &["device", "ops", "nn", "optim", "train", "bench"],
    &["tensor", "data", "train"],
    &["nn", "text"],
    &["data", "text"],
    &["notebook", "text"],
    &["notebook", "plot", "train"],
];

#[test]
fn rooms_use_only_what_is_below_them() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo lists the workspace");
    let mut wrong = Vec::new();
    let mut arrows_read = 0;
    for package in &metadata.packages {
        let is_crate = |kind: &TargetKind| {
            matches!(kind, TargetKind::Lib | TargetKind::Bin | TargetKind::DyLib)
        };
        let targets = package.targets.iter();
        for target in targets.filter(|target| target.kind.iter().any(is_crate)) {
            let arrows = rooms::arrows(target.src_path.as_std_path());
            let cycle = rooms::cycles(&arrows);
            for (from, used) in &arrows {
                arrows_read += used.len();
                for (to, file) in used {
                    let is_upward = package.name.as_str() == "taper" && is_upward(from, to);
                    if is_upward || cycle.contains(from) && cycle.contains(to) {
                        wrong.push(format!(
                            "{}: {from} -> {to} in {}",
                            package.name,
                            file.display()
                        ));
                    }
                }
            }
        }
    }
    assert!(arrows_read > 300, "only {arrows_read} arrows are read");
    assert!(
        wrong.is_empty(),
        "rooms use each other, or the library's use a room above them (ORDERS in tests/structure/main.rs):\n{}\n\
         Move what both need into a room below them, or pass it as an argument.",
        wrong.join("\n")
    );
}

fn is_upward(from: &str, to: &str) -> bool {
    ORDERS.iter().any(|order| {
        let place = |room: &str| order.iter().position(|&other| other == room);
        matches!((place(from), place(to)), (Some(low), Some(high)) if low < high)
    })
}
