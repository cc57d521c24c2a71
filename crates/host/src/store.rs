//! The store: a cache that an administrator filled for all users, who cannot write it.

use crate::cache;
use crate::error::Result;
use std::path::PathBuf;

/// Names the folder.
pub const VARIABLE: &str = "TAPER_STORE";

/// Returns the store, if there is one for this user.
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty())?;
    Some(PathBuf::from(folder))
}

/// Returns where a file or folder of the cache is: in the user's own, or else in the store, if that has it.
pub fn find(name: &str) -> Result<PathBuf> {
    let own = cache::folder()?.join(name);
    let stored = folder().map(|store| store.join(name));
    let stored = stored.filter(|stored| stored.exists() && !own.exists());
    Ok(stored.unwrap_or(own))
}
