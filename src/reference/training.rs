//! Training runs of whole models, and files that PyTorch and Taper exchange.

use super::{Tensors, assert_close, below, devices, numbers, path, read};
use crate::nn::*;
use crate::optim::{Adam, Optimizer, SGD};
use crate::seq;
use candle_core::{Device, Result, safetensors};
use std::collections::HashMap;
use std::process::Command;

pub(crate) fn lenet() -> Sequential {
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

fn leaf_network() -> Sequential {
    let block = |filters| {
        seq![
            LazyConv2d::new(filters, 2),
            ReLU,
            MaxPool2d::new(4).stride(2),
            LazyBatchNorm2d::new(),
        ]
    };
    seq![
        block(8),
        block(16),
        block(32),
        Flatten,
        LazyLinear::new(20),
        ReLU,
        LazyLinear::new(10),
        ReLU,
        LazyLinear::new(2),
    ]
}

fn set(net: &Sequential, values: &Tensors) {
    let entries = state_of(net);
    assert_eq!(entries.len(), values.len());
    for entry in entries {
        entry.parameter.set(&values[&entry.name]);
    }
}

/// Trains 20 steps from PyTorch's weights on PyTorch's batches.
fn compare(name: &str, device: &Device, net: Sequential, mut optimizer: Box<dyn Optimizer>) {
    let all = read(name, device);
    set(&net, &below(&all, "before"));
    let want = numbers(&all["losses"]);
    for (step, want) in want.iter().enumerate() {
        let batch = below(&all, &format!("batch.{}", step % 4));
        let loss = cross_entropy(&net.forward(&batch["x"]), &batch["y"]);
        optimizer.step(&loss.backward());
        let got = loss.item();
        assert!(
            (got - want).abs() < 1e-4,
            "{name} at step {step}: {got} is not {want}"
        );
    }
}

#[test]
fn lenet_has_the_loss_curve_of_pytorch() {
    for device in devices() {
        let net = lenet();
        let optimizer = SGD::new(net.parameters(), 0.5).momentum(0.9);
        compare("lenet", &device, net, Box::new(optimizer));
    }
}

#[test]
fn leaf_network_has_the_loss_curve_of_pytorch() {
    for device in devices() {
        let net = leaf_network();
        let optimizer = Adam::new(net.parameters(), 0.001);
        compare("leaf_network", &device, net, Box::new(optimizer));
    }
}

fn small_net() -> Sequential {
    seq![
        LazyConv2d::new(2, 3),
        LazyBatchNorm2d::new(),
        Flatten,
        LazyLinear::new(4)
    ]
}

#[test]
fn a_file_of_pytorch_is_read() -> Result<()> {
    let mut net = small_net();
    net.load_parameters(path("from_pytorch.safetensors"), &Device::Cpu)?;
    net.eval();
    let io = read("from_pytorch_io", &Device::Cpu);
    assert_close(&net.forward(&io["x"]), &io["y"], 1e-5, "y");
    Ok(())
}

#[test]
fn pytorch_reads_a_file_of_taper() -> Result<()> {
    let python = |arguments: &[&str]| Command::new("python3").args(arguments).output();
    let installed = python(&["-c", "import torch, safetensors"]);
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 has no torch and safetensors");
        return Ok(());
    }
    let mut net = small_net();
    let x = crate::tensor::randn((2, 1, 5, 5));
    net.forward(&x);
    net.eval();
    let y = net.forward(&x).detach();
    let folder = std::env::temp_dir().join(format!("taper_to_pytorch_{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (model, io) = (folder.join("model"), folder.join("io"));
    net.save_parameters(&model)?;
    let tensors = HashMap::from([("x", x.as_candle().clone()), ("y", y.as_candle().clone())]);
    safetensors::save(&tensors, &io)?;
    let script = path("read.py");
    let output = python(&[&script, &model, &io].map(|path| path.to_str().unwrap()))?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
