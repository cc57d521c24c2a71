//! Mamba (Gu and Dao, 2023), with the scan as a loop over the steps.

use taper::prelude::*;

const STATE: usize = 16;
const RANK: usize = 4;

layer! {
    struct MambaBlock(width: usize, inner: usize) {
        norm = RMSNorm::new(width),
        inputs = Linear::new(width, 2 * inner).bias(false),
        conv = Conv1d::new(inner, inner, 4).padding(3).groups(inner),
        selection = Linear::new(inner, RANK + 2 * STATE).bias(false),
        steps = Linear::new(RANK, inner),
        a_log = Parameter::new(&arange(1.0, STATE + 1).log().broadcast_as((inner, STATE))),
        d = Parameter::new(&ones(inner)),
        output = Linear::new(inner, width).bias(false),
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        let [u, gate] = self.inputs.forward(&self.norm.forward(x)).chunks(-1);
        let u = self.conv.forward(&u.transpose(1, 2)); // (batch, inner, steps + 3)
        let u = u.i((.., .., ..x.dim(1))).transpose(1, 2).silu();
        x + self.output.forward(&(self.scan(&u) * gate.silu()))
    }
    fn scan(&self, u: &Tensor) -> Tensor {
        let a = -self.a_log.tensor().exp(); // (inner, state)
        let [delta, b, c] = self.selection.forward(u).parts([RANK, STATE, STATE], -1);
        let delta = self.steps.forward(&delta).softplus(); // (batch, steps, inner)
        let decay = (delta.unsqueeze(-1) * a).exp(); // (batch, steps, inner, state)
        let input = (delta * u).unsqueeze(-1) * b.unsqueeze(2);
        let (mut h, mut outputs) = (input.i((.., 0)).zeros_like(), vec![]);
        for t in 0..u.dim(1) {
            h = decay.i((.., t)) * h + input.i((.., t)); // (batch, inner, state)
            outputs.push((&h * c.i((.., t)).unsqueeze(1)).sum(-1)); // (batch, inner)
        }
        Tensor::stack(&outputs, 1) + u * self.d.tensor()
    }
}

pub(super) fn mamba() -> Sequential {
    seq![
        Embedding::new(256, 64),
        MambaBlock::new(64, 128),
        MambaBlock::new(64, 128),
        RMSNorm::new(64),
        Linear::new(64, 256).bias(false),
        Lambda::new(|x| x.flatten_to(1))
    ]
}
