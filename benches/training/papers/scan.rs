//! Mamba (Gu and Dao, 2023), with the scan as a loop over the steps.

use taper::prelude::*;

const STATE: usize = 16;
const RANK: usize = 4;

#[derive(Parameters)]
struct MambaBlock {
    norm: RMSNorm,
    inputs: Linear,
    conv: Conv1d,
    selection: Linear,
    steps: Linear,
    a_log: Parameter,
    d: Parameter,
    output: Linear,
}

impl MambaBlock {
    fn new(width: usize) -> Self {
        let inner = 2 * width;
        let a = arange(1, STATE as i64 + 1).to_dtype(DType::F32);
        MambaBlock {
            norm: RMSNorm::new(width),
            inputs: Linear::new(width, 2 * inner).bias(false),
            conv: Conv1d::new(inner, inner, 4).padding(3).groups(inner),
            selection: Linear::new(inner, RANK + 2 * STATE).bias(false),
            steps: Linear::new(RANK, inner),
            a_log: Parameter::new(&a.log().broadcast_as((inner, STATE))),
            d: Parameter::new(&ones(inner)),
            output: Linear::new(inner, width).bias(false),
        }
    }

    fn scan(&self, u: &Tensor) -> Tensor {
        let a = -self.a_log.tensor().exp(); // (inner, state)
        let parts = self
            .selection
            .forward(u)
            .split_into(&[RANK, STATE, STATE], -1);
        let (b, c) = (&parts[1], &parts[2]); // (batch, steps, state)
        let delta = softplus(&self.steps.forward(&parts[0]), 1.0, 20.0); // (batch, steps, inner)
        let decay = (delta.unsqueeze(-1) * a).exp(); // (batch, steps, inner, state)
        let input = (delta * u).unsqueeze(-1) * b.unsqueeze(2);
        let mut h = input.i((.., 0)).zeros_like(); // (batch, inner, state)
        let mut outputs = vec![];
        for t in 0..u.dim(1) {
            h = decay.i((.., t)) * h + input.i((.., t));
            outputs.push((&h * c.i((.., t)).unsqueeze(1)).sum(-1)); // (batch, inner)
        }
        Tensor::stack(&outputs, 1) + u * self.d.tensor()
    }
}

impl Layer for MambaBlock {
    fn forward(&self, x: &Tensor) -> Tensor {
        let steps = x.dim(1);
        let parts = self.inputs.forward(&self.norm.forward(x)).chunk(2, -1);
        let u = self.conv.forward(&parts[0].transpose(1, 2)); // (batch, inner, steps + 3)
        let u = u.i((.., .., ..steps)).transpose(1, 2).silu();
        x + self.output.forward(&(self.scan(&u) * parts[1].silu()))
    }
}

#[derive(Parameters)]
pub(super) struct Mamba {
    tokens: Embedding,
    blocks: Vec<MambaBlock>,
    norm: RMSNorm,
    head: Linear,
}

impl Mamba {
    pub(super) fn new() -> Self {
        Mamba {
            tokens: Embedding::new(256, 64),
            blocks: (0..2).map(|_| MambaBlock::new(64)).collect(),
            norm: RMSNorm::new(64),
            head: Linear::new(64, 256).bias(false),
        }
    }
}

impl Layer for Mamba {
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.tokens.forward(x);
        for block in &self.blocks {
            x = block.forward(&x);
        }
        self.head.forward(&self.norm.forward(&x)).flatten_to(1)
    }
}
