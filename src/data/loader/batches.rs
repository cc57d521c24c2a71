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
    source: Source,
    left: usize,
}

enum Source {
    /// Each batch is made when it is asked for.
    Here {
        plan: Plan,
        next: usize,
    },
    /// A thread makes them ahead.
    Ahead(Ahead),
    /// There is nothing but this.
    Failed(candle_core::Error),
    Ended,
}

impl Batches {
    pub(super) fn new(plan: Result<Plan>, prefetch: usize) -> Self {
        let (source, left) = match plan {
            Err(error) => (Source::Failed(error), 1),
            Ok(plan) => {
                let left = plan.num_batches;
                let source = match prefetch {
                    0 => Source::Here { plan, next: 0 },
                    _ => Source::Ahead(Ahead::start(plan, prefetch)),
                };
                (source, left)
            }
        };
        Batches { source, left }
    }

    fn end(&mut self) -> Source {
        self.left = 0;
        std::mem::replace(&mut self.source, Source::Ended)
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.left == 0 {
            self.end();
            return None;
        }
        self.left -= 1;
        let batch = match &mut self.source {
            Source::Here { plan, next } => {
                *next += 1;
                check_interrupt().and_then(|()| plan.batch(*next - 1))
            }
            Source::Ahead(ahead) => check_interrupt().and_then(|()| ahead.receive()),
            Source::Failed(_) | Source::Ended => match self.end() {
                Source::Failed(error) => Err(error),
                _ => return None,
            },
        };
        if batch.is_err() {
            self.end();
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

    fn receive(&mut self) -> Result<Batch> {
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
