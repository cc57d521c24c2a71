//! The networks that are measured on the CPU and on a GPU.

use taper::prelude::*;

/// Returns d2l's LeNet, with sigmoid and average pooling.
pub(crate) fn lenet() -> Sequential {
    lenet_with(|| Sigmoid, AvgPool2d::new)
}

/// Returns LeNet with ReLU and max pooling.
#[allow(dead_code, reason = "not measured on a GPU")]
pub(crate) fn lenet_relu() -> Sequential {
    lenet_with(|| ReLU, MaxPool2d::new)
}

fn lenet_with<A: Layer + 'static, P: Layer + 'static>(
    activation: fn() -> A,
    pool: fn(usize) -> P,
) -> Sequential {
    seq![
        LazyConv2d::new(6, 5).padding(2),
        activation(),
        pool(2),
        LazyConv2d::new(16, 5),
        activation(),
        pool(2),
        Flatten,
        LazyLinear::new(120),
        activation(),
        LazyLinear::new(84),
        activation(),
        LazyLinear::new(10),
    ]
}

/// Returns the CNN of the chapter about AI on a GPU.
pub(crate) fn cifar() -> Sequential {
    seq![
        LazyConv2d::new(6, 5),
        ReLU,
        MaxPool2d::new(2),
        LazyConv2d::new(16, 5).padding(3),
        ReLU,
        LazyConv2d::new(16, 5),
        ReLU,
        MaxPool2d::new(2),
        LazyConv2d::new(16, 3),
        ReLU,
        MaxPool2d::new(2),
        Flatten,
        LazyLinear::new(120),
        ReLU,
        LazyLinear::new(84),
        ReLU,
        LazyLinear::new(10),
    ]
}
