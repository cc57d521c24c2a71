//! Layers, losses, optimisers and trainings: what is computed on the CPU and on a card.

use crate::machine::{Computation, Values, gradients_of};
use crate::nets::{cifar, lenet};
use taper::prelude::*;

/// Returns the output of each layer, and the gradients of its input and parameters.
pub(crate) fn layers() -> Vec<Computation> {
    let image = &[2, 4, 9, 8];
    let sequence = &[2, 5, 8];
    vec![
        layer("Linear", sequence, || Linear::new(8, 3)),
        layer("Conv1d", sequence, || Ok(Conv1d::new(5, 4, 3)?.padding(1))),
        layer("Conv2d", image, || {
            Ok(Conv2d::new(4, 6, 3)?.stride(2).padding(1))
        }),
        layer("ConvTranspose2d", image, || {
            Ok(ConvTranspose2d::new(4, 3, 2)?.stride(2))
        }),
        layer("MaxPool2d", image, || Ok(MaxPool2d::new(2))),
        layer("MaxPool2d, overlapping", image, || {
            Ok(MaxPool2d::new(4).stride(2).padding(1))
        }),
        layer("AvgPool2d", image, || Ok(AvgPool2d::new(2))),
        layer("AvgPool2d, overlapping", image, || {
            Ok(AvgPool2d::new(3).stride(1).padding(1))
        }),
        layer("AdaptiveAvgPool2d", image, || Ok(AdaptiveAvgPool2d::new(3))),
        layer("Upsample", image, || Upsample::new(2.0)),
        layer("BatchNorm1d", &[6, 8], || BatchNorm1d::new(8)),
        layer("BatchNorm2d", image, || BatchNorm2d::new(4)),
        layer("LayerNorm", sequence, || LayerNorm::new(8)),
        layer("GroupNorm", image, || GroupNorm::new(2, 4)),
        layer("RMSNorm", sequence, || RMSNorm::new(8)),
        layer("Dropout", sequence, || Dropout::new(0.4)),
        layer("Flatten", image, || Ok(Flatten)),
        layer("Identity", image, || Ok(Identity)),
        layer("ReLU", image, || Ok(ReLU)),
        layer("LeakyReLU", image, || Ok(LeakyReLU::new())),
        layer("ELU", image, || Ok(ELU::new())),
        layer("GELU", image, || Ok(GELU)),
        layer("SiLU", image, || Ok(SiLU)),
        layer("Sigmoid", image, || Ok(Sigmoid)),
        layer("Tanh", image, || Ok(Tanh)),
        layer("Softmax", sequence, || Ok(Softmax)),
        layer("PositionalEncoding", sequence, || {
            Ok(PositionalEncoding::new())
        }),
        layer("LearnedPositionalEncoding", sequence, || {
            LearnedPositionalEncoding::new(5, 8)
        }),
        model(
            "RNN",
            sequence,
            || RNN::new(8, 4),
            |net, x| Ok(net.forward(x, None)?.0),
        ),
        model(
            "GRU",
            sequence,
            || GRU::new(8, 4),
            |net, x| Ok(net.forward(x, None)?.0),
        ),
        model(
            "LSTM",
            sequence,
            || LSTM::new(8, 4),
            |net, x| Ok(net.forward(x, None)?.0),
        ),
        model(
            "MultiheadAttention",
            sequence,
            || MultiheadAttention::new(8, 2),
            |net, x| net.forward(x, x, x, &AttentionMask::causal()),
        ),
        model(
            "TransformerEncoderLayer",
            sequence,
            || TransformerEncoderLayer::new(8, 2)?.dropout(0.0),
            |net, x| net.forward(x, &AttentionMask::none()),
        ),
        model(
            "TransformerDecoderLayer",
            sequence,
            || TransformerDecoderLayer::new(8, 2)?.dropout(0.0),
            |net, x| net.forward(x, x, &AttentionMask::causal(), &AttentionMask::none()),
        ),
        Computation {
            name: "Embedding",
            run: Box::new(|device| {
                let (mut net, tokens) = with_seed(1, || -> Result<_> {
                    Ok((Embedding::new(7, 5)?, randint(0, 7, (4, 30), &cpu())?))
                })?;
                net.to_device(device)?;
                let y = net.forward(&tokens.to_device(device)?)?;
                let gradients = y.sqr()?.sum_all()?.backward()?;
                Ok([
                    vec![("output".to_owned(), y)],
                    gradients_of(&net, &gradients)?,
                ]
                .concat())
            }),
        },
    ]
}

fn layer<L: Layer + 'static>(
    name: &'static str,
    shape: &[usize],
    new: fn() -> Result<L>,
) -> Computation {
    model(name, shape, new, |net, x| net.forward(x))
}

fn model<M: Parameters + 'static>(
    name: &'static str,
    shape: &[usize],
    new: fn() -> Result<M>,
    forward: fn(&M, &Tensor) -> Result<Tensor>,
) -> Computation {
    let shape = shape.to_vec();
    let run = move |device: &Device| {
        with_seed(1, || {
            let mut net = new()?;
            net.to_device(device)?;
            let x = Var::from_tensor(&randn(&shape[..], &cpu())?.to_device(device)?)?;
            let y = forward(&net, &x)?;
            let scale = rand(y.shape(), &cpu())?.to_device(device)?;
            let gradients = (&y * scale)?.sum_all()?.backward()?;
            let missing = || Error::Msg("no gradient of the input".to_owned());
            let of_x = gradients.get(&x).cloned().ok_or_else(missing)?;
            let own = vec![
                ("output".to_owned(), y),
                ("gradient of the input".to_owned(), of_x),
            ];
            Ok([own, gradients_of(&net, &gradients)?].concat())
        })
    };
    Computation {
        name,
        run: Box::new(run),
    }
}

