//! For which device the packages are compiled. `taper setup` decides it, and all that starts later
//! keeps to it: a kernel must not wait for a driver's answer, nor change its mind.

use super::toolkit::Toolkit;
use crate::cache;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Features of `taper`: none for the CPU, `cuda`, `metal`.
    pub features: Vec<String>,
    /// Variables with which the packages are compiled.
    pub environment: BTreeMap<String, String>,
    /// What was decided and why, in a sentence.
    pub because: String,
    /// Where there is one: the toolkit, for `taper doctor`.
    pub toolkit: Option<PathBuf>,
}

impl Settings {
    /// For the CPU alone.
    pub fn cpu(because: String) -> Self {
        Self {
            because,
            ..Self::default()
        }
    }

    pub fn cuda(toolkit: &Toolkit, environment: BTreeMap<String, String>, because: String) -> Self {
        Self {
            features: vec!["cuda".to_owned()],
            environment,
            because,
            toolkit: Some(toolkit.root.clone()),
        }
    }

    /// What the last set-up decided.
    pub fn read() -> Result<Option<Settings>> {
        let text = std::fs::read(file()?);
        Ok(text
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok()))
    }

    pub fn write(&self) -> Result<()> {
        cache::write_atomically(&file()?, &serde_json::to_vec_pretty(self)?)
    }

    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
    }

    /// As a part of cargo's configuration. It has to stand there, since evcxr and the sessions call
    /// cargo too, and a variable that has changed would let cargo compile everything again.
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

fn file() -> Result<PathBuf> {
    Ok(cache::folder()?.join("device.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_a_part_of_cargo_s_configuration() {
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
