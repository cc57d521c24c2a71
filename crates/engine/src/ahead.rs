//! Compiles a cell before it is evaluated, such as the next one of a notebook, while nothing else is to be done.
//!
//! A second engine without a process does it, in a folder and on a thread of its own: all that [`Engine::evaluate`] does
//! until the cell runs. What it compiles goes to the cache, where the evaluation finds it. The evaluation does not wait
//! for it, but stops it.

use crate::compile::shared::Shared;
use crate::config::Config;
use crate::engine::Engine;
use crate::error::Failure;
use crate::faults::Sources;
use crate::interrupt::{Control, Interrupter};
use crate::known::Known;
use crate::plan::Input;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use taper_host::error::OnFile as _;

/// How nice the thread and its compiler are: they get the time that nothing else uses.
const NICENESS: i32 = 19;

/// A cell that is compiled ahead. When this is dropped, its compiler is killed.
pub struct Ahead {
    control: Control,
    thread: Option<JoinHandle<bool>>,
}

impl Engine {
    /// Begins to compile a cell that may be evaluated next, with the items and variables that there are now. Does not
    /// wait, and nothing of the cell runs. An evaluation, an interrupt and other packages stop it. Without a
    /// [cache](crate::Config::cache), the result could not be kept.
    ///
    /// Returns `None` if that is not possible now, but perhaps later: the types of new variables are still looked up.
    pub fn compile_ahead(&mut self, source: &str) -> Option<Ahead> {
        if self.checking.as_ref().is_some_and(|it| !it.is_done()) {
            return None;
        }
        self.settle();
        let mut ahead = self.without_process();
        let control = ahead.control.clone();
        self.control.set_ahead(Some(control.clone()));
        let source = source.to_owned();
        let thread = std::thread::Builder::new().name("ahead".to_owned());
        let work = move || {
            taper_host::process::let_others_go_first(NICENESS);
            let is_compiled = ahead.try_compile(&source).is_ok();
            let _ = std::fs::remove_dir_all(&ahead.config.folder);
            is_compiled
        };
        let thread = Some(thread.spawn(work).ok()?);
        Some(Ahead { control, thread })
    }

    /// Returns an engine with the same items and variables that evaluates nothing.
    fn without_process(&self) -> Engine {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mut config = Config::clone(&self.config);
        config.folder = config.folder.join(format!("ahead-{number}"));
        let config = Arc::new(config);
        Engine {
            compiler: self.compiler.with_config(config.clone()),
            control: Control::busy(),
            items: self.items.clone(),
            variables: self.variables.clone(),
            process: None,
            number: self.number + 1,
            paths: HashMap::new(),
            checking: None,
            known: Known::new(self.known.cache.clone()),
            sources: Sources::default(),
            late: self.late.clone(),
            written: HashSet::new(),
            built: HashMap::new(),
            shared: Shared::default(),
            readings: self.readings.clone(),
            gone: HashMap::new(),
            forgotten: Vec::new(),
            config,
        }
    }

    /// Compiles a cell and waits until it is in the cache.
    fn try_compile(&mut self, source: &str) -> Result<(), Failure> {
        let folder = &self.config.folder;
        std::fs::create_dir_all(folder).on_file("create", folder)?;
        self.compile(Input::of(source))?;
        self.known.wait();
        Ok(())
    }
}

impl Ahead {
    /// Returns whether nothing more is to be done.
    pub fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end. Returns whether the cell compiles, and was not stopped.
    pub fn wait(mut self) -> bool {
        let thread = self.thread.take();
        thread.is_some_and(|thread| thread.join().unwrap_or_default())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        Interrupter::new(&self.control).interrupt();
    }
}
