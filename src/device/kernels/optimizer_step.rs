//! The step of an optimiser for many tensors: one kernel, which is written for the optimiser's formula.
//!
//! The launch gets a table by value: where each tensor begins in the grid, the constants of the formula, and the addresses.
//! Nothing is uploaded, and the driver compiles a kernel once: the constants, such as the learning rate, are not in its text.

use std::fmt::Write;

/// The formula of a step, as instructions of PTX.
pub(crate) struct Program {
    /// How many tensors of state a parameter has.
    pub(crate) states: usize,
    pub(crate) instructions: String,
    /// How many registers the instructions use; the first are the value, the state and the gradient.
    pub(crate) registers: usize,
    /// Registers that are constant, with their values.
    pub(crate) constants: Vec<(usize, f32)>,
    /// The registers of the new value and of the new state.
    pub(crate) results: Vec<usize>,
}

/// A parameter on a GPU: the addresses of the value, of its state and of the gradient.
pub(crate) struct Addresses {
    pub(crate) tensors: Vec<u64>,
    pub(crate) elements: usize,
}

/// The argument of the kernel, as large as the arguments of a kernel may be for each driver.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Table {
    /// The first block of each parameter, or `u32::MAX`.
    pub(crate) blocks: [u32; MOST],
    pub(crate) constants: [f32; CONSTANTS],
    /// For each parameter the number of its elements, then its addresses.
    pub(crate) parameters: [u64; WORDS],
}

// SAFETY: it contains only integers and floating-point values.
#[cfg(feature = "cuda")]
unsafe impl candle_core::cuda_backend::cudarc::driver::DeviceRepr for Table {}

/// A launch of the kernel.
pub(crate) struct Launch {
    pub(crate) blocks: u32,
    pub(crate) table: Table,
}

/// The most parameters in a table, a power of 2.
const MOST: usize = 128;
/// The most constants of a formula.
const CONSTANTS: usize = 16;
const WORDS: usize = (4096 - 4 * (MOST + CONSTANTS)) / 8;
/// The places in the table, in bytes.
const OF_CONSTANTS: usize = 4 * MOST;
const OF_PARAMETERS: usize = 4 * (MOST + CONSTANTS);
/// How many elements each thread of a block updates.
const ROUNDS: usize = 4;
/// How many elements a block updates.
const CHUNK: usize = ROUNDS * super::BLOCK as usize;

impl Program {
    /// Returns how many words of the table a parameter takes.
    fn words(&self) -> usize {
        1 + self.states + 2
    }

    /// Returns the launches that update these parameters: one for 88 parameters with two tensors of state each.
    ///
    /// # Panics
    /// If a grid would have more blocks than a GPU starts, 2·10⁹.
    pub(crate) fn launches(&self, parameters: &[Addresses]) -> Vec<Launch> {
        let launches = parameters.chunks(MOST.min(WORDS / self.words()));
        let launches = launches.map(|parameters| self.launch(parameters));
        launches.filter(|launch| launch.blocks > 0).collect()
    }

    fn launch(&self, parameters: &[Addresses]) -> Launch {
        let mut table = Table {
            blocks: [u32::MAX; MOST],
            constants: [0.0; CONSTANTS],
            parameters: [0; WORDS],
        };
        for (to, (_, value)) in table.constants.iter_mut().zip(&self.constants) {
            *to = *value;
        }
        let mut blocks = 0;
        let entries = table.parameters.chunks_mut(self.words());
        for ((parameter, entry), first) in parameters.iter().zip(entries).zip(&mut table.blocks) {
            *first = blocks as u32;
            blocks += parameter.elements.div_ceil(CHUNK);
            i32::try_from(blocks).expect("there are at most 2^31 - 1 blocks");
            entry[0] = parameter.elements as u64;
            entry[1..].copy_from_slice(&parameter.tensors);
        }
        Launch {
            blocks: blocks as u32,
            table,
        }
    }

