//! Layers, losses, optimisers and trainings: what is computed on the CPU and on a card.

use crate::machine::{Computation, Values, gradients_of, values_of};
use crate::nets::{cifar, lenet};
use taper::prelude::*;

/// Returns the output of each layer, and the gradients of its input and parameters.
pub(crate) fn layers() -> Vec<Computation> {
    let image = &[2, 4, 9, 8];
    let sequence = &[2, 5, 8];
    vec![
        layer("Linear", sequence, || Linear::new(8, 3)),
        layer("Conv1d", sequence, || Conv1d::new(5, 4, 3).padding(1)),
        layer("Conv2d", image, || {
            Conv2d::new(4, 6, 3).stride(2).padding(1)
        }),
        layer("ConvTranspose2d", image, || {
            ConvTranspose2d::new(4, 3, 2).stride(2)
        }),
        layer("MaxPool2d", image, || MaxPool2d::new(2)),
        layer("MaxPool2d, overlapping", image, || {
            MaxPool2d::new(4).stride(2).padding(1)
        }),
        layer("AvgPool2d", image, || AvgPool2d::new(2)),
        layer("AvgPool2d, overlapping", image, || {
            AvgPool2d::new(3).stride(1).padding(1)
        }),
        layer("AdaptiveAvgPool2d", image, || AdaptiveAvgPool2d::new(3)),
        layer("Upsample", image, || Upsample::new(2.0)),
        layer("BatchNorm1d", &[6, 8], || BatchNorm1d::new(8)),
        layer("BatchNorm2d", image, || BatchNorm2d::new(4)),
        layer("LayerNorm", sequence, || LayerNorm::new(8)),
        layer("GroupNorm", image, || GroupNorm::new(2, 4)),
        layer("RMSNorm", sequence, || RMSNorm::new(8)),
        layer("Dropout", sequence, || Dropout::new(0.4)),
        layer("Flatten", image, || Flatten),
        layer("Identity", image, || Identity),
        layer("ReLU", image, || ReLU),
        layer("LeakyReLU", image, LeakyReLU::new),
        layer("ELU", image, ELU::new),
        layer("GELU", image, || GELU),
        layer("SiLU", image, || SiLU),
        layer("Sigmoid", image, || Sigmoid),
        layer("Tanh", image, || Tanh),
        layer("Softmax", sequence, || Softmax),
        layer("PositionalEncoding", sequence, PositionalEncoding::new),
        layer("LearnedPositionalEncoding", sequence, || {
            LearnedPositionalEncoding::new(5, 8)
        }),
        model(
            "RNN",
            sequence,
            || RNN::new(8, 4),
            |net, x| net.forward(x, None).0,
        ),
        model(
            "GRU",
            sequence,
            || GRU::new(8, 4),
            |net, x| net.forward(x, None).0,
        ),
        model(
            "LSTM",
            sequence,
            || LSTM::new(8, 4),
            |net, x| net.forward(x, None).0,
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
            || TransformerEncoderLayer::new(8, 2).dropout(0.0),
            |net, x| net.forward(x, &AttentionMask::none()),
        ),
        model(
            "TransformerDecoderLayer",
            sequence,
            || TransformerDecoderLayer::new(8, 2).dropout(0.0),
            |net, x| net.forward(x, x, &AttentionMask::causal(), &AttentionMask::none()),
        ),
        Computation {
            name: "Embedding",
            seed: 1,
            run: Box::new(|device| {
                let (mut net, tokens) = (Embedding::new(7, 5), randint(0, 7, (4, 30)));
                net.to_device(device);
                let y = net.forward(&tokens.to_device(device));
                let gradients = gradients_of(&net, &y.sqr().sum_all().backward())?;
                Ok([vec![("output".to_owned(), y)], gradients].concat())
            }),
        },
    ]
}

