//! The embedding of bags of tokens.

use crate::error::{OrRaise, raise};
use crate::layer;
use crate::nn::record_output;
use crate::nn::{Parameter, check};
use crate::ops;
use crate::tensor::{Tensor, randn};

layer! {
    /// An [`Embedding`](crate::nn::Embedding) of bags of tokens: the mean of the vectors of a bag, or their sum or maximum.
    ///
    /// `weight` has the shape `(num_embeddings, embedding_dim)`.
    ///
    /// # Shapes
    /// Integers `(bags, tokens)` to `(bags, embedding_dim)`. Bags of different sizes are passed one after the other to
    /// [`forward_offsets`](Self::forward_offsets).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = EmbeddingBag::new(100, 8);
    /// let y = layer.forward(&tensor(&[[1, 5, 99], [2, 2, 2]])); // (2, 8)
    /// assert_eq!(y.dims(), [2, 8]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if one of the sizes is 0.
    #[describe(self.weight.size(0), self.weight.size(1), mode = self.mode.name())]
    pub struct EmbeddingBag(num_embeddings: usize, embedding_dim: usize) {
        let sizes = [("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)];
        check::positive("EmbeddingBag", &sizes);
        weight = Parameter::new(&randn((num_embeddings, embedding_dim))),
        #[parameters(skip)]
        mode: BagMode = BagMode::Mean,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        if input.rank() != 2 {
            let expected =
                "Expected bags of equal size, (bags, tokens); or call forward_offsets(…)";
            raise(check::refused(self, input, expected))
        }
        record_output(self, self.mode.reduce(&self.vectors(input)))
    }

    setters! {
        /// Sets what becomes of the vectors of a bag; the mean by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let layer = EmbeddingBag::new(10, 3).mode(BagMode::Sum);
        /// assert_eq!(layer.forward(&tensor(&[[1, 2]])).dims(), [1, 3]);
        /// ```
        pub fn mode(self, mode: BagMode): self.mode = mode;
    }

    /// Embeds bags of different sizes: `tokens` are the integers of all bags, `(tokens,)`, and `offsets` the index at
    /// which each bag begins. Returns `(bags, embedding_dim)`; an empty bag is 0.
    ///
    /// # Panics
    /// If `tokens` has another rank, or `offsets` do not begin with 0 and rise up to the number of tokens.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = EmbeddingBag::new(10, 3);
    /// let y = layer.forward_offsets(&tensor(&[4, 7, 7, 1]), &[0, 3]); // of 3 tokens and of 1
    /// assert_eq!(y.dims(), [2, 3]);
    /// ```
    #[track_caller]
    pub fn forward_offsets(&self, tokens: &Tensor, offsets: &[usize]) -> Tensor {
        let &[count] = tokens.dims() else {
            let expected = "Expected the tokens of all bags, (tokens,)";
            raise(check::refused(self, tokens, expected))
        };
        let fits =
            offsets.first() == Some(&0) && offsets.is_sorted() && offsets.last() <= Some(&count);
        raise!(if !fits; argument(check::name(self), format_args!("{offsets:?}"));
            "offsets that begin with 0 and rise, up to {count}",
            "Pass the index at which each bag begins");
        let vectors = self.vectors(tokens);
        let ends = offsets.iter().skip(1).chain([&count]);
        let bags = offsets.iter().zip(ends);
        let bags: Vec<Tensor> = bags
            .map(|(start, end)| self.mode.reduce(&vectors.narrow(0, *start, end - start)))
            .collect();
        record_output(self, Tensor::stack(&bags, 0))
    }

    #[track_caller]
    fn vectors(&self, tokens: &Tensor) -> Tensor {
        let weight = self.weight.tensor(); // (tokens, length)
        let vectors = ops::embedding_as(&check::name(self), tokens.raw(), weight.raw());
        vectors.or_raise().into()
    }
}

/// What becomes of the vectors of a bag in an [`EmbeddingBag`].
///
/// ```
/// use taper::prelude::*;
///
/// let layer = EmbeddingBag::new(10, 3).mode(BagMode::Max);
/// assert_eq!(layer.describe(), "EmbeddingBag(10, 3, mode=\"max\")");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagMode {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// The largest value of each feature.
    Max,
}

impl BagMode {
    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Sum => "sum",
            Self::Max => "max",
        }
    }

    /// Reduces the vectors of bags, `(…, tokens, length)`, to one vector for each bag: zeros for an empty bag.
    fn reduce(self, vectors: &Tensor) -> Tensor {
        match self {
            Self::Mean if vectors.dim(-2) > 0 => vectors.mean(-2),
            Self::Max if vectors.dim(-2) > 0 => vectors.max(-2),
            _ => vectors.sum(-2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::nn::ParametersExt;
    use crate::tensor::{tensor, zeros};
    use taper_tensor::testing::message_of;

    #[test]
    fn bags_are_reduced() {
        let table = tensor(&[[1.0, 4.0], [3.0, 2.0], [5.0, 0.0]]);
        for (mode, want) in [
            (BagMode::Mean, [2.0, 3.0]),
            (BagMode::Sum, [4.0, 6.0]),
            (BagMode::Max, [3.0, 4.0]),
        ] {
            let layer = EmbeddingBag::new(3, 2).mode(mode);
            layer.parameter("weight").set(&table);
            assert_eq!(layer.forward(&tensor(&[[0, 1]])).to_vec::<f32>(), want);
            let y = layer.forward_offsets(&tensor(&[0, 1, 2]), &[0, 2]);
            assert_eq!(y.i(0).to_vec::<f32>(), want);
            assert_eq!(y.i(1).to_vec::<f32>(), [5.0, 0.0]);
            let y = layer.forward_offsets(&tensor(&[0, 1]), &[0, 2]);
            assert_eq!(y.i(1).to_vec::<f32>(), [0.0, 0.0]); // empty
        }
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let layer = EmbeddingBag::new(3, 2);
        let message = message_of(|| layer.forward(&tensor(&[0, 1])));
        assert!(message.ends_with("call forward_offsets(…)"), "{message}");
        let message = message_of(|| layer.forward_offsets(&tensor(&[0, 1]), &[0, 3]));
        assert_eq!(
            message,
            "EmbeddingBag(3, 2, mode=\"mean\"): expected offsets that begin with 0 and rise, up to 2, found [0, 3]\n\
             Pass the index at which each bag begins"
        );
        let message = message_of(|| layer.forward(&zeros((1, 1))));
        assert!(message.contains("takes token indices"), "{message}");
    }
}
