//! NVIDIA's driver and GPUs, as listed by `nvidia-smi`, which every driver contains.
//!
//! NVML, the library behind `nvidia-smi`, returns the same answers, but would need bindings that load it at run
//! time. Besides, users can run `nvidia-smi` themselves to see what Taper sees.

use crate::version::{self, Version};
use anyhow::{Context, Error};
use std::fmt;
use std::process::{Command, Output};

/// The driver's answer.
#[derive(Debug)]
pub enum Answer {
    /// There is no `nvidia-smi`.
    NoDriver,
    /// The driver is installed but does not work, with what `nvidia-smi` prints.
    Broken(String),
    /// The driver works, and finds no GPU.
    NoCard,
    /// The driver works, and finds at least one GPU.
    Works(Driver),
}

/// A driver that works.
#[derive(Debug)]
pub struct Driver {
    /// Its version, such as `580.95.05`.
    pub version: String,
    /// The newest CUDA that it supports.
    pub cuda: Version,
    /// The GPUs, at least one.
    pub cards: Vec<Card>,
}

/// A GPU.
#[derive(Debug, PartialEq, Eq)]
pub struct Card {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability.
    pub capability: Capability,
}

/// A compute capability, NVIDIA's number for the features of a GPU: 9.0 for an H200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability {
    major: u32,
    minor: u32,
}

impl Capability {
    /// Creates the capability `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns the capability as the compilers write it: `90`.
    pub(crate) fn number(self) -> String {
        format!("{}{}", self.major, self.minor)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl std::str::FromStr for Capability {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (major, minor) = version::parse(text)
            .filter(|(major, minor)| (3..100).contains(major) && *minor < 10)
            .with_context(|| format!("{text:?} is not a compute capability; write one like 8.6"))?;
        Ok(Self { major, minor })
    }
}

impl Driver {
    /// Returns the lowest capability of the GPUs, which all of them support.
    pub fn capability(&self) -> Capability {
        let all = self.cards.iter().map(|card| card.capability);
        all.min().expect("a driver that works has cards")
    }

    /// Returns the names of the GPUs, separated by commas.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.cards.iter().map(|card| card.name.as_str()).collect();
        names.join(", ")
    }
}

/// Asks the driver, which takes a tenth of a second or more.
pub fn ask() -> Answer {
    let query = "--query-gpu=driver_version,compute_cap,name";
    let Ok(cards) = Command::new("nvidia-smi")
        .args([query, "--format=csv,noheader"])
        .output()
    else {
        return Answer::NoDriver;
    };
    let table = Command::new("nvidia-smi").output();
    let table = table.map(|output| text_of(&output)).unwrap_or_default();
    read(cards.status.success(), &text_of(&cards), &table)
}

