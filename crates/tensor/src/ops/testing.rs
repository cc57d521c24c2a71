//! Compares kernels with Candle's operations, for random shapes.

use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// An operation of some inputs.
pub(crate) type Operation = Box<dyn Fn(&[Raw]) -> Result<Raw> + Send + Sync>;

/// The inputs, the operation with its kernel, and the same with Candle's operations.
pub(crate) type Setup = (Vec<Raw>, Operation, Operation);

/// One case of a comparison, with its own random generator.
pub(crate) struct Case {
    random: ChaCha8Rng,
    dtype: DType,
}

impl Case {
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        self.random.random_range(least..=most)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *choices.choose(&mut self.random).expect("choices")
    }

    /// Returns the tensor in the type of the case; sometimes not contiguous, or a part of another tensor.
    pub(crate) fn input(&mut self, tensor: Tensor) -> Raw {
        let tensor = Raw::from(tensor.to_dtype(self.dtype));
        let last = tensor.rank() - 1;
        let strided = match self.between(0, 3) {
            0 if last > 0 => tensor
                .transpose(last - 1, last)
                .and_then(|t| t.contiguous()?.transpose(last - 1, last)),
            1 => Raw::cat(&[&tensor, &tensor], 0)
                .and_then(|t| t.narrow(0, tensor.dims()[0], tensor.dims()[0])),
            _ => Ok(tensor),
        };
        strided.expect("a view")
    }
}

/// Returns a tensor of these values to which gradients flow.
pub(crate) fn variable(values: &Tensor) -> Tensor {
    Raw::variable(values.as_candle())
        .expect("a variable")
        .into()
}

/// Compares `count` cases in each type, forward and backward. A case is skipped if `setup` returns `None`.
pub(crate) fn compare(name: &str, count: u64, mut setup: impl FnMut(&mut Case) -> Option<Setup>) {
    // Miri interprets a thousand times slower.
    let count = if cfg!(miri) { count.min(2) } else { count };
    for dtype in [DType::F32, DType::F64] {
        let mut compared = 0;
        for seed in 0..count {
            let random = ChaCha8Rng::seed_from_u64(seed);
            crate::tensor::manual_seed(seed);
            let Some((inputs, kernel, candle)) = setup(&mut Case { random, dtype }) else {
                continue;
            };
            compared += 1;
            let dims: Vec<_> = inputs.iter().map(|x| x.dims()).collect();
            let what = format!("{name} in {dtype:?}, case {seed}, inputs {dims:?}");
            compare_one(&what, dtype, &inputs, &kernel, &candle);
        }
        assert!(
            compared * 2 >= count,
            "{name}: only {compared} cases of {count}"
        );
    }
}

fn compare_one(what: &str, dtype: DType, inputs: &[Raw], kernel: &Operation, candle: &Operation) {
    let (got, want) = (run(inputs, kernel), run(inputs, candle));
    let tolerances = match dtype {
        DType::F32 => [1e-5, 1e-4],
        _ => [1e-10, 1e-10],
    };
    assert_close(&format!("{what}: output"), &got[0], &want[0], tolerances[0]);
    for (i, (got, want)) in got[1..].iter().zip(&want[1..]).enumerate() {
        assert_close(&format!("{what}: gradient {i}"), got, want, tolerances[1]);
    }
    let node = got[0].node();
    assert!(
        node.is_some_and(|node| node.is_of_kernel()),
        "{what}: the kernel was not used"
    );
    // One thread computes the same bits.
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    let alone = one.install(|| run(inputs, kernel));
    for (got, alone) in got.iter().zip(&alone) {
        assert_eq!(
            elements(got),
            elements(alone),
            "{what}: the result depends on the number of threads"
        );
    }
}

/// Returns the output, and the gradient of each input.
fn run(inputs: &[Raw], operation: &Operation) -> Vec<Raw> {
    let vars: Vec<Raw> = inputs
        .iter()
        .map(|x| Raw::variable(x.contiguous().unwrap().values()).unwrap())
        .collect();
    // Views of variables have the strides of the inputs.
    let views: Vec<Raw> = vars
        .iter()
        .zip(inputs)
        .map(
            |(var, input)| match input.is_contiguous() || input.rank() < 2 {
                true => var.clone(),
                false => {
                    let last = input.rank() - 1;
                    let transposed = var.transpose(last - 1, last).unwrap().contiguous().unwrap();
                    transposed.transpose(last - 1, last).unwrap()
                }
            },
        )
        .collect();
    let output = operation(&views).unwrap();
    let count = output.elem_count();
    // Mostly positive, so that sums do not cancel and lose digits.
    let weights: Vec<f64> = (0..count).map(|i| 0.6 + (i as f64 * 0.7).sin()).collect();
    let weights = Raw::from_vec(weights, output.shape(), output.device()).unwrap();
    let weights = weights.to_dtype(output.dtype()).unwrap();
    let loss = (&output * weights).unwrap().sum_all().unwrap();
    let gradients = Tensor::from(loss).backward();
    let of = |var: &Raw| Raw::from(gradients.of(&var.into()));
    std::iter::once(output.clone())
        .chain(vars.iter().map(of))
        .collect()
}

fn elements(tensor: &Raw) -> Vec<f64> {
    let tensor = tensor.to_dtype(DType::F64).unwrap();
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// Checks that the elements differ by at most `tolerance` times the largest.
fn assert_close(what: &str, got: &Raw, want: &Raw, tolerance: f64) {
    assert_eq!(got.dims(), want.dims(), "{what}");
    let (got, want) = (elements(got), elements(want));
    let size = want.iter().fold(1e-3, |size: f64, x| size.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let off = (got - want).abs();
        assert!(off <= tolerance * size, "{what}[{i}]: {got} is not {want}");
    }
}
