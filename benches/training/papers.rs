//! Networks as their papers and tutorials describe them. No kernel was tuned for them before they were first measured.

mod convolutions;
mod diffusion;
mod efficient_net;
mod fields;
mod graphs;
mod kan;
mod perceiver;
mod scan;
mod simclr;
mod swin;
mod words;

use crate::written::Input;
use taper::prelude::*;

/// Returns the input of a network; `None` if it is not one of these.
pub(crate) fn input(model: &str) -> Option<Input> {
    use Input::{Tokens, Values};
    Some(match model {
        "gat" => Values(&[128]),
        "mamba" => Tokens(&[64], 256),
        "perceiver" => Values(&[512, 64]),
        "kan" => Values(&[64]),
        "simclr" | "swin" | "diffusion" => Values(&[3, 32, 32]),
        "efficient-net" => Values(&[3, 48, 48]),
        "pinn" => Values(&[2]),
        "nerf" => Values(&[6]),
        "lstm-dropout" => Tokens(&[35], 1000),
        "bert" => Tokens(&[64], 1000),
        "bigram" => Tokens(&[8], 65),
        "tcn" => Values(&[16, 256]),
        "unet-96" => Values(&[1, 96, 96]),
        "odd-sizes" => Values(&[3, 65, 33]),
        _ => return None,
    })
}

pub(crate) fn net(model: &str) -> Sequential {
    match model {
        "gat" => seq![graphs::Gat::new()],
        "mamba" => scan::mamba(),
        "perceiver" => seq![perceiver::Perceiver::new()],
        "kan" => seq![kan::KanLayer::new(64, 64), kan::KanLayer::new(64, 10)],
        "simclr" => seq![simclr::SimClr::new()],
        "swin" => swin::swin(),
        "efficient-net" => efficient_net::efficient_net(),
        "pinn" => seq![fields::Pinn::new()],
        "nerf" => seq![fields::Nerf::new()],
        "lstm-dropout" => seq![words::Lstm::new()],
        "bert" => seq![words::Bert::new()],
        "bigram" => words::bigram(),
        "tcn" => convolutions::tcn(),
        "unet-96" => seq![convolutions::UNet::new()],
        "diffusion" => seq![diffusion::Diffusion::new()],
        "odd-sizes" => convolutions::odd_sizes(),
        _ => panic!("there is no model {model}"),
    }
}
