//! Layers and losses, forward and backward.

use super::{Tensors, assert_close, below, devices, read, tolerance, variable};
use crate::nn::*;
use crate::tensor::{Tensor, arange, tensor};
use candle_core::{DType, Device};

/// Loads PyTorch's parameters into the layer, and compares its output, gradients and buffers.
pub(super) fn compare(all: &Tensors, name: &str, mut layer: impl Layer) {
    let case = below(all, name);
    let device = case["x"].device();
    let near = tolerance(device);
    layer.to_device(device);
    let before = below(&case, "before");
    let entries = state_of(&layer);
    assert_eq!(entries.len(), before.len(), "{name}: {:?}", before.keys());
    for entry in &entries {
        entry.parameter.set(&before[&entry.name]);
    }
    match name.ends_with("eval") {
        true => layer.eval(),
        false => layer.train(),
    }
    let x = match case["x"].dtype() {
        DType::I64 => case["x"].clone(),
        _ => variable(&case["x"]),
    };
    let y = layer.forward(&x);
    assert_close(&y, &case["y"], near, &format!("{name}.y"));
    let gradients = (y * &case["r"]).sum_all().backward();
    if let Some(want) = case.get("grad.x") {
        assert_close(
            gradients.get(&x).unwrap(),
            want,
            near,
            &format!("{name}.grad.x"),
        );
    }
    for entry in state_of(&layer) {
        let tensor = entry.parameter.tensor();
        if entry.trained {
            let (got, want) = (
                gradients.get(&tensor).unwrap(),
                &case[&format!("grad.{}", entry.name)],
            );
            assert_close(got, want, near, &format!("{name}.grad.{}", entry.name));
        } else {
            let want = &case[&format!("after.{}", entry.name)];
            assert_close(&tensor, want, near, &format!("{name}.after.{}", entry.name));
        }
    }
}

#[test]
fn layers_agree_with_pytorch_forward_and_backward() {
    for device in devices() {
        compare_layers(&read("layers", &device));
    }
}

fn compare_layers(all: &Tensors) {
    compare(all, "linear", Linear::new(5, 3));
    compare(all, "linear_3d", Linear::new(5, 3).bias(false));
    compare(all, "conv", Conv2d::new(4, 6, 3));
    compare(all, "conv_padding", Conv2d::new(4, 6, 5).padding(2));
    let strided = Conv2d::new(4, 6, 3).stride(2).padding(1).bias(false);
    compare(all, "conv_stride", strided);
    compare(all, "conv_stride_3", Conv2d::new(4, 2, 2).stride(3));
    compare(
        all,
        "conv_dilation",
        Conv2d::new(4, 6, 3).dilation(2).padding(1),
    );
    compare(all, "conv_groups", Conv2d::new(4, 6, 3).stride(2).groups(2));
    compare(all, "batch_norm_1d", BatchNorm1d::new(5));
    compare(all, "batch_norm_1d_length", BatchNorm1d::new(5));
    compare(all, "batch_norm_2d", BatchNorm2d::new(4));
    compare(all, "batch_norm_2d_eval", BatchNorm2d::new(4));
    compare(all, "layer_norm", LayerNorm::new(7));
    compare(all, "embedding", Embedding::new(6, 3));
    compare(all, "max_pool", MaxPool2d::new(2));
    compare(all, "max_pool_stride", MaxPool2d::new(4).stride(2));
    compare(
        all,
        "max_pool_padding",
        MaxPool2d::new(3).stride(2).padding(1),
    );
    compare(all, "max_pool_ties", MaxPool2d::new(3).stride(1));
    compare(all, "avg_pool", AvgPool2d::new(2));
    compare(
        all,
        "avg_pool_padding",
        AvgPool2d::new(3).stride(2).padding(1),
    );
    compare(all, "adaptive_avg_pool_1", AdaptiveAvgPool2d::new(1));
    compare(all, "adaptive_avg_pool_4", AdaptiveAvgPool2d::new(4));
    compare(all, "flatten", Flatten);
    compare(all, "relu", ReLU);
    compare(all, "sigmoid", Sigmoid);
    compare(all, "tanh", Tanh);
    compare(all, "gelu", GELU);
    compare(all, "silu", SiLU);
    compare(all, "softmax", Softmax);
    compare(all, "batch_norm_1d_eval", BatchNorm1d::new(5));
    compare(all, "dropout_none", Dropout::new(0.0));
    compare(all, "dropout_all", Dropout::new(1.0));
    compare(all, "dropout_eval", Dropout::new(0.5));
}

#[test]
fn lazy_layers_agree_with_pytorch() {
    for device in devices() {
        let all = read("layers", &device);
        let lazies: [(&str, Box<dyn Layer>); 3] = [
            ("conv_padding", Box::new(LazyConv2d::new(6, 5).padding(2))),
            ("batch_norm_1d", Box::new(LazyBatchNorm1d::new())),
            ("batch_norm_2d", Box::new(LazyBatchNorm2d::new())),
        ];
        for (name, mut layer) in lazies {
            layer.eval();
            layer.forward(&all[&format!("{name}.x")]);
            compare(&all, name, layer);
        }
    }
}

#[test]
fn losses_agree_with_pytorch_forward_and_backward() {
    type Loss = fn(&Tensor, &Tensor) -> Tensor;
    let losses: [(&str, Loss); 6] = [
        ("mse", mse_loss),
        ("l1", l1_loss),
        ("huber_1", |a, b| huber_loss(a, b, 1.0)),
        ("huber_half", |a, b| huber_loss(a, b, 0.5)),
        ("cross_entropy", cross_entropy),
        ("bce", bce_with_logits),
    ];
    for device in devices() {
        let (all, near) = (read("losses", &device), tolerance(&device));
        for (name, loss) in losses {
            let case = below(&all, name);
            let y_hat = variable(&case["y_hat"]);
            let value = loss(&y_hat, &case["target"]);
            assert_close(&value, &case["loss"], near, name);
            let gradients = value.backward();
            assert_close(gradients.get(&y_hat).unwrap(), &case["grad"], near, name);
        }
    }
}

