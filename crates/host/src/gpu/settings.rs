//! The device for which the packages are compiled. `taper setup` decides it, and everything that starts
//! later follows: a kernel must neither wait for a driver's answer nor decide differently.

use super::toolkit::Toolkit;
use crate::error::Result;
use crate::{cache, store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The decision of a set-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The features of `taper`: none for the CPU, `cuda`, `metal`.
    pub features: Vec<String>,
    /// The variables with which the packages are compiled.
    pub environment: BTreeMap<String, String>,
    /// The device and the reason, as the end of a sentence: `for the CPU, as asked with --cpu`.
    pub because: String,
    /// The folder of the CUDA toolkit, for `taper doctor`.
    pub toolkit: Option<PathBuf>,
}

impl Settings {
    /// Returns settings for the CPU.
    pub(super) fn cpu(because: String) -> Self {
        Self {
            because,
            ..Self::default()
        }
    }

    /// Returns settings for CUDA.
    pub(super) fn cuda(
        toolkit: &Toolkit,
        environment: BTreeMap<String, String>,
        because: String,
    ) -> Self {
        Self {
            features: vec!["cuda".to_owned()],
            environment,
            because,
            toolkit: Some(toolkit.root.clone()),
        }
    }

    /// Returns what the last set-up decided. A file that cannot be read counts as none.
    pub fn read() -> Result<Option<Settings>> {
        let text = std::fs::read(store::find(FILE)?).ok();
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Stores them for everything that starts later.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("settings have only string keys");
        cache::write_atomically(&file()?, &text)
    }

    /// Returns whether they contain a feature of `taper`.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
    }

    /// Returns the variables as a part of cargo's configuration. They are needed there since evcxr and the
    /// sessions call cargo too, and cargo recompiles everything when a variable has changed.
    pub fn cargo_config(&self) -> String {
        if self.environment.is_empty() {
            return String::new();
        }
        let variable = |(name, value): (&String, &String)| {
            let value = toml::Value::String(value.clone());
            format!("{name} = {{ value = {value}, force = true }}\n")
        };
        let variables: String = self.environment.iter().map(variable).collect();
        format!("\n[env]\n{variables}")
    }
}

const FILE: &str = "device.json";

fn file() -> Result<PathBuf> {
    Ok(cache::folder()?.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_a_part_of_cargos_configuration() {
        assert_eq!(Settings::default().cargo_config(), "");
        let mut settings = Settings::default();
        let value = r#"/a "place"/nvcc"#.to_owned();
        settings
            .environment
            .insert("NVCC".to_owned(), value.clone());
        let config: toml::Table = settings.cargo_config().parse().expect("it is TOML");
        assert_eq!(config["env"]["NVCC"]["value"].as_str(), Some(&*value));
        assert_eq!(config["env"]["NVCC"]["force"].as_bool(), Some(true));
    }
}
