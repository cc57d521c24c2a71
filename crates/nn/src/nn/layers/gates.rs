//! The parameters of one direction of a recurrent layer, or of a cell.

use crate::nn::layers::affine::initial;
use crate::nn::{Parameter, Parameters};

/// The parameters with PyTorch's names. The rows of the weights belong to the gates.
#[doc(hidden)]
#[derive(Parameters)]
pub struct Gates {
    pub weight_ih: Parameter,
    pub weight_hh: Parameter,
    pub bias_ih: Option<Parameter>,
    pub bias_hh: Option<Parameter>,
    /// The projection of the output.
    pub weight_hr: Option<Parameter>,
}

impl Gates {
    /// Creates parameters with random values: all are uniform between `-1/√hidden_size` and `1/√hidden_size`.
    #[track_caller]
    pub fn new(
        count: usize,
        [input_size, hidden_size]: [usize; 2],
        bias: bool,
        proj_size: Option<usize>,
    ) -> Self {
        let rows = count * hidden_size;
        let new = |shape: &[usize]| Parameter::new(&initial(hidden_size as f64, shape));
        Self {
            weight_ih: new(&[rows, input_size]),
            weight_hh: new(&[rows, proj_size.unwrap_or(hidden_size)]),
            bias_ih: bias.then(|| new(&[rows])),
            bias_hh: bias.then(|| new(&[rows])),
            weight_hr: proj_size.map(|size| new(&[size, hidden_size])),
        }
    }

    /// Returns the parameters with their names.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &Parameter)> {
        let all = [
            ("weight_ih", Some(&self.weight_ih)),
            ("weight_hh", Some(&self.weight_hh)),
            ("bias_ih", self.bias_ih.as_ref()),
            ("bias_hh", self.bias_hh.as_ref()),
            ("weight_hr", self.weight_hr.as_ref()),
        ];
        let present = |(name, parameter): (_, Option<_>)| Some((name, parameter?));
        all.into_iter().filter_map(present)
    }
}
