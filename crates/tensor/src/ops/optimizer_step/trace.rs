//! The formula of an optimiser as the instructions of a kernel for a GPU: it is evaluated on registers, and what it
//! computes is written down.

use crate::device::optimizer_step::Program;
use crate::ops::quantity::Numeric;
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::{Add, Div, Mul, Sub};

/// The instructions so far.
pub(super) struct Trace(RefCell<Program>);

/// A register of a kernel, or a constant.
#[derive(Clone, Copy)]
pub(super) enum Register<'a> {
    Constant(f32),
    Register(&'a Trace, usize),
}
use Register::Constant;

impl Trace {
    /// Begins a program for parameters with this many tensors of state.
    pub(super) fn new(states: usize) -> Self {
        Self(RefCell::new(Program {
            states,
            instructions: String::new(),
            registers: states + 2,
            constants: vec![],
            results: vec![],
        }))
    }

    /// Returns one of the first registers: the value, the state, the gradient.
    pub(super) fn input(&self, index: usize) -> Register<'_> {
        Register::Register(self, index)
    }

    /// Returns the program with these results: the new value and the new state.
    pub(super) fn finish(&self, results: &[Register<'_>]) -> Program {
        let results = results.iter().map(|result| self.index(*result)).collect();
        let program = self.0.replace(Trace::new(0).0.into_inner());
        Program { results, ..program }
    }

    fn register(&self) -> usize {
        let mut program = self.0.borrow_mut();
        program.registers += 1;
        program.registers - 1
    }

    /// Returns the index of a register; a constant gets a new one.
    fn index(&self, of: Register<'_>) -> usize {
        match of {
            Register::Register(_, index) => index,
            Constant(value) => {
                let index = self.register();
                self.0.borrow_mut().constants.push((index, value));
                index
            }
        }
    }

    /// Adds instructions, which `write` writes for the indices of the result and of the operands.
    fn compute<const N: usize>(
        &self,
        operands: [Register<'_>; N],
        write: impl FnOnce(usize, [usize; N]) -> String,
    ) -> Register<'_> {
        let operands = operands.map(|operand| self.index(operand));
        let to = self.register();
        let text = write(to, operands);
        let _ = writeln!(self.0.borrow_mut().instructions, "{text}");
        Register::Register(self, to)
    }
}

impl From<f64> for Register<'_> {
    fn from(value: f64) -> Self {
        Constant(value as f32)
    }
}

/// The operators. With a rounding mode, the driver does not fuse a product and a sum: the bits are those of the CPU.
macro_rules! operators {
    ($($trait:ident $name:ident $sign:tt $instruction:literal;)*) => {$(
        impl $trait for Register<'_> {
            type Output = Self;

            fn $name(self, other: Self) -> Self {
                match (self, other) {
                    (Constant(a), Constant(b)) => Constant(a $sign b),
                    (Register::Register(trace, _), _) | (_, Register::Register(trace, _)) => {
                        trace.compute([self, other], |to, [a, b]| {
                            format!(concat!($instruction, ".rn.f32 %f{}, %f{}, %f{};"), to, a, b)
                        })
                    }
                }
            }
        }

        impl $trait<f64> for Register<'_> {
            type Output = Self;

            fn $name(self, other: f64) -> Self {
                self $sign Self::from(other)
            }
        }
    )*};
}

operators! {
    Add add + "add";
    Sub sub - "sub";
    Mul mul * "mul";
    Div div / "div";
}

impl Numeric for Register<'_> {
    fn sqrt(self) -> Self {
        match self {
            Constant(value) => Constant(value.sqrt()),
            Register::Register(trace, _) => {
                trace.compute([self], |to, [x]| format!("sqrt.rn.f32 %f{to}, %f{x};"))
            }
        }
    }

    fn larger(self, other: Self) -> Self {
        match (self, other) {
            (Constant(a), Constant(b)) => Constant(if a >= b || a.is_nan() { a } else { b }),
            (Register::Register(trace, _), _) | (_, Register::Register(trace, _)) => {
                trace.compute([self, other], |to, [a, b]| {
                    format!(
                        "setp.ge.f32 %p0, %f{a}, %f{b};\nsetp.nan.f32 %p1, %f{a}, %f{a};\n\
                         or.pred %p0, %p0, %p1;\nselp.f32 %f{to}, %f{a}, %f{b}, %p0;"
                    )
                })
            }
        }
    }
}
