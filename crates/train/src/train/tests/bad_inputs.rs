//! Extreme and invalid settings of data, training and figures: each one works, or is an error of two lines that
//! is returned or with which it panics; none panics in another way or aborts.

use super::*;
use crate::data::transforms::*;
use crate::data::*;
use crate::notebook::Show;
use crate::optim::*;
use crate::plot::*;
use crate::tensor::*;
use taper_tensor::testing::{Use, with_sizes, with_values};

/// Ends a use that returns no `Result`.
fn ok<T>(_: T) -> Result<()> {
    Ok(())
}

fn data() -> Result<TensorDataset> {
    TensorDataset::new(ones((4, 2)), tensor(&[0_u32, 1, 1, 0]))
}

fn image() -> Tensor {
    ones((3, 5, 4))
}

/// Trains a small model.
fn train(mut trainer: Trainer) -> Result<()> {
    let mut model = Classifier::new(Linear::new(2, 2), 0.1);
    trainer.fit(&mut model, &DataLoader::new(data()?)).map(drop)
}

fn all(loader: &DataLoader) -> Result<()> {
    loader.into_iter().try_for_each(|batch| batch.map(drop))
}

fn step(optimizer: impl FnOnce(Vec<Parameter>) -> Box<dyn Optimizer>) -> Result<()> {
    let layer = Linear::new(2, 1);
    let loss = layer.forward(&ones((3, 2))).mean_all();
    optimizer(layer.parameters()).step(&loss.backward());
    Ok(())
}

const WITH_SIZES: &[(&str, Use<usize>)] = &[
    ("zeros", |n| ok(zeros((n, 3)))),
    ("ones", |n| ok(ones((n, n)))),
    ("full", |n| ok(full(n, 0.5))),
    ("eye", |n| ok(eye(n))),
    ("linspace", |n| ok(linspace(0.0, 1.0, n))),
    ("arange", |n| ok(arange(0, n as i64))),
    ("rand", |n| ok(rand((2, n)))),
    ("randperm", |n| ok(randperm(n))),
    ("randint", |n| ok(randint(0, n as i64, n))),
    ("randint, range", |n| ok(randint(n as i64, 5, 3))),
    ("DataLoader", |n| {
        all(&DataLoader::new(data()?).batch_size(n).prefetch(n % 9))
    }),
    ("Subset", |n| Subset::new(data()?, vec![0, n]).map(drop)),
    ("random_split", |n| random_split(data()?, [n, 1]).map(drop)),
    ("k_folds", |n| k_folds(data()?, n).map(drop)),
    ("Dataset::get", |n| data()?.get(&[n]).map(drop)),
    ("WeightedSampler", |n| {
        let sampler = WeightedSampler::new(vec![1.0, 2.0, 0.0, 1.0], n % 100)?;
        all(&DataLoader::new(data()?).sampler(sampler.replacement(n == 7)))
    }),
    ("Resize", |n| Resize::new(n).apply(&image()).map(drop)),
    ("Resize::exact", |n| {
        Resize::exact(1, n).apply(&image()).map(drop)
    }),
    ("CenterCrop", |n| {
        CenterCrop::new(n).apply(&image()).map(drop)
    }),
    ("RandomCrop", |n| {
        RandomCrop::new(n).apply(&image()).map(drop)
    }),
    ("RandomCrop::padding", |n| {
        RandomCrop::new(4).padding(n).apply(&image()).map(drop)
    }),
    ("BpeTokenizer", |n| {
        BpeTokenizer::train("aaa bbb aaa", n).map(drop)
    }),
    ("BpeTokenizer::decode", |n| {
        BpeTokenizer::train("", 256)?.decode(&[n as u32]).map(drop)
    }),
    ("CharTokenizer::decode", |n| {
        CharTokenizer::new("abc").decode(&[n as u32]).map(drop)
    }),
    ("Vocab::token", |n| {
        Vocab::new(["a", "b"]).token(n as u32).map(drop)
    }),
    ("DataFrame::rows", |n| {
        let table = DataFrame::from_csv("x\n1\n2\n")?;
        table.head(n);
        table.rows(n..2)?;
        table.rows(0..n).map(drop)
    }),
    ("Trainer", |n| train(Trainer::new(n % 9))),
    ("Trainer::accumulate", |n| {
        train(Trainer::new(1).accumulate_grad_batches(n))
    }),
    ("Trainer::log_every", |n| {
        train(Trainer::new(1).log_every(n))
    }),
    ("Trainer::num_gpus", |n| {
        train(Trainer::new(1).num_gpus(n % 3))
    }),
    ("EarlyStopping", |n| {
        train(Trainer::new(2).callback(EarlyStopping::new("train_loss", n)))
    }),
    ("Schedule::step", |n| {
        train(Trainer::new(2).schedule(Schedule::step(n, 0.5)))
    }),
    ("Schedule::cosine", |n| {
        train(Trainer::new(2).schedule(Schedule::cosine(n).warmup(n)))
    }),
    ("Schedule::warm_restarts", |n| {
        train(Trainer::new(2).schedule(Schedule::warm_restarts(n, n)))
    }),
    ("Schedule::linear", |n| {
        train(Trainer::new(2).schedule(Schedule::linear(0.1, 1.0, n)))
    }),
    ("Schedule::polynomial", |n| {
        train(Trainer::new(2).schedule(Schedule::polynomial(n, 2.0)))
    }),
    ("histogram", |n| drawn(&histogram(&[1.0, 2.0, f64::NAN], n))),
    ("bar", |n| drawn(&bar(vec!["a"; n % 9], &[&[1.0, 2.0]]))),
    ("figsize", |n| {
        drawn(&plot(&[1, 2], &[&[1, 2]]).figsize(n as u32, n as u32))
    }),
    ("confusion_matrix", |n| {
        drawn(&confusion_matrix(&[0, n], &[1, 1], ["a", "b"]))
    }),
    ("show_images", |n| {
        drawn(
            &show_images(&ones((n % 9, 3, 2, 2)))
                .columns(n)
                .width(n as u32),
        )
    }),
];

