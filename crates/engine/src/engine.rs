//! The engine: its state between cells, and what is done with it.

use crate::cache::Cache;
use crate::cell::Reading;
use crate::cell::work::Work;
use crate::compile::shared::{Files, Shared, built};
use crate::compile::{Compiler, Messages, types};
use crate::config::{Config, Package};
use crate::diagnostic::Diagnostic;
use crate::effects::Effects;
use crate::error::Failure;
use crate::faults::Sources;
use crate::interrupt::{Control, Interrupter};
use crate::items::Items;
use crate::known::Known;
use crate::opaque::Gone;
use crate::process::{Late, Process, Question};
use crate::source::Source;
use crate::variables::{Variable, Variables};
use anyhow::Result;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use taper_evaluator::run::Times;
use taper_host::error::OnFile as _;

/// Something that happens while a cell is evaluated.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The compiler's warnings about the cell, before it runs.
    Warnings(Vec<Diagnostic>),
    /// The cell begins to run.
    Begin,
    /// The cell printed text, or showed something.
    Shown(taper_evaluator::Event),
    /// The cell reads a line of standard input, and waits for the answer.
    Input(Question),
    /// The value of the last expression.
    Value {
        /// The MIME type.
        mime_type: String,
        /// The representation of this type.
        text: String,
    },
    /// What the lines of the cell took, after it has run.
    Profile(crate::Profile),
    /// The cell panicked and has caught the panic, or its process has ended while it panicked.
    CaughtPanic(crate::Fault),
    /// Another thread than that of the cells panicked. The cell continues.
    ThreadPanic {
        /// The name of the thread.
        thread: Option<String>,
        /// The panic.
        fault: crate::Fault,
    },
}

/// What an evaluation did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The number of the evaluation, counted from 1.
    pub number: u32,
    /// Why the cell did not run to its end.
    pub failure: Option<Failure>,
    /// Variables that the cell defined.
    pub defined: Vec<String>,
    /// Variables that the cell moved away.
    pub moved: Vec<String>,
    /// Variables that are lost because the cell changed their type.
    pub lost: Vec<String>,
    /// Variables that stay as they are from now on, because others borrow from them.
    pub frozen: Vec<String>,
    /// What the cell used and changed, if it has run.
    pub effects: Option<Effects>,
    /// How long rustc and the linker took, with all attempts.
    pub compilation: Duration,
    /// How long the cell ran.
    pub times: Option<Times>,
}

/// Evaluates cells, one after the other.
pub struct Engine {
    pub(crate) config: Arc<Config>,
    pub(crate) compiler: Compiler,
    pub(crate) control: Control,
    pub(crate) items: Items,
    pub(crate) variables: Variables,
    pub(crate) process: Option<Process>,
    /// The number of the last evaluation.
    pub(crate) number: u32,
    /// Paths of types, by their last name, as far as rustc was asked.
    pub(crate) paths: HashMap<String, String>,
    /// Finds the paths of the types that the last cell's variables have.
    pub(crate) checking: Option<Checking>,
    /// What was compiled before, also by other engines.
    pub(crate) known: Known,
    pub(crate) sources: Sources,
    /// Receives what threads of earlier cells do.
    pub(crate) late: Late,
    /// The files with items that are in the folder.
    pub(crate) written: HashSet<String>,
    /// The packages as they were compiled.
    pub(crate) built: HashMap<String, Files>,
    /// The shared libraries of packages.
    pub(crate) shared: Shared,
    /// How calls of macros are read, by their paths, as far as rustc was asked.
    pub(crate) readings: HashMap<String, Reading>,
    /// Variables that lived until their cell ended, by name.
    pub(crate) gone: HashMap<String, Gone>,
    /// Variables that the process still holds, although no cell can use them.
    pub(crate) forgotten: Vec<String>,
}

/// A check in the background: see [`types`].
pub(crate) struct Checking {
    source: Source,
    key: String,
    messages: JoinHandle<Result<Messages>>,
}

impl Checking {
    pub(crate) fn is_done(&self) -> bool {
        self.messages.is_finished()
    }
}