fn text_of(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads the output of our query, and the table that `nvidia-smi` prints without arguments.
fn read(succeeded: bool, cards: &str, table: &str) -> Answer {
    let output = || {
        let lines = cards.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    };
    if cards.contains("No devices were found") {
        return Answer::NoCard;
    }
    if !succeeded {
        return Answer::Broken(output());
    }
    let lines = cards.lines().filter(|line| !line.trim().is_empty());
    let Some(cards) = lines.map(card).collect::<Option<Vec<_>>>() else {
        return Answer::Broken(output());
    };
    let Some((driver, _)) = cards.first() else {
        return Answer::NoCard;
    };
    let driver = driver.clone();
    let Some(cuda) = cuda_of_table(table).or_else(|| cuda_of_driver(&driver)) else {
        return Answer::Broken(format!("no CUDA version is known for driver {driver}"));
    };
    Answer::Works(Driver {
        version: driver,
        cuda,
        cards: cards.into_iter().map(|(_, card)| card).collect(),
    })
}

/// Reads a line such as `580.95.05, 9.0, NVIDIA H200`.
fn card(line: &str) -> Option<(String, Card)> {
    let mut parts = line.splitn(3, ',').map(str::trim);
    let (driver, capability, name) = (parts.next()?, parts.next()?, parts.next()?);
    let card = Card {
        name: name.to_owned(),
        capability: capability.parse().ok()?,
    };
    Some((driver.to_owned(), card))
}

/// Reads the version from `| NVIDIA-SMI 580.95.05   Driver Version: 580.95.05   CUDA Version: 13.0 |`. In a
/// container in which some of the driver's libraries are not mounted, the version is N/A.
fn cuda_of_table(table: &str) -> Option<Version> {
    let (_, rest) = table.split_once("CUDA Version")?;
    version::parse(rest.trim_start_matches([':', ' ']))
}

/// Returns the CUDA version that NVIDIA's release notes list for a branch of the driver.
fn cuda_of_driver(driver: &str) -> Option<Version> {
    const BRANCHES: [(u32, Version); 9] = [
        (580, (13, 0)),
        (575, (12, 9)),
        (570, (12, 8)),
        (560, (12, 6)),
        (555, (12, 5)),
        (550, (12, 4)),
        (535, (12, 2)),
        (525, (12, 0)),
        (450, (11, 0)),
    ];
    let branch: u32 = driver.split('.').next()?.parse().ok()?;
    let known = BRANCHES.into_iter().find(|(first, _)| branch >= *first);
    known.map(|(_, cuda)| cuda)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+";

    fn works(cards: &str, table: &str) -> Driver {
        match read(true, cards, table) {
            Answer::Works(driver) => driver,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn gpus_and_versions_are_read() {
        let driver = works("580.95.05, 9.0, NVIDIA H200\n", TABLE);
        assert_eq!(driver.version, "580.95.05");
        assert_eq!(driver.cuda, (13, 0));
        assert_eq!(driver.names(), "NVIDIA H200");
        assert_eq!(driver.capability().number(), "90");
    }

    #[test]
    fn of_several_gpus_the_lowest_capability_counts() {
        let cards = "570.1, 12.0, NVIDIA GeForce RTX 5090\n570.1, 8.6, NVIDIA RTX A2000, 12GB\n";
        let driver = works(cards, "");
        assert_eq!(driver.capability().to_string(), "8.6");
        assert_eq!(
            driver.names(),
            "NVIDIA GeForce RTX 5090, NVIDIA RTX A2000, 12GB"
        );
    }

    #[test]
    fn without_a_version_in_the_table_the_drivers_branch_decides() {
        let table = "| NVIDIA-SMI 535.216.01  Driver Version: 535.216.01  CUDA Version: N/A |";
        assert_eq!(works("535.216.01, 7.5, Tesla T4\n", table).cuda, (12, 2));
        assert_eq!(works("999.0, 7.5, Tesla T4\n", "").cuda, (13, 0));
    }

    #[test]
    fn a_driver_that_does_not_work_is_described_by_its_own_words() {
        let mismatch = "Failed to initialize NVML: Driver/library version mismatch\n\
                        NVML library version: 580.95\n";
        let Answer::Broken(printed) = read(false, mismatch, mismatch) else {
            panic!("it does not work");
        };
        assert!(printed.ends_with("mismatch NVML library version: 580.95"));
        let unloaded =
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
        assert!(matches!(read(false, unloaded, ""), Answer::Broken(_)));
        assert!(matches!(read(true, "what is this", ""), Answer::Broken(_)));
        for none in ["", "No devices were found\n"] {
            assert!(matches!(read(true, none, ""), Answer::NoCard), "{none}");
        }
    }

    #[test]
    fn a_capability_is_two_numbers_with_a_point_between() {
        let capability = |text: &str| text.parse::<Capability>();
        assert_eq!(capability("12.0").unwrap(), Capability::new(12, 0));
        assert!(capability("9.0").unwrap() < capability("12.0").unwrap());
        for wrong in ["90", "", "x.1", "1.2", "8.60"] {
            assert!(capability(wrong).is_err(), "{wrong}");
        }
    }
}
