//! One loop through a loader.

use super::Plan;
use crate::data::Batch;
use crate::error::explain;
use crate::kernel::check_interrupt;
use candle_core::Result;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// The batches of one loop through a [`DataLoader`](super::DataLoader).
///
/// Each item may be an error: that of the example that could not be read, or that the reader asked
/// to stop. After an error come no more batches.
///
/// ```
/// use taper::prelude::*;
/// use taper::data::Batches;
///
/// let data = TensorDataset::new(zeros((5, 2), &cpu())?, zeros(5, &cpu())?)?;
/// let mut batches: Batches = DataLoader::new(data).batch_size(4).into_iter();
/// assert_eq!(batches.len(), 2);
/// let batch = batches.next().expect("the first one")?;
/// assert_eq!(batch.len(), 4);
/// # Ok::<(), Error>(())
/// ```
pub struct Batches {
    /// Gives the next one; `None` once there are no more. What is behind it need not be known where a
    /// loop is compiled.
    source: Option<Box<dyn FnMut() -> Result<Batch> + Send>>,
    left: usize,
}

impl Batches {
    pub(super) fn new(plan: Result<Plan>, prefetch: usize) -> Self {
        match plan {
            Err(error) => {
                let mut error = Some(error);
                let none_left = || explain("there are no more batches", "Begin another loop");
                Batches::from(1, move || Err(error.take().unwrap_or_else(none_left)))
            }
            Ok(plan) if prefetch == 0 => {
                let mut numbers = 0..;
                Batches::from(plan.num_batches, move || {
                    plan.batch(numbers.next().unwrap_or_default())
                })
            }
            Ok(plan) => {
                let left = plan.num_batches;
                let ahead = Ahead::start(plan, prefetch);
                Batches::from(left, move || ahead.receive())
            }
        }
    }

    fn from(left: usize, source: impl FnMut() -> Result<Batch> + Send + 'static) -> Self {
        Batches {
            source: Some(Box::new(source)),
            left,
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.left == 0 {
            self.source = None;
        }
        let source = self.source.as_mut()?;
        self.left -= 1;
        let batch = check_interrupt().and_then(|()| source());
        if batch.is_err() {
            self.left = 0;
            self.source = None;
        }
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Batches {}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batches({} to come)", self.left)
    }
}

/// A thread that makes batches, as far ahead as its channel is long.
struct Ahead {
    /// `None` once nothing more is wanted: that is how the thread knows.
    batches: Option<Receiver<Result<Batch>>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(plan: Plan, prefetch: usize) -> Self {
        // The batch that waits to be sent is one of those made ahead.
        let (sender, batches) = sync_channel(prefetch - 1);
        let thread = std::thread::spawn(move || {
            for number in 0..plan.num_batches {
                let batch = plan.batch(number);
                let failed = batch.is_err();
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        });
        Ahead {
            batches: Some(batches),
            thread: Some(thread),
        }
    }

    fn receive(&self) -> Result<Batch> {
        let received = self
            .batches
            .as_ref()
            .and_then(|batches| batches.recv().ok());
        received.unwrap_or_else(|| {
            Err(explain(
                "the data set panicked while it made a batch",
                "The panic's own message stands above; .prefetch(0) makes it the cell's",
            ))
        })
    }
}

impl Drop for Ahead {
    /// Waits for the thread, so that nothing works on when the loop is over.
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // Its panic, if any, was told by `receive`.
            let _ = thread.join();
        }
    }
}
