//! Executes the kernels' PTX on the CPU, one thread after the other. It panics at a wrong argument, at an
//! access outside of the memory, and at an instruction that it does not know.

use super::BLOCK;
use super::optimizer_step::{Launch, Table};
#[cfg(test)]
use super::{Argument, PTX, blocks};
use std::collections::HashMap;

/// The memory of the GPU: allocations, far from each other, that count how often each byte was written.
#[derive(Default)]
pub struct Memory(Vec<(Vec<u8>, Vec<u32>)>);

/// A type of the elements in the memory.
pub trait Value: Copy + PartialEq + std::fmt::Debug {
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! value {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().into()
            }

            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the size of the type"))
            }
        }
    )*};
}
value!(u8 u32 f32 f64);

impl Memory {
    /// Allocates memory with these values, and returns its address.
    pub fn with<T: Value>(&mut self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let written = vec![0; bytes.len()];
        self.0.push((bytes, written));
        (self.0.len() as u64) << 48
    }

    /// Allocates memory that is not initialised, and returns its address.
    pub fn empty<T: Value>(&mut self, elements: usize) -> u64 {
        self.with(&vec![T::of(&[0xcd; 8][..size_of::<T>()]); elements])
    }

    /// Returns the values at an address, each of which must have been written once.
    pub fn written<T: Value>(&self, address: u64) -> Vec<T> {
        let (bytes, written) = &self.0[(address >> 48) as usize - 1];
        assert!(written.iter().all(|count| *count == 1), "{written:?}");
        bytes.chunks(size_of::<T>()).map(T::of).collect()
    }

    fn at(&mut self, address: u64, size: usize) -> (&mut [u8], &mut [u32]) {
        let start = (address & ((1 << 48) - 1)) as usize;
        let (bytes, written) = &mut self.0[(address >> 48) as usize - 1];
        assert!(start.is_multiple_of(size), "{address:x} is not aligned");
        (&mut bytes[start..][..size], &mut written[start..][..size])
    }
}

enum Operand<'a> {
    /// A register, plus a constant if it is an address.
    Register(usize, i64),
    Constant(u64),
    Label(&'a str),
}

struct Instruction<'a> {
    /// The register of the condition.
    guard: Option<usize>,
    name: &'a str,
    operands: Vec<Operand<'a>>,
}

#[derive(Default)]
struct Kernel<'a> {
    parameters: Vec<&'a str>,
    registers: HashMap<&'a str, usize>,
    instructions: Vec<Instruction<'a>>,
    labels: HashMap<&'a str, usize>,
}

impl<'a> Kernel<'a> {
    fn parse(ptx: &'a str, name: &str) -> Self {
        let begin = format!(".visible .entry {name}(");
        let (_, text) = ptx.split_once(&begin).expect("the kernel exists");
        let (parameters, text) = text.split_once("{\n").expect("a body");
        let (body, _) = text.split_once("\n}").expect("its end");
        let mut kernel = Kernel::default();
        for parameter in parameters.split(".param ").skip(1) {
            let (kind, name) = parameter.split_once(' ').expect("a type and a name");
            kernel.parameters.push(kind);
            // A table has an alignment, the type of its elements, a name and a size.
            let name = name.rsplit(' ').next().unwrap_or(name);
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            kernel.register(&name[..end.unwrap_or(name.len())]);
        }
        for line in body.lines().map(|line| line.trim().trim_end_matches(';')) {
            match line.strip_suffix(':') {
                Some(label) => drop(kernel.labels.insert(label, kernel.instructions.len())),
                None if line.starts_with('.') => {} // a declaration
                None => kernel.instruction(line),
            }
        }
        kernel
    }

    /// Returns whether the register is a parameter that is one value; that of a table has its address.
    fn is_value(&self, register: usize) -> bool {
        let kind = self.parameters.get(register);
        kind.is_some_and(|kind| *kind != ".align")
    }

    fn register(&mut self, name: &'a str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name).or_insert(next)
    }

