//! What tests of several crates check of layers and losses.

use crate::error::attempt;
use crate::nn::{Layer, Parameter, Parameters, state_of};
use crate::tensor::{Tensor, manual_seed, rand, with_seed, zeros};
use candle_core::DType;

/// Creates a layer.
pub type Create = fn() -> Box<dyn Parameters>;

/// Returns a layer after its first input.
pub fn run(layer: impl Layer + 'static, shape: &[usize]) -> Box<dyn Parameters> {
    layer.forward(&zeros(shape));
    Box::new(layer)
}

/// Checks that layers begin with the same random values as always: the stored outputs of notebooks depend on them. Each has
/// a name, and the fingerprint of its values.
pub fn begin_with(layers: &[(&str, u64, Create)]) {
    let mut found = Vec::new();
    for (name, expected, create) in layers {
        let hash = fingerprint(*create);
        if hash != *expected {
            found.push(format!("{name:?}: 0x{hash:016x}"));
        }
    }
    assert!(
        found.is_empty(),
        "these layers differ:\n{}",
        found.join("\n")
    );
}

/// Returns the FNV hash of the names, the shapes and the bits of all parameters and buffers, and of the next random value.
fn fingerprint(create: Create) -> u64 {
    manual_seed(7);
    let layer = create();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let mut tensor = |name: &str, values: &Tensor| {
        add(format!("{name} {:?}", values.dims()).as_bytes());
        let values = values.to_dtype(DType::F32).to_vec::<f32>();
        values
            .iter()
            .for_each(|it| add(&it.to_bits().to_le_bytes()));
    };
    for entry in state_of(&*layer) {
        tensor(&entry.name, &entry.parameter.tensor());
    }
    tensor("next", &rand(1));
    hash
}

/// A layer, and shapes that it refuses.
pub type Refusing = (Box<dyn Layer>, Vec<Vec<usize>>);

/// Checks that layers refuse shapes with their names and what they take.
pub fn refuse(layers: Vec<Refusing>) {
    for (layer, shapes) in layers {
        for shape in shapes {
            let before = layer.describe();
            let x = zeros(shape.clone());
            let error = attempt(|| layer.forward(&x));
            let message = error
                .expect_err(&format!("{before} took {shape:?}"))
                .to_string();
            let first = format!("{before} cannot take an input of shape {shape:?}\n");
            assert!(message.starts_with(&first), "{message}");
            assert_eq!(message.lines().count(), 2, "{message}");
            assert_eq!(
                layer.describe(),
                before,
                "a refused input does not initialise a lazy layer"
            );
        }
    }
}

/// Returns a tensor of these values to which gradients flow.
pub fn variable(x: &Tensor) -> Tensor {
    Parameter::new(x).tensor()
}

/// What may be behind a mask.
pub const DIRT: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

fn values(x: &Tensor) -> Vec<f64> {
    x.to_dtype(DType::F64).to_vec()
}

/// Compares tensors, which must be finite.
#[track_caller]
pub fn assert_same(what: &str, got: &[Tensor], want: &[Tensor]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            want.isfinite().min_all().item() == 1.0,
            "{what}, {i}: {want:?}"
        );
        let size = 1.0 + want.abs().max_all().item();
        let off = (got - want).abs().max_all().item() / size;
        assert!(
            off <= 1e-5,
            "{what}, {i}: {:?} is not {:?}",
            values(got),
            values(want)
        );
    }
}

/// An output that counts, for an input.
pub type Output<'a> = dyn Fn(&Tensor) -> Tensor + 'a;

/// A model with an input whose hidden part gets other values.
pub struct Case<'a> {
    pub what: &'a str,
    /// Returns the outputs that count, for an input.
    pub output: &'a Output<'a>,
    pub parameters: Vec<Parameter>,
    pub input: Tensor,
    /// 1 where the input is hidden, broadcast.
    pub hidden: Tensor,
}

impl Case<'_> {
    /// Compares outputs and all gradients with those for zeros in the hidden part.
    #[track_caller]
    pub fn check(&self) {
        let run = |value: f64| {
            let x = variable(&self.input.masked_fill(&self.hidden, value));
            let y = with_seed(1, || (self.output)(&x));
            let gradients = y.sqr().sum_all().backward();
            let parameters = self.parameters.iter().map(Parameter::tensor);
            let mut found: Vec<Tensor> = parameters.map(|p| gradients.of(&p)).collect();
            found.extend([y, gradients.of(&x)]);
            found
        };
        let want = run(0.0);
        for dirt in DIRT {
            assert_same(&format!("{}, {dirt}", self.what), &run(dirt), &want);
        }
    }
}
