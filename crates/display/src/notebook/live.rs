//! Live displays: they are shown once and then updated in place.
//!
//! A change costs a lock and the change itself. Drawing happens in [`refresh_all`], which the kernel's
//! flushing thread calls many times a second; each display has its own [`Throttle`]. A display is drawn
//! without delay when the user must see the exact state: when it appears, when the cell ends, and when
//! it is dropped.
//!
//! Two threads use a display, so neither may wait while it holds a lock that the other needs: the
//! content is drawn from a copy, and standard output (which the cell may hold for long) is locked before
//! the screen of the display. Each state has a version, so a drawing that is out of date is dropped.

use super::bundle::MimeBundle;
use super::record::{Host, write_evcxr_blocks};
use super::throttle::Throttle;
use super::{cell, display, terminal};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// The content of a live display.
pub(crate) trait LiveContent: Clone + Default + Send + 'static {
    /// Whether the display appears again below a later cell that changes it; otherwise it stays where it
    /// was.
    const FOLLOWS_CELL: bool = true;
    /// Whether the content is a few lines of text, which a terminal can also show.
    const IS_TEXT: bool = false;

    /// Draws the content in all its representations.
    fn bundle(&self) -> MimeBundle;
}

/// A live display. Its last state is shown when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Live<C: LiveContent> {
    shared: Arc<Shared<C>>,
}

impl<C: LiveContent> Live<C> {
    /// Changes the content without showing it.
    pub(crate) fn configure(&self, change: impl FnOnce(&mut C)) {
        change(&mut lock(&self.shared.state).content);
    }

    /// Changes the content. `change` returns whether the display looks different now.
    pub(crate) fn change(&self, change: impl FnOnce(&mut C) -> bool) {
        let mut state = lock(&self.shared.state);
        if !change(&mut state.content) {
            return;
        }
        let is_new = state.version == 0;
        state.version += 1;
        let moves = C::FOLLOWS_CELL && state.area != cell::output_area();
        let appears = is_new || (moves && cell::is_cell_thread());
        if appears {
            state.area = cell::output_area();
        }
        drop(state);
        match Host::current() {
            Host::Taper(_) if appears => {
                if is_new {
                    let shared: Weak<Shared<C>> = Arc::downgrade(&self.shared);
                    lock(&DISPLAYS).push(shared);
                }
                self.shared.refresh(true);
            }
            // There is no flushing thread.
            Host::Plain => self.shared.refresh(false),
            Host::Taper(_) | Host::Evcxr => {}
        }
    }

    /// Returns a copy of the content.
    pub(crate) fn read(&self) -> C {
        lock(&self.shared.state).content.clone()
    }

    /// Returns whether the display belongs to the current output area.
    pub(crate) fn is_in_current_area(&self) -> bool {
        lock(&self.shared.state).area == cell::output_area()
    }

    /// Shows the content as the value of the cell, unless the cell shows the display already.
    pub(crate) fn show_as_value(&self) {
        let was_shown = lock(&self.shared.screen).id.is_some();
        if was_shown && self.is_in_current_area() {
            self.shared.refresh(true);
        } else {
            let (content, version) = {
                let state = lock(&self.shared.state);
                (state.content.clone(), state.version)
            };
            display::result(&content.bundle());
            lock(&self.shared.screen).version = version;
        }
    }
}

impl<C: LiveContent> Drop for Live<C> {
    fn drop(&mut self) {
        self.shared.refresh(true);
        terminal::end(&lock(&self.shared.screen).terminal);
    }
}

/// The part of a display that the flushing thread shares.
#[derive(Debug, Default)]
struct Shared<C> {
    state: Mutex<State<C>>,
    screen: Mutex<Screen>,
}

#[derive(Debug, Default)]
struct State<C> {
    content: C,
    /// The number of changes.
    version: u64,
    /// The output area in which to show the content; see [`cell::output_area`].
    area: u64,
}

/// The state that the user sees.
#[derive(Debug, Default)]
struct Screen {
    /// The display id under Jupyter; `None` until the display is shown.
    id: Option<String>,
    /// The version of the content that is shown.
    version: u64,
    area: u64,
    throttle: Throttle,
    terminal: terminal::Frame,
}

/// A display with any type of content.
trait Refresh: Send + Sync {
    /// Shows the latest state if it is not shown yet: immediately, or only if the throttle permits.
    fn refresh(&self, immediately: bool);
}

impl<C: LiveContent> Refresh for Shared<C> {
    fn refresh(&self, immediately: bool) {
        let is_visible = match Host::current() {
            Host::Taper(_) | Host::Evcxr => true,
            Host::Plain => C::IS_TEXT && terminal::is_available(),
        };
        if !is_visible {
            return;
        }
        let began = Instant::now();
        let shown = {
            let screen = lock(&self.screen);
            if !immediately && !screen.throttle.is_due(began) {
                return;
            }
            screen.version
        };
        let (content, version, area) = {
            let state = lock(&self.state);
            if state.version == shown {
                return;
            }
            (state.content.clone(), state.version, state.area)
        };
        // A panic while drawing must end neither the process (the kernel calls this through C) nor the
        // loop whose state is shown.
        let bundle = catch_unwind(AssertUnwindSafe(|| content.bundle()))
            .unwrap_or_else(|_| MimeBundle::text("this display could not be drawn"));
        let out = (!matches!(Host::current(), Host::Plain)).then(|| std::io::stdout().lock());
        let mut screen = lock(&self.screen);
        if screen.version < version {
            screen.version = version;
            screen.show(&bundle, area, C::IS_TEXT);
            screen.throttle.drawn(began, Instant::now());
        }
        drop(screen);
        drop(out);
    }
}

impl Screen {
    fn show(&mut self, bundle: &MimeBundle, area: u64, is_text: bool) {
        match Host::current() {
            Host::Taper(receiver) => {
                let event = match &self.id {
                    Some(_) if self.area == area => "update_display",
                    _ => "display",
                };
                if event == "display" {
                    self.id = Some(new_id());
                    self.area = area;
                }
                receiver.receive(
                    &json!({"event": event, "data": bundle.data(), "display_id": self.id}),
                );
            }
            // A content block with the text would hide the value of the cell.
            Host::Evcxr if is_text => println!("{}", bundle.get("text/plain").unwrap_or_default()),
            Host::Evcxr => write_evcxr_blocks(bundle),
            Host::Plain if is_text && terminal::is_available() => {
                terminal::show(
                    &mut self.terminal,
                    bundle.get("text/plain").unwrap_or_default(),
                );
            }
            Host::Plain => {}
        }
    }
}

/// All displays of this process that the kernel refreshes.
static DISPLAYS: Mutex<Vec<Weak<dyn Refresh>>> = Mutex::new(Vec::new());

/// Shows all changed displays: immediately, or each only if its throttle permits.
pub(crate) fn refresh_all(immediately: bool) {
    let displays: Vec<Arc<dyn Refresh>> = {
        let mut displays = lock(&DISPLAYS);
        displays.retain(|display| display.strong_count() > 0);
        displays.iter().filter_map(Weak::upgrade).collect()
    };
    displays
        .iter()
        .for_each(|display| display.refresh(immediately));
}

pub(super) fn new_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("taper-{}-{count}", std::process::id())
}

/// Locks a mutex. After a panic in another thread the content can still be shown.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
