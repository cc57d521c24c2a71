//! Everything that JupyterLab needs beside the warm image.

pub mod jupyter;
pub mod kernelspec;

use anyhow::Result;
use jupyter::Jupyter;
use std::path::Path;
use taper_host::checkout;
use taper_host::gpu;
use taper_host::progress::Progress;
use taper_session::image::Image;

/// Makes what is missing: a Jupyter (or takes the one that is named), the kernelspec, the image for
/// the device that was decided on. Doing it twice changes nothing the second time.
pub fn all(named: Option<&Path>, progress: &mut dyn Progress) -> Result<Jupyter> {
    Image::check_what_it_needs(&taper_session::image_key()?)?;
    let jupyter = match named {
        Some(program) => Jupyter::existing(program)?,
        None => Jupyter::private(progress)?,
    };
    kernelspec::install(&jupyter.data_folder()?)?;
    gpu::settings(&checkout::folder(), progress)?;
    Image::ensure(&taper_session::image_key()?, progress)?;
    Ok(jupyter)
}
