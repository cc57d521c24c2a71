//! The store: a cache that an administrator has filled for all users, who can only read it.

use crate::cache;
use anyhow::Result;
use std::path::PathBuf;

/// The environment variable that names the folder of the store.
pub const VARIABLE: &str = "TAPER_STORE";

/// Returns the store, if there is one for this user.
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty())?;
    Some(PathBuf::from(folder))
}

/// Returns the path of a file or folder of the cache: in the store if only the store contains it, else in the user's
/// own cache.
pub fn find(name: &str) -> Result<PathBuf> {
    let own = cache::folder()?.join(name);
    let stored = folder().map(|store| store.join(name));
    let stored = stored.filter(|stored| stored.exists() && !own.exists());
    Ok(stored.unwrap_or(own))
}
