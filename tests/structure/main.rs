//! No cycles of rooms inside a crate, and the order of the rooms of `taper` and of its kernels. Between crates, cargo allows
//! none.
//!
//! A *room* is a top-level module of a crate.

mod rooms;

use cargo_metadata::{MetadataCommand, TargetKind};

/// Rooms of a crate, lower ones first: none may use a room that follows it.
const ORDERS: &[(&str, &[&str])] = &[
    (
        "taper-tensor",
        &["erased", "error", "device", "tensor", "ops", "testing"],
    ),
    ("taper-display", &["image", "plot"]),
    ("taper-display", &["notebook", "plot"]),
    ("taper-nn", &["nn", "optim"]),
    ("taper-train", &["train", "tensorboard"]),
    (
        "taper-compute",
        &["simd", "scratch", "threads", "write", "lines", "gemm"],
    ),
    (
        "taper-compute",
        &["shared_slice", "threads", "sums", "reduce", "batch_norm"],
    ),
    ("taper-compute", &["sums", "microkernel", "gemm", "conv2d"]),
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
                    let is_upward = is_upward(&package.name, from, to);
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
        "rooms use each other, or one above them (ORDERS in tests/structure/main.rs):\n{}\n\
         Move what both need into a room below them, or pass it as an argument.",
        wrong.join("\n")
    );
}

fn is_upward(package: &str, from: &str, to: &str) -> bool {
    let orders = ORDERS.iter().filter(|(name, _)| *name == package);
    orders.map(|(_, order)| order).any(|order| {
        let place = |room: &str| order.iter().position(|&other| other == room);
        matches!((place(from), place(to)), (Some(low), Some(high)) if low < high)
    })
}
