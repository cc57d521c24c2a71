//! Sets up what JupyterLab needs: a private environment, the kernelspec, the extension, the image.

pub(crate) mod images;
pub(crate) mod jupyter;
pub(crate) mod kernelspec;
mod labextension;
pub(crate) mod store;
pub(crate) mod trust;

use anyhow::{Context, Result};
use jupyter::Jupyter;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taper_host::checkout;
use taper_host::components;
use taper_host::gpu;
use taper_host::mutex::lock;
use taper_host::process;
use taper_host::progress::{Console, Progress, Step};
use taper_host::toolchain;
use taper_session::image::{Condition, Image};

/// Sets up what is missing: Jupyter (unless `named`), the kernelspec, the extension, and at the same time the image for the
/// chosen device. A second call changes nothing.
pub(crate) fn all(named: Option<&Path>, console: &mut Console) -> Result<Jupyter> {
    Image::check_what_it_needs(&taper_session::image_key()?)?;
    let (console, has_failed) = (Mutex::new(console), AtomicBool::new(false));
    let side = || Side {
        console: &console,
        has_failed: &has_failed,
    };
    std::thread::scope(|scope| {
        let jupyter = scope.spawn(|| {
            let jupyter = jupyter(named, &mut side());
            has_failed.store(jupyter.is_err(), Ordering::Relaxed);
            jupyter
        });
        let image = image(&mut side());
        let jupyter = jupyter.join().expect("it does not panic")?;
        image.map(|()| jupyter)
    })
}

/// Sets up Jupyter (unless `named`), the kernelspec and the extension, if they are missing.
pub(crate) fn jupyter(named: Option<&Path>, progress: &mut dyn Progress) -> Result<Jupyter> {
    let jupyter = match named {
        Some(program) => Jupyter::existing(program)?,
        None => Jupyter::private(progress)?,
    };
    let data_folder = jupyter.data_folder()?;
    kernelspec::install(&data_folder)?;
    labextension::install(&data_folder, progress)?;
    Ok(jupyter)
}

/// Compiles the image for the chosen device, if it is missing.
pub(crate) fn image(progress: &mut dyn Progress) -> Result<()> {
    gpu::settings(&checkout::folder()?, progress)?;
    components::add_analyzer(progress);
    let key = taper_session::image_key()?;
    images::ask(&key, progress)?;
    Image::ensure(&key, progress)?;
    // A kernel that a desktop starts has another PATH, and needs the image that was just built.
    toolchain::get()?.remember()
}

/// Does what [`image`] does, in a process that ends when this one does, also after this one has become another program. What
/// must not be compiled, such as an image that others offer, is there when this returns.
pub(crate) fn begin_image(progress: &mut dyn Progress) -> Result<()> {
    let key = taper_session::image_key()?;
    Image::check_what_it_needs(&key)?;
    let is_ready = Image::find(&key)?.0 == Condition::Ready;
    let is_offered =
        taper_host::store::folder().is_some() || std::env::var_os(images::INDEX).is_some();
    if is_ready || is_offered || !taper_session::is_own() {
        return image(progress);
    }
    toolchain::get()?.remember()?;
    progress.line(
        "The library `taper` is compiled in the background, once, which takes minutes. Meanwhile you can read notebooks \
         and run plain Rust; a cell that needs the library waits for it. If you stop JupyterLab before, the next start \
         goes on.",
    );
    let builder = process::supervised(process::program()?)?
        .args(["setup", BACKGROUND])
        .stdin(Stdio::null())
        .spawn();
    builder.context("starting to compile Taper")?;
    Ok(())
}

/// The option with which `taper setup` does what [`image`] does, in the background.
pub(crate) const BACKGROUND: &str = "--background";

/// How often the background says how far it is, between what JupyterLab prints.
const INTERVAL: Duration = Duration::from_secs(60);

/// Compiles the image while cells and JupyterLab go first.
pub(crate) fn image_in_background() -> Result<()> {
    process::let_others_go_first(process::BACKGROUND);
    image(&mut Console::every(INTERVAL))
}

/// One of two parts of a set-up that run at the same time. It is stopped if the other one has failed.
struct Side<'a> {
    console: &'a Mutex<&'a mut Console>,
    has_failed: &'a AtomicBool,
}

impl Progress for Side<'_> {
    fn line(&mut self, text: &str) {
        lock(self.console).line(text);
    }

    fn step(&mut self, step: &Step) {
        lock(self.console).step(step);
    }

    fn is_stopped(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