    /// Returns the kernel `step`.
    pub(crate) fn ptx(&self) -> String {
        assert!(self.constants.len() <= CONSTANTS, "constants of a formula");
        let (tensors, entry) = (self.states + 2, 8 * self.words());
        let mut text = format!(
            ".version 6.3\n.target sm_50\n.address_size 64\n\
             .visible .entry step(\n.param .align 8 .b8 table[4096]\n)\n{{\n\
             .reg .pred %p<2>;\n.reg .f32 %f<{}>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<{}>;\n",
            self.registers,
            4 + tensors
        );
        let mut line = |instruction: std::fmt::Arguments<'_>| {
            let _ = writeln!(text, "{instruction}");
        };
        line(format_args!(
            "mov.b64 %rd0, table;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, 0;"
        ));
        // %r1: the last tensor that begins at this block or before it.
        let steps = (0..MOST.ilog2()).rev().map(|bit| 1 << bit);
        for step in steps {
            line(format_args!(
                "add.s32 %r2, %r1, {step};\nmul.wide.u32 %rd1, %r2, 4;\nadd.s64 %rd1, %rd0, %rd1;\n\
                 ld.param.u32 %r3, [%rd1];\nsetp.ge.u32 %p0, %r0, %r3;\nselp.b32 %r1, %r2, %r1, %p0;"
            ));
        }
        // %rd2: the element; %rd3: the number of elements; from %rd4 on: the addresses.
        line(format_args!(
            "mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd1, %rd0, %rd1;\nld.param.u32 %r3, [%rd1];\n\
             sub.s32 %r0, %r0, %r3;\nmul.wide.u32 %rd2, %r0, {CHUNK};\nmov.u32 %r2, %tid.x;\n\
             cvt.u64.u32 %rd3, %r2;\nadd.s64 %rd2, %rd2, %rd3;\n\
             mul.wide.u32 %rd1, %r1, {entry};\nadd.s64 %rd1, %rd0, %rd1;\nld.param.u64 %rd3, [%rd1+{}];",
            OF_PARAMETERS
        ));
        for i in 0..tensors {
            let (to, at) = (4 + i, OF_PARAMETERS + 8 * (1 + i));
            line(format_args!(
                "ld.param.u64 %rd{to}, [%rd1+{at}];\ncvta.to.global.u64 %rd{to}, %rd{to};"
            ));
        }
        for (i, (register, _)) in self.constants.iter().enumerate() {
            let at = OF_CONSTANTS + 4 * i;
            line(format_args!("ld.param.f32 %f{register}, [table+{at}];"));
        }
        // From here on, the addresses are those of the element.
        line(format_args!("shl.b64 %rd1, %rd2, 2;"));
        for i in 4..4 + tensors {
            line(format_args!("add.s64 %rd{i}, %rd{i}, %rd1;"));
        }
        line(format_args!(
            "mov.u32 %r1, 0;\n$NEXT:\nsetp.ge.u64 %p0, %rd2, %rd3;\n@%p0 bra $END;"
        ));
        for i in 0..tensors {
            line(format_args!("ld.global.f32 %f{i}, [%rd{}];", 4 + i));
        }
        line(format_args!("{}", self.instructions.trim_end()));
        for (i, result) in self.results.iter().enumerate() {
            line(format_args!("st.global.f32 [%rd{}], %f{result};", 4 + i));
        }
        for i in 4..4 + tensors {
            let bytes = 4 * super::BLOCK;
            line(format_args!("add.s64 %rd{i}, %rd{i}, {bytes};"));
        }
        line(format_args!(
            "add.s64 %rd2, %rd2, {};\nadd.s32 %r1, %r1, 1;\nsetp.lt.u32 %p0, %r1, {ROUNDS};\n\
             @%p0 bra $NEXT;\n$END:\nret;\n}}",
            super::BLOCK
        ));
        text
    }

    /// Updates tensors of `f32` in place. The parameters are on one GPU; each has its value, its state and its gradient.
    #[cfg(feature = "cuda")]
    pub(crate) fn run(&self, parameters: &[Vec<&candle_core::Tensor>]) -> candle_core::Result<()> {
        use candle_core::cuda_backend::WrapErr;
        use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};

        let Some(first) = parameters.first() else {
            return Ok(());
        };
        let device = first[0].device().as_cuda_device()?;
        let addresses = parameters.iter().map(|tensors| Addresses::of(tensors));
        let addresses = addresses.collect::<candle_core::Result<Vec<Addresses>>>()?;
        let ptx = self.ptx();
        for Launch { blocks, table } in self.launches(&addresses) {
            let function = device.get_or_load_custom_func("step", &ptx, &ptx)?;
            let mut call = function.builder();
            call.arg(&table);
            let config = LaunchConfig {
                grid_dim: (blocks, 1, 1),
                block_dim: (super::BLOCK, 1, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: the tensors of a parameter have as many elements, and those that change share no memory, as
            // `has_step_kernel` says.
            unsafe { call.launch(config) }.w()?;
        }
        Ok(())
    }
}

#[cfg(feature = "cuda")]
impl Addresses {
    fn of(tensors: &[&candle_core::Tensor]) -> candle_core::Result<Self> {
        let address = |tensor: &&candle_core::Tensor| {
            let (storage, layout) = tensor.storage_and_layout();
            match &*storage {
                candle_core::Storage::Cuda(storage) => super::operation::address(storage, layout),
                _ => candle_core::bail!("optimiser step: expected tensors on a GPU"),
            }
        };
        Ok(Self {
            tensors: tensors
                .iter()
                .map(address)
                .collect::<candle_core::Result<_>>()?,
            elements: tensors[0].elem_count(),
        })
    }
}
