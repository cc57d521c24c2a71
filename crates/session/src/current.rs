//! The image for the checkout in which this build of Taper lives, the compiler on the PATH and the saved settings.

use crate::image::{self, Condition, Image, Key};
use crate::workspace::Workspace;
use anyhow::Result;
use std::path::{Path, PathBuf};
use taper_host::checkout;
use taper_host::gpu::{self, settings::Settings};
use taper_host::lock::Lock;
use taper_host::progress::Progress;

/// Returns the key of the image for this checkout, the compiler on the PATH and the saved settings.
///
/// # Errors
///
/// When the settings, the compiler or the sources of `taper` cannot be read.
pub fn image_key() -> Result<Key> {
    Key::new(&checkout::folder()?, &Settings::read()?.unwrap_or_default())
}

/// An image that a session can start from, with the lock that marks it as used.
pub(crate) struct Current {
    pub(crate) key: Key,
    image: Image,
    pub(crate) used: Lock,
    /// Whether the settings were chosen for this image: `taper setup` had not been run.
    has_new_settings: bool,
}

impl Current {
    /// Builds the image, if it is missing or outdated.
    pub(crate) fn build(progress: &mut dyn Progress) -> Result<Current> {
        let has_new_settings = Settings::read()?.is_none();
        if has_new_settings {
            gpu::settings(&checkout::folder()?, progress)?;
        }
        let key = image_key()?;
        let used = Image::mark_as_used(&key)?;
        let image = Image::ensure(&key, progress)?;
        image.remove_replaced();
        Ok(Current {
            key,
            image,
            used,
            has_new_settings,
        })
    }

    /// Returns whether [`Current::build`] has nothing to do.
    pub(crate) fn is_built() -> Result<bool> {
        Ok(Settings::read()?.is_some() && Image::find(&image_key()?)?.0 == Condition::Ready)
    }

    /// Copies the image into a session's folder, which has none. Returns the library `taper` there.
    pub(crate) fn copy_into(&self, workspace: &Workspace) -> Result<PathBuf> {
        if self.has_new_settings {
            workspace.configure()?;
        }
        let work: &Path = &workspace.path();
        self.image.clone_into(work)?;
        image::library(work)
    }
}
