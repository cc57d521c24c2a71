//! What is shown once and then changes in place.
//!
//! A change is only noted: it costs a lock and the change itself. Pictures are made by
//! [`refresh_all`], which the kernel's flushing thread calls many times a second, each display at
//! its own [`Throttle`]; and without a pause where the reader must see the exact state: when a display
//! appears, when the cell ends, and when the display is dropped.
//!
//! Two threads meet here, so nobody waits while holding a lock that the other may need: a picture is
//! made from a copy, and standard output is locked (the cell may hold it for long) before the
//! display's own lock. Each state has a number, so a picture that was overtaken is thrown away.

use super::bundle::MimeBundle;
use super::record::{Host, write_evcxr_blocks, write_record};
use super::throttle::Throttle;
use super::{cell, display, terminal};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// What a display shows.
pub(crate) trait Picture: Clone + Default + Send + 'static {
    /// Whether it appears again in a later cell that changes it, or stays where it was.
    const FOLLOWS_THE_CELL: bool = true;
    /// Whether it is a few lines of text, which a terminal can show as well.
    const IS_TEXT: bool = false;

    /// The picture in all its representations.
    fn bundle(&self) -> MimeBundle;
}

/// A picture with its place on the page. Its last state is shown when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Live<P: Picture> {
    slot: Arc<Slot<P>>,
}

impl<P: Picture> Live<P> {
    /// Changes what will be shown, but shows nothing yet.
    pub(crate) fn configure(&self, change: impl FnOnce(&mut P)) {
        change(&mut lock(&self.slot.state).picture);
    }

    /// Changes the picture; `change` says whether it looks different now.
    pub(crate) fn change(&self, change: impl FnOnce(&mut P) -> bool) {
        let mut state = lock(&self.slot.state);
        if !change(&mut state.picture) {
            return;
        }
        let is_new = state.version == 0;
        state.version += 1;
        let moves = P::FOLLOWS_THE_CELL && state.page != cell::page();
        let appears = is_new || (moves && cell::is_cell_thread());
        if appears {
            state.page = cell::page();
        }
        drop(state);
        match Host::current() {
            Host::Taper { .. } if appears => {
                if is_new {
                    let slot: Weak<Slot<P>> = Arc::downgrade(&self.slot);
                    lock(&DISPLAYS).push(slot);
                }
                self.slot.refresh(true);
            }
            // Nobody else would do it there.
            Host::Plain => self.slot.refresh(false),
            Host::Taper { .. } | Host::Evcxr => {}
        }
    }

    /// A copy of the picture.
    pub(crate) fn read(&self) -> P {
        lock(&self.slot.state).picture.clone()
    }

    /// Whether it is, or will be, shown among the outputs to which the current cell adds.
    pub(crate) fn is_on_this_page(&self) -> bool {
        lock(&self.slot.state).page == cell::page()
    }

    /// Shows the picture as the value of the cell, unless the cell shows it already.
    pub(crate) fn show_as_value(&self) {
        let was_shown = lock(&self.slot.screen).id.is_some();
        if was_shown && self.is_on_this_page() {
            self.slot.refresh(true);
        } else {
            let (picture, version) = {
                let state = lock(&self.slot.state);
                (state.picture.clone(), state.version)
            };
            display::result(&picture.bundle());
            lock(&self.slot.screen).version = version;
        }
    }
}

impl<P: Picture> Drop for Live<P> {
    fn drop(&mut self) {
        self.slot.refresh(true);
        terminal::end(&lock(&self.slot.screen).terminal);
    }
}

/// The part of a display that the flushing thread knows.
#[derive(Debug, Default)]
struct Slot<P> {
    state: Mutex<State<P>>,
    screen: Mutex<Screen>,
}

#[derive(Debug, Default)]
struct State<P> {
    picture: P,
    /// Counts the changes.
    version: u64,
    /// Where it is to be shown, see [`cell::page`].
    page: u64,
}

/// What the reader sees.
#[derive(Debug, Default)]
struct Screen {
    id: Option<String>,
    version: u64,
    page: u64,
    throttle: Throttle,
    terminal: terminal::Frame,
}

/// A display whatever its picture.
trait Refresh: Send + Sync {
    /// Shows the latest state, if it is not shown yet; now, or only if it is time.
    fn refresh(&self, now: bool);
}

impl<P: Picture> Refresh for Slot<P> {
    fn refresh(&self, now: bool) {
        let is_seen = match Host::current() {
            Host::Taper { .. } | Host::Evcxr => true,
            Host::Plain => P::IS_TEXT && terminal::is_there(),
        };
        if !is_seen {
            return;
        }
        let began = Instant::now();
        let shown = {
            let screen = lock(&self.screen);
            if !now && !screen.throttle.is_due(began) {
                return;
            }
            screen.version
        };
        let (picture, version, page) = {
            let state = lock(&self.state);
            if state.version == shown {
                return;
            }
            (state.picture.clone(), state.version, state.page)
        };
        // A mistake in drawing must neither end the process (the kernel calls this from C) nor the
        // loop that is being watched.
        let bundle = catch_unwind(AssertUnwindSafe(|| picture.bundle()))
            .unwrap_or_else(|_| MimeBundle::text("this picture could not be drawn"));
        let out = (!matches!(Host::current(), Host::Plain)).then(|| std::io::stdout().lock());
        let mut screen = lock(&self.screen);
        if screen.version < version {
            screen.version = version;
            screen.show(&bundle, page, P::IS_TEXT);
            screen.throttle.drawn(began, Instant::now());
        }
        drop(screen);
        drop(out);
    }
}

impl Screen {
    fn show(&mut self, bundle: &MimeBundle, page: u64, is_text: bool) {
        match Host::current() {
            Host::Taper { secret } => {
                let op = match &self.id {
                    Some(_) if self.page == page => "update",
                    _ => "display",
                };
                if op == "display" {
                    self.id = Some(new_id());
                    self.page = page;
                }
                write_record(
                    secret,
                    &json!({"op": op, "data": bundle.data(), "id": self.id}),
                );
            }
            // Its front end would hide the value of the cell behind another text.
            Host::Evcxr if is_text => println!("{}", bundle.get("text/plain").unwrap_or_default()),
            Host::Evcxr => write_evcxr_blocks(bundle),
            Host::Plain if is_text && terminal::is_there() => {
                terminal::show(
                    &mut self.terminal,
                    bundle.get("text/plain").unwrap_or_default(),
                );
            }
            Host::Plain => {}
        }
    }
}

/// All displays of this process that the kernel keeps up to date.
static DISPLAYS: Mutex<Vec<Weak<dyn Refresh>>> = Mutex::new(Vec::new());

/// Shows what has changed: now, or each display only if it is time for it.
pub(crate) fn refresh_all(now: bool) {
    let displays: Vec<Arc<dyn Refresh>> = {
        let mut displays = lock(&DISPLAYS);
        displays.retain(|display| display.strong_count() > 0);
        displays.iter().filter_map(Weak::upgrade).collect()
    };
    displays.iter().for_each(|display| display.refresh(now));
}

fn new_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("taper-{}-{count}", std::process::id())
}

/// A panic elsewhere leaves a picture that can still be shown.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
