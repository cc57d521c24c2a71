//! What losses do not count.

use crate::nn::testing::{Case, Output, assert_same, variable};
use crate::nn::*;
use crate::tensor::{Tensor, manual_seed, randn, tensor};
use candle_core::DType;

/// Losses of the rows 0 and 2 of 3; row 1 does not count.
#[test]
fn what_a_loss_ignores_reaches_nothing() {
    manual_seed(1);
    let classes = tensor(&[1, 2, 0]);
    let ignored = tensor(&[1, -100, 0]);
    let weight = tensor(&[1.0, 2.0, 0.0]);
    let of_classes = || CrossEntropyLoss::new();
    let soft = tensor(&[[0.2, 0.8, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    let rows = tensor(&[[0], [1], [0]]);
    let check = |what: &str, hidden: &Tensor, loss: &Output| {
        for dtype in [DType::F32, DType::F64, DType::F16] {
            let (input, hidden) = (randn((3, 3)).to_dtype(dtype), hidden.clone());
            let output = loss;
            Case {
                what,
                output,
                parameters: vec![],
                input,
                hidden,
            }
            .check();
        }
    };
    for smoothing in [0.0, 0.1] {
        for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
            let loss = of_classes().label_smoothing(smoothing).reduction(reduction);
            check("ignored", &rows, &|x| loss.forward(x, &ignored));
            let loss = loss.clone().ignore_index(2);
            check("index", &rows, &|x| loss.forward(x, &classes));
            let at_places = |x: &Tensor| x.t().unsqueeze(0); // (1, classes, 3)
            check("places", &rows, &|x| {
                loss.forward(&at_places(x), &classes.unsqueeze(0))
            });
        }
    }
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        let loss = of_classes().weight(&weight).reduction(reduction);
        check("weight 0", &rows, &|x| loss.forward(x, &classes));
        check("weight 0, places", &rows, &|x| {
            loss.forward(&x.t().unsqueeze(0), &classes.unsqueeze(0))
        });
        let nll = NLLLoss::new().weight(&weight).reduction(reduction);
        check("nll, weight 0", &rows, &|x| nll.forward(x, &classes));
        check("nll, ignored", &rows, &|x| nll.forward(x, &ignored));
        // The logarithms of the other classes do not count.
        let others = tensor(&[[1, 0, 1], [1, 1, 1], [0, 1, 1]]);
        check("nll, other classes", &others, &|x| nll.forward(x, &classes));
        check("probability 0, weight 0", &rows, &|x| {
            loss.forward(x, &soft.to_dtype(x.dtype()))
        });
        let element = tensor(&[[1.0], [0.0], [0.5]]);
        let bce = BCEWithLogitsLoss::new()
            .weight(&element)
            .reduction(reduction);
        check("bce, weight 0", &rows, &|x| {
            bce.forward(x, &soft.to_dtype(x.dtype()))
        });
        let bce = bce.pos_weight(&tensor(&[2.0]));
        check("bce, weights", &rows, &|x| {
            bce.forward(x, &soft.to_dtype(x.dtype()))
        });
        let bce = BCELoss::new().weight(&element).reduction(reduction);
        Case {
            what: "BCELoss, weight 0",
            output: &|p| bce.forward(p, &soft),
            parameters: vec![],
            input: randn((3, 3)).sigmoid(),
            hidden: rows.clone(),
        }
        .check();
    }
    let log_p = KLDivLoss::new().reduction(Reduction::Sum);
    check("kl_div", &soft.eq(0.0), &|x| {
        log_p.forward(x, &soft.to_dtype(x.dtype()))
    });
}

#[test]
fn targets_that_do_not_count_may_be_nan() {
    manual_seed(1);
    let (x, weight) = (randn((2, 3)), tensor(&[[1.0, 0.0, 2.0]]));
    let y = tensor(&[[1.0, f64::NAN, 0.0], [0.0, f64::NAN, 1.0]]);
    let clean = y.masked_fill(&y.isnan(), 0.0);
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        let loss = BCEWithLogitsLoss::new()
            .weight(&weight)
            .reduction(reduction);
        assert_same("bce", &[loss.forward(&x, &y)], &[loss.forward(&x, &clean)]);
        let loss = BCELoss::new().weight(&weight).reduction(reduction);
        let p = x.sigmoid();
        assert_same(
            "BCELoss",
            &[loss.forward(&p, &y)],
            &[loss.forward(&p, &clean)],
        );
    }
}

/// As when all targets are ignored.
#[test]
fn without_a_target_that_counts_the_mean_is_nan_and_changes_nothing() {
    manual_seed(1);
    let weight = tensor(&[0.0, 1.0]);
    for smoothing in [0.0, 0.1] {
        for y in [tensor(&[0, 0]), tensor(&[-100, -100])] {
            let x = variable(&randn((2, 2)));
            let loss = CrossEntropyLoss::new()
                .weight(&weight)
                .label_smoothing(smoothing);
            let loss = loss.forward(&x, &y);
            assert!(loss.item().is_nan());
            assert_eq!(loss.backward().of(&x).to_vec::<f32>(), [0.0; 4]);
        }
    }
}
