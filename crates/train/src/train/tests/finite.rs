//! Losses and gradients that are not finite.

use super::*;
use crate::error::{Problem, of};
use crate::nn::{BatchNorm1d, Layer, Linear, Parameter, ParametersExt, Sequential, mse_loss};
use crate::optim::{Optimizer, Optimizers, SGD};
use crate::seq;
use crate::tensor::{full, ones, randn, zeros};

/// Batches of two examples in their order.
struct Rows {
    x: Tensor,
    y: Tensor,
}

impl DataModule for Rows {
    fn train_dataloader(&self) -> Result<DataLoader> {
        let data = TensorDataset::new(self.x.clone(), self.y.clone())?;
        Ok(DataLoader::new(data).batch_size(2))
    }
}

/// A regression whose loss is computed by a function.
#[derive(taper_macros::Parameters)]
struct Regression {
    net: Sequential,
    #[parameters(skip)]
    loss: fn(&Tensor, &Tensor) -> Tensor,
}

impl Layer for Regression {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.net.forward(x)
    }
}

impl Module for Regression {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        (self.loss)(y_hat, y)
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(SGD::new(self.parameters(), 0.01))
    }
}

fn regression(net: Sequential) -> Regression {
    Regression {
        net,
        loss: |y_hat, y| mse_loss(y_hat, y),
    }
}

/// Trains, and returns the error and the values of the model.
#[track_caller]
fn fails(trainer: Trainer, model: &mut Regression, data: &Rows) -> (String, Vec<f32>) {
    let mut trainer = trainer;
    let error = trainer.fit(model, data).unwrap_err();
    (error.to_string(), values(model))
}

fn values(model: &Regression) -> Vec<f32> {
    let state = model.state_dict().into_iter();
    let state = state.filter(|(name, _)| !name.ends_with("num_batches_tracked"));
    state.flat_map(|(_, x)| x.to_vec::<f32>()).collect()
}

#[test]
fn a_broken_example_changes_no_weight() -> Result<()> {
    let rows = |value: f64| Rows {
        x: ones((8, 3)).index_put((5, 1), value),
        y: ones((8, 1)),
    };
    let net = || {
        with_seed(1, || {
            seq![Linear::new(3, 4), BatchNorm1d::new(4), Linear::new(4, 1)]
        })
    };
    // After the two steps on the batches before it.
    let before = {
        let mut model = regression(net());
        let data = Rows {
            x: ones((4, 3)),
            y: ones((4, 1)),
        };
        Trainer::new(1).fit(&mut model, &data)?;
        values(&model)
    };
    for clip in [0.0, 1.0] {
        for value in [f64::NAN, f64::INFINITY] {
            let mut model = regression(net());
            let trainer = Trainer::new(1).gradient_clip_val(clip);
            let (message, after) = fails(trainer, &mut model, &rows(value));
            assert!(
                message.starts_with(
                    "the loss is NaN at step 3, in epoch 1, batch 3: x has NaN or infinite values, first in \
                     example 1 of the batch (counted from 0)\nRemove or replace such values in the data"
                ) && message.ends_with("the weights are those before this step"),
                "{message}"
            );
            assert!(!message.contains("clip"));
            assert!(after.iter().all(|x| x.is_finite()), "{after:?}");
            if clip == 0.0 {
                // The running statistics have seen the other features of the batch.
                assert_eq!(after[..12], before[..12]);
            }
        }
    }
    // A target.
    let mut data = rows(1.0);
    data.y = data.y.index_put((0, 0), f64::NAN);
    let (message, _) = fails(Trainer::new(1), &mut regression(net()), &data);
    assert!(
        message.contains("batch 1: y has NaN or infinite values, first in example 0"),
        "{message}"
    );
    Ok(())
}

#[test]
fn parameters_and_layers_that_are_not_finite_are_named() {
    let data = || Rows {
        x: ones((4, 3)),
        y: ones((4, 1)),
    };
    let net = || seq![Linear::new(3, 4), Linear::new(4, 1)];
    let mut model = regression(net());
    model.net.parameter("1.weight").set(&full((1, 4), f64::NAN));
    let (message, _) = fails(Trainer::new(1), &mut model, &data());
    assert!(
        message.contains("batch 1: the parameter net.1.weight has NaN or infinite values\n"),
        "{message}"
    );
    assert!(
        message.contains(", or begin with other weights; the weights"),
        "{message}"
    );

    let mut model = regression(net());
    model
        .net
        .parameter("1.weight")
        .set(&full((1, 4), f32::MAX.into()));
    model.net.parameter("0.bias").set(&full(4, 9.0));
    let (message, _) = fails(Trainer::new(1).gradient_clip_val(1.0), &mut model, &data());
    let layer = "the output of Linear(in_features=4, out_features=1, bias=true), net.1 of the model, has NaN";
    assert!(
        message.contains(layer) && message.contains("\nLower the learning rate; the weights"),
        "{message}"
    );

    let mut model = regression(net());
    model.loss = |y_hat, _| (y_hat.sqr() * 1e30 * 1e30).sum_all();
    let (message, _) = fails(Trainer::new(1), &mut model, &data());
    assert!(
        message.contains("and the outputs of the layers are finite\n"),
        "{message}"
    );
    assert!(
        message.ends_with(
            "\nLower the learning rate, clip the gradients (.gradient_clip_val(1.0)), or look for a division by 0 or a \
             logarithm of 0 in the loss; the weights are those before this step"
        ),
        "{message}"
    );
    // The board shows the last loss.
    let mut trainer = Trainer::new(1).log_every(1);
    assert!(trainer.fit(&mut model, &data()).is_err());
    assert_eq!(trainer.history().last("train_loss"), None);
    assert_eq!(
        trainer.history().intervals[0].metric("train_loss"),
        Some(f64::INFINITY)
    );
}