impl Engine {
    /// Starts the process that runs the cells, and the compiler for the first cell.
    ///
    /// # Errors
    ///
    /// When the compiler or the process cannot be started.
    pub fn start(config: Config) -> Result<Engine> {
        std::fs::create_dir_all(&config.folder).on_file("create", &config.folder)?;
        let mut config = config;
        let mut shared = Shared::default();
        shared.share(&mut config);
        let config = Arc::new(config);
        let mut engine = Engine {
            compiler: Compiler::new(config.clone())?,
            control: Control::default(),
            items: Items::default(),
            variables: Variables::default(),
            process: None,
            number: 0,
            paths: HashMap::new(),
            checking: None,
            known: Known::new(Cache::new(config.cache.clone())),
            sources: Sources::default(),
            late: Arc::new(Mutex::new(Box::new(|_, _| {}))),
            written: HashSet::new(),
            built: built(&config.packages),
            shared,
            readings: HashMap::new(),
            gone: HashMap::new(),
            forgotten: Vec::new(),
            config,
        };
        engine.compiler.prepare(&[Work::Little]);
        engine.start_process()?;
        Ok(engine)
    }

    /// Returns the number of the next evaluation.
    pub fn next_number(&self) -> u32 {
        self.number + 1
    }

    /// Returns how many sources were compiled or checked.
    pub fn compilations(&self) -> u64 {
        self.compiler.count()
    }

