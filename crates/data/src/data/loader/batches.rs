//! One loop through a loader.

use super::plan::Plan;
use crate::data::{AnyBatch, Batch, BatchData, typed};
use crate::error::{Result, refuse};
use crate::notebook::check_interrupt;
use crate::tensor::fork;
use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// The batches of one loop through a [`DataLoader`](super::DataLoader).
///
/// Each item may be an error: an example could not be read, or the user asked to stop. The loop ends
/// after an error.
///
/// ```
/// use taper::prelude::*;
/// use taper::data::Batches;
///
/// let data = TensorDataset::new(zeros((5, 2)), zeros(5))?;
/// let mut batches: Batches = DataLoader::new(data).batch_size(4).into_iter();
/// assert_eq!(batches.len(), 2);
/// let batch = batches.next().expect("the first one")?;
/// assert_eq!(batch.len(), 4);
/// # Ok::<(), Error>(())
/// ```
pub struct Batches<B = Batch> {
    any: AnyBatches,
    of: PhantomData<fn() -> B>,
}

impl<B> Batches<B> {
    pub(super) fn new(any: AnyBatches) -> Self {
        Batches {
            any,
            of: PhantomData,
        }
    }
}

impl<B: BatchData> Iterator for Batches<B> {
    type Item = Result<B>;

    fn next(&mut self) -> Option<Result<B>> {
        self.any.next().map(|batch| batch.map(typed))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.any.size_hint()
    }
}

impl<B: BatchData> ExactSizeIterator for Batches<B> {}

impl<B> std::fmt::Debug for Batches<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batches({} to come)", self.any.left)
    }
}

type Source = Box<dyn Iterator<Item = Result<Box<dyn AnyBatch>>> + Send>;

/// [`Batches`] whose type is erased.
#[doc(hidden)]
pub struct AnyBatches {
    /// The iterator over the batches; `None` after the last one. It is boxed so that a loop in a cell does
    /// not compile its type.
    source: Option<Source>,
    left: usize,
}

impl AnyBatches {
    pub(super) fn new(plan: Result<Plan>, prefetch: usize) -> Self {
        let (left, source): (_, Source) = match plan {
            Err(error) => (1, Box::new(std::iter::once(Err(error)))),
            Ok(plan) if prefetch == 0 => {
                let left = plan.num_batches;
                (left, Box::new((0..left).map(move |i| plan.batch(i))))
            }
            Ok(plan) => {
                let left = plan.num_batches;
                let ahead = Ahead::start(plan, prefetch);
                (left, Box::new((0..left).map(move |_| ahead.receive())))
            }
        };
        AnyBatches {
            source: Some(source),
            left,
        }
    }
}

impl Iterator for AnyBatches {
    type Item = Result<Box<dyn AnyBatch>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            self.source = None;
        }
        let source = self.source.as_mut()?;
        self.left -= 1;
        let batch = match check_interrupt() {
            Ok(()) => source.next()?,
            Err(interrupted) => Err(interrupted),
        };
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

/// A thread that prepares batches ahead, as many as its channel holds.
struct Ahead {
    /// Set to `None` to close the channel, which stops the thread.
    batches: Option<Receiver<Result<Box<dyn AnyBatch>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(plan: Plan, prefetch: usize) -> Self {
        // One more batch is prepared while the thread waits for room in the channel.
        let (sender, batches) = sync_channel(prefetch - 1);
        let context = fork();
        let prepare = move || {
            for number in 0..plan.num_batches {
                let batch = plan.batch(number);
                let failed = batch.is_err();
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        };
        let thread = std::thread::spawn(move || context.run(prepare));
        Ahead {
            batches: Some(batches),
            thread: Some(thread),
        }
    }

    fn receive(&self) -> Result<Box<dyn AnyBatch>> {
        let received = self
            .batches
            .as_ref()
            .and_then(|batches| batches.recv().ok());
        received.unwrap_or_else(|| {
            refuse!(state("DataLoader");
                "the data set panicked while it made a batch",
                "Read the panic's own message, printed above; with .prefetch(0), the panic ends the cell")
        })
    }
}

impl Drop for Ahead {
    /// Waits for the thread, so that it does not outlive the loop.
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // `receive` has reported its panic, if any.
            let _ = thread.join();
        }
    }
}