    fn instruction(&mut self, line: &'a str) {
        let (guard, line) = match line.strip_prefix('@').and_then(|l| l.split_once(' ')) {
            Some((guard, _)) if guard.starts_with('!') => panic!("a negated condition: {line}"),
            Some((guard, rest)) => (Some(self.register(guard)), rest.trim()),
            None => (None, line),
        };
        let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let operands = operands
            .split(',')
            .map(|operand| operand.trim_matches([' ', '\t', '[', ']']));
        let operands = operands.filter(|operand| !operand.is_empty());
        let operand = |operand: &'a str| match operand.split_at(1) {
            ("$", _) => Operand::Label(operand),
            ("0", "f00000000" | "d0000000000000000") => Operand::Constant(0),
            ("0", bits) if bits.starts_with('f') => {
                Operand::Constant(u64::from_str_radix(&bits[1..], 16).expect("a constant"))
            }
            ("-" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9", _) => {
                Operand::Constant(operand.parse::<i64>().expect("a constant") as u64)
            }
            _ => {
                let (name, offset) = operand.split_once('+').unwrap_or((operand, "0"));
                Operand::Register(self.register(name), offset.parse().expect("an offset"))
            }
        };
        let operands = operands.map(operand).collect();
        self.instructions.push(Instruction {
            guard,
            name,
            operands,
        });
    }

    /// Executes a thread, whose registers have the arguments already.
    fn execute(&self, registers: &mut [u64], memory: &mut Memory) {
        let mut next = 0;
        while let Some(instruction) = self.instructions.get(next) {
            next += 1;
            if instruction.guard.is_some_and(|guard| registers[guard] == 0) {
                continue;
            }
            let value = |i: usize| match instruction.operands[i] {
                Operand::Register(register, offset) => {
                    registers[register].wrapping_add_signed(offset)
                }
                Operand::Constant(value) => value,
                Operand::Label(label) => self.labels[label] as u64,
            };
            let size = || match instruction.name.rsplit('.').next() {
                Some("u8") => 1,
                Some("u32" | "f32") => 4,
                _ => 8,
            };
            match instruction.name {
                "ret" => return,
                "bra" | "bra.uni" => next = value(0) as usize,
                name if name.starts_with("st.global.") => {
                    let (bytes, written) = memory.at(value(0), size());
                    bytes.copy_from_slice(&value(1).to_le_bytes()[..size()]);
                    written.iter_mut().for_each(|count| *count += 1);
                }
                name => {
                    let is_value = matches!(instruction.operands[1], Operand::Register(register, _) if self.is_value(register));
                    let is_load = name.starts_with("ld.global.")
                        || name.starts_with("ld.param.") && !is_value;
                    let result = match is_load {
                        true => {
                            let mut read = [0; 8];
                            read[..size()].copy_from_slice(memory.at(value(1), size()).0);
                            u64::from_le_bytes(read)
                        }
                        false => {
                            let inputs = (1..instruction.operands.len()).map(value);
                            compute(name, &inputs.collect::<Vec<u64>>())
                        }
                    };
                    let Operand::Register(to, 0) = instruction.operands[0] else {
                        panic!("{name} writes to no register");
                    };
                    registers[to] = result;
                }
            }
        }
        panic!("the kernel does not return");
    }
}

