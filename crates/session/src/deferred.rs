//! An evaluator whose first cell builds the image, if it is missing or outdated, for example after
//! `rustup update`.
//!
//! A kernel that built at its start would be silent for minutes. So the first cell builds the image. The
//! cell shows the progress, and an interrupt stops the build; the next cell continues where it stopped.

use crate::error::Result;
use crate::session::{LiveLine, Session, cell_error, needed};
use crate::start::{build, is_built, start_built, start_session};
use crate::workspace::Workspace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use taper_evaluator::{
    CellError, CellName, Completions, Evaluator, Event, Front, Interrupt, Late, MimeBundle,
    StaleCell, Variable,
};
use taper_host::error::describe;
use taper_host::progress::{Console, Progress, Step};

/// Starts a session in `work`, or returns an evaluator whose first cell builds the image and then starts
/// the session.
///
/// # Errors
///
/// When the toolchain or the sources of `taper` are missing, or the engine does not start.
pub fn start_or_defer(work: Workspace) -> Result<Box<dyn Evaluator>> {
    if is_built()? {
        let session = start_session(work, &mut Console::new())?;
        return Ok(Box::new(session));
    }
    Ok(Box::new(Deferred {
        state: State::Waiting(work),
        late: None,
        order: Vec::new(),
        interrupter: Arc::default(),
    }))
}

struct Deferred {
    state: State,
    late: Option<Arc<dyn Late>>,
    /// The order of the notebook's cells, which JupyterLab sends before the first cell runs.
    order: Vec<String>,
    interrupter: Arc<Interrupter>,
}

enum State {
    /// For the first cell.
    Waiting(Workspace),
    Started(Box<Session>),
    /// The engine did not start, and the folder is gone.
    Failed(String),
}

impl Deferred {
    fn session(&mut self) -> Option<&mut Session> {
        match &mut self.state {
            State::Started(session) => Some(session),
            _ => None,
        }
    }

    /// Builds and starts the session, unless it has started.
    fn start(&mut self, front: &mut dyn Front) -> Result<()> {
        let State::Waiting(work) = &self.state else {
            return Ok(());
        };
        let emit = &mut |event| front.event(event);
        let mut progress = InCell {
            line: LiveLine::new(emit),
            interrupter: &self.interrupter,
        };
        let built = build(work, &mut progress)?;
        progress.line.finish();
        let failed = State::Failed("the session did not start".to_owned());
        let State::Waiting(work) = std::mem::replace(&mut self.state, failed) else {
            return Ok(());
        };
        let mut session = start_built(work, built).inspect_err(|error| {
            self.state = State::Failed(describe(error));
        })?;
        if let Some(late) = self.late.take() {
            session.set_late(late);
        }
        session.set_order(&std::mem::take(&mut self.order));
        let _ = self.interrupter.session.set(session.interrupter());
        self.state = State::Started(Box::new(session));
        Ok(())
    }
}

impl Evaluator for Deferred {
    fn execute(
        &mut self,
        code: &str,
        cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        self.interrupter.is_stopped.store(false, Ordering::Relaxed);
        let started = self.start(front);
        let stopped = self.interrupter.is_stopped.load(Ordering::Relaxed);
        let error = match (started, &mut self.state) {
            (Ok(()), State::Started(session)) if !stopped => {
                return session.execute(code, cell, front);
            }
            (_, _) if stopped => cell_error(
                "Interrupted",
                "Compiling was stopped. The next cell continues where it stopped.",
                None,
            ),
            (Err(error), _) => cell_error("StartError", &describe(&error), None),
            (Ok(()), State::Failed(why)) => cell_error("StartError", why, None),
            (Ok(()), _) => return Ok(()),
        };
        front.event(Event::Error(error.clone()));
        Err(error)
    }

    fn set_late(&mut self, late: Arc<dyn Late>) {
        match self.session() {
            Some(session) => session.set_late(late),
            None => self.late = Some(late),
        }
    }

    fn stale(&mut self) -> Option<Vec<StaleCell>> {
        self.session()?.stale()
    }

    fn set_order(&mut self, cells: &[String]) {
        match self.session() {
            Some(session) => session.set_order(cells),
            None => self.order = cells.to_vec(),
        }
    }

    fn needed(&mut self, cells: &[(String, String)], id: &str) -> Vec<String> {
        match self.session() {
            Some(session) => session.needed(cells, id),
            None => needed(cells, id, &|_, _| false),
        }
    }

    fn update_widget(
        &mut self,
        id: &str,
        value: f64,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        // Without a session there are no controls.
        self.session()
            .map_or(Ok(()), |session| session.update_widget(id, value, front))
    }

    fn inspect_variables(&mut self, with_values: bool) -> Vec<Variable> {
        self.session()
            .map_or(Vec::new(), |session| session.inspect_variables(with_values))
    }

    fn complete(&mut self, code: &str, cursor: usize) -> Completions {
        self.session().map_or(Completions::none(cursor), |session| {
            session.complete(code, cursor)
        })
    }

    fn inspect(&mut self, code: &str, cursor: usize) -> Option<MimeBundle> {
        self.session()?.inspect(code, cursor)
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.interrupter.clone()
    }
}

/// Stops the build or, once the session has started, the running cell.
#[derive(Default)]
struct Interrupter {
    is_stopped: AtomicBool,
    session: OnceLock<Arc<dyn Interrupt>>,
}

impl Interrupt for Interrupter {
    fn interrupt(&self) {
        match self.session.get() {
            Some(session) => session.interrupt(),
            None => self.is_stopped.store(true, Ordering::Relaxed),
        }
    }
}

/// Shows the build's progress below the cell.
struct InCell<'a> {
    line: LiveLine<'a>,
    interrupter: &'a Interrupter,
}

impl Progress for InCell<'_> {
    fn line(&mut self, text: &str) {
        self.line.line(text);
    }

    fn step(&mut self, step: &Step) {
        self.line.step(step);
    }

    fn is_stopped(&self) -> bool {
        self.interrupter.is_stopped.load(Ordering::Relaxed)
    }
}