/// Returns convolutions with many terms in each sum.
pub(crate) fn convolutions() -> Vec<Computation> {
    vec![
        layer("Conv2d of 64 channels", &[4, 64, 12, 12], || {
            Conv2d::new(64, 32, 3).padding(1)
        }),
        layer("Conv2d in groups", &[4, 32, 9, 8], || {
            Conv2d::new(32, 64, 3).groups(4)
        }),
    ]
}

fn layer<L: Layer + 'static>(name: &'static str, shape: &[usize], new: fn() -> L) -> Computation {
    model(name, shape, new, |net, x| net.forward(x))
}

fn model<M: Parameters + 'static>(
    name: &'static str,
    shape: &[usize],
    new: fn() -> M,
    forward: fn(&M, &Tensor) -> Tensor,
) -> Computation {
    let shape = shape.to_vec();
    let run = move |device: &Device| {
        let mut net = new();
        net.to_device(device);
        let x = Parameter::new(&randn(&shape[..]).to_device(device)).tensor();
        let y = forward(&net, &x);
        let scale = rand(y.shape()).to_device(device);
        let gradients = (&y * scale).sum_all().backward();
        let missing = || Error::msg("no gradient of the input");
        let of_x = gradients.get(&x).cloned().ok_or_else(missing)?;
        let own = vec![
            ("output".to_owned(), y),
            ("gradient of the input".to_owned(), of_x),
        ];
        Ok([own, gradients_of(&net, &gradients)?].concat())
    };
    Computation {
        name,
        seed: 1,
        run: Box::new(run),
    }
}

/// Returns each loss and the gradient of the prediction.
pub(crate) fn losses() -> Vec<Computation> {
    let classes = |device: &Device| tensor(&[2, 0, 4, 1, 1, 3]).to_device(device);
    let values = |device: &Device| rand((6, 5)).to_device(device);
    let log = |y_hat: &Tensor| log_softmax(y_hat, 1);
    vec![
        loss("cross_entropy", move |y_hat| {
            cross_entropy(y_hat, &classes(y_hat.device()))
        }),
        loss("CrossEntropyLoss", move |y_hat| {
            let loss = CrossEntropyLoss::new().label_smoothing(0.1).ignore_index(1);
            loss.forward(y_hat, &classes(y_hat.device()))
        }),
        loss("nll_loss", move |y_hat| {
            nll_loss(&log(y_hat), &classes(y_hat.device()))
        }),
        loss("mse_loss", move |y_hat| {
            mse_loss(y_hat, &values(y_hat.device()))
        }),
        loss("l1_loss", move |y_hat| {
            l1_loss(y_hat, &values(y_hat.device()))
        }),
        loss("huber_loss", move |y_hat| {
            huber_loss(y_hat, &values(y_hat.device()), 0.5)
        }),
        loss("smooth_l1_loss", move |y_hat| {
            smooth_l1_loss(y_hat, &values(y_hat.device()), 0.5)
        }),
        loss("bce_with_logits", move |y_hat| {
            bce_with_logits(y_hat, &values(y_hat.device()))
        }),
        loss("kl_div", move |y_hat| {
            kl_div(&log(y_hat), &softmax(&values(y_hat.device()), 1))
        }),
    ]
}

fn loss(name: &'static str, loss: impl Fn(&Tensor) -> Tensor + 'static) -> Computation {
    let run = move |device: &Device| -> Result<Values> {
        let y_hat = Parameter::new(&randn((6, 5)).to_device(device)).tensor();
        let loss = loss(&y_hat);
        let missing = || Error::msg("no gradient");
        let gradient = loss.backward().get(&y_hat).cloned().ok_or_else(missing)?;
        Ok(vec![
            ("loss".to_owned(), loss),
            ("gradient".to_owned(), gradient),
        ])
    };
    Computation {
        name,
        seed: 2,
        run: Box::new(run),
    }
}

