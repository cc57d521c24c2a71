//! Sets up what JupyterLab needs: a private environment, the kernelspec, the extension, the image.

pub(crate) mod images;
pub(crate) mod jupyter;
pub(crate) mod kernelspec;
mod labextension;
pub(crate) mod store;
pub(crate) mod trust;

use anyhow::Result;
use jupyter::Jupyter;
use std::path::Path;
use taper_host::checkout;
use taper_host::components;
use taper_host::gpu;
use taper_host::progress::Progress;
use taper_host::toolchain;
use taper_session::image::Image;

/// Sets up what is missing: Jupyter (unless `named`), the kernelspec, the extension, and the image for the chosen
/// device. A second call changes nothing.
pub(crate) fn all(named: Option<&Path>, progress: &mut dyn Progress) -> Result<Jupyter> {
    Image::check_what_it_needs(&taper_session::image_key()?)?;
    let jupyter = match named {
        Some(program) => Jupyter::existing(program)?,
        None => Jupyter::private(progress)?,
    };
    let data_folder = jupyter.data_folder()?;
    kernelspec::install(&data_folder)?;
    labextension::install(&data_folder, progress)?;
    gpu::settings(&checkout::folder()?, progress)?;
    components::add_analyzer(progress);
    let key = taper_session::image_key()?;
    images::ask(&key, progress)?;
    Image::ensure(&key, progress)?;
    // A kernel that a desktop starts has another PATH, and needs the image that was just built.
    toolchain::get()?.remember()?;
    Ok(jupyter)
}
