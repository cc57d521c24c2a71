//! Installs `taper-lab`, the extension of JupyterLab and Notebook 7. Its sources are in `packaging/lab`.

use anyhow::{Context, Result};
use std::path::Path;
use taper_host::cache;
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// The folder of the extension.
const NAME: &str = "taper-lab";

// The files that the wheel installs, by their paths in that folder: `FILES`.
include!(concat!(env!("OUT_DIR"), "/labextension.rs"));

/// Writes the extension into one of Jupyter's data folders, in place of another version. If two set-ups run at the same
/// time, one waits: otherwise it would remove the files that the other writes.
pub(crate) fn install(data_folder: &Path, progress: &mut dyn Progress) -> Result<()> {
    let of_lock = cache::folder()?.join("labextension");
    cache::make(&of_lock)?;
    let _lock = Lock::exclusive(&of_lock, progress)?;
    write(data_folder)
}

fn write(data_folder: &Path) -> Result<()> {
    let folder = data_folder.join("labextensions").join(NAME);
    let is_there = |(name, content): &(&str, &[u8])| {
        std::fs::read(folder.join(name)).is_ok_and(|old| old == *content)
    };
    if FILES.iter().all(is_there) {
        return Ok(());
    }
    cache::remove(&folder)?;
    for (name, content) in FILES {
        let file = folder.join(name);
        cache::make(file.parent().context("it is in the folder")?)?;
        cache::write_atomically(&file, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_extension_takes_the_place_of_another_version() {
        let data = tempfile::tempdir().expect("a folder");
        let folder = data.path().join("labextensions").join(NAME);
        write(data.path()).expect("it is written");
        let manifest = folder.join("package.json");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let package: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
        let entry = package["jupyterlab"]["_build"]["load"]
            .as_str()
            .expect("a file");
        assert!(folder.join(entry).exists(), "{entry}");

        let time = || {
            fs::metadata(&manifest)
                .and_then(|it| it.modified())
                .expect("a time")
        };
        let before = time();
        write(data.path()).expect("nothing is to be done");
        assert_eq!(time(), before);

        let old = folder.join("static/old.js");
        fs::write(&old, "").expect("it is written");
        fs::write(&manifest, "{}").expect("it is written");
        write(data.path()).expect("it is written");
        assert!(!old.exists() && fs::read_to_string(&manifest).is_ok_and(|it| it == text));
    }
}
