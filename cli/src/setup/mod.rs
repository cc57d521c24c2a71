//! Everything that JupyterLab needs beside the warm image.

pub mod environment;
pub mod jupyter;
pub mod kernelspec;
pub mod python;

use crate::gpu;
use crate::home;
use crate::image::Image;
use crate::progress::Progress;
use anyhow::Result;
use jupyter::Jupyter;
use std::path::Path;

/// Makes what is missing: a Jupyter (or takes the one that is named), the kernelspec, the image for
/// the device that was decided on. Doing it twice changes nothing the second time.
pub fn all(named: Option<&Path>, progress: &mut dyn Progress) -> Result<Jupyter> {
    Image::check_what_it_needs(&home::image_key()?)?;
    let jupyter = match named {
        Some(program) => Jupyter::existing(program)?,
        None => Jupyter::private(progress)?,
    };
    kernelspec::install(&jupyter.data_folder()?)?;
    gpu::settings(progress)?;
    Image::ensure(&home::image_key()?, progress)?;
    Ok(jupyter)
}
