//! The step of an optimiser for many tensors: one kernel, which is written for the optimiser's formula.
//!
//! The launch gets a table by value: where each tensor begins in the grid, the constants of the formula, and the addresses.
//! Nothing is uploaded, and the driver compiles a kernel once: the constants, such as the learning rate, are not in its text.

use super::BLOCK;

/// The formula of a step, as instructions of PTX.
pub struct Program {
    /// How many tensors of state a parameter has.
    pub states: usize,
    pub instructions: String,
    /// How many registers the instructions use; the first are the value, the state and the gradient.
    pub registers: usize,
    /// Registers that are constant, with their values.
    pub constants: Vec<(usize, f32)>,
    /// The registers of the new value and of the new state.
    pub results: Vec<usize>,
}

/// A parameter on a GPU: the addresses of the value, of its state and of the gradient.
pub struct Addresses {
    pub tensors: Vec<u64>,
    pub elements: usize,
}

/// The argument of the kernel, as large as the arguments of a kernel may be for each driver.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Table {
    /// The first block of each parameter, or `u32::MAX`.
    pub blocks: [u32; MOST],
    pub constants: [f32; CONSTANTS],
    /// For each parameter the number of its elements, then its addresses.
    pub parameters: [u64; WORDS],
}

// SAFETY: it contains only integers and floating-point values.
#[cfg(feature = "cuda")]
unsafe impl candle_core::cuda_backend::cudarc::driver::DeviceRepr for Table {}

/// A launch of the kernel.
pub struct Launch {
    pub blocks: u32,
    pub table: Table,
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
const CHUNK: usize = ROUNDS * BLOCK as usize;

impl Program {
    /// Returns how many words of the table a parameter takes.
    fn words(&self) -> usize {
        1 + self.states + 2
    }

    /// Returns the launches that update these parameters: one for 88 parameters with two tensors of state each.
    ///
    /// # Panics
    /// If a grid would have more blocks than a GPU starts, 2·10⁹.
    pub fn launches(&self, parameters: &[Addresses]) -> Vec<Launch> {
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
    ///
    /// `%rd0` has the address of the table, `%r1` the index of the parameter, `%rd2` that of the element, `%rd3` the number of
    /// elements, and those from `%rd4` on have the addresses of the value, of the state and of the gradient.
    pub fn ptx(&self) -> String {
        assert!(self.constants.len() <= CONSTANTS, "constants of a formula");
        let (floats, addresses) = (self.registers, 4 + self.states + 2);
        let declared = format!(
            ".version 6.3
.target sm_50
.address_size 64
.visible .entry step(
.param .align 8 .b8 table[{}]
)
{{
.reg .pred %p<2>;
.reg .f32 %f<{floats}>;
.reg .b32 %r<4>;
.reg .b64 %rd<{addresses}>;
",
            size_of::<Table>()
        );
        let end = "$END:\nret;\n}\n".to_owned();
        [declared, find_parameter(), self.load(), self.update(), end].concat()
    }

    /// Finds the element of the thread, and loads the addresses and the constants from the table.
    fn load(&self) -> String {
        let mut text = format!(
            "mul.wide.u32 %rd1, %r1, 4;
add.s64 %rd1, %rd0, %rd1;
ld.param.u32 %r3, [%rd1];
sub.s32 %r0, %r0, %r3;
mul.wide.u32 %rd2, %r0, {CHUNK};
mov.u32 %r2, %tid.x;
cvt.u64.u32 %rd3, %r2;
add.s64 %rd2, %rd2, %rd3;
mul.wide.u32 %rd1, %r1, {};
add.s64 %rd1, %rd0, %rd1;
ld.param.u64 %rd3, [%rd1+{OF_PARAMETERS}];
",
            8 * self.words()
        );
        for (i, address) in self.addresses().enumerate() {
            let at = OF_PARAMETERS + 8 * (1 + i);
            text += &format!("ld.param.u64 %rd{address}, [%rd1+{at}];\n");
            text += &format!("cvta.to.global.u64 %rd{address}, %rd{address};\n");
        }
        text += "shl.b64 %rd1, %rd2, 2;\n";
        for address in self.addresses() {
            text += &format!("add.s64 %rd{address}, %rd{address}, %rd1;\n");
        }
        for (i, (register, _)) in self.constants.iter().enumerate() {
            let at = OF_CONSTANTS + 4 * i;
            text += &format!("ld.param.f32 %f{register}, [table+{at}];\n");
        }
        text
    }

    /// Updates the element and those of the next rounds.
    fn update(&self) -> String {
        let mut text =
            "mov.u32 %r1, 0;\n$NEXT:\nsetp.ge.u64 %p0, %rd2, %rd3;\n@%p0 bra $END;\n".to_owned();
        for (i, address) in self.addresses().enumerate() {
            text += &format!("ld.global.f32 %f{i}, [%rd{address}];\n");
        }
        text += &self.instructions;
        for (result, address) in self.results.iter().zip(self.addresses()) {
            text += &format!("st.global.f32 [%rd{address}], %f{result};\n");
        }
        for address in self.addresses() {
            text += &format!("add.s64 %rd{address}, %rd{address}, {};\n", 4 * BLOCK);
        }
        text + &format!(
            "add.s64 %rd2, %rd2, {BLOCK};
add.s32 %r1, %r1, 1;
setp.lt.u32 %p0, %r1, {ROUNDS};
@%p0 bra $NEXT;
"
        )
    }

    /// Returns the registers of the addresses.
    fn addresses(&self) -> std::ops::Range<usize> {
        4..4 + self.states + 2
    }

    /// Updates tensors of `f32` in place. The parameters are on one GPU; each has its value, its state and its gradient.
    #[cfg(feature = "cuda")]
    pub fn run(&self, parameters: &[Vec<&candle_core::Tensor>]) -> candle_core::Result<()> {
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
                block_dim: (BLOCK, 1, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: the tensors of a parameter have as many elements, and those that change share no memory, as
            // `StepTensors::have_kernel` says.
            unsafe { call.launch(config) }.w()?;
        }
        Ok(())
    }
}

/// Searches for the last parameter that begins at this block or before it.
fn find_parameter() -> String {
    let begin = "mov.b64 %rd0, table;\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, 0;\n".to_owned();
    let steps = (0..MOST.ilog2()).rev().map(|bit| 1 << bit);
    steps.fold(begin, |text, step| {
        text + &format!(
            "add.s32 %r2, %r1, {step};
mul.wide.u32 %rd1, %r2, 4;
add.s64 %rd1, %rd0, %rd1;
ld.param.u32 %r3, [%rd1];
setp.ge.u32 %p0, %r0, %r3;
selp.b32 %r1, %r2, %r1, %p0;
"
        )
    })
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
