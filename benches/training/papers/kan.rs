//! Kolmogorov–Arnold networks (Liu et al., 2024), with the recursion of Cox and de Boor for the splines.

use taper::prelude::*;

const GRID: i64 = 5;
const ORDER: i64 = 3;

layer! {
    pub(super) struct KanLayer(inputs: usize, outputs: usize) {
        grid = Buffer::new(&(arange(-ORDER, GRID + ORDER + 1) * 2.0 / GRID - 1.0)),
        base = Linear::new(inputs, outputs).bias(false),
        splines = Parameter::new(&(randn((outputs, inputs, (GRID + ORDER) as usize)) * 0.1)),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let splines = self.splines.tensor().flatten_from(1); // (outputs, inputs · bases)
        let bases = self.bases(x).flatten_from(1);
        self.base.forward(&x.silu()) + linear(&bases, &splines, None)
    }
    /// Returns the values of the splines' bases: (batch, inputs, bases).
    fn bases(&self, x: &Tensor) -> Tensor {
        let (grid, x) = (self.grid.tensor(), x.unsqueeze(-1)); // (points), (batch, inputs, 1)
        let inside = x.ge(grid.i(..-1)) & x.lt(grid.i(1..));
        let mut bases = inside.to_dtype(x.dtype());
        for k in 1..=ORDER {
            let (start, end) = (grid.i(..-k - 1), grid.i(k + 1..));
            let left = (&x - &start) / (grid.i(k..-1) - &start);
            let right = (&end - &x) / (&end - grid.i(1..-k));
            bases = left * bases.i((Ellipsis, ..-1)) + right * bases.i((Ellipsis, 1..));
        }
        bases
    }
}