/// Returns the result of an instruction. A value of fewer than 64 bits is stored in the lowest bits.
fn compute(name: &str, inputs: &[u64]) -> u64 {
    let long = |i: usize| inputs[i];
    let int = |i: usize| inputs[i] as u32;
    let single = |i: usize| f32::from_bits(int(i));
    let double = |i: usize| f64::from_bits(long(i));
    let of_int = |value: u32| u64::from(value);
    let of_single = |value: f32| u64::from(value.to_bits());
    match name {
        "add.s32" => of_int(int(0).wrapping_add(int(1))),
        "sub.s32" => of_int(int(0).wrapping_sub(int(1))),
        "mul.lo.s32" => of_int(int(0).wrapping_mul(int(1))),
        "mad.lo.s32" => of_int(int(0).wrapping_mul(int(1)).wrapping_add(int(2))),
        "mul.wide.u32" => of_int(int(0)) * of_int(int(1)),
        "div.u32" => of_int(int(0) / int(1)),
        "rem.u32" => of_int(int(0) % int(1)),
        "shr.u32" => of_int(int(0) >> int(1)),
        "xor.b32" => of_int(int(0) ^ int(1)),
        "shf.l.wrap.b32" => ((long(1) << 32 | of_int(int(0))) << (int(2) % 32)) >> 32,
        "add.s64" => long(0).wrapping_add(long(1)),
        "sub.s64" => long(0).wrapping_sub(long(1)),
        "mul.lo.s64" => long(0).wrapping_mul(long(1)),
        "div.u64" => long(0) / long(1),
        "rem.u64" => long(0) % long(1),
        "shl.b64" => long(0) << int(1),
        "shr.u64" => long(0) >> int(1),
        "and.b64" => long(0) & long(1),
        "or.b64" | "or.pred" => long(0) | long(1),
        "add.f32" | "add.rn.f32" => of_single(single(0) + single(1)),
        "mul.f32" | "mul.rn.f32" => of_single(single(0) * single(1)),
        "sub.rn.f32" => of_single(single(0) - single(1)),
        "div.rn.f32" => of_single(single(0) / single(1)),
        "sqrt.rn.f32" => of_single(single(0).sqrt()),
        "fma.rn.f32" => of_single(single(0).mul_add(single(1), single(2))),
        "add.f64" => (double(0) + double(1)).to_bits(),
        "cvt.rn.f32.u32" => of_single(int(0) as f32),
        "cvt.u64.u32" | "cvt.u32.u64" | "mov.u32" | "ld.param.u32" => of_int(int(0)),
        "mov.f32" | "ld.param.f32" => of_int(int(0)),
        "mov.f64" | "mov.b64" | "ld.param.u64" | "cvta.to.global.u64" => long(0),
        "selp.u16" | "selp.b32" | "selp.f32" | "selp.f64" => {
            if long(2) != 0 {
                long(0)
            } else {
                long(1)
            }
        }
        "setp.eq.f32" => (single(0) == single(1)).into(),
        "setp.gt.f32" => (single(0) > single(1)).into(),
        "setp.gt.f64" => (double(0) > double(1)).into(),
        "setp.nan.f32" => (single(0).is_nan() || single(1).is_nan()).into(),
        "setp.nan.f64" => (double(0).is_nan() || double(1).is_nan()).into(),
        "setp.ge.f32" => (single(0) >= single(1)).into(),
        "setp.eq.s32" => (int(0) == int(1)).into(),
        "setp.ne.s32" => (int(0) != int(1)).into(),
        "setp.ge.u32" => (int(0) >= int(1)).into(),
        "setp.gt.u32" => (int(0) > int(1)).into(),
        "setp.lt.u32" => (int(0) < int(1)).into(),
        "setp.eq.s64" => (long(0) == long(1)).into(),
        "setp.ge.u64" => (long(0) >= long(1)).into(),
        "setp.lt.u64" => (long(0) < long(1)).into(),
        _ => panic!("an unknown instruction: {name}"),
    }
}

/// Executes a kernel of [`PTX`] with at least this many threads.
#[cfg(test)]
pub(crate) fn run(name: &str, threads: usize, arguments: &[Argument], memory: &mut Memory) {
    let kernel = Kernel::parse(PTX, name);
    let bits = |argument: &Argument| match *argument {
        Argument::U32(value) => (".u32", u64::from(value)),
        Argument::U64(value) => (".u64", value),
        Argument::F32(value) => (".f32", u64::from(value.to_bits())),
    };
    let (kinds, values): (Vec<&str>, Vec<u64>) = arguments.iter().map(bits).unzip();
    assert_eq!(kinds, kernel.parameters, "the arguments of {name}");
    execute_all(&kernel, blocks(threads).unwrap_or(0), &values, memory);
}

/// Executes all threads of the step of an optimiser.
pub fn run_step(ptx: &str, launch: &Launch, memory: &mut Memory) {
    let kernel = Kernel::parse(ptx, "step");
    assert_eq!(kernel.parameters, [".align"]);
    let Table {
        blocks,
        constants,
        parameters,
    } = &launch.table;
    let words = { blocks.iter().copied() }.chain(constants.iter().map(|value| value.to_bits()));
    let words = words.chain(
        parameters
            .iter()
            .flat_map(|word| [*word as u32, (*word >> 32) as u32]),
    );
    let table = memory.with(&words.collect::<Vec<u32>>());
    execute_all(&kernel, launch.blocks, &[table], memory);
}

fn execute_all(kernel: &Kernel<'_>, blocks: u32, arguments: &[u64], memory: &mut Memory) {
    for thread in 0..blocks * BLOCK {
        let mut registers = vec![0; kernel.registers.len()];
        registers[..arguments.len()].copy_from_slice(arguments);
        for (name, value) in [
            ("%ctaid.x", thread / BLOCK),
            ("%ntid.x", BLOCK),
            ("%tid.x", thread % BLOCK),
        ] {
            if let Some(register) = kernel.registers.get(name) {
                registers[*register] = value.into();
            }
        }
        kernel.execute(&mut registers, memory);
    }
}
