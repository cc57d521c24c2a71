//! Estimates how long a build will take.
//!
//! A few packages take most of the time, and the last ones wait for each other. So the remaining time
//! depends on two sums: the time of all packages, which the processors share, and the time of the
//! longest chain of dependencies, whose packages are compiled one after the other. Both sums are of
//! measured times, scaled by how long the finished packages took on this machine.

use cargo_metadata::{Artifact, Metadata, PackageId, TargetKind};
use std::collections::HashMap;
use std::time::Duration;

/// The seconds that slow packages take on a machine with two processors.
const MEASURED: [(&str, f64); 12] = [
    ("candle-core", 50.0),
    ("candle-nn", 10.0),
    ("gemm-f32", 6.0),
    ("gemm-f64", 6.0),
    ("png", 3.0),
    ("pulp", 8.0),
    ("rayon", 3.0),
    ("regex-automata", 4.0),
    ("serde_json", 3.0),
    ("syn", 5.0),
    ("taper", 50.0),
    ("tokenizers", 7.0),
];
/// The seconds that any other package takes.
const OTHER: f64 = 0.7;
/// The seconds after the last package: for the first cell, and the list of the files.
const FIRST_CELL: f64 = 5.0;

/// The packages of a build, and which of them are finished.
pub(super) struct Estimate {
    packages: Vec<Package>,
    by_id: HashMap<PackageId, usize>,
    processors: f64,
    /// When the last package was finished.
    last: Duration,
}

struct Package {
    seconds: f64,
    /// The indices of its dependencies.
    needs: Vec<usize>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Left,
    /// Compiled by this build.
    Compiled,
    /// Compiled by an earlier build.
    Fresh,
}

impl Estimate {
    /// Creates an estimate for the packages that cargo lists.
    pub(super) fn new(metadata: &Metadata) -> Estimate {
        let names = metadata.packages.iter();
        let names: HashMap<&PackageId, &str> = names
            .map(|package| (&package.id, package.name.as_str()))
            .collect();
        let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
        Estimate::of(nodes.map(|node| {
            let name = names.get(&node.id).copied().unwrap_or_default();
            (&node.id, name, node.dependencies.as_slice())
        }))
    }

