//! Training in several processes.

use crate::device::{gpu, num_gpus};
use crate::distributed::{self, World};
use crate::error::{Error, Result, problem, refuse};
use crate::train::Trainer;
use candle_core::Device;
use std::ops::Range;

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
    /// rank, if its machine has a GPU for each of the ranks there; with [`num_gpus`](Self::num_gpus), that many
    /// GPUs of its own.
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

    setters! {
        /// Sets whether batch normalisation computes means and variances over the examples of all ranks, as one
        /// process does, instead of those of its own rank. Each of these layers then needs several sums over the
        /// ranks, which is slower, but helps if a rank has few examples. Each rank must train on one device. Without
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
        pub fn sync_batch_norm(self, sync: bool): self.sync_batch_norm = sync;
    }

    /// Returns the GPU of this rank, if each rank on this machine has one of its own.
    pub(crate) fn gpu_of_rank(&self) -> Result<Option<Device>> {
        let world = self.ranks.as_ref().map(|ranks| ranks.world());
        match world.filter(|world| num_gpus() >= world.local_size) {
            Some(world) => gpu(world.local_rank).map(Some),
            None => Ok(None),
        }
    }

    /// Returns `n` GPUs that no other rank on this machine uses.
    pub(crate) fn gpus_of_rank(&self, n: usize) -> Result<Vec<Device>> {
        let world = self.ranks.as_ref().map(|ranks| ranks.world());
        let gpus = numbers_of_gpus(n, world.unwrap_or(World::ALONE), num_gpus())?;
        gpus.map(gpu).collect()
    }

    /// Returns an error if ranks with several devices are to synchronise batch normalisation: the devices of a
    /// rank compute at the same time, but the sums over the ranks must have one order.
    pub(crate) fn check_sync_batch_norm(&self) -> Result<()> {
        let devices = self.in_use.len();
        refuse!(if self.ranks.is_some() && self.sync_batch_norm && devices > 1;
            argument("Trainer::sync_batch_norm", devices);
            "one device in each rank",
            "Start one rank for each device, without .num_gpus(n) and .devices(…)");
        Ok(())
    }
}

/// Returns the numbers of the `n` GPUs of a rank, among those of its machine, which has `have`.
fn numbers_of_gpus(n: usize, world: World, have: usize) -> Result<Range<usize>> {
    let first = n.saturating_mul(world.local_rank);
    match n.saturating_mul(world.local_size) <= have {
        true => Ok(first..first + n),
        false => Err(too_few_gpus(n, world.local_size, have)),
    }
}

fn too_few_gpus(n: usize, ranks: usize, have: usize) -> Error {
    let each = match ranks {
        1 => String::new(),
        ranks => format!(" in each of {ranks} ranks"),
    };
    let usable = match have {
        1 => "1 usable GPU".to_owned(),
        have => format!("{have} usable GPUs"),
    };
    let advice = match ranks {
        1 => "Request fewer, or write .devices(&try_all_gpus()), which falls back to the CPU",
        _ => "Request fewer, or start fewer ranks on each machine",
    };
    problem!(gpu; "num_gpus({n}){each}: this machine has {usable}", advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_of_a_machine_has_gpus_of_its_own() {
        // Two machines with two ranks each.
        let gpus = |rank: usize, n: usize, have: usize| {
            let world = World {
                rank,
                size: 4,
                local_rank: rank % 2,
                local_size: 2,
            };
            numbers_of_gpus(n, world, have).map_err(|error| error.to_string())
        };
        assert_eq!(
            [0, 1, 2, 3].map(|rank| gpus(rank, 1, 2).unwrap()),
            [0..1, 1..2, 0..1, 1..2]
        );
        assert_eq!([0, 1].map(|rank| gpus(rank, 3, 8).unwrap()), [0..3, 3..6]);
        let refused = "num_gpus(1) in each of 2 ranks: this machine has 1 usable GPU\n";
        assert!(gpus(0, 1, 1).unwrap_err().starts_with(refused));
        assert!(gpus(1, usize::MAX, 8).is_err());
        assert_eq!(numbers_of_gpus(2, World::ALONE, 2).unwrap(), 0..2);
        let message = numbers_of_gpus(2, World::ALONE, 1).unwrap_err().to_string();
        assert!(message.starts_with("num_gpus(2): this machine has 1 usable GPU\n"));
    }
}
