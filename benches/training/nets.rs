//! The networks that are measured on the CPU and on a GPU.

use taper::prelude::*;

/// d2l's, with sigmoid and average pooling.
pub fn lenet() -> Sequential {
    seq![
        LazyConv2d::new(6, 5).padding(2),
        Sigmoid,
        AvgPool2d::new(2),
        LazyConv2d::new(16, 5),
        Sigmoid,
        AvgPool2d::new(2),
        Flatten,
        LazyLinear::new(120),
        Sigmoid,
        LazyLinear::new(84),
        Sigmoid,
        LazyLinear::new(10),
    ]
}

/// The CNN of the chapter about AI on a GPU.
pub fn cifar() -> Sequential {
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