    fn of<'a>(
        packages: impl Iterator<Item = (&'a PackageId, &'a str, &'a [PackageId])> + Clone,
    ) -> Estimate {
        let ids = packages.clone().map(|(id, ..)| id.clone());
        let by_id: HashMap<PackageId, usize> = ids.zip(0..).collect();
        let packages = packages.map(|(_, name, needs)| {
            let measured = MEASURED.iter().find(|(measured, _)| *measured == name);
            Package {
                seconds: measured.map_or(OTHER, |(_, seconds)| *seconds),
                needs: needs
                    .iter()
                    .filter_map(|id| by_id.get(id).copied())
                    .collect(),
                state: State::Left,
            }
        });
        Estimate {
            packages: packages.collect(),
            processors: std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64),
            by_id,
            last: Duration::ZERO,
        }
    }

    /// Records that cargo has finished an artifact.
    pub(super) fn finished(&mut self, artifact: &Artifact, elapsed: Duration) {
        // The library of a package with a build script follows.
        if !artifact.target.kind.contains(&TargetKind::CustomBuild) {
            self.finish(&artifact.package_id, artifact.fresh, elapsed);
        }
    }

    fn finish(&mut self, package: &PackageId, is_fresh: bool, elapsed: Duration) {
        if let Some(&at) = self.by_id.get(package) {
            self.packages[at].state = match is_fresh {
                true => State::Fresh,
                false => State::Compiled,
            };
            self.last = elapsed;
        }
    }

    /// Returns the estimated time until the build has ended.
    pub(super) fn remaining(&self, elapsed: Duration) -> Option<Duration> {
        let all = self.seconds(|state| state != State::Fresh);
        let left = self.seconds(|state| state == State::Left);
        let done = all - left;
        if elapsed < Duration::from_secs(5) || done <= 0.0 {
            return None;
        }
        let slowness = (self.last.as_secs_f64() / done).clamp(0.1, 20.0);
        let since = elapsed.saturating_sub(self.last).as_secs_f64();
        // The current packages may be nearly done, but they are not done.
        let left = (left * slowness - since).max(left * slowness / 10.0);
        Some(Duration::from_secs_f64(left))
    }

    /// Predicts how long the packages in the counted states take on this machine's processors, at the
    /// measured speed.
    fn seconds(&self, is_counted: impl Fn(State) -> bool) -> f64 {
        let of = |package: &Package| match is_counted(package.state) {
            true => package.seconds,
            false => 0.0,
        };
        let work: f64 = self.packages.iter().map(of).sum();
        let mut chains = vec![None; self.packages.len()];
        let longest = (0..self.packages.len())
            .map(|at| self.chain(at, &of, &mut chains))
            .fold(0.0, f64::max);
        // Graham's bound: one processor follows the chain, and all share the rest.
        longest + (work - longest) / self.processors + FIRST_CELL
    }

    /// Returns the time of the longest chain of dependencies that ends with a package.
    fn chain(&self, at: usize, of: &dyn Fn(&Package) -> f64, chains: &mut [Option<f64>]) -> f64 {
        if let Some(known) = chains[at] {
            return known;
        }
        let package = &self.packages[at];
        // Development dependencies may form a circle.
        chains[at] = Some(0.0);
        let needed = package
            .needs
            .iter()
            .map(|&needed| self.chain(needed, of, chains));
        let longest = needed.fold(0.0, f64::max) + of(package);
        chains[at] = Some(longest);
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> PackageId {
        PackageId {
            repr: name.to_owned(),
        }
    }

    /// Returns the estimate of thirty packages without dependencies and two that need all of them, of
    /// which the last takes long.
    fn estimate() -> Estimate {
        let leaves: Vec<PackageId> = (0..30).map(|n| id(&format!("leaf{n}"))).collect();
        let last = [id("middle"), id("taper")];
        let packages = leaves.iter().map(|id| (id, id.repr.as_str(), &[][..]));
        let packages = packages.chain([
            (&last[0], "middle", &leaves[..]),
            (&last[1], "taper", &last[..1]),
        ]);
        Estimate {
            processors: 2.0,
            ..Estimate::of(packages)
        }
    }

    #[test]
    fn a_long_last_package_is_part_of_the_estimate_on_a_slow_and_a_fast_machine() {
        let seconds = Duration::from_secs_f64;
        for slowness in [0.5, 1.0, 4.0] {
            let mut estimate = estimate();
            let taper = estimate.packages.last().expect("the last package").seconds;
            let all = slowness * (30.0 * OTHER / 2.0 + OTHER + taper + FIRST_CELL);
            let check = |estimate: &Estimate, elapsed: f64| {
                let Some(remaining) = estimate.remaining(seconds(elapsed)) else {
                    assert!(elapsed < 5.0, "no estimate after {elapsed} s");
                    return;
                };
                let ratio = remaining.as_secs_f64() / (all - elapsed);
                assert!(
                    (0.5..2.0).contains(&ratio),
                    "after {elapsed} of {all} s: {ratio}"
                );
            };
            for n in 0..30 {
                let elapsed = slowness * (n / 2 + 1) as f64 * OTHER;
                estimate.finish(&id(&format!("leaf{n}")), false, seconds(elapsed));
                check(&estimate, elapsed);
            }
            let middle = slowness * (15.0 * OTHER + OTHER);
            estimate.finish(&id("middle"), false, seconds(middle));
            check(&estimate, middle);
            check(&estimate, middle + slowness * taper / 2.0);
            estimate.finish(&id("taper"), false, seconds(middle + slowness * taper));
            check(&estimate, middle + slowness * taper);
        }
    }

    #[test]
    fn packages_that_were_there_before_are_no_sign_of_speed() {
        let mut estimate = estimate();
        for n in 0..30 {
            estimate.finish(&id(&format!("leaf{n}")), true, Duration::from_millis(10));
        }
        assert_eq!(estimate.remaining(Duration::from_secs(10)), None);
        let middle = Duration::from_secs(6);
        estimate.finish(&id("middle"), false, middle);
        let remaining = estimate.remaining(middle).expect("something is compiled");
        assert!(remaining > Duration::from_secs(60), "{remaining:?}");
    }
}