/// The root of 0 has no derivative.
#[test]
fn a_gradient_that_is_not_finite_makes_no_step() {
    for clip in [0.0, 1.0] {
        let mut model = regression(seq![Linear::new(3, 1)]);
        model.loss = |y_hat, y| (y_hat - y).sqr().sum_all().sqrt();
        model.net.parameter("0.weight").set(&zeros((1, 3)));
        model.net.parameter("0.bias").set(&ones(1));
        let data = Rows {
            x: randn((4, 3)),
            y: ones((4, 1)),
        };
        let mut trainer = Trainer::new(1).gradient_clip_val(clip);
        let error = trainer.fit(&mut model, &data).unwrap_err();
        assert!(matches!(
            of(&error).map(|error| &error.problem),
            Some(Problem::Gradient { parameter, epoch: 1, step: 1, batch: 1 }) if parameter == "net.0.weight"
        ));
        let message = error.to_string();
        assert!(
            message.contains("(x + 1e-8).sqrt()") && !message.contains("clip"),
            "{message}"
        );
        assert_eq!(values(&model), [0.0, 0.0, 0.0, 1.0]);
    }
}

/// Of a large gradient, only some elements are looked at.
#[test]
fn a_large_gradient_that_is_not_finite_makes_no_step() {
    for (unit, input) in [(0, 0), (150, 0), (0, 299), (199, 299)] {
        let mut model = regression(seq![Linear::new(300, 200).bias(false)]);
        // NaN in the gradient of one unit, for one example, whose input is partly 0.
        model.loss = |y_hat, y| (y_hat * y + y_hat.sqr().sqrt() * 0.0).sum_all();
        let weight = randn((200, 300)).index_put((unit, ..), 0.0);
        model.net.parameter("0.weight").set(&weight);
        let before = values(&model);
        let x = zeros((2, 300)).index_put((.., input), 1.0);
        let message = fails(
            Trainer::new(1),
            &mut model,
            &Rows {
                x,
                y: ones((2, 200)),
            },
        );
        assert!(
            message
                .0
                .starts_with("the gradient of net.0.weight is not finite at step 1"),
            "{}",
            message.0
        );
        assert_eq!(message.1, before);
    }
}

/// Batches that are accumulated, and modules that make their own steps.
#[test]
fn other_ways_to_make_steps_stop_too() -> Result<()> {
    let data = Rows {
        x: ones((8, 3)).index_put((5, 1), f64::NAN),
        y: ones((8, 1)),
    };
    let mut model = regression(seq![Linear::new(3, 1)]);
    let before = values(&model);
    let (message, after) = fails(
        Trainer::new(1).accumulate_grad_batches(4),
        &mut model,
        &data,
    );
    assert!(
        message.starts_with("the loss is NaN at step 1, in epoch 1, batch 3: x has"),
        "{message}"
    );
    assert_eq!(after, before);

    #[derive(taper_macros::Parameters)]
    struct Own {
        net: Linear,
    }
    impl Layer for Own {
        fn forward(&self, x: &Tensor) -> Tensor {
            self.net.forward(x)
        }
    }
    impl Module for Own {
        fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
            mse_loss(y_hat, y)
        }

        fn automatic_optimization(&self) -> bool {
            false
        }

        fn configure_optimizers(&self) -> Box<dyn Optimizer> {
            Box::new(Optimizers::new().with(SGD::new(self.parameters(), 0.1)))
        }

        fn manual_step(&self, batch: &Batch, optimizers: &mut [Box<dyn Optimizer>]) -> Tensor {
            let loss = mse_loss(&self.forward(&batch.x), &batch.y);
            optimizers[0].step(&loss.backward());
            loss
        }
    }
    let mut model = Own {
        net: Linear::new(3, 1),
    };
    let message = Trainer::new(1)
        .fit(&mut model, &data)
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("the loss is NaN at step 3, in epoch 1, batch 3: x has"),
        "{message}"
    );
    assert!(
        message.ends_with("manual_step has made its step already"),
        "{message}"
    );
    Ok(())
}

/// Fields of a batch by their names, however deep.
#[test]
fn each_field_of_a_batch_has_its_name() -> Result<()> {
    use crate::data::{BatchData, Search, Searched};
    let batch = (
        (ones(2), vec![ones(2)]),
        Batch {
            x: ones(2),
            y: zeros(2),
        },
    );
    let mut names = vec![];
    batch.search(&mut Search::new(&mut |name, x| {
        names.push(format!("{name} {:?}", x.dims()))
    }));
    assert_eq!(names, ["0.0 [2]", "1.x [2]", "1.y [2]"]);
    assert!(batch.num_examples().is_err());
    Ok(())
}

/// A gradient that is not finite does not spread, and the norm says that there is one.
#[test]
fn clipping_leaves_healthy_gradients_healthy() {
    let parameters = [[3.0, 4.0], [1.0, 1.0]].map(|values| Parameter::new(&tensor(&values)));
    for value in [f64::NAN, f64::INFINITY] {
        let [a, b] = parameters.each_ref().map(Parameter::tensor);
        let broken = tensor(&[1.0, value]);
        let mut gradients = ((&a * &a * 0.5).sum_all() + (&b * broken).sum_all()).backward();
        let norm = crate::optim::clip_gradients(&parameters, &mut gradients, 1.0);
        assert!(!norm.item().is_finite());
        let healthy = gradients.of(&a).to_vec1::<f32>();
        assert!(
            (healthy[0] - 0.6).abs() < 1e-5 && (healthy[1] - 0.8).abs() < 1e-5,
            "{healthy:?}"
        );
        assert!(!gradients.of(&b).to_vec1::<f32>()[1].is_finite());
    }
}