/// Returns each loss and the gradient of the prediction.
pub(crate) fn losses() -> Vec<Computation> {
    let classes = |device: &Device| tensor(&[2, 0, 4, 1, 1, 3], device);
    let values = |device: &Device| rand((6, 5), &cpu())?.to_device(device);
    let log = |y_hat: &Tensor| log_softmax(y_hat, 1);
    vec![
        loss("cross_entropy", move |y_hat| {
            cross_entropy(y_hat, &classes(y_hat.device())?)
        }),
        loss("CrossEntropyLoss", move |y_hat| {
            let loss = CrossEntropyLoss::new().label_smoothing(0.1).ignore_index(1);
            loss.forward(y_hat, &classes(y_hat.device())?)
        }),
        loss("nll_loss", move |y_hat| {
            nll_loss(&log(y_hat)?, &classes(y_hat.device())?)
        }),
        loss("mse_loss", move |y_hat| {
            mse_loss(y_hat, &values(y_hat.device())?)
        }),
        loss("l1_loss", move |y_hat| {
            l1_loss(y_hat, &values(y_hat.device())?)
        }),
        loss("huber_loss", move |y_hat| {
            huber_loss(y_hat, &values(y_hat.device())?, 0.5)
        }),
        loss("smooth_l1_loss", move |y_hat| {
            smooth_l1_loss(y_hat, &values(y_hat.device())?, 0.5)
        }),
        loss("bce_with_logits", move |y_hat| {
            bce_with_logits(y_hat, &values(y_hat.device())?)
        }),
        loss("kl_div", move |y_hat| {
            kl_div(&log(y_hat)?, &softmax(&values(y_hat.device())?, 1)?)
        }),
    ]
}

fn loss(name: &'static str, loss: impl Fn(&Tensor) -> Result<Tensor> + 'static) -> Computation {
    let run = move |device: &Device| -> Result<Values> {
        with_seed(2, || {
            let y_hat = Var::from_tensor(&randn((6, 5), &cpu())?.to_device(device)?)?;
            let loss = loss(&y_hat)?;
            let missing = || Error::Msg("no gradient".to_owned());
            let gradient = loss.backward()?.get(&y_hat).cloned().ok_or_else(missing)?;
            Ok(vec![
                ("loss".to_owned(), loss),
                ("gradient".to_owned(), gradient),
            ])
        })
    };
    Computation {
        name,
        run: Box::new(run),
    }
}

/// Returns the parameters after five steps of each optimiser.
pub(crate) fn optimizers() -> Vec<Computation> {
    vec![
        optimizer("Sgd", |p| Box::new(Sgd::new(p, 0.1))),
        optimizer("Sgd with momentum", |p| {
            Box::new(
                Sgd::new(p, 0.1)
                    .momentum(0.9)
                    .nesterov(true)
                    .weight_decay(0.01),
            )
        }),
        optimizer("Adam", |p| Box::new(Adam::new(p, 0.01))),
        optimizer("AdamW", |p| Box::new(AdamW::new(p, 0.01))),
        optimizer("RMSprop", |p| Box::new(RMSprop::new(p, 0.01))),
        optimizer("Adagrad", |p| Box::new(Adagrad::new(p, 0.1))),
    ]
}

fn optimizer(name: &'static str, new: fn(Vec<Parameter>) -> Box<dyn Optimizer>) -> Computation {
    let run = move |device: &Device| {
        with_seed(3, || {
            let mut net = seq![Linear::new(6, 8)?, Tanh, Linear::new(8, 2)?];
            net.to_device(device)?;
            let mut optimizer = new(net.parameters());
            let x = randn((16, 6), &cpu())?.to_device(device)?;
            let y = x.narrow(1, 0, 2)?.contiguous()?;
            for _ in 0..5 {
                let gradients = mse_loss(&net.forward(&x)?, &y)?.backward()?;
                optimizer.step(&gradients)?;
            }
            let named = net.named_parameters().into_iter();
            named
                .map(|(name, parameter)| Ok((name, parameter.tensor()?)))
                .collect()
        })
    };
    Computation {
        name,
        run: Box::new(run),
    }
}

/// Returns the losses of five steps with the networks of the GPU chapters, with dropout too, and the parameters
/// after them.
pub(crate) fn trainings() -> Vec<Computation> {
    vec![
        training("LeNet", &[1, 28, 28], lenet),
        training("the CNN of AI on a GPU", &[3, 32, 32], cifar),
        training("a network with dropout", &[1, 8, 8], || {
            seq![
                Flatten,
                LazyLinear::new(32),
                ReLU,
                Dropout::new(0.5).expect("a probability"),
                LazyLinear::new(10)
            ]
        }),
    ]
}

fn training(name: &'static str, image: &[usize], net: fn() -> Sequential) -> Computation {
    let shape = [&[16], image].concat();
    let run = move |device: &Device| {
        with_seed(4, || {
            let batch = Batch {
                x: rand(&shape[..], &cpu())?,
                y: randint(0, 10, 16, &cpu())?,
            };
            let mut model = Classifier::new(net(), 0.05);
            model.forward(&batch.x)?; // initialises lazy layers
            model.to_device(device)?;
            let mut optimizer = model.configure_optimizers();
            let batch = batch.to_device(device)?;
            let mut values = Values::new();
            for step in 0..5 {
                let loss = model.training_step(&batch)?;
                optimizer.step(&loss.backward()?)?;
                values.push((format!("loss {step}"), loss));
            }
            for (name, parameter) in model.named_parameters() {
                values.push((name, parameter.tensor()?));
            }
            Ok(values)
        })
    };
    Computation {
        name,
        run: Box::new(run),
    }
}
