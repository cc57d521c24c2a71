//! The GPU: which GPU the machine has, and how `taper` is compiled for it.
//!
//! 1. [`smi`] asks the driver for GPUs and versions.
//! 2. [`mod@toolkit`] finds a CUDA toolkit that fits, or installs one from PyPI.
//! 3. `build_environment` creates a folder in which Candle's build scripts find this toolkit, with shim
//!    libraries that are linked in place of the driver's and CUDA's (`shims`).
//! 4. [`mod@settings`] stores the decision for all starts until the next set-up.

mod build_environment;
pub mod settings;
mod shims;
pub mod smi;
pub mod toolkit;

use crate::progress::Progress;
use anyhow::{Context, Result};
use settings::Settings;
use smi::{Answer, Capability, Driver};
use std::path::Path;
use toolkit::{NoToolkit, Toolkit};

/// The device for which `taper` is compiled, as requested by the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The GPU of this machine if it works, else the CPU.
    Automatic,
    /// The CPU.
    Cpu,
    /// NVIDIA GPUs of this compute capability or a later one, whether or not this machine has such a GPU;
    /// without a capability, the GPUs of this machine.
    Cuda(Option<Capability>),
}

/// The compute capability for a machine without a GPU. Kernels for it run on all GPUs since 2018: the driver
/// translates them for newer ones.
const CAPABILITY_WITHOUT_GPU: Capability = Capability::new(7, 5);

/// Returns the settings of the last set-up; if there was none, decides now. `checkout` is the folder with Taper's
/// sources.
pub fn settings(checkout: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    match Settings::read()? {
        Some(settings) => Ok(settings),
        None => decide(Target::Automatic, checkout, progress),
    }
}

/// Returns the settings with which to compile for CUDA: those of the last set-up, if it was for CUDA.
/// Stores nothing.
pub fn for_cuda(checkout: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    match Settings::read()? {
        Some(settings) if settings.has("cuda") => Ok(settings),
        _ => cuda(None, driver().as_ref(), checkout, progress),
    }
}

/// Decides for which device to compile, installs what that needs, and stores the decision.
pub fn decide(target: Target, checkout: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    let settings = match target {
        Target::Cpu => Settings::cpu("for the CPU, as asked with --cpu".to_owned()),
        Target::Automatic if is_apple() => metal(),
        Target::Automatic => automatic(checkout, progress)?,
        Target::Cuda(capability) => cuda(capability, driver().as_ref(), checkout, progress)?,
    };
    if settings != Settings::read()?.unwrap_or_default() {
        progress.line(&format!("Taper is built {}.", settings.because));
    }
    settings.write()?;
    Ok(settings)
}

/// Returns whether this is a Mac with an Apple processor. All of these have a GPU, whose kernels are compiled when
/// they are first used.
fn is_apple() -> bool {
    cfg!(all(target_os = "macos", target_arch = "aarch64"))
}

fn metal() -> Settings {
    Settings {
        features: vec!["metal".to_owned()],
        because: "for the GPU of this Mac (metal)".to_owned(),
        ..Settings::default()
    }
}

fn automatic(checkout: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    let why = match smi::ask() {
        Answer::NoDriver => "there is no NVIDIA driver (no nvidia-smi)".to_owned(),
        Answer::NoCard => "the NVIDIA driver finds no GPU".to_owned(),
        Answer::Broken(output) => {
            format!("the NVIDIA driver does not work: {output}")
        }
        Answer::Works(driver) => {
            let decided = cuda(None, Some(&driver), checkout, progress);
            let refused = decided.as_ref().err();
            match refused.and_then(|error| error.downcast_ref()) {
                Some(NoToolkit(why)) => why.clone(),
                None => return decided,
            }
        }
    };
    Ok(Settings::cpu(format!("for the CPU: {why}")))
}

fn driver() -> Option<Driver> {
    match smi::ask() {
        Answer::Works(driver) => Some(driver),
        _ => None,
    }
}

fn cuda(
    capability: Option<Capability>,
    driver: Option<&Driver>,
    checkout: &Path,
    progress: &mut dyn Progress,
) -> Result<Settings> {
    let toolkit = match toolkit_of_system(driver) {
        Ok(Some(toolkit)) => toolkit,
        Ok(None) => Toolkit::of_wheels(progress)?,
        Err(why) => return Err(why).context("Taper cannot be built for CUDA"),
    };
    let capability = capability
        .or(driver.map(Driver::capability))
        .unwrap_or(CAPABILITY_WITHOUT_GPU);
    let environment = build_environment::prepare(&toolkit, capability, checkout, progress)?;
    let card = match driver {
        Some(driver) => format!("{}, driver {}", driver.names(), driver.version),
        None => "no GPU on this machine".to_owned(),
    };
    let because = format!(
        "for CUDA, compute capability {capability} ({card}), with the toolkit {}",
        toolkit.describe()
    );
    Ok(Settings::cuda(&toolkit, environment, because))
}

/// Returns the system's toolkit that fits, which needs no download, or `None` if the wheels from PyPI fit.
fn toolkit_of_system(driver: Option<&Driver>) -> Result<Option<Toolkit>, NoToolkit> {
    // The shim libraries are written for this platform only.
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let why = "CUDA is supported only on x86-64 Linux";
        return Err(NoToolkit(why.to_owned()));
    }
    let found = Toolkit::of_system(driver);
    if found.is_none() {
        toolkit::wheels_fit(driver)?;
    }
    Ok(found)
}
