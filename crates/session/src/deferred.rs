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
    CellError, CellName, Completions, Editor, Evaluator, Event, Front, Interrupt, Late, MimeBundle,
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
        handles: Arc::default(),
    }))
}

struct Deferred {
    state: State,
    late: Option<Arc<dyn Late>>,
    /// The order of the notebook's cells, which JupyterLab sends before the first cell runs.
    order: Vec<String>,
    handles: Arc<Handles>,
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
            handles: &self.handles,
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
        let handles = (session.interrupter(), session.editor());
        let _ = self.handles.session.set(handles);
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
        self.handles.is_stopped.store(false, Ordering::Relaxed);
        let started = self.start(front);
        let stopped = self.handles.is_stopped.load(Ordering::Relaxed);
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
        value: &str,
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

    fn editor(&self) -> Arc<dyn Editor> {
        self.handles.clone()
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.handles.clone()
    }
}

/// What other threads use: they stop the build or, once the session has started, the running cell, and complete code.
#[derive(Default)]
struct Handles {
    is_stopped: AtomicBool,
    session: OnceLock<(Arc<dyn Interrupt>, Arc<dyn Editor>)>,
}

impl Interrupt for Handles {
    fn interrupt(&self) {
        match self.session.get() {
            Some((session, _)) => session.interrupt(),
            None => self.is_stopped.store(true, Ordering::Relaxed),
        }
    }
}

impl Editor for Handles {
    fn complete(&self, code: &str, cursor: usize) -> Completions {
        let none = || Completions::none(cursor);
        let session = self.session.get();
        session.map_or_else(none, |(_, editor)| editor.complete(code, cursor))
    }

    fn inspect(&self, code: &str, cursor: usize) -> Option<MimeBundle> {
        self.session.get()?.1.inspect(code, cursor)
    }
}

/// Shows the build's progress below the cell.
struct InCell<'a> {
    line: LiveLine<'a>,
    handles: &'a Handles,
}

impl Progress for InCell<'_> {
    fn line(&mut self, text: &str) {
        self.line.line(text);
    }

    fn step(&mut self, step: &Step) {
        self.line.step(step);
    }

    fn is_stopped(&self) -> bool {
        self.handles.is_stopped.load(Ordering::Relaxed)
    }
}
