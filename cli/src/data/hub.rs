//! Downloads from the Hugging Face hub, or from a mirror of it.

use super::sets::{Part, Repository};
use crate::download::{Advice, Client};
use anyhow::Result;
use std::path::Path;
use taper_host::progress::Progress;

/// Overrides the hub's address, for a mirror.
pub(crate) const ENDPOINT: &str = "HF_ENDPOINT";
const HUGGING_FACE: &str = "https://huggingface.co";

const ADVICE: Advice = Advice {
    unreachable: "Check the connection, then run the same command again. Behind a proxy set HTTPS_PROXY; for a mirror \
                  set HF_ENDPOINT; to use files that you already have: --from FOLDER",
    missing: "If HF_ENDPOINT is set, check that it names a mirror of the hub; otherwise the file has moved: update Taper",
    other: "It was deleted. Run the same command again; if HF_ENDPOINT names a mirror, try without it",
};

/// The hub, with the settings of the connection.
pub(crate) struct Hub {
    endpoint: String,
    client: Client,
}

impl Hub {
    /// Reads `HF_ENDPOINT` and the settings of the [`Client`].
    pub(crate) fn from_environment() -> Result<Self> {
        let endpoint = std::env::var(ENDPOINT).ok().filter(|url| !url.is_empty());
        let endpoint = endpoint.unwrap_or_else(|| HUGGING_FACE.to_owned());
        Ok(Self::new(&endpoint, Client::from_environment()?))
    }

    /// Returns the hub at this address.
    pub(crate) fn new(endpoint: &str, client: Client) -> Self {
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        Hub { endpoint, client }
    }

    /// Downloads a file of the hub to `path`; resumes if a part of it is there already.
    pub(crate) fn download(
        &self,
        repository: &Repository,
        part: &Part,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let url = format!(
            "{}/datasets/{}/resolve/{}/{}",
            self.endpoint, repository.name, repository.revision, part.path
        );
        let client = &self.client;
        client.download(&url, part.sha256, path, ADVICE, progress)
    }
}
