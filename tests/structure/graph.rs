//! The graph of which file uses which, and its cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Maps (user, used) to the names that the first takes from the second.
pub(crate) type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Returns the strongly connected components that have more than one node.
pub(crate) fn cycles(arrows: &Arrows) -> Vec<BTreeSet<&str>> {
    let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        used.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = used
        .keys()
        .map(|&from| (from, reachable(from, &used)))
        .collect();
    let mut cycles: Vec<BTreeSet<&str>> = Vec::new();
    for (&from, ahead) in &reached {
        let both_ways: BTreeSet<&str> = ahead
            .iter()
            .copied()
            .filter(|to| reached.get(to).is_some_and(|back| back.contains(from)))
            .collect();
        if both_ways.len() > 1 && !cycles.contains(&both_ways) {
            cycles.push(both_ways);
        }
    }
    cycles
}

fn reachable<'a>(start: &'a str, used: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for &next in used.get(node).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Lists each cycle with its arrows; empty without cycles.
pub(crate) fn describe_cycles(owner: &str, kind: &str, arrows: &Arrows) -> String {
    let mut text = String::new();
    for cycle in cycles(arrows) {
        writeln!(text, "{owner}: {} {kind} use each other:", cycle.len()).unwrap();
        for ((from, to), names) in arrows {
            if from != to && cycle.contains(from.as_str()) && cycle.contains(to.as_str()) {
                writeln!(text, "  {from} -> {to}: {}", join(names)).unwrap();
            }
        }
    }
    text
}

/// Contracts files to the rooms (top-level modules) that hold them.
pub(crate) fn rooms(files: &Arrows) -> Arrows {
    let mut rooms = Arrows::new();
    for ((from, to), names) in files {
        let (user, used) = (room(from), room(to));
        if user != used {
            rooms
                .entry((user.to_owned(), used.to_owned()))
                .or_default()
                .insert(format!("{} ({from} -> {to})", join(names)));
        }
    }
    rooms
}

/// Returns `nn` for `nn/linear.rs`, `nn/mod.rs` and `nn.rs`.
fn room(file: &str) -> &str {
    let top = file.split('/').next().unwrap_or(file);
    top.strip_suffix(".rs").unwrap_or(top)
}

/// Lists the arrows from a room to a room that follows it in one of the orders.
pub(crate) fn upward(orders: &[&[&str]], rooms: &Arrows) -> String {
    let mut text = String::new();
    for ((from, to), names) in rooms {
        let is_upward = orders.iter().any(|order| {
            let place = |room: &str| order.iter().position(|&other| other == room);
            matches!((place(from), place(to)), (Some(low), Some(high)) if low < high)
        });
        if is_upward {
            writeln!(text, "  {from} -> {to}: {}", join(names)).unwrap();
        }
    }
    text
}

fn join(names: &BTreeSet<String>) -> String {
    names
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
