//! One model in Burn, with the protocol of `benches/training/training.rs`:
//!
//!     burn-training burn-flex|burn-ndarray MODEL BATCH [cpu [train|infer]]
//!
//! Each line of its input is a number of steps. For each step it prints the wall time and the processor
//! time in milliseconds.

mod images;
mod layers;
mod models;
mod sequences;
#[cfg(test)]
mod tests;

use burn::tensor::Device;
use std::io::{BufRead, Write};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (peer, model, batch, mode) = match names.as_slice() {
        [peer, model, batch] | [peer, model, batch, "cpu"] => (*peer, *model, *batch, "train"),
        [peer, model, batch, "cpu", mode] => (*peer, *model, *batch, *mode),
        _ => panic!("burn-training burn-flex|burn-ndarray MODEL BATCH [cpu [train|infer]]"),
    };
    let batch = batch.parse().expect("the batch size is an integer");
    let mut model = models::model(model, batch, device(peer), mode == "infer");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("the input is text");
        let steps: usize = line.trim().parse().expect("a line is a number of steps");
        let mut times = Vec::new();
        for _ in 0..steps {
            let began = (Instant::now(), processor_seconds());
            (model.step)();
            let clock = began.0.elapsed().as_secs_f64();
            let processors = processor_seconds() - began.1;
            times.push(format!("{:.4} {:.4}", clock * 1e3, processors * 1e3));
        }
        println!("{}", times.join(" "));
        std::io::stdout().flush().expect("the output is open");
    }
}

/// Returns the device of one of Burn's backends.
#[expect(deprecated, reason = "NdArray, which Flex replaces")]
fn device(peer: &str) -> Device {
    match peer {
        "burn-flex" => Device::flex(),
        "burn-ndarray" => Device::ndarray(),
        _ => panic!("no backend for {peer}; there are burn-flex, burn-ndarray"),
    }
}

/// Returns the processor time of this process.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
