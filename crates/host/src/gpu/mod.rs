//! The GPU: which one there is, and how `taper` is compiled for it.
//!
//! 1. [`smi`] asks the driver for cards and versions.
//! 2. [`mod@toolkit`] finds a CUDA toolkit that fits, or installs one from PyPI.
//! 3. [`build_environment`] makes of it what the crates below Candle look for, with libraries that stand in
//!    for the driver's and CUDA's ([`shims`]).
//! 4. [`mod@settings`] keeps what was decided, for every start until the next set-up.

pub mod build_environment;
pub mod settings;
mod shims;
pub mod smi;
pub mod toolkit;

use crate::progress::Progress;
use anyhow::{Result, bail};
use settings::Settings;
use smi::{Answer, Capability, Driver};
use std::path::Path;
use toolkit::Toolkit;

/// What a person asked of set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The GPU if there is one that works.
    Automatic,
    Cpu,
    /// CUDA on any account, for cards of this capability; without one, for those that are there.
    Cuda(Option<Capability>),
}

/// Kernels for it run on all cards since 2018, on newer ones after the driver has translated them.
const WITHOUT_A_CARD: Capability = Capability::new(7, 5);

/// What the last set-up decided; where there was none, decides now. `home` is the clone of Taper.
pub fn settings(home: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    match Settings::read()? {
        Some(settings) => Ok(settings),
        None => decide(Wish::Automatic, home, progress),
    }
}

/// What to compile with for CUDA: that of the last set-up, if it was for CUDA. Keeps nothing.
pub fn for_cuda(home: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    match Settings::read()? {
        Some(settings) if settings.has("cuda") => Ok(settings),
        _ => by_wish(None, home, progress),
    }
}

/// Decides for which device to compile, gets what that needs, and keeps it.
pub fn decide(wish: Wish, home: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    let settings = match wish {
        Wish::Cpu => Settings::cpu("for the CPU, as asked with --cpu".to_owned()),
        Wish::Automatic if is_apple() => metal(),
        Wish::Automatic => automatic(home, progress)?,
        Wish::Cuda(capability) => by_wish(capability, home, progress)?,
    };
    if settings != Settings::read()?.unwrap_or_default() {
        progress.line(&format!("Taper is built {}.", settings.because));
    }
    settings.write()?;
    Ok(settings)
}

/// Apple's own processors all have a GPU, and its kernels are compiled when they are used first.
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

fn automatic(home: &Path, progress: &mut dyn Progress) -> Result<Settings> {
    let for_cpu = |why: String| Ok(Settings::cpu(format!("for the CPU: {why}")));
    match smi::ask() {
        Answer::NoDriver => for_cpu("there is no NVIDIA driver (no nvidia-smi)".to_owned()),
        Answer::NoCard => for_cpu("the NVIDIA driver sees no card".to_owned()),
        Answer::Broken(said) => {
            for_cpu(format!("the NVIDIA driver does not work; it says: {said}"))
        }
        Answer::Works(driver) => match toolkit(Some(&driver), progress) {
            Ok(Some(toolkit)) => cuda(&toolkit, Some(&driver), driver.capability(), home, progress),
            Ok(None) => for_cpu(why_not(Some(&driver))),
            Err(error) => Err(error),
        },
    }
}

fn by_wish(
    capability: Option<Capability>,
    home: &Path,
    progress: &mut dyn Progress,
) -> Result<Settings> {
    let driver = match smi::ask() {
        Answer::Works(driver) => Some(driver),
        _ => None,
    };
    let capability = capability
        .or(driver.as_ref().map(Driver::capability))
        .unwrap_or(WITHOUT_A_CARD);
    match toolkit(driver.as_ref(), progress)? {
        Some(toolkit) => cuda(&toolkit, driver.as_ref(), capability, home, progress),
        None => bail!(
            "Taper cannot be built for CUDA: {}",
            why_not(driver.as_ref())
        ),
    }
}

/// One that fits: the system's, which costs nothing, or the wheels.
fn toolkit(driver: Option<&Driver>, progress: &mut dyn Progress) -> Result<Option<Toolkit>> {
    if !is_supported() {
        return Ok(None);
    }
    if let Some(toolkit) = Toolkit::of_system(driver) {
        return Ok(Some(toolkit));
    }
    match toolkit::wheels_fit(driver) {
        Ok(()) => Toolkit::of_wheels(progress).map(Some),
        Err(_) => Ok(None),
    }
}

/// The shims are written for this platform alone.
fn is_supported() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

fn why_not(driver: Option<&Driver>) -> String {
    if !is_supported() {
        return "CUDA is supported on x86-64 Linux alone".to_owned();
    }
    let why = toolkit::wheels_fit(driver).err();
    why.unwrap_or_else(|| "no CUDA toolkit fits".to_owned())
}

fn cuda(
    toolkit: &Toolkit,
    driver: Option<&Driver>,
    capability: Capability,
    home: &Path,
    progress: &mut dyn Progress,
) -> Result<Settings> {
    let environment = build_environment::prepare(toolkit, capability, home, progress)?;
    let card = match driver {
        Some(driver) => format!("{}, driver {}", driver.names(), driver.version),
        None => "no card is here".to_owned(),
    };
    let because = format!(
        "for CUDA, compute capability {capability} ({card}), with the toolkit {}",
        toolkit.describe()
    );
    Ok(Settings::cuda(toolkit, environment, because))
}
