//! The environment of a spare kernel that was adopted.
//!
//! A spare kernel was started with another environment than the kernel whose place it takes. It cannot
//! change its environment, because other threads read it by then. Instead the differences are written
//! into the session's folder, and each process that runs for the user is started with them: the cells
//! process, cargo and shell commands.

use super::variables::{self, PATH_VARIABLE, VARIABLES};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use taper_host::cache;

const FILE: &str = "environment.json";

/// New values of variables; `None` removes the variable.
///
/// In JSON, a list of pairs: the key of an object must be text, but the name of a variable need not be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Pairs", into = "Pairs")]
pub(crate) struct Changes(BTreeMap<OsString, Option<OsString>>);

type Pairs = Vec<(OsString, Option<OsString>)>;

impl From<Pairs> for Changes {
    fn from(pairs: Pairs) -> Changes {
        Changes(pairs.into_iter().collect())
    }
}

impl From<Changes> for Pairs {
    fn from(changes: Changes) -> Pairs {
        changes.0.into_iter().collect()
    }
}

impl Changes {
    /// Returns the changes that turn the environment of this process's children into `environment`.
    pub(crate) fn to(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Changes {
        let mut before: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        if let Some(path) = before.remove(OsStr::new(PATH_VARIABLE)) {
            before.insert("PATH".into(), path);
        }
        Changes::between(before, environment.into_iter().collect())
    }

    fn between(
        mut before: BTreeMap<OsString, OsString>,
        after: BTreeMap<OsString, OsString>,
    ) -> Changes {
        let mut changes = BTreeMap::new();
        for (name, value) in after {
            if before.remove(&name).as_ref() != Some(&value) {
                changes.insert(name, Some(value));
            }
        }
        changes.extend(before.into_keys().map(|name| (name, None)));
        changes.retain(|name, _| !is_of_session(name));
        Changes(changes)
    }

    /// Writes the changes into the session's `folder`, for the processes that it starts from now on.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let changes = serde_json::to_vec(self).map_err(Error::json("an environment"))?;
        Ok(cache::write_atomically(&folder.join(FILE), &changes)?)
    }

    /// Returns the changes of the session to which this process belongs; there are none if no spare was
    /// adopted.
    pub(crate) fn of_session() -> Changes {
        let read = || {
            let text = std::fs::read(variables::session()?.join(FILE)).ok()?;
            serde_json::from_slice(&text).ok()
        };
        read().unwrap_or_default()
    }

    /// Applies the changes to a command's environment.
    pub(crate) fn apply(&self, command: &mut Command) {
        for (name, value) in &self.0 {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Returns the new value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.0.get(OsStr::new(name))?.clone()
    }
}

fn is_of_session(name: &OsStr) -> bool {
    let others = ["EVCXR_TMPDIR", "EVCXR_CONFIG_DIR", PATH_VARIABLE];
    VARIABLES.iter().chain(&others).any(|own| name == *own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written() {
        let changes = Changes::from(vec![
            ("TEA".into(), Some("green".into())),
            ("MILK".into(), None),
        ]);
        let text = serde_json::to_vec(&changes).expect("it is written");
        let read: Changes = serde_json::from_slice(&text).expect("it is read");
        assert_eq!(read, changes);
    }

    #[test]
    fn only_differences_are_applied() {
        let environment = |variables: &[(&str, &str)]| {
            let own = |&(name, value): &(&str, &str)| (name.into(), value.into());
            variables.iter().map(own).collect()
        };
        let before = environment(&[
            ("A", "1"),
            ("B", "2"),
            ("C", "3"),
            ("CARGO_HOME", "/session"),
        ]);
        let after = environment(&[("A", "1"), ("B", "4"), ("D", "5")]);
        let changes = Changes::between(before, after);
        let mut command = Command::new("true");
        changes.apply(&mut command);
        let applied: Vec<_> = command.get_envs().collect();
        let value = |text| Some(OsStr::new(text));
        assert_eq!(
            applied,
            [
                (OsStr::new("B"), value("4")),
                (OsStr::new("C"), None),
                (OsStr::new("D"), value("5"))
            ]
        );
    }
}