    /// Returns the variables that a cell can use.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter()
    }

    /// Returns why there is no variable of this name, if one has lived until its cell ended.
    pub fn gone(&self, name: &str) -> Option<&Gone> {
        self.gone.get(name)
    }

    /// Returns what interrupts a cell.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter::new(&self.control)
    }

    /// Ends the process that runs the cells, and starts another. All variables are lost, items stay. Returns
    /// the names of the variables.
    ///
    /// # Errors
    ///
    /// When the process cannot be started.
    pub fn restart_process(&mut self) -> Result<Vec<String>> {
        let lost = self.forget_process();
        self.shared.forget_process();
        self.configure()?;
        self.start_process()?;
        Ok(lost)
    }

    /// Forgets all items and variables.
    ///
    /// # Errors
    ///
    /// When the process that runs the cells cannot be started again.
    pub fn clear(&mut self) -> Result<()> {
        self.items = Items::default();
        self.restart_process().map(drop)
    }

    /// Compiles the next cells with the packages that are set.
    pub(crate) fn configure(&mut self) -> Result<()> {
        self.shared.share(Arc::make_mut(&mut self.config));
        let attributes = self.items.attributes();
        self.compiler.set_config(self.config.clone(), &attributes)
    }

    /// Sets the folder in which shared libraries of packages are kept: see [`Config::libraries`](crate::Config::libraries).
    pub fn set_libraries(&mut self, folder: Option<PathBuf>) {
        Arc::make_mut(&mut self.config).libraries = folder;
    }

    /// Sets the environment variables for the next process that runs the cells: see
    /// [`Config::cell_environment`](crate::Config::cell_environment).
    pub fn set_cell_environment(&mut self, variables: Vec<(OsString, Option<OsString>)>) {
        Arc::make_mut(&mut self.config).cell_environment = variables;
    }

    /// Forgets what was in the process, which has ended or will be ended.
    pub(crate) fn forget_process(&mut self) -> Vec<String> {
        self.process = None;
        self.forgotten.clear();
        self.gone.clear();
        self.items.set_unloaded();
        self.variables.clear()
    }

    /// Returns what the result of a compilation depends on, as a digest. `text` includes the files of the source.
    pub(crate) fn key(&self, work: Work, source: &Source, text: &str) -> String {
        let files = source
            .files
            .iter()
            .flat_map(|file| [&*file.name, &*file.text]);
        let texts: Vec<&str> = std::iter::once(text).chain(files).collect();
        self.compiler.key(work, &source.attributes, &texts)
    }

    /// Writes the files of a cell. Those with items do not change.
    pub(crate) fn write(&mut self, source: &Source) -> Result<()> {
        let Some((statements, items)) = source.files.split_last() else {
            return Ok(());
        };
        for file in items.iter().chain([statements]) {
            if !self.written.contains(&file.name) {
                let path = self.config.folder.join(&file.name);
                std::fs::write(&path, &file.text).on_file("write", &path)?;
            }
        }
        self.written
            .extend(items.iter().map(|file| file.name.clone()));
        Ok(())
    }

    pub(crate) fn start_process(&mut self) -> Result<()> {
        let support = self.compiler.support().to_owned();
        let libraries = [vec![support], self.libraries()].concat();
        self.process = Some(Process::start(&self.config, libraries, self.late.clone())?);
        Ok(())
    }

    /// Loads the shared libraries of packages into the process that runs the cells. Those that it has stay as they are, also
    /// those of the packages `before`.
    pub(crate) fn load_packages(&mut self, before: &[Package]) -> Result<()> {
        let mut libraries = self.libraries();
        libraries.retain(|library| !before.iter().any(|it| it.library.as_ref() == Some(library)));
        match &mut self.process {
            Some(process) => process.load(libraries),
            None => Ok(()),
        }
    }

    /// Returns the shared libraries of packages, each behind those that it uses.
    fn libraries(&self) -> Vec<PathBuf> {
        let libraries = self
            .config
            .packages
            .iter()
            .filter_map(|it| it.library.clone());
        let made = self.shared.libraries();
        let is_made = |it: &PathBuf| made.contains(&it);
        let given = libraries.filter(|it| !is_made(it));
        let given: BTreeSet<PathBuf> = given.collect();
        given
            .into_iter()
            .chain(made.iter().map(|it| (*it).clone()))
            .collect()
    }

    /// Finds the whole paths of the types of new variables. Asks rustc in the background where they are not
    /// known.
    pub(crate) fn find_paths(&mut self, source: Source, defined: &[String]) {
        let known = self.items.names();
        let mut asked = HashSet::new();
        let mut is_known = true;
        let mut paths = Vec::new();
        for variable in self
            .variables
            .iter()
            .filter(|it| defined.contains(&it.name))
        {
            let names = types::short_names(&variable.kind);
            let missing: Vec<&str> = names
                .into_iter()
                .filter(|name| !known.contains(name))
                .collect();
            if missing.is_empty() {
                continue;
            }
            match types::with_paths(&variable.kind, &missing, &self.paths) {
                Some(path) => paths.push((variable.name.clone(), path)),
                None => is_known = false,
            }
            // The answer is about all variables: known names are asked for too, or it would shorten them.
            asked.extend(missing.into_iter().map(str::to_owned));
        }
        for (name, path) in paths {
            self.variables.set_path(&name, path);
        }
        if is_known {
            return;
        }
        let text = source.with_decoys(&asked);
        let key = self.key(Work::Little, &source, &text);
        if let Some((kinds, _)) = self.known.cache.read(&key) {
            self.learn_paths(kinds);
            return;
        }
        // The files of a cell that was compiled before may be missing.
        let messages = self.write(&source).and_then(|()| self.compiler.check(text));
        self.checking = messages.ok().map(|messages| Checking {
            source,
            key,
            messages,
        });
    }

    /// Frees memory that only makes the next cell a little faster, because none has come for a while.
    pub fn rest(&mut self) {
        self.compiler.rest();
    }

    /// Takes over the paths of the types that the last cell's variables have, if they are known by now. Returns whether
    /// it had to wait for nothing: then [`Engine::scope`] has them.
    pub fn try_settle(&mut self) -> bool {
        let is_done = self.checking.as_ref().is_none_or(Checking::is_done);
        if is_done {
            self.settle();
        }
        is_done
    }

    /// Waits for the paths of the types that the last cell's variables have.
    pub(crate) fn settle(&mut self) {
        let Some(Checking {
            source,
            key,
            messages,
        }) = self.checking.take()
        else {
            return;
        };
        let Ok(Ok(messages)) = messages.join() else {
            return;
        };
        let kinds: Vec<(String, String)> = source.kinds(&messages).collect();
        self.known.cache.write(&key, &kinds, &[]);
        self.learn_paths(kinds);
    }

    fn learn_paths(&mut self, kinds: Vec<(String, String)>) {
        for (name, kind) in kinds {
            self.paths.extend(types::paths_in(&kind));
            self.variables.set_path(&name, kind);
        }
    }
}
