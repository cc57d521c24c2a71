//! Kolmogorov–Arnold networks (Liu et al., 2024), with the recursion of Cox and de Boor for the splines.

use taper::prelude::*;

const GRID: usize = 5;
const ORDER: usize = 3;

#[derive(Parameters)]
pub(super) struct KanLayer {
    grid: Buffer,
    base: Linear,
    splines: Parameter,
}

impl KanLayer {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        let step = 2.0 / GRID as f64;
        let points = arange(-(ORDER as i64), (GRID + ORDER) as i64 + 1).to_dtype(DType::F32);
        let bases = GRID + ORDER;
        KanLayer {
            grid: Buffer::new(&(points * step - 1.0)),
            base: Linear::new(inputs, outputs).bias(false),
            splines: Parameter::new(&(randn((outputs, inputs, bases)) * 0.1)),
        }
    }

    /// Returns the values of the splines' bases: (batch, inputs, bases).
    fn bases(&self, x: &Tensor) -> Tensor {
        let (grid, x) = (self.grid.tensor(), x.unsqueeze(-1)); // (points), (batch, inputs, 1)
        let last = grid.dim(0);
        let inside = x.ge(grid.i(..last - 1)) & x.lt(grid.i(1..));
        let mut bases = inside.to_dtype(x.dtype());
        for k in 1..=ORDER {
            let (start, end) = (grid.i(..last - k - 1), grid.i(k + 1..));
            let left = (&x - &start) / (grid.i(k..last - 1) - &start);
            let right = (&end - &x) / (&end - grid.i(1..last - k));
            let count = bases.dim(-1);
            bases = left * bases.i((.., .., ..count - 1)) + right * bases.i((.., .., 1..));
        }
        bases
    }
}

impl Layer for KanLayer {
    fn forward(&self, x: &Tensor) -> Tensor {
        let splines = self.splines.tensor().flatten_from(1); // (outputs, inputs · bases)
        let bases = self.bases(x).flatten_from(1);
        self.base.forward(&x.silu()) + linear(&bases, &splines, None)
    }
}