#[test]
fn the_loss_of_confident_logits_agrees_with_pytorch() {
    let all = read("losses", &Device::Cpu);
    for name in (0..5).flat_map(|i| [format!("bce_{i}_0"), format!("bce_{i}_1")]) {
        let case = below(&all, &name);
        let y_hat = variable(&case["y_hat"]);
        let loss = bce_with_logits(&y_hat, &case["target"]);
        let gradients = loss.backward();
        let number = |tensor: &Tensor| super::numbers(tensor)[0];
        let (got, want) = (number(&loss), number(&case["loss"]));
        assert!(
            (got - want).abs() <= 1e-5 * want,
            "{name}: {got} is not {want}"
        );
        let slope = number(gradients.get(&y_hat).unwrap());
        let (got, want) = (slope, number(&case["grad"]));
        let near = 1e-5 * want.abs() + 1e-15;
        assert!((got - want).abs() <= near, "{name}: {got} is not {want}");
    }
}

/// Compares the gradient of a weighted sum over `f(x)` with finite differences, in `f64`.
fn check_differences(name: &str, x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) {
    let x = x.to_dtype(DType::F64);
    check_slopes(name, &x, &|x| {
        let x = variable(x);
        (f(&x), x)
    });
}

/// Compares gradients with finite differences: for given values, `f` returns a result and the variable that
/// holds the values.
fn check_slopes(name: &str, values: &Tensor, f: &dyn Fn(&Tensor) -> (Tensor, Tensor)) {
    let total = |values: &Tensor| {
        let (y, var) = f(values);
        let count = y.elem_count() as i64;
        let r = arange(1, count + 1).to_dtype(DType::F64) / count as f64;
        ((&y * r.sin().reshape(y.shape())).sum_all(), var)
    };
    let (sum, var) = total(values);
    let gradient = super::numbers(sum.backward().get(&var).unwrap());
    let numbers = super::numbers(values);
    let at = |i: usize, h: f64| {
        let mut numbers = numbers.clone();
        numbers[i] += h;
        let moved = Tensor::from_vec(numbers, values.shape());
        total(&moved).0.item()
    };
    let h = 1e-5;
    for (i, gradient) in gradient.iter().enumerate() {
        let slope = (at(i, h) - at(i, -h)) / (2.0 * h);
        assert!(
            (gradient - slope).abs() < 1e-6,
            "{name}[{i}]: {gradient} is not {slope}"
        );
    }
}

/// Compares the gradients of every parameter of a layer with finite differences.
fn check_parameters(layer: &dyn Layer, x: &Tensor) {
    for entry in state_of(layer).into_iter().filter(|entry| entry.trained) {
        let parameter = entry.parameter;
        let name = format!("{}.{}", layer.describe(), entry.name);
        let values = parameter.tensor().detach().copy_to(&Device::Cpu);
        // Set through the parameter itself, so that the gradient is the one that training uses.
        check_slopes(&name, &values, &|values| {
            parameter.set(values);
            let y = layer.forward(x);
            (y, parameter.tensor())
        });
        parameter.set(&values);
    }
}

fn in_f64(layer: impl Layer + 'static) -> Box<dyn Layer> {
    for entry in state_of(&layer)
        .iter()
        .filter(|entry| entry.name != "num_batches_tracked")
    {
        entry.parameter.convert(DType::F64).unwrap();
    }
    Box::new(layer)
}

#[test]
fn gradients_agree_with_finite_differences() {
    crate::tensor::manual_seed(5);
    let image = crate::tensor::randn((2, 2, 5, 4));
    let layers: Vec<Box<dyn Layer>> = vec![
        in_f64(Linear::new(4, 3)),
        in_f64(Conv2d::new(2, 4, 3).padding(1).stride(2)),
        in_f64(Conv2d::new(2, 4, 2).dilation(2).groups(2)),
        in_f64(BatchNorm2d::new(2)),
        in_f64(LayerNorm::new(4)),
        Box::new(MaxPool2d::new(3).stride(1).padding(1)),
        Box::new(AvgPool2d::new(2)),
        Box::new(AdaptiveAvgPool2d::new(3)),
        Box::new(ReLU),
        Box::new(Sigmoid),
        Box::new(Tanh),
        Box::new(GELU),
        Box::new(SiLU),
        Box::new(Softmax),
        Box::new(Flatten),
    ];
    for layer in &layers {
        check_differences(&layer.describe(), &image, &|x| layer.forward(x));
        check_parameters(&**layer, &image.to_dtype(DType::F64));
    }
    let words = tensor(&[[0, 2], [2, 1]]);
    check_parameters(&*in_f64(Embedding::new(3, 2)), &words);
    let scores = crate::tensor::randn((3, 4));
    let target = crate::tensor::rand((3, 4)).to_dtype(DType::F64);
    let classes = tensor(&[0, 3, 1]);
    check_differences("mse", &scores, &|x| mse_loss(x, &target));
    check_differences("l1", &scores, &|x| l1_loss(x, &target));
    check_differences("huber", &scores, &|x| huber_loss(x, &target, 0.7));
    check_differences("bce", &scores, &|x| bce_with_logits(x, &target));
    check_differences("cross_entropy", &scores, &|x| cross_entropy(x, &classes));
}
