//! Waits for the futures of a cell.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// What wakes the future for which the cell waits.
static WAITING: Mutex<Option<Waker>> = Mutex::new(None);

/// Whether the cell was interrupted while it waits.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn waiting() -> MutexGuard<'static, Option<Waker>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the wait for a future, which panics.
// SAFETY: the prefix `taper_` keeps the symbol's name unique.
#[unsafe(no_mangle)]
pub extern "C" fn taper_support_stop_waiting() {
    let waker = waiting().take();
    if let Some(waker) = waker {
        IS_INTERRUPTED.store(true, Ordering::Relaxed);
        waker.wake();
    }
}

/// Waits for a future, and panics when the cell is interrupted.
pub async fn interruptible<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    IS_INTERRUPTED.store(false, Ordering::Relaxed);
    poll_fn(|context| {
        *waiting() = Some(context.waker().clone());
        if IS_INTERRUPTED.swap(false, Ordering::Relaxed) {
            panic!("interrupted");
        }
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            waiting().take();
        }
        polled
    })
    .await
}

/// Runs a future on this thread until it is ready.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(interruptible(future));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Returns a value that lives as long as the process, such as a runtime. It is made once for its type.
pub fn lasting<T: Send + Sync + 'static>(make: impl FnOnce() -> T) -> &'static T {
    static MADE: Mutex<Vec<&'static (dyn Any + Send + Sync)>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = made.iter().find_map(|it| it.downcast_ref()) {
        return value;
    }
    let value: &'static T = Box::leak(Box::new(make()));
    made.push(value);
    value
}
