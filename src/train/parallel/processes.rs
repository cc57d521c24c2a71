//! Training in several processes.

use crate::device::{gpu, num_gpus};
use crate::distributed;
use crate::train::Trainer;
use candle_core::{Device, Result};

impl Trainer {
    /// Trains together with the other processes that a launcher has started: `mpirun -n 4 program`, Slurm's
    /// `srun`, or the launcher of a cluster. In a program that was started alone, it changes nothing. See
    /// [`distributed`](crate::distributed).
    ///
    /// The batches are those of one process, and each rank computes its part of every batch: the batch size
    /// of the loader, the losses and the metrics are those of all ranks together. The gradients are summed
    /// over the ranks before each step, so all ranks have the same weights. Dropout draws the same values as
    /// in one process if the first dimension of its input is the batch. Random transforms draw other values,
    /// and batch normalisation uses the statistics of its rank's part, unless
    /// [`sync_batch_norm`](Self::sync_batch_norm) is set. A rank uses the GPU with the number of its local
    /// rank, if its machine has a GPU for each of the ranks there.
    ///
    /// Rank 0 shows progress, and runs the callbacks that write
    /// ([`Callback::on_first_rank_only`](super::super::Callback::on_first_rank_only)). All ranks
    /// resume from its checkpoint. `validate` and `test` share the work; `predict` does not.
    ///
    /// # Errors
    /// As for [`world`](distributed::world).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let mut trainer = Trainer::new(1).distributed()?;
    /// trainer.fit(&mut model, &Digits::new())?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn distributed(mut self) -> Result<Self> {
        self.ranks = distributed::communicator()?;
        Ok(self)
    }

    /// Sets whether batch normalisation computes means and variances over the examples of all ranks, as one
    /// process does, instead of those of its own rank. Each of these layers then needs several sums over the
    /// ranks, which is slower, but helps if a rank has few examples. Without
    /// [`distributed`](Self::distributed), nothing changes.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![Flatten, LazyBatchNorm1d::new(), LazyLinear::new(10)];
    /// let mut trainer = Trainer::new(1).distributed()?.sync_batch_norm(true);
    /// trainer.fit(&mut Classifier::new(net, 0.1), &Digits::new())?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sync_batch_norm(mut self, sync: bool) -> Self {
        self.sync_batch_norm = sync;
        self
    }

    /// Returns the GPU of this rank, if each rank on this machine has one of its own.
    pub(in crate::train) fn gpu_of_rank(&self) -> Result<Option<Device>> {
        let world = self.ranks.as_ref().map(|ranks| ranks.world());
        match world.filter(|world| num_gpus() >= world.local_size) {
            Some(world) => gpu(world.local_rank).map(Some),
            None => Ok(None),
        }
    }
}
