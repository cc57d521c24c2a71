//! Copies between two devices that compute asynchronously, in the right order.

use candle_core::Result;

/// A copy from one device to another, and the waits that order it.
pub(super) trait Transfer {
    /// The result of the copy.
    type Copy;

    /// Waits until the source has finished the work that it was given.
    fn wait_for_source(&self) -> Result<()>;

    /// Begins the copy.
    fn begin(&self) -> Result<Self::Copy>;

    /// Waits until the destination has finished the work that it was given, which includes the copy.
    fn wait_for_destination(&self) -> Result<()>;
}

/// Copies after the source's values have been computed, and returns after they have been read.
///
/// Each GPU executes its work in the order of its one stream, but nothing orders the work of two GPUs. The
/// copy is queued in the destination's stream. cudarc 0.19.10 makes it wait for the source's stream
/// (`CudaStream::memcpy_dtod`, driver/safe/core.rs:1780), which earlier versions do not; with the first
/// wait, the order does not depend on that. The second wait is needed in all versions: a source that is
/// dropped after the copy has begun frees its memory in the order of its own stream (`CudaSlice::drop`,
/// core.rs:855; without event tracking, nothing there waits for readers), and the next owner of that memory
/// could write to it before the copy has read it.
pub(super) fn in_order<T: Transfer>(transfer: &T) -> Result<T::Copy> {
    transfer.wait_for_source()?;
    let copy = transfer.begin()?;
    transfer.wait_for_destination()?;
    Ok(copy)
}

#[cfg(feature = "cuda")]
pub(crate) use cards::between_cards;

#[cfg(feature = "cuda")]
mod cards {
    use super::{Transfer, in_order};
    use candle_core::backend::BackendDevice;
    use candle_core::{CpuStorage, CudaDevice, CudaStorage, CustomOp1, Device, Layout};
    use candle_core::{Result, Shape, Tensor};

    /// Copies a tensor, which must be all of its storage, from one NVIDIA GPU to another.
    pub(crate) fn between_cards(tensor: &Tensor, to: &CudaDevice) -> Result<Tensor> {
        tensor.apply_op1_no_bwd(&ToCard { to: to.clone() })
    }

    struct ToCard {
        to: CudaDevice,
    }

    impl CustomOp1 for ToCard {
        fn name(&self) -> &'static str {
            "copy to another GPU"
        }

        fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
            candle_core::bail!("expected a tensor on a GPU, found one on the CPU")
        }

        fn cuda_fwd(&self, from: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
            let copy = in_order(&OnCards { from, to: &self.to })?;
            Ok((copy, layout.shape().clone()))
        }
    }

    struct OnCards<'a> {
        from: &'a CudaStorage,
        to: &'a CudaDevice,
    }

    impl Transfer for OnCards<'_> {
        type Copy = CudaStorage;

        fn wait_for_source(&self) -> Result<()> {
            Device::Cuda(self.from.device.clone()).synchronize()
        }

        fn begin(&self) -> Result<CudaStorage> {
            self.from.transfer_to_device(self.to)
        }

        fn wait_for_destination(&self) -> Result<()> {
            self.to.synchronize()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Error;
    use std::cell::RefCell;
    use std::collections::VecDeque;

    /// Work that a card has been given.
    enum Work {
        /// Writes a value to a cell of the memory.
        Write(usize, f32),
        /// Copies from cell to cell.
        Copy(usize, usize),
    }

    /// Two cards that execute their queues as late as possible, and each at its own time.
    #[derive(Default)]
    struct Cards {
        queues: [VecDeque<Work>; 2],
        memory: [f32; 2],
        calls: Vec<&'static str>,
    }

    impl Cards {
        fn finish(&mut self, card: usize) {
            for work in std::mem::take(&mut self.queues[card]) {
                match work {
                    Work::Write(cell, value) => self.memory[cell] = value,
                    Work::Copy(from, to) => self.memory[to] = self.memory[from],
                }
            }
        }
    }

    struct Fake<'a> {
        cards: &'a RefCell<Cards>,
        left_out: Option<&'static str>,
        fails: Option<&'static str>,
    }

    impl Fake<'_> {
        fn call(&self, name: &'static str, does: impl FnOnce(&mut Cards)) -> Result<()> {
            let mut cards = self.cards.borrow_mut();
            cards.calls.push(name);
            if self.fails == Some(name) {
                return Err(Error::Msg(name.to_owned()));
            }
            if self.left_out != Some(name) {
                does(&mut cards);
            }
            Ok(())
        }
    }

    impl Transfer for Fake<'_> {
        type Copy = usize;

        fn wait_for_source(&self) -> Result<()> {
            self.call("wait for source", |cards| cards.finish(0))
        }

        fn begin(&self) -> Result<usize> {
            let copy = |cards: &mut Cards| cards.queues[1].push_back(Work::Copy(0, 1));
            self.call("copy", copy).map(|()| 1)
        }

        fn wait_for_destination(&self) -> Result<()> {
            self.call("wait for destination", |cards| cards.finish(1))
        }
    }

    /// Returns the copy on card 1 of a 7 that card 0 computes; the memory of the source then gets a new
    /// owner.
    fn copied(destination_first: bool, left_out: Option<&'static str>) -> f32 {
        let cards = RefCell::new(Cards::default());
        cards.borrow_mut().queues[0].push_back(Work::Write(0, 7.0));
        let fails = None;
        let fake = Fake {
            cards: &cards,
            left_out,
            fails,
        };
        let copy = in_order(&fake).unwrap();
        let mut cards = cards.into_inner();
        cards.queues[0].push_back(Work::Write(0, -1.0));
        for card in if destination_first { [1, 0] } else { [0, 1] } {
            cards.finish(card);
        }
        cards.memory[copy]
    }

    #[test]
    fn a_copy_has_the_values_whichever_card_works_first() {
        for destination_first in [true, false] {
            assert_eq!(copied(destination_first, None), 7.0);
        }
        assert_ne!(copied(true, Some("wait for source")), 7.0);
        assert_ne!(copied(false, Some("wait for destination")), 7.0);
    }

    #[test]
    fn nothing_is_begun_after_an_error() {
        let order = ["wait for source", "copy", "wait for destination"];
        for (i, fails) in order.into_iter().enumerate() {
            let cards = RefCell::new(Cards::default());
            let fake = Fake {
                cards: &cards,
                left_out: None,
                fails: Some(fails),
            };
            assert_eq!(in_order(&fake).unwrap_err().to_string(), fails);
            assert_eq!(cards.borrow().calls, order[..=i]);
        }
    }
}
