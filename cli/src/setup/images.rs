//! Images that another machine has compiled: a file or an address that the user names, or an index that lists them.

use crate::download::{Advice, Client};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use taper_host::lock::Lock;
use taper_host::progress::Progress;
use taper_host::{cache, toolchain};
use taper_session::image::{Built, Condition, Image, Key};

/// The variable with the address or the path of an index, which set-up asks before it compiles.
pub(crate) const INDEX: &str = "TAPER_IMAGES";

/// The folder for downloads in the cache. The progress names its last part.
const FOLDER: &str = "downloads/packages";

const ADVICE: Advice = Advice {
    unreachable: "Check the connection, then run the same command again. Behind a proxy set HTTPS_PROXY; without an \
                  image, `taper setup` compiles one",
    missing: "Check the address; without an image, `taper setup` compiles one",
    other: "It was deleted. Run the same command again, or ask who offers the image for its SHA-256",
};

/// A list of images, as JSON.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Index {
    images: Vec<Listed>,
}

/// An image in a list.
#[derive(Debug, Deserialize, Serialize)]
struct Listed {
    /// The platform, such as `x86_64-unknown-linux-gnu`.
    target: String,
    #[serde(flatten)]
    built: Built,
    /// The address, or the path as seen from the index.
    file: String,
    sha256: String,
}

impl Listed {
    fn is_for(&self, built: &Built, target: &str) -> bool {
        self.built == *built && self.target == target
    }
}

/// Imports the image for this key from a file or an address, unless it is ready.
pub(crate) fn import(
    key: &Key,
    from: &str,
    sha256: Option<&str>,
    progress: &mut dyn Progress,
) -> Result<()> {
    if !is_address(from) {
        return Image::import(key, Path::new(from), sha256, progress);
    }
    let sha256 = sha256.context(
        "an image from a server is run on this machine: name its SHA-256 with --sha256, as `taper image export` has \
         printed it",
    )?;
    check_origin(from)?;
    if Image::find(key)?.0 == Condition::Ready {
        return Ok(());
    }
    let folder = cache::folder()?.join(FOLDER);
    cache::make(&folder)?;
    let _lock = Lock::exclusive(&folder, progress)?;
    let file = folder.join(sha256.to_ascii_lowercase());
    let client = Client::from_environment()?;
    client.download(from, Some(sha256), &file, ADVICE, progress)?;
    let imported = Image::import(key, &file, None, progress);
    // Also an image for another machine: it would be in the way.
    let _ = std::fs::remove_file(&file);
    imported
}

/// Imports the image for this key if an index is configured and lists it. If that fails, the image is compiled.
pub(crate) fn ask(key: &Key, progress: &mut dyn Progress) -> Result<()> {
    let Some(index) = std::env::var(INDEX).ok().filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    if taper_host::store::folder().is_some() || Image::find(key)?.0 == Condition::Ready {
        return Ok(());
    }
    match import_listed(key, &index, progress) {
        Ok(true) => progress.line(&format!("The compiled packages are from {index}.")),
        Ok(false) => progress.line(&format!(
            "{index} lists no image for Rust {} and this Taper: compiling one.",
            toolchain::release()?
        )),
        Err(error) => {
            progress.line(&format!("{error:#}\nCompiling an image instead."));
        }
    }
    Ok(())
}

/// Returns whether the index lists the image.
fn import_listed(key: &Key, index: &str, progress: &mut dyn Progress) -> Result<bool> {
    let text = match is_address(index) {
        true => {
            check_origin(index)?;
            Client::from_environment()?.text(index, ADVICE)?
        }
        false => std::fs::read_to_string(index)
            .with_context(|| format!("cannot read {index}, which {INDEX} names"))?,
    };
    let listed = serde_json::from_str::<Index>(&text);
    let listed = listed.with_context(|| format!("{index} is not an index of images"))?;
    let (built, target) = (key.built()?, toolchain::host()?);
    let mut images = listed.images.iter();
    let Some(image) = images.find(|image| image.is_for(&built, target)) else {
        return Ok(false);
    };
    let from = place(index, &image.file);
    import(key, &from, Some(&image.sha256), progress)?;
    Ok(true)
}

/// Adds an image to the index in a file, in place of one for the same Taper, Rust and platform.
pub(crate) fn list(key: &Key, image: &Path, sha256: &str, index: &Path) -> Result<()> {
    let mut listed = match std::fs::read(index) {
        Ok(text) => serde_json::from_slice::<Index>(&text)
            .with_context(|| format!("{} is not an index of images", index.display()))?,
        Err(_) => Index::default(),
    };
    let name = image.file_name().and_then(|name| name.to_str());
    let new = Listed {
        target: toolchain::host()?.to_owned(),
        built: key.built()?,
        file: name.context("the file's name is not Unicode")?.to_owned(),
        sha256: sha256.to_owned(),
    };
    listed
        .images
        .retain(|it| !it.is_for(&new.built, &new.target));
    listed.images.push(new);
    let text = serde_json::to_string_pretty(&listed)? + "\n";
    cache::write_atomically(index, text.as_bytes())
}

fn is_address(text: &str) -> bool {
    text.contains("://")
}

/// Refuses an address whose answer could be replaced on the way, digest included.
fn check_origin(address: &str) -> Result<()> {
    let (protocol, rest) = address.split_once("://").unwrap_or_default();
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    ensure!(
        protocol == "https" || protocol == "http" && ["localhost", "127.0.0.1"].contains(&host),
        "{address}: images are downloaded by https only"
    );
    Ok(())
}

/// Returns where a file is that an index names.
fn place(index: &str, file: &str) -> String {
    if is_address(file) {
        return file.to_owned();
    }
    match index.rsplit_once('/') {
        Some((folder, _)) if is_address(index) => format!("{folder}/{file}"),
        _ => {
            let folder = PathBuf::from(index).with_file_name("");
            folder.join(file).to_string_lossy().into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_beside_the_index() {
        for (index, file, place_of_file) in [
            (
                "https://a.b/images/index.json",
                "c.tar.gz",
                "https://a.b/images/c.tar.gz",
            ),
            (
                "https://a.b/index.json",
                "https://d.e/c.tar.gz",
                "https://d.e/c.tar.gz",
            ),
            ("/images/index.json", "c.tar.gz", "/images/c.tar.gz"),
            ("index.json", "c.tar.gz", "c.tar.gz"),
        ] {
            assert_eq!(place(index, file), place_of_file);
        }
    }

    #[test]
    fn an_address_that_others_could_answer_is_refused() {
        for (address, is_allowed) in [
            ("https://a.b/c", true),
            ("http://localhost:8000/c", true),
            ("http://127.0.0.1:8000/c", true),
            ("http://a.b/c", false),
            ("http://localhost.a.b/c", false),
            ("ftp://a.b/c", false),
        ] {
            assert_eq!(check_origin(address).is_ok(), is_allowed, "{address}");
        }
    }
}