const WITH_VALUES: &[(&str, Use<f64>)] = &[
    ("full", |v| ok(full(3, v))),
    ("linspace", |v| ok(linspace(0.0, v, 4))),
    ("arange", |v| match v.abs() > 100.0 && v.is_finite() {
        true => ok(arange(v, v)),
        false => ok(arange(0.0, v)),
    }),
    ("arange from", |v| ok(arange(v, 1.0))),
    ("normal", |v| ok(normal(0.0, v, 3))),
    ("uniform", |v| ok(uniform(0.0, v, 3))),
    ("WeightedSampler", |v| {
        WeightedSampler::new(vec![v, 1.0], 2).map(drop)
    }),
    ("pad_sequences", |v| {
        pad_sequences(&[ones(2), ones(1)], v).map(drop)
    }),
    ("pad_sequences of integers", |v| {
        pad_sequences(&[tensor(&[1_u8, 2]), tensor(&[1_u8])], v).map(drop)
    }),
    ("ColorJitter", |v| {
        let jitter = ColorJitter::new().brightness(v).contrast(v).saturation(v);
        jitter.apply(&image()).map(drop)
    }),
    ("Normalize", |v| {
        Normalize::new([v; 3], [v; 3]).apply(&image()).map(drop)
    }),
    ("RandomHorizontalFlip", |v| {
        RandomHorizontalFlip::new().p(v).apply(&image()).map(drop)
    }),
    ("SGD", |v| step(|p| Box::new(SGD::new(p, v)))),
    ("SGD::momentum", |v| {
        step(|p| Box::new(SGD::new(p, 0.1).momentum(v).dampening(v).weight_decay(v)))
    }),
    ("Adam", |v| step(|p| Box::new(Adam::new(p, v)))),
    ("Adam::betas", |v| {
        step(|p| Box::new(Adam::new(p, 0.1).betas(v, v)))
    }),
    ("Adam::eps", |v| {
        step(|p| Box::new(Adam::new(p, 0.1).eps(v)))
    }),
    ("RMSprop", |v| step(|p| Box::new(RMSprop::new(p, v)))),
    ("Adagrad", |v| step(|p| Box::new(Adagrad::new(p, v)))),
    ("Adadelta", |v| step(|p| Box::new(Adadelta::new(p, v)))),
    ("clip", |v| train(Trainer::new(1).gradient_clip_val(v))),
    ("clip_gradients", |v| {
        let layer = Linear::new(2, 1);
        let mut gradients = layer.forward(&ones((3, 2))).mean_all().backward();
        ok(clip_gradients(&layer.parameters(), &mut gradients, v))
    }),
    ("Schedule", |v| {
        let schedule = Schedule::exponential(v).warmup_from(v, 2);
        train(Trainer::new(2).schedule(schedule))
    }),
    ("EarlyStopping", |v| {
        train(Trainer::new(2).callback(EarlyStopping::new("train_loss", 1).min_delta(v)))
    }),
    ("plot", |v| drawn(&plot(&[v, 1.0], &[&[v, 0.0]]))),
    ("plot, logarithmic", |v| {
        drawn(
            &plot(&[v, 1.0], &[&[v, v]])
                .xscale(Scale::Log)
                .yscale(Scale::Log),
        )
    }),
    ("xlim", |v| {
        drawn(&plot(&[0.0, 1.0], &[&[0.0, 1.0]]).xlim(v, 0).ylim(0, v))
    }),
    ("line", |v| {
        drawn(&bar(["a"], &[&[v]]).line(&[v], &[v]).points(&[0], &[v]))
    }),
    ("histogram", |v| drawn(&histogram(&[v, 1.0, v], 3))),
    ("heatmap", |v| {
        drawn(&heatmap(&full((2, 2), v)).annotate(true))
    }),
    ("DataFrame", |v| {
        let table = DataFrame::from_csv(&format!("x,y\n{v},1\n2,{v}\n"))?;
        let table = table.fill_missing(v).standardize().fill_missing_with_mean();
        table.group_mean("x")?.show_text();
        table.one_hot().to_tensor().map(drop)
    }),
];

/// Draws a figure, which shows an error in its data instead of returning it.
fn drawn(figure: &impl Show) -> Result<()> {
    figure.show_bundle();
    Ok(())
}

#[test]
fn gpus_and_devices_are_not_chosen_together() {
    let error = train(Trainer::new(1).num_gpus(1).devices(&[CPU])).unwrap_err();
    let expected =
        "Trainer: expected num_gpus or devices, found both, 1 GPUs and a list of devices\n";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn invalid_settings_are_refused_in_two_lines() {
    let refused = with_sizes(WITH_SIZES) + with_values(WITH_VALUES);
    assert!(refused >= 100, "only {refused} settings were refused");
}
