//! `taper setup`: decides on the device and sets up what is missing.

use crate::setup::jupyter::Jupyter;
use crate::setup::{self, images, store};
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;
use taper_host::checkout;
use taper_host::checks;
use taper_host::gpu::{self, Target, smi::Capability};
use taper_host::progress::{Console, Progress};
use taper_host::toolchain;
use taper_session::image::{Condition, Image};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Use this `jupyter` instead of Taper's own
    #[arg(long, value_name = "PATH")]
    pub(crate) jupyter: Option<PathBuf>,
    /// Build for the CPU, even if there is a GPU
    #[arg(long, conflicts_with = "cuda")]
    pub(crate) cpu: bool,
    /// Build for NVIDIA GPUs of this compute capability and later ones, even if there is none here
    /// (default: the capability of the cards here, else 7.5)
    #[arg(long, value_name = "CAPABILITY", num_args = 0..=1, require_equals = true)]
    pub(crate) cuda: Option<Option<Capability>>,
    /// Use the compiled packages from this file or https address, instead of compiling them
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) image: Option<String>,
    /// Refuse an image with another SHA-256
    #[arg(long, value_name = "HEX", requires = "image")]
    pub(crate) sha256: Option<String>,
    /// Fill a store that all users of this machine read, without JupyterLab
    #[arg(long, requires = "prefix", conflicts_with = "jupyter")]
    pub(crate) system: bool,
    /// Compile what is missing, for `taper lab`
    #[arg(long, hide = true)]
    pub(crate) background: bool,
    /// The folder of the store
    #[arg(long, value_name = "FOLDER", requires = "system")]
    pub(crate) prefix: Option<PathBuf>,
}

impl Arguments {
    fn target(&self) -> Target {
        match self.cuda {
            _ if self.cpu => Target::Cpu,
            Some(capability) => Target::Cuda(capability),
            None => Target::Automatic,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.background {
        setup::image_in_background()?;
        return Ok(ExitCode::SUCCESS);
    }
    let store = match &arguments.prefix {
        Some(prefix) => {
            // SAFETY: `main` has started no thread yet.
            let store = unsafe { store::enter(prefix) }?;
            Some(store)
        }
        None => None,
    };
    let mut progress = Console::new();
    toolchain::choose()?;
    // Before anything that takes long: compilers are needed in any case.
    checks::compiler()?;
    checks::c_compiler()?;
    gpu::decide(arguments.target(), &checkout::folder()?, &mut progress)?;
    // An explicit set-up checks more than the start of a kernel.
    if let Condition::Damaged(file) = Image::verify(&taper_session::image_key()?, &mut progress)? {
        progress.line(&format!(
            "The compiled packages are damaged ({}); building them again.",
            file.display()
        ));
    }
    if let Some(image) = &arguments.image {
        let key = taper_session::image_key()?;
        images::import(&key, image, arguments.sha256.as_deref(), &mut progress)?;
    }
    if let Some(store) = store {
        store::fill(&store, &mut progress)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.jupyter.is_none() {
        Jupyter::choose()?;
    }
    let jupyter = setup::all(arguments.jupyter.as_deref(), &mut progress)?;
    let next = match checkout::is_carried() {
        true => "taper course course && taper lab course/01-welcome.ipynb",
        false => "cargo taper lab notebooks/01-welcome.ipynb",
    };
    progress.line(&format!(
        "Taper is ready: {} offers the kernel \"{}\". Next: {next}",
        jupyter.program.display(),
        setup::kernelspec::DISPLAY_NAME
    ));
    Ok(ExitCode::SUCCESS)
}
