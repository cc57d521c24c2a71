//! Operators and methods as one writes them in a notebook.

use crate::Function;
use taper::prelude::*;

/// Returns the expression that a case names. `x[1]` is the other operand, or the indices.
pub(crate) fn method(name: &str) -> Option<Function> {
    macro_rules! cases {
        ($($name:literal: |$x:ident| $value:expr;)*) => {
            match name {
                $($name => Some(Box::new(|$x: &[Tensor]| $value)),)*
                _ => None,
            }
        };
    }
    cases! {
        "x * y": |x| &x[0] * &x[1];
        "x + y": |x| &x[0] + &x[1];
        "x - y": |x| &x[0] - &x[1];
        "x / y": |x| &x[0] / &x[1];
        "x * x": |x| &x[0] * &x[0];
        "x * s": |x| &x[0] * 1.7;
        "x + 3": |x| &x[0] + 3;
        "1 - x": |x| 1.0 - &x[0];
        "1 / x": |x| 1.0 / &x[0];
        "x * 1.7 + 0.5": |x| &x[0] * 1.7 + 0.5;
        "x + row": |x| &x[0] + &x[1];
        "x * row": |x| &x[0] * &x[1];
        "x - column": |x| &x[0] - &x[1];
        "x * column": |x| &x[0] * &x[1];
        "x + channel": |x| &x[0] + &x[1];
        "x * scalar": |x| &x[0] * &x[1];
        "clamp": |x| x[0].clamp(0.3, 1.2);
        "powf": |x| x[0].powf(2.5);
        "powf 3": |x| x[0].powf(3.0);
        "exp": |x| x[0].exp();
        "log": |x| x[0].log();
        "tanh": |x| x[0].tanh();
        "sigmoid": |x| x[0].sigmoid();
        "relu": |x| x[0].relu();
        "abs": |x| x[0].abs();
        "sqrt": |x| x[0].sqrt();
        "sin": |x| x[0].sin();
        "maximum": |x| x[0].maximum(&x[1]);
        "softmax": |x| x[0].softmax(-1);
        "log_softmax": |x| x[0].log_softmax(1);
        "sum 0": |x| x[0].sum(0);
        "sum -1": |x| x[0].sum(-1);
        "sum_all": |x| x[0].sum_all();
        "mean (2, 3)": |x| x[0].mean((2, 3));
        "var 1": |x| x[0].var(1);
        "norm -1": |x| x[0].norm(-1);
        "max -1": |x| x[0].max(-1);
        "max_all": |x| x[0].max_all();
        "argmax 1": |x| x[0].argmax(1);
        "cumsum 1": |x| x[0].cumsum(1);
        "flip -1": |x| x[0].flip(-1);
        "cat": |x| Tensor::cat(&[&x[0], &x[1]], 1);
        "transposed copy": |x| x[0].t().contiguous();
        "x[:, 1:3] + 1": |x| x[0].i((.., 1..3)) + 1;
        "x > y": |x| x[0].gt(&x[1]);
        "x > 0.5": |x| x[0].gt(0.5);
        "where": |x| x[0].gt(0.5).where_cond(&x[0], 0.0);
        "gather": |x| x[0].gather(&x[1].reshape(x[0].dims()), -1);
        "index_select": |x| x[0].index_select(&x[1], 1);
        "one_hot": |x| one_hot(&x[0], 10);
    }
}
