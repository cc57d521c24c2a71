//! The models have as many parameters as PyTorch's, and both backends train them. Run with `cargo test --release`.

use crate::device;
use crate::models::model;

/// The parameters of the models in `torch_models.py`, with the running statistics of batch normalisation, which Burn
/// counts, too: `sum(v.numel() for v in net.state_dict().values() if v.is_floating_point())`.
const PARAMETERS: [(&str, usize); 17] = [
    ("mlp", 203_530),
    ("mlp-norm", 204_042),
    ("lenet", 61_706),
    ("lenet-relu", 61_706),
    ("leaf", 2_206_796),
    ("cifar", 30_422),
    ("resnet", 74_890),
    ("mlp-wide", 1_863_690),
    ("vgg", 814_122),
    ("depthwise", 69_834),
    ("resnet18-16", 703_866),
    ("resnet18-64", 11_183_562),
    ("dense", 89_410),
    ("unet", 118_001),
    ("lstm", 332_298),
    ("gpt-128", 818_176),
    ("gpt-256", 3_225_600),
];

#[test]
fn the_models_have_as_many_parameters_as_in_pytorch() {
    for (name, parameters) in PARAMETERS {
        let model = model(name, 1, device("burn-flex"), true);
        assert_eq!(model.parameters, parameters, "{name}");
    }
}

#[test]
fn flex_trains_all_models() {
    for (name, _) in PARAMETERS {
        assert_trains("burn-flex", name);
    }
}

/// The small models only, because a step of the others takes seconds.
#[test]
fn ndarray_trains_models() {
    for name in ["mlp", "mlp-norm", "lenet", "lenet-relu", "cifar", "lstm"] {
        assert_trains("burn-ndarray", name);
    }
}

/// Asserts that the mean loss of the last five of twenty steps is below that of the first five.
fn assert_trains(peer: &str, name: &str) {
    let mut model = model(name, 4, device(peer), false);
    let mut losses = Vec::new();
    for _ in 0..20 {
        losses.push((model.step)().expect("a training step has a loss"));
    }
    let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
    assert!(
        mean(&losses[15..]) < mean(&losses[..5]),
        "{peer} {name}: {losses:?}"
    );
}

#[test]
fn inference_has_no_loss() {
    for (name, _) in PARAMETERS {
        assert_eq!(
            (model(name, 1, device("burn-flex"), true).step)(),
            None,
            "{name}"
        );
    }
}