/// Returns the parameters after five steps of each optimiser.
pub(crate) fn optimizers() -> Vec<Computation> {
    vec![
        optimizer("SGD", |p| Box::new(SGD::new(p, 0.1))),
        optimizer("SGD with momentum", |p| {
            Box::new(
                SGD::new(p, 0.1)
                    .momentum(0.9)
                    .nesterov(true)
                    .weight_decay(0.01),
            )
        }),
        optimizer("Adam", |p| Box::new(Adam::new(p, 0.01))),
        optimizer("AdamW", |p| Box::new(AdamW::new(p, 0.01))),
        optimizer("Adam with AMSGrad", |p| {
            Box::new(Adam::new(p, 0.01).amsgrad(true))
        }),
        optimizer("RMSprop", |p| Box::new(RMSprop::new(p, 0.01))),
        optimizer("RMSprop with momentum", |p| {
            Box::new(RMSprop::new(p, 0.01).momentum(0.9).centered(true))
        }),
        optimizer("Adagrad", |p| Box::new(Adagrad::new(p, 0.1))),
        optimizer("Adadelta", |p| Box::new(Adadelta::new(p, 1.0))),
    ]
}

fn optimizer(name: &'static str, new: fn(Vec<Parameter>) -> Box<dyn Optimizer>) -> Computation {
    let run = move |device: &Device| {
        let mut net = seq![Linear::new(6, 8), Tanh, Linear::new(8, 2)];
        net.to_device(device);
        let mut optimizer = new(net.parameters());
        let x = randn((16, 6)).to_device(device);
        let y = x.i((.., ..2)).contiguous();
        for _ in 0..5 {
            optimizer.step(&mse_loss(&net.forward(&x), &y).backward());
        }
        Ok(values_of(&net))
    };
    Computation {
        name,
        seed: 3,
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
                Dropout::new(0.5),
                LazyLinear::new(10)
            ]
        }),
    ]
}

fn training(name: &'static str, image: &[usize], net: fn() -> Sequential) -> Computation {
    let shape = [&[16], image].concat();
    let run = move |device: &Device| {
        let batch = Batch {
            x: rand(&shape[..]),
            y: randint(0, 10, 16),
        };
        let mut model = Classifier::new(net(), 0.05);
        model.forward(&batch.x); // initialises lazy layers
        model.to_device(device);
        let mut optimizer = model.configure_optimizers();
        let batch = batch.to_device(device)?;
        let mut values = Values::new();
        for step in 0..5 {
            let loss = model.training_step(&batch);
            optimizer.step(&loss.backward());
            values.push((format!("loss {step}"), loss));
        }
        values.extend(values_of(&model));
        Ok(values)
    };
    Computation {
        name,
        seed: 4,
        run: Box::new(run),
    }
}

/// Returns the losses of a training with products in `bf16`, and the weights after it, which are `f32`.
pub(crate) fn mixed_precision() -> Computation {
    let run = |device: &Device| {
        let net = seq![
            Linear::new(64, 48),
            GELU,
            LayerNorm::new(48),
            Linear::new(48, 10)
        ];
        // Adam would make a step of the same size from gradients that differ from 0 by rounding only.
        let mut model = Classifier::new(net, 0.1);
        let data = DataLoader::new(TensorDataset::new(randn((64, 64)), randint(0, 10, 64))?);
        let mut trainer = Trainer::new(1)
            .devices(std::slice::from_ref(device))
            .precision(DType::BF16)
            .log_every(1);
        let history = trainer.fit(&mut model, &Batches(data.batch_size(16)))?;
        let losses = tensor(history.values("train_loss"));
        Ok([vec![("losses".to_owned(), losses)], values_of(&model)].concat())
    };
    Computation {
        name: "mixed precision",
        seed: 6,
        run: Box::new(run),
    }
}

/// Data for a training without validation.
pub(crate) struct Batches(pub(crate) DataLoader);

impl DataModule for Batches {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(self.0.clone())
    }
}
