//! How long cargo still compiles, estimated from what it has reported.
//!
//! Packages take very different times, and at the end large ones wait for each other. So each package has a weight, the
//! seconds that it took where `weights.py` measured it. The time that finished packages took says how fast this machine is.
//! What is left takes as long as its longest chain of packages, each of which needs the one before, and at least as long as
//! all of it takes on all cores.

use cargo_metadata::{Artifact, Metadata, PackageId};
use std::collections::HashMap;
use std::time::Duration;

/// The seconds that a package takes, by name.
const WEIGHTS: &str = include_str!("weights.txt");

/// The weight of all others.
const SMALL: f64 = 0.5;

/// How many packages are named at the same time.
const NAMED: usize = 3;

/// The weight of finished packages from which the speed of this machine is known well enough.
const ENOUGH: f64 = 10.0;

/// What is known about a compilation.
pub(super) struct Estimate {
    /// Those whose library is not finished.
    left: HashMap<PackageId, Package>,
    /// The weight of those that are finished and were not compiled before, and the seconds that they took.
    weight: f64,
    took: f64,
    cores: f64,
}

struct Package {
    name: String,
    /// As cargo names it when it begins.
    title: String,
    weight: f64,
    needs: Vec<PackageId>,
    started: Option<Duration>,
}

impl Estimate {
    /// Begins with all packages but those with the names in `without`.
    pub(super) fn new(metadata: &Metadata, without: &[&str]) -> Estimate {
        let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let needs: HashMap<_, _> = nodes.map(|node| (&node.id, &node.dependencies)).collect();
        let packages = metadata.packages.iter();
        let packages = packages.filter(|package| !without.contains(&&**package.name));
        let left = packages.filter_map(|package| {
            let needs = needs.get(&package.id)?;
            let known = Package {
                name: package.name.to_string(),
                title: format!("{} v{}", package.name, package.version),
                weight: weight(&package.name),
                needs: needs.to_vec(),
                started: None,
            };
            Some((package.id.clone(), known))
        });
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
        Estimate {
            left: left.collect(),
            weight: 0.0,
            took: 0.0,
            cores: cores as f64,
        }
    }

    /// Notes that cargo begins to compile a package.
    pub(super) fn started(&mut self, title: &str, elapsed: Duration) {
        // Behind the version there may be a path.
        let is_it = |it: &&mut Package| title.strip_prefix(&*it.title).is_some_and(ends_there);
        if let Some(package) = self.left.values_mut().find(is_it) {
            package.started.get_or_insert(elapsed);
        }
    }

    /// Notes that the library of a package is finished.
    pub(super) fn finished(&mut self, artifact: &Artifact, elapsed: Duration) {
        let Some(package) = self.left.remove(&artifact.package_id) else {
            return;
        };
        if let (false, Some(started)) = (artifact.fresh, package.started) {
            self.took += (elapsed - started).as_secs_f64();
            self.weight += package.weight;
        }
    }

    /// Returns the names of the packages that are compiled now, the largest first.
    pub(super) fn now(&self) -> String {
        let mut now: Vec<&Package> = self
            .left
            .values()
            .filter(|it| it.started.is_some())
            .collect();
        now.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.name.cmp(&b.name)));
        // Two versions of a package.
        now.dedup_by(|a, b| a.name == b.name);
        let names = now.iter().map(|package| &*package.name);
        names.take(NAMED).collect::<Vec<&str>>().join(", ")
    }

    /// Returns how long the rest takes, if that can be estimated; zero if what is left should be finished.
    pub(super) fn remaining(&self, elapsed: Duration) -> Option<Duration> {
        if self.weight < ENOUGH {
            return None;
        }
        // How much longer a package takes here than where it was measured.
        let pace = self.took / self.weight;
        let rest = |package: &Package| {
            let took = package
                .started
                .map_or(0.0, |it| (elapsed - it).as_secs_f64());
            (package.weight - took / pace).max(0.0)
        };
        let seconds = self.seconds(rest) * pace;
        Some(Duration::from_secs(seconds.ceil() as u64))
    }

    /// Returns how long what is left takes, where each package takes as many seconds as `of` says.
    fn seconds(&self, of: impl Fn(&Package) -> f64) -> f64 {
        let mut known = HashMap::new();
        let chains = self.left.keys().map(|id| self.chain(id, &of, &mut known));
        let longest = chains.fold(0.0, f64::max);
        let all: f64 = self.left.values().map(&of).sum();
        longest.max(all / self.cores)
    }

    /// Returns the seconds of the longest chain of packages that ends with this one.
    fn chain<'a>(
        &'a self,
        id: &'a PackageId,
        of: &impl Fn(&Package) -> f64,
        known: &mut HashMap<&'a PackageId, f64>,
    ) -> f64 {
        let Some(package) = self.left.get(id) else {
            return 0.0;
        };
        if let Some(seconds) = known.get(id) {
            return *seconds;
        }
        let before = package.needs.iter().map(|id| self.chain(id, of, known));
        let seconds = of(package) + before.fold(0.0, f64::max);
        known.insert(id, seconds);
        seconds
    }
}

