//! Compiles the packages of `:dep` lines, and forgets them with `:clear`.

use super::{Own, configuration, messages};
use crate::image::{self, Packages};
use crate::session::cells_manifest::{self, Declared};
use crate::session::diagnostics::EngineError;
use crate::session::engine::interface::{Added, Start};
use anyhow::Error;
use std::path::Path;
use std::time::SystemTime;
use taper_engine::{Failure, Replaced};
use taper_host::progress::Progress;

impl Own {
    /// Loads the library `taper` of an image that was copied into the work directory after the start. Variables stay.
    pub(crate) fn load_image(&mut self, start: &Start) -> Result<(), EngineError> {
        configuration::write_manifest(start).map_err(described)?;
        let (packages, search) = configuration::of_image(&self.work).map_err(described)?;
        self.engine.set_libraries(image::added(&self.work).ok());
        let replaced = self.engine.set_packages(packages, search);
        replaced.map_err(refused)?;
        self.library.clone_from(&start.library);
        self.editor.reload(self.engine.scope());
        Ok(())
    }

    /// Compiles the packages of a cell's `:dep` lines. A failure leaves everything as it was.
    pub(crate) fn add_packages(
        &mut self,
        dependencies: &[(&str, &str)],
        progress: &mut dyn Progress,
    ) -> Result<Added, EngineError> {
        self.packages.prepare().map_err(described)?;
        let (before, packages) = (Declared::read(&self.work), self.packages.clone());
        let added = self.replace_packages(dependencies, &before, progress);
        if added.is_err() {
            before.restore(&self.work);
            self.packages = packages;
        } else {
            self.declared_first.get_or_insert(before);
        }
        added
    }

    fn replace_packages(
        &mut self,
        dependencies: &[(&str, &str)],
        before: &Declared,
        progress: &mut dyn Progress,
    ) -> Result<Added, EngineError> {
        let invalid = || EngineError::Message("the line `:dep` is not valid".to_owned());
        cells_manifest::add(&self.work, dependencies).ok_or_else(invalid)?;
        if Declared::read(&self.work).is_same(before) && !cells_manifest::has_folders(&self.work) {
            return Ok(Added::default());
        }
        let last_built = self.library.as_deref().map(modified);
        let has_variables = self.engine.variables().next().is_some();
        let compiled = self.packages.compile(has_variables, progress);
        let compiled = compiled.map_err(described)?;
        let packages = configuration::packages(compiled.packages, compiled.tokio.as_ref());
        let library = packages.iter().find_map(|package| package.library.clone());
        let replaced = self.engine.set_packages(packages, compiled.search);
        let replaced = replaced.map_err(refused)?;
        let library = library.or_else(|| self.library.clone());
        let is_other = library != self.library || library.as_deref().map(modified) != last_built;
        self.library = library;
        self.editor.reload(self.engine.scope());
        Ok(Added {
            is_rebuilt: is_other || compiled.shared.is_some(),
            replaced,
            shared: compiled.shared,
        })
    }

    /// Forgets all variables, items and packages.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.cells.clear();
        self.engine.clear()?;
        self.editor.set_scope(self.engine.scope());
        let Some(first) = self.declared_first.take() else {
            return Ok(());
        };
        first.restore(&self.work);
        self.packages = Packages::new(&self.work);
        self.editor.reload(self.engine.scope());
        self.forget_packages().unwrap_or_default();
        self.restart()
    }

    /// Sets the packages of the image.
    fn forget_packages(&mut self) -> Option<Replaced> {
        image::restore(&self.work).ok()?;
        let (packages, search) = configuration::of_image(&self.work).ok()?;
        self.library = Some(packages.first()?.library.clone()?);
        self.engine.set_packages(packages, search).ok()
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|it| it.modified()).ok()
}

fn described(error: Error) -> EngineError {
    EngineError::Message(format!("{error:#}"))
}

/// Returns why no cell would compile with new packages.
fn refused(failure: Failure) -> EngineError {
    match failure {
        Failure::Compile(errors) => {
            let why = errors.first().map_or("", |error| &*error.message);
            EngineError::Message(format!(
                "no cell would compile with this package: {why}. Nothing was changed."
            ))
        }
        Failure::Engine(error) => messages::engine_error(error),
        failure => EngineError::Message(format!("{failure:?}")),
    }
}
