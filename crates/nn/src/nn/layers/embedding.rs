//! The embedding of tokens.

use crate::error::raise;
use crate::layer;
use crate::nn::summary::output_of;
use crate::nn::{Parameter, check};
use crate::ops;
use crate::tensor::{Tensor, randn};

layer! {
    /// A table with a learned vector for each token, initialised with normal random values.
    ///
    /// `weight` has the shape `(num_embeddings, embedding_dim)`. From d2l's chapter *Word Embedding*.
    ///
    /// # Shapes
    /// Integers `(…)` to `(…, embedding_dim)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Embedding::new(100, 8);
    /// let y = layer.forward(&tensor(&[[1, 5, 99]])); // (1, 3, 8)
    /// assert_eq!(y.dims(), [1, 3, 8]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if one of the sizes is 0.
    #[describe(self.weight.size(0), self.weight.size(1))]
    pub struct Embedding(num_embeddings: usize, embedding_dim: usize) {
        let sizes = [("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)];
        check::positive("Embedding", &sizes);
        weight = Parameter::new(&randn((num_embeddings, embedding_dim))),
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let (name, tokens) = (check::name(self), input.raw());
        let rows = match self.weight.quantized() {
            Some(values) => values.embedding_as(&name, tokens),
            None => ops::embedding_as(&name, tokens, self.weight.tensor().raw()), // (tokens, length)
        };
        output_of(self, rows) // (…, length)
    }

    /// Creates a layer with this parameter itself as its table, `(num_embeddings, embedding_dim)`: what is shared with
    /// another layer is trained together, counted once and saved once.
    ///
    /// # Panics
    /// If the parameter is not a matrix, or is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let vectors = tensor(&[[0.1, 0.2], [0.3, 0.4]]); // (2, 2)
    /// let layer = Embedding::from_parameter(Parameter::new(&vectors));
    /// assert_eq!(layer.forward(&tensor(&[1])).to_vec2::<f32>(), [[0.3, 0.4]]);
    /// ```
    #[track_caller]
    pub fn from_parameter(weight: Parameter) -> Self {
        raise!(if weight.shape().rank() != 2;
            shape("Embedding::from_parameter", weight.shape().dims());
            "a table (num_embeddings, embedding_dim)",
            "Pass the weight of another embedding, or Parameter::new(&vectors)");
        Self { weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn wrong_inputs_are_explained() {
        let layer = Embedding::new(3, 2);
        let message = |x: Tensor| message_of(|| layer.forward(&x));
        assert_eq!(
            message(tensor(&[0, 3])),
            "Embedding(3, 2): token 3 is out of range: there are 3, from 0 to 2\n\
             Use token indices from 0 to 2, or create the embedding for more tokens"
        );
        let floats = message(zeros(1));
        assert!(floats.contains("takes token indices, but its input is f32"));
        assert!(attempt(|| Embedding::new(3, 0)).is_err());
        let message = message_of(|| Embedding::from_parameter(Parameter::new(&zeros(1))));
        assert!(message.contains("found shape [1]\n"), "{message}");
    }
}