/// Returns whether a text is the end of a package's title, or a path behind it.
fn ends_there(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

fn weight(name: &str) -> f64 {
    let mut lines = WEIGHTS.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|seconds| seconds.parse().ok())
        .unwrap_or(SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_metadata::CrateType;

    const NAMES: [&str; 3] = ["candle-core", "rest", "taper"];

    fn id(name: &str) -> PackageId {
        PackageId {
            repr: name.to_owned(),
        }
    }

    /// Three packages, each of which needs the one before it.
    fn chain() -> Estimate {
        let mut before = Vec::new();
        let left = NAMES.into_iter().zip([20.0, 10.0, 60.0]);
        let left = left.map(|(name, weight)| {
            let package = Package {
                name: name.to_owned(),
                title: format!("{name} v1.0.0"),
                weight,
                needs: std::mem::replace(&mut before, vec![id(name)]),
                started: None,
            };
            (id(name), package)
        });
        Estimate {
            left: left.collect(),
            weight: 0.0,
            took: 0.0,
            cores: 2.0,
        }
    }

    fn finished(estimate: &mut Estimate, name: &str, seconds: u64) {
        let target = serde_json::json!({
            "package_id": name, "manifest_path": "", "fresh": false, "filenames": [], "features": [],
            "target": { "name": name, "kind": ["lib"], "crate_types": [CrateType::Lib], "src_path": "" },
            "profile": {
                "opt_level": "0", "debuginfo": 0, "debug_assertions": false, "overflow_checks": false, "test": false
            },
            "executable": null,
        });
        let artifact = serde_json::from_value(target).expect("an artifact");
        estimate.finished(&artifact, Duration::from_secs(seconds));
    }

    #[test]
    fn the_rest_is_as_long_as_its_longest_chain_on_this_machine() {
        let mut estimate = chain();
        let seconds = Duration::from_secs;
        estimate.started("candle-core v1.0.0", seconds(0));
        assert_eq!(estimate.now(), "candle-core");
        assert_eq!(estimate.remaining(seconds(39)), None);
        // Twice as slow as where it was measured.
        finished(&mut estimate, "candle-core", 40);
        assert_eq!(estimate.remaining(seconds(40)), Some(seconds(140)));
        estimate.started("rest v1.0.0 (/a/folder)", seconds(40));
        assert_eq!(estimate.remaining(seconds(50)), Some(seconds(130)));
        finished(&mut estimate, "rest", 60);
        estimate.started("taper v1.0.0", seconds(60));
        assert_eq!(estimate.now(), "taper");
        assert_eq!(estimate.remaining(seconds(90)), Some(seconds(90)));
    }

    #[test]
    fn what_takes_longer_than_estimated_promises_nothing() {
        let mut estimate = chain();
        let seconds = Duration::from_secs;
        for (name, at) in NAMES.into_iter().zip([0, 20, 30]) {
            estimate.started(&format!("{name} v1.0.0"), seconds(at));
            if name != "taper" {
                finished(&mut estimate, name, at + if at == 0 { 20 } else { 10 });
            }
        }
        assert_eq!(estimate.remaining(seconds(89)), Some(seconds(1)));
        assert_eq!(estimate.remaining(seconds(200)), Some(Duration::ZERO));
    }

    #[test]
    fn the_weights_are_of_packages_that_taper_needs() {
        let lock = include_str!("../../../../Cargo.lock");
        assert!(WEIGHTS.lines().count() > 10);
        for line in WEIGHTS.lines() {
            let (name, seconds) = line.split_once(' ').expect("a name and seconds");
            assert!(lock.contains(&format!("name = \"{name}\"")), "{name}");
            assert!(seconds.parse::<f64>().is_ok_and(|it| it > 0.0), "{line}");
        }
    }
}
