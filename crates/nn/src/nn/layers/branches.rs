//! Layers next to each other: a shortcut around some, and several for the same input.

use crate::error::raise;
use crate::layer;
use crate::nn::summary::watched;
use crate::nn::{IntoLayer, Layer};
use crate::ops::check;
use crate::tensor::Tensor;

layer! {
    /// Layers with a shortcut around them: `x + body(x)`, or `shortcut(x) + body(x)`.
    ///
    /// From He et al., 2015, and d2l's chapter *Residual Networks (ResNet)*.
    ///
    /// # Shapes
    /// The same as for the body. Its output must have the shape of its input, or of the shortcut's output.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let body = seq![Conv2d::new(8, 8, 3).padding(1), ReLU, Conv2d::new(8, 8, 3).padding(1)];
    /// let net = seq![Residual::new(body), ReLU];
    /// assert_eq!(net.forward(&zeros((1, 8, 5, 5))).dims(), [1, 8, 5, 5]);
    /// ```
    pub struct Residual(body: impl IntoLayer) {
        body: Box<dyn Layer> = body.into_layer(),
        shortcut: Option<Box<dyn Layer>> = None,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let y = watched(&*self.body, input);
        let x = match &self.shortcut {
            Some(shortcut) => watched(&**shortcut, input),
            None => input.clone(),
        };
        if x.dims() != y.dims() {
            let (y, x) = (y.dims(), x.dims());
            let expected = format!(
                "Its body returns {y:?}, its shortcut {x:?}: set a layer with .shortcut(…)"
            );
            raise(check::wrong_shape(&"Residual", input.raw(), expected).into())
        }
        x + y
    }

    /// Sets the layer through which the shortcut passes, such as a convolution where the body changes the shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let block = Residual::new(Conv2d::new(3, 8, 3).padding(1).stride(2))
    ///     .shortcut(Conv2d::new(3, 8, 1).stride(2));
    /// assert_eq!(block.forward(&zeros((1, 3, 6, 6))).dims(), [1, 8, 3, 3]);
    /// ```
    pub fn shortcut(mut self, shortcut: impl IntoLayer) -> Self {
        self.shortcut = Some(shortcut.into_layer());
        self
    }
}

layer! {
    /// Several layers for the same input, whose outputs are concatenated, along the channels unless
    /// [`dim`](Self::dim) is set.
    ///
    /// From d2l's chapter *Multi-Branch Networks (GoogLeNet)*.
    ///
    /// # Shapes
    /// The same as for the branches. Their outputs may differ only in the size of that dimension.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![
    ///     Parallel::new().branch(Conv2d::new(3, 4, 1)).branch(seq![Conv2d::new(3, 8, 3).padding(1), ReLU]),
    ///     Flatten,
    /// ];
    /// assert_eq!(net.forward(&zeros((2, 3, 5, 5))).dims(), [2, 12 * 25]);
    /// ```
    #[describe()]
    pub struct Parallel {
        #[parameters(flatten)]
        branches: Vec<Box<dyn Layer>> = vec![],
        /// Sets the dimension along which the outputs are concatenated; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = Parallel::new().branch(Identity).branch(ReLU).dim(0).forward(&tensor(&[-1.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 0.0]);
        /// ```
        set dim: i64 = 1,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        if self.branches.is_empty() {
            let expected = "It has no branches: add one with .branch(…)";
            raise(check::wrong_shape(&"Parallel", input.raw(), expected).into())
        }
        let branches = self.branches.iter();
        let outputs: Vec<Tensor> = branches.map(|branch| watched(&**branch, input)).collect();
        Tensor::cat(&outputs, self.dim)
    }

    /// Adds a layer.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Parallel::new().branch(Linear::new(2, 3)).branch(Linear::new(2, 4));
    /// assert_eq!(net.named_parameters()[2].0, "1.weight");
    /// ```
    pub fn branch(mut self, layer: impl IntoLayer) -> Self {
        self.branches.push(layer.into_layer());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tests::message_of;
    use crate::nn::{Linear, ParametersExt, ReLU};
    use crate::notebook::Show;
    use crate::tensor::zeros;

    #[test]
    fn the_names_of_parts_are_those_of_the_fields() {
        let net = crate::seq![
            Residual::new(crate::seq![Linear::new(2, 4), ReLU]).shortcut(Linear::new(2, 4)),
            Parallel::new().branch(Linear::new(4, 1)),
        ];
        let names: Vec<String> = net.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(names[0], "0.body.0.weight");
        assert_eq!(
            names[2..5],
            ["0.shortcut.weight", "0.shortcut.bias", "1.0.weight"]
        );
        assert_eq!(net.summary((3, 2)).show_text().lines().count(), 6);
    }

    #[test]
    fn wrong_shapes_are_explained() {
        assert_eq!(
            message_of(|| Residual::new(Linear::new(2, 4)).forward(&zeros((3, 2)))),
            "Residual cannot take an input of shape [3, 2]\n\
             Its body returns [3, 4], its shortcut [3, 2]: set a layer with .shortcut(…)"
        );
        let message = message_of(|| Parallel::new().forward(&zeros(1)));
        assert!(message.ends_with("add one with .branch(…)"), "{message}");
    }
}
