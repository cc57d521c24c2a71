//! The models with Candle's own layers and optimiser, as in its examples.

use crate::Step;
use taper::candle_core::{DType, Module, ModuleT, Result, Tensor};
use taper::candle_nn::{self as nn, Optimizer, VarBuilder, VarMap, ops};

type Network = Box<dyn Fn(&Tensor) -> Result<Tensor>>;

pub(crate) fn step(model: &str, x: Tensor, y: Tensor) -> Result<Step> {
    let variables = VarMap::new();
    let vb = VarBuilder::from_varmap(&variables, DType::F32, x.device());
    let net = match model {
        "mlp" => mlp(vb)?,
        "mlp-norm" => mlp_norm(vb)?,
        "lenet" => lenet(vb, ops::sigmoid, |x| x.avg_pool2d(2))?,
        "lenet-relu" => lenet(vb, Tensor::relu, |x| x.max_pool2d(2))?,
        "cifar" => cifar(vb)?,
        "resnet" => resnet(vb)?,
        _ => panic!("Candle has no gradient for pooling whose windows overlap"),
    };
    let variables = variables.all_vars();
    Ok(match model {
        "mlp-norm" => step_with(nn::AdamW::new_lr(variables, 0.001)?, net, x, y),
        _ => step_with(nn::SGD::new(variables, 0.01)?, net, x, y),
    })
}

fn step_with(mut optimizer: impl Optimizer + 'static, net: Network, x: Tensor, y: Tensor) -> Step {
    Box::new(move || {
        let loss = nn::loss::cross_entropy(&net(&x)?, &y)?;
        optimizer.backward_step(&loss)?;
        loss.to_scalar::<f32>()?;
        Ok(())
    })
}

fn mlp_norm(vb: VarBuilder) -> Result<Network> {
    let first = nn::linear(784, 256, vb.pp("1"))?;
    let norm = nn::layer_norm(256, 1e-5, vb.pp("2"))?;
    let second = nn::linear(256, 10, vb.pp("3"))?;
    Ok(Box::new(move |x| {
        // Candle's fused layer norm has no gradient.
        let x = first.forward(x)?;
        let x = x.broadcast_sub(&x.mean_keepdim(1)?)?;
        let var = (x.sqr()?.mean_keepdim(1)? + 1e-5)?;
        let x = x.broadcast_div(&var.sqrt()?)?;
        let x = x.broadcast_mul(norm.weight())?;
        let x = x.broadcast_add(norm.bias().expect("a bias"))?;
        second.forward(&x.gelu_erf()?)
    }))
}

fn mlp(vb: VarBuilder) -> Result<Network> {
    let first = nn::linear(784, 256, vb.pp("1"))?;
    let second = nn::linear(256, 10, vb.pp("2"))?;
    Ok(Box::new(move |x| {
        second.forward(&first.forward(x)?.relu()?)
    }))
}

fn conv(
    ins: usize,
    outs: usize,
    kernel: usize,
    padding: usize,
    vb: VarBuilder,
) -> Result<nn::Conv2d> {
    let config = nn::Conv2dConfig {
        padding,
        ..Default::default()
    };
    nn::conv2d(ins, outs, kernel, config, vb)
}

fn lenet(
    vb: VarBuilder,
    activation: fn(&Tensor) -> Result<Tensor>,
    pool: fn(&Tensor) -> Result<Tensor>,
) -> Result<Network> {
    let convs = [
        conv(1, 6, 5, 2, vb.pp("1"))?,
        conv(6, 16, 5, 0, vb.pp("2"))?,
    ];
    let hidden = [
        nn::linear(400, 120, vb.pp("3"))?,
        nn::linear(120, 84, vb.pp("4"))?,
    ];
    let last = nn::linear(84, 10, vb.pp("5"))?;
    Ok(Box::new(move |x| {
        let mut x = x.clone();
        for conv in &convs {
            x = pool(&activation(&conv.forward(&x)?)?)?;
        }
        x = x.flatten_from(1)?;
        for layer in &hidden {
            x = activation(&layer.forward(&x)?)?;
        }
        last.forward(&x)
    }))
}

fn cifar(vb: VarBuilder) -> Result<Network> {
    let first = conv(3, 6, 5, 0, vb.pp("1"))?;
    let second = conv(6, 16, 5, 3, vb.pp("2"))?;
    let third = conv(16, 16, 5, 0, vb.pp("3"))?;
    let fourth = conv(16, 16, 3, 0, vb.pp("4"))?;
    let hidden = [
        nn::linear(64, 120, vb.pp("5"))?,
        nn::linear(120, 84, vb.pp("6"))?,
    ];
    let last = nn::linear(84, 10, vb.pp("7"))?;
    Ok(Box::new(move |x| {
        let x = first.forward(x)?.relu()?.max_pool2d(2)?;
        let x = second.forward(&x)?.relu()?;
        let x = third.forward(&x)?.relu()?.max_pool2d(2)?;
        let mut x = fourth.forward(&x)?.relu()?.max_pool2d(2)?.flatten_from(1)?;
        for layer in &hidden {
            x = layer.forward(&x)?.relu()?;
        }
        last.forward(&x)
    }))
}

fn resnet(vb: VarBuilder) -> Result<Network> {
    let conv = |vb| {
        let config = nn::Conv2dConfig {
            padding: 1,
            ..Default::default()
        };
        nn::conv2d_no_bias(64, 64, 3, config, vb)
    };
    let (first, second) = (conv(vb.pp("1"))?, conv(vb.pp("2"))?);
    let norms = [
        nn::batch_norm(64, 1e-5, vb.pp("3"))?,
        nn::batch_norm(64, 1e-5, vb.pp("4"))?,
    ];
    let last = nn::linear(64, 10, vb.pp("5"))?;
    Ok(Box::new(move |x| {
        let y = norms[0].forward_t(&first.forward(x)?, true)?.relu()?;
        let y = norms[1].forward_t(&second.forward(&y)?, true)?;
        let y = (y + x)?.relu()?;
        last.forward(&y.mean((2, 3))?)
    }))
}
