//! The device for which the packages are compiled. `taper setup` decides and stores it, and all later starts
//! read it: a kernel must neither wait for a driver's answer nor decide differently.

use super::toolkit::Toolkit;
use crate::error::OnFile as _;
use crate::{cache, store};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The device that a set-up has chosen, and the features and variables that compile for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The features of the crate `taper`: `cuda`, with `cudnn` if that library is there; `metal`; or none for the CPU.
    pub features: Vec<String>,
    /// The environment variables with which the packages are compiled.
    pub environment: BTreeMap<String, String>,
    /// The device and the reason, as the end of a sentence: `for the CPU, as asked with --cpu`.
    pub because: String,
    /// The folder of the CUDA toolkit, for `taper doctor`.
    pub toolkit: Option<PathBuf>,
    /// The library cuDNN that programs load, for `taper doctor`.
    pub cudnn: Option<PathBuf>,
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
        let cudnn = toolkit.cudnn.as_ref().map(|_| "cudnn");
        let features = ["cuda"].into_iter().chain(cudnn);
        Self {
            features: features.map(str::to_owned).collect(),
            environment,
            because,
            toolkit: Some(toolkit.root.clone()),
            cudnn: toolkit.cudnn.clone(),
        }
    }

    /// Returns the settings of the last set-up; `None` if there was none, or if it was that of an older version.
    pub fn read() -> Result<Option<Settings>> {
        read_from(&store::find(FILE)?)
    }

    /// Stores the settings for all later starts.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("settings have only string keys");
        cache::write_atomically(&file()?, &text)
    }

    /// Returns whether the settings enable a feature of the crate `taper`.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
    }

    /// Returns the variables as a part of cargo's configuration. They must be in the configuration because
    /// sessions call cargo, too, and cargo recompiles everything when a variable has changed.
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

fn read_from(file: &Path) -> Result<Option<Settings>> {
    match std::fs::read(file) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).on_file("read", file),
    }
}

fn file() -> Result<PathBuf> {
    Ok(cache::folder()?.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the error, a start would decide again, and replace the settings.
    #[test]
    fn settings_that_cannot_be_read_are_not_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE);
        assert_eq!(read_from(&file).expect("no error"), None);
        std::fs::write(&file, "of another version").expect("a file");
        assert_eq!(read_from(&file).expect("no error"), None);
        std::fs::remove_file(&file).expect("it is ours");
        std::os::unix::fs::symlink(&file, &file).expect("a link to itself");
        assert!(read_from(&file).is_err());
    }

    #[test]
    fn convolutions_are_computed_by_cudnn_where_it_is_there() {
        let of = |cudnn: Option<&str>| {
            let toolkit = Toolkit {
                version: (13, 0),
                root: "/cuda".into(),
                libraries: "/cuda/lib".into(),
                cudnn: cudnn.map(PathBuf::from),
            };
            Settings::cuda(&toolkit, BTreeMap::new(), String::new())
        };
        let with = of(Some("/lib/libcudnn.so.9"));
        assert_eq!(with.features, ["cuda", "cudnn"]);
        assert_eq!(with.cudnn, Some("/lib/libcudnn.so.9".into()));
        assert_eq!(of(None).features, ["cuda"]);
        // Settings that a version without cuDNN has written.
        let old = r#"{"features":["cuda"],"environment":{},"because":"","toolkit":"/cuda"}"#;
        let old: Settings = serde_json::from_str(old).expect("settings");
        assert_eq!(old.cudnn, None);
    }

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
