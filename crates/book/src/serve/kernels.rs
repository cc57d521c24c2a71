//! One evaluator for each chapter whose cells were run.

use super::live::Live;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use taper_evaluator::{Evaluator, Event, Front, Interrupt};
use taper_host::mutex::lock;

/// A function that starts an evaluator whose cells run in a folder.
pub type StartEvaluator = dyn Fn(&Path) -> anyhow::Result<Box<dyn Evaluator>> + Send + Sync;

/// The kernels that may exist at a time, because each contains a compiler and the variables of a chapter. Before
/// another kernel starts, the least recently used idle kernel ends.
const MAX_KERNELS: usize = 3;

/// The pause between two changes of a page, so that a loop that prints does not overwhelm the browser.
const PAUSE: Duration = Duration::from_millis(40);

/// The evaluators of all chapters.
pub(crate) struct Kernels {
    start: Box<StartEvaluator>,
    notebooks: PathBuf,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

impl Kernels {
    /// Creates a list without kernels; `start` starts each kernel in its chapter's folder below `notebooks`.
    pub(crate) fn new(notebooks: PathBuf, start: Box<StartEvaluator>) -> Kernels {
        Kernels {
            start,
            notebooks,
            kernels: Mutex::default(),
        }
    }

    /// Runs a cell of a page after the cells that were requested before. Sends each change of its outputs, as long
    /// as `send` succeeds; the cell runs to its end in any case.
    pub(crate) fn run(
        &self,
        page: &str,
        code: &str,
        send: &mut (dyn FnMut(&Value) -> bool + Send),
    ) {
        let kernel = self.kernel(page);
        let folder = self.folder(page);
        kernel.run(code, &|| (self.start)(&folder), send);
        *lock(&kernel.used) = Instant::now();
    }

    /// Returns the folder in which the cells of a page run. A translation, in the folder of its language, runs where the
    /// English notebook does.
    fn folder(&self, page: &str) -> PathBuf {
        let own = self.notebooks.join(page).with_file_name("");
        match page.split_once('/') {
            Some((_language, english)) if !own.is_dir() => {
                self.notebooks.join(english).with_file_name("")
            }
            _ => own,
        }
    }

    /// Interrupts the running cell of a page.
    pub(crate) fn interrupt(&self, page: &str) {
        if let Some(kernel) = lock(&self.kernels).get(page) {
            kernel.interrupt();
        }
    }

    /// Ends the kernel of a page with its variables; the next cell starts another one.
    pub(crate) fn restart(&self, page: &str) {
        let removed = lock(&self.kernels).remove(page);
        if let Some(kernel) = removed {
            kernel.end();
        }
    }

    /// Returns whether a cell of a page is running.
    pub(crate) fn is_busy(&self, page: &str) -> bool {
        let kernel = lock(&self.kernels).get(page).cloned();
        kernel.is_some_and(|kernel| kernel.is_busy())
    }

    fn kernel(&self, page: &str) -> Arc<Kernel> {
        let mut kernels = lock(&self.kernels);
        if !kernels.contains_key(page) && kernels.len() >= MAX_KERNELS {
            let idle = kernels.iter().filter(|(_, kernel)| !kernel.is_busy());
            let oldest = idle.min_by_key(|(_, kernel)| *lock(&kernel.used));
            if let Some(page) = oldest.map(|(page, _)| page.clone()) {
                kernels.remove(&page);
            }
        }
        kernels.entry(page.to_owned()).or_default().clone()
    }
}

/// The evaluator of a chapter.
struct Kernel {
    /// Locked while a cell runs; `None` before the first cell.
    evaluator: Mutex<Option<Box<dyn Evaluator>>>,
    interrupt: Mutex<Option<Arc<dyn Interrupt>>>,
    has_ended: AtomicBool,
    used: Mutex<Instant>,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel {
            evaluator: Mutex::default(),
            interrupt: Mutex::default(),
            has_ended: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
        }
    }
}

impl Kernel {
    fn run(
        &self,
        code: &str,
        start: &dyn Fn() -> anyhow::Result<Box<dyn Evaluator>>,
        send: &mut (dyn FnMut(&Value) -> bool + Send),
    ) {
        let mut evaluator = lock(&self.evaluator);
        if self.has_ended.load(Ordering::SeqCst) {
            send(&json!({"done": false, "problem": "The kernel was restarted."}));
            return;
        }
        if evaluator.is_none() {
            match start() {
                Ok(started) => {
                    *lock(&self.interrupt) = Some(started.interrupter());
                    *evaluator = Some(started);
                }
                Err(error) => {
                    send(&json!({"done": false, "problem": error.to_string()}));
                    return;
                }
            }
        }
        let Some(evaluator) = evaluator.as_mut() else {
            return;
        };
        let (sender, events) = channel();
        let page = &mut *send;
        let ok = std::thread::scope(|scope| {
            scope.spawn(move || report(&events, page));
            evaluator.execute(code, None, &mut Reporter(sender)).is_ok()
        });
        send(&json!({"done": ok}));
    }

    fn interrupt(&self) {
        if let Some(interrupt) = &*lock(&self.interrupt) {
            interrupt.interrupt();
        }
    }

    /// Ends the kernel: interrupts the running cell, and the cells that wait do not run.
    fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        if self.is_busy() {
            // The second interrupt ends a cell that ignores the first.
            self.interrupt();
            self.interrupt();
        }
    }

    fn is_busy(&self) -> bool {
        self.evaluator.try_lock().is_err()
    }
}

/// Sends the changes of the outputs until the cell has ended. After a failure to send, only reads the events.
fn report(events: &Receiver<Event>, send: &mut (dyn FnMut(&Value) -> bool + Send)) {
    let mut live = Live::default();
    let mut is_read = true;
    while let Ok(first) = events.recv() {
        live.event(first);
        events.try_iter().for_each(|event| live.event(event));
        if is_read && let Some(changes) = live.changes() {
            is_read = send(&changes);
            std::thread::sleep(PAUSE);
        }
    }
}

struct Reporter(Sender<Event>);

impl Front for Reporter {
    fn event(&mut self, event: Event) {
        // The receiver lives until the sender is dropped.
        let _ = self.0.send(event);
    }

    /// A page has no field for input: the cell reads the end of the file.
    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_runs_where_the_english_notebook_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let notebooks = folder.path().to_owned();
        std::fs::create_dir(notebooks.join("solutions")).expect("a folder");
        let kernels = Kernels::new(notebooks.clone(), Box::new(|_| anyhow::bail!("none")));
        for page in ["gpus", "zh/gpus"] {
            assert_eq!(kernels.folder(page), notebooks.join(""));
        }
        for page in ["solutions/gpus", "zh/solutions/gpus"] {
            assert_eq!(kernels.folder(page), notebooks.join("solutions/"));
        }
    }
}
