//! Layers one after the other.

use crate::nn::fused;
use crate::nn::fusible::{Fusible, Kind};
use crate::nn::layer::boxed_here;
use crate::nn::summary::Running;
use crate::nn::summary::watched;
use crate::nn::{IntoLayer, Layer, Parameters};
use crate::tensor::Tensor;
use std::ops::{Index, IndexMut};

/// Layers one after the other: each takes the output of the one before it.
///
/// [`seq!`](crate::seq) creates one, also from [Candle's own layers](IntoLayer). `net[0]` is the first layer.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![LazyLinear::new(8), ReLU, LazyLinear::new(1)];
/// let y = net.forward(&ones((4, 20))); // (4, 1)
/// assert_eq!(y.dims(), [4, 1]);
/// assert_eq!(net[0].parameter("weight").shape().dims(), [8, 20]);
/// ```
#[derive(Default, Parameters)]
pub struct Sequential {
    #[parameters(flatten)]
    layers: Vec<Box<dyn Layer>>,
}

/// Creates a [`Sequential`](crate::nn::Sequential) of the given layers.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Linear::new(2, 3), ReLU, Linear::new(3, 1)];
/// assert_eq!(net.len(), 3);
/// ```
#[macro_export]
macro_rules! seq {
    ($($layer:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut net = $crate::nn::Sequential::new();
        $(net.push($layer);)*
        net
    }};
}

impl Sequential {
    /// Creates a chain without layers, which returns its input.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Sequential::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer at the end.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = Sequential::new();
    /// for _ in 0..3 {
    ///     net.push(LazyLinear::new(16));
    ///     net.push(ReLU);
    /// }
    /// assert_eq!(net.len(), 6);
    /// ```
    pub fn push(&mut self, layer: impl IntoLayer) {
        self.layers.push(layer.into_layer());
    }

    /// Compiled here, and not in each cell.
    #[inline(never)]
    fn of(next: &mut dyn FnMut() -> Option<Box<dyn Layer>>) -> Self {
        let layers = std::iter::from_fn(next).collect();
        Self { layers }
    }

    /// Returns the number of layers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(seq![Flatten, ReLU].len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Returns whether there are no layers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(!seq![ReLU].is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

/// Computes the layers one after the other.
fn through(running: &Running, layers: &[Box<dyn Layer>], input: &Tensor) -> Tensor {
    let (mut value, mut rest) = (input.clone(), layers);
    while let [layer, ..] = rest {
        let (output, count) =
            fused::forward(rest, &value).unwrap_or_else(|| (watched(&**layer, &value), 1));
        value = output;
        (0..count).for_each(|_| running.passed(&value));
        rest = &rest[count..];
    }
    value
}

impl Layer for Sequential {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let running = Running::begin(&self.layers, input);
        through(&running, &self.layers, input)
    }

    fn fusible(&self) -> Fusible {
        let last = self.layers.last().map(|last| last.fusible());
        last.filter(|last| matches!(last.0, Some(Kind::NormOfBatch)))
            .unwrap_or_default()
    }

    fn forward_relu(&self, input: &Tensor) -> Option<Tensor> {
        let (last, first) = self.layers.split_last()?;
        let running = Running::begin(&self.layers, input);
        last.forward_relu(&through(&running, first, input))
    }
}

/// Collects layers.
///
/// ```
/// use taper::prelude::*;
///
/// let blocks: Sequential = (0..3).map(|i| Linear::new(8 + i, 9 + i)).collect();
/// assert_eq!(blocks.forward(&zeros((1, 8))).dims(), [1, 11]);
/// ```
impl<L: IntoLayer> FromIterator<L> for Sequential {
    fn from_iter<I: IntoIterator<Item = L>>(layers: I) -> Self {
        let mut layers = layers.into_iter();
        Self::of(&mut || layers.next().map(IntoLayer::into_layer))
    }
}

impl Index<usize> for Sequential {
    type Output = dyn Layer;

    fn index(&self, index: usize) -> &Self::Output {
        &*self.layers[index]
    }
}

impl IndexMut<usize> for Sequential {
    fn index_mut(&mut self, index: usize) -> &mut Self::Output {
        &mut *self.layers[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Linear, Parameter, ReLU, Tanh};
    use crate::notebook::Show;
    use crate::tensor::tensor;

    #[test]
    fn layers_follow_each_other() {
        let net = crate::seq![Tanh, ReLU];
        let x = tensor(&[-1.0, 1.0]);
        let y = net.forward(&x).to_vec1::<f32>();
        assert_eq!(y, [0.0, 1f32.tanh()]);
        let same = Sequential::new().forward(&x);
        assert_eq!(same.to_vec1::<f32>(), [-1.0, 1.0]);
    }

    #[test]
    fn it_prints_as_in_pytorch() {
        let net = crate::seq![Linear::new(2, 1), crate::seq![ReLU], crate::seq![]];
        let text = "Sequential(
  (0): Linear(in_features=2, out_features=1, bias=true)
  (1): Sequential(
    (0): ReLU()
  )
  (2): Sequential()
)";
        assert_eq!(format!("{net:?}"), text);
        assert_eq!(net.show_text(), text);
        assert_eq!(net[0].show_text(), net[0].describe());
    }

    #[test]
    fn it_can_wait_in_a_notebook_and_go_to_another_thread() {
        fn keeps<T: Send + Sync + 'static>() {}
        keeps::<Sequential>();
        keeps::<Parameter>();
    }
}
