//! The folder of the data sets.

use crate::error::{Result, problem};
use crate::input;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns `$TAPER_DATA`, else `data` in Taper's cache: the folder to which `taper data get`
/// writes.
pub(super) fn data_folder() -> Result<PathBuf> {
    folder_in(|name| std::env::var_os(name)).ok_or_else(|| {
        problem!(state("there is no folder for data sets");
            "neither TAPER_DATA nor HOME is set",
            "Set TAPER_DATA to a folder that you may write to")
    })
}

/// Returns the folder for the variables of any environment. Taper's cache is `$TAPER_CACHE`, else
/// `taper` in the system's folder for caches.
fn folder_in(environment: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let data = environment("TAPER_DATA").filter(|value| !value.is_empty());
    let system = ["XDG_CACHE_HOME", ".cache", "Library/Caches"];
    let cache = || input::folder(&environment, "TAPER_CACHE", system);
    data.map(PathBuf::from)
        .or_else(|| Some(cache()?.join("data")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(environment: &[(&str, &str)]) -> Option<PathBuf> {
        folder_in(|name| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn taper_data_takes_precedence_over_the_cache() {
        let home = ("HOME", "/home/ada");
        let cache = ("TAPER_CACHE", "/cache");
        let data = ("TAPER_DATA", "/data");
        assert_eq!(folder(&[home, cache, data]), Some("/data".into()));
        assert_eq!(folder(&[home, cache]), Some("/cache/data".into()));
        assert_eq!(
            folder(&[home, cache, ("TAPER_DATA", "")]),
            Some("/cache/data".into())
        );
        assert_eq!(folder(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_default_is_in_the_cache_of_the_system() {
        let home = ("HOME", "/home/ada");
        let own = Some(PathBuf::from("/home/ada/.cache/taper/data"));
        assert_eq!(folder(&[home]), own);
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "relative")]), own);
        assert_eq!(
            folder(&[home, ("XDG_CACHE_HOME", "/x")]),
            Some("/x/taper/data".into())
        );
    }
}
