//! PyTorch's own test samples, run through Taper's public functions, methods, layers, optimisers and schedules.
//!
//! export.py writes `samples.gz`: inputs, arguments, outputs and gradients, which PyTorch computed in double precision.
//! Each sample runs in `f64` (a tolerance of 1e-9 of the tensor's largest value) and `f32` (2e-5), and where its values
//! allow, in `bf16` and `f16`; samples of integers and masks run as they are. What PyTorch refuses, Taper must refuse
//! with its own error. The table in the book lists what Taper cannot express.
//!
//! With `TAPER_SAMPLES_DEVICE=cuda`, the samples run on a GPU, each file for at most `TAPER_SAMPLES_SECONDS`.

mod arguments;
mod functions;
mod further;
mod layers;
mod networks;
mod optimizers;
mod reasons;
mod reductions;
mod rows;
mod samples;
mod schedules;
mod sequences;
mod shapes;
mod table;
mod tensors;
mod volumes;

use arguments::{Args, Expressed, missing};
use samples::{Place, Sample, Samples, Source, Wanted, weight};
use serde_json::Value as Json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use taper::candle_core::DType;
use taper::error::{self, Problem};
use taper::prelude::{cpu, device, with_device};
use taper::{Tensor, attempt};

/// The least number of samples that are run and compared, and of inputs that PyTorch refuses.
const COMPARED: usize = 9900;
const REFUSED: usize = 250;

/// What became of a sample.
pub(crate) enum Outcome {
    /// Values and gradients are equal.
    Equal,
    /// Taper refuses what PyTorch refuses.
    Refused,
    /// Rust's types refuse what PyTorch refuses, when the call is compiled.
    RefusedByTypes,
    /// Taper does not have an argument or a value of the sample.
    NotExpressible(String),
    Wrong(String),
}

#[test]
fn taper_agrees_with_pytorch() {
    let files = Samples::all();
    // The tensors are too small for several threads.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let chosen = std::env::var("TAPER_SAMPLES_DEVICE").ok();
    let chosen = chosen.map(|name| device(&name).unwrap());
    let run = || files.iter().map(outcomes).collect::<Vec<_>>();
    let on_chosen = || with_device(chosen.as_ref().unwrap_or(&cpu()), run);
    let outcomes = pool.unwrap().install(on_chosen);
    let list = files.iter().flat_map(|samples| &samples.list);
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    let wrong: Vec<String> = { list.clone().zip(&outcomes).enumerate() }
        .filter_map(|(i, (sample, outcome))| match outcome {
            Outcome::Wrong(how) => Some(format!("sample {i}, {}: {how}", described(sample))),
            _ => None,
        })
        .collect();
    let count = |of: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| of(outcome)).count();
    let compared = count(|outcome| matches!(outcome, Outcome::Equal));
    let refused = count(|outcome| matches!(outcome, Outcome::Refused | Outcome::RefusedByTypes));
    println!(
        "{compared} samples are equal, {refused} are refused, {} are not",
        wrong.len()
    );
    write_reasons(&outcomes);
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    if files.len() == 1 || chosen.is_some() {
        return; // a file that is not packed yet, or a device that does not have all operations
    }
    assert!(
        compared >= COMPARED,
        "only {compared} samples of {COMPARED}"
    );
    assert!(refused >= REFUSED, "only {refused} inputs of {REFUSED}");
    table::check(&files[0].torch, list.zip(&outcomes));
}

/// Writes for each sample why Taper cannot express it, or an empty line, if export.py needs that.
fn write_reasons(outcomes: &[Outcome]) {
    let Some(path) = std::env::var_os("TAPER_SAMPLES_REASONS") else {
        return;
    };
    let reasons = outcomes.iter().map(|outcome| match outcome {
        Outcome::NotExpressible(reason) => format!("{reason}\n"),
        _ => "\n".to_owned(),
    });
    std::fs::write(path, reasons.collect::<String>()).unwrap();
}

fn described(sample: &Json) -> String {
    let mut text = format!(
        "{} {}",
        sample["op"].as_str().unwrap(),
        sample["dtype"].as_str().unwrap_or("")
    );
    for part in ["args", "forward"] {
        for pair in sample[part].as_array().into_iter().flatten() {
            text += &format!(" {}={}", pair[0].as_str().unwrap(), pair[1]);
        }
    }
    text
}

/// Runs the samples of a file. If the time is limited, each operation has some of its samples run before others have all.
fn outcomes(samples: &Samples) -> Vec<Outcome> {
    const APART: usize = 16;
    let seconds = std::env::var("TAPER_SAMPLES_SECONDS").ok();
    let limit = seconds.map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    let (began, mut place, mut places) = (Instant::now(), Place::default(), vec![]);
    for sample in &samples.list {
        places.push(place);
        // The values of some are not stored.
        if sample["out"].is_null() {
            let (_, after) = samples.inputs(sample, place, DType::F64);
            place = samples.wanted(sample, after).1;
        }
    }
    let without = |reason: &str| Outcome::NotExpressible(reason.to_owned());
    let mut outcomes = Vec::from_iter(places.iter().map(|_| without("not run in this time")));
    for i in (0..APART).flat_map(|first| (first..places.len()).step_by(APART)) {
        let sample = &samples.list[i];
        outcomes[i] = match sample["out"].as_str() {
            Some(reason) => without(reason),
            None if limit.is_some_and(|limit| began.elapsed() > limit) => continue,
            None => outcome(samples, sample, places[i]),
        };
    }
    outcomes
}

fn outcome(samples: &Samples, sample: &Json, place: Place) -> Outcome {
    let refused = !sample["error"].is_null();
    for (dtype, tolerance) in samples::runs(sample) {
        let how = |text: String| Outcome::Wrong(format!("{}: {text}", dtype.as_str()));
        let (inputs, after) = samples.inputs(sample, place, dtype);
        let result = catch_unwind(AssertUnwindSafe(|| attempt(|| run(sample, &inputs, dtype))));
        let mut unused = inputs.args.unused();
        if !refused {
            unused.extend(inputs.forward.unused());
        }
        let unused = unused.first();
        let results = match (result, unused) {
            (Ok(Ok(Err(reason))), _) if refused && reason.by_type => {
                return Outcome::RefusedByTypes;
            }
            (Ok(Ok(Err(reason))), _) => return Outcome::NotExpressible(reason.what),
            (_, Some(name)) => return Outcome::NotExpressible(format!("`{name}`")),
            (Ok(Ok(Ok(results))), None) => results,
            (Ok(Err(error)), None) if let Some(reason) = refused_on_purpose(sample, &error) => {
                return Outcome::NotExpressible(reason.to_owned());
            }
            (Ok(Err(error)), None) => match (error::of(&error), refused) {
                (Some(_), true) => return Outcome::Refused,
                (Some(_), false) => return how(format!("refused: {error}")),
                (None, _) => return how(format!("an error that is not Taper's: {error}")),
            },
            (Err(panic), None) => return how(format!("panic: {}", text_of(&*panic))),
        };
        if refused {
            return how(format!(
                "accepted what PyTorch refuses: {}",
                sample["error"]
            ));
        }
        let (wanted, _) = samples.wanted(sample, after);
        if results.len() != wanted.len() {
            return how(format!("{} results, not {}", results.len(), wanted.len()));
        }
        let outputs = sample["n"].as_u64().unwrap() as usize;
        // Rounding errors of f32 depend on the terms of a gradient, which may be larger than their sum.
        let terms = match dtype {
            DType::F64 => 1.0,
            _ => wanted.iter().map(Wanted::largest).fold(1.0, f64::max),
        };
        for (i, (got, want)) in results.iter().zip(&wanted).enumerate() {
            if let Some(difference) = want.difference(got, tolerance, terms) {
                let what = match i.checked_sub(outputs) {
                    None => format!("output {i}"),
                    Some(i) => format!("gradient {i}"),
                };
                return how(format!("{what} {difference}"));
            }
        }
    }
    match refused {
        true => Outcome::Wrong("not run".to_owned()),
        false => Outcome::Equal,
    }
}

/// Returns why Taper refuses what PyTorch takes, if that is intended.
fn refused_on_purpose(sample: &Json, error: &taper::Error) -> Option<&'static str> {
    if !sample["error"].is_null() {
        return None;
    }
    let problem = &error::of(error)?.problem;
    match (sample["op"].as_str()?, problem) {
        (_, Problem::DType { .. }) if sample["dtype"] != "f64" => {
            Some("integers are not converted")
        }
        ("pow", Problem::Argument { .. }) => Some("negative exponents of integers"),
        ("arange", Problem::Argument { .. }) => Some("a step below 1 for integers"),
        ("cat", _) => Some("an empty tensor of another rank"),
        (name, _) if name.starts_with("nn.BatchNorm") => Some("an empty batch in training"),
        ("nn.functional.gaussian_nll_loss" | "nn.functional.hinge_embedding_loss", _)
            if error.to_string().contains("do not fit targets of shape") =>
        {
            Some("targets are not broadcast")
        }
        _ => None,
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("?")
}

/// Returns the outputs, the gradients of the inputs and parameters, and the buffers.
fn run(sample: &Json, inputs: &Sample, dtype: DType) -> Expressed<Vec<Tensor>> {
    let name = sample["op"].as_str().unwrap();
    if let Some(name) = name.strip_prefix("optim.") {
        return optimizers::run(name, inputs);
    }
    if let Some(name) = name.strip_prefix("lr_scheduler.") {
        return schedules::run(name, inputs);
    }
    if let Some(layer) = name
        .strip_prefix("nn.")
        .filter(|name| !name.starts_with("functional."))
    {
        let ran = layers::run(layer, inputs, dtype, !sample["eval"].is_null())?;
        let gradients = gradients(&ran.outputs, &inputs.sources, &ran.parameters);
        return Ok([ran.outputs, gradients, ran.buffers].concat());
    }
    let outputs = call(name, &inputs.args)?;
    let gradients = gradients(&outputs, &inputs.sources, &[]);
    Ok([outputs, gradients].concat())
}

fn call(name: &str, args: &Args) -> Expressed<Vec<Tensor>> {
    let outputs = functions::call(name, args)
        .or_else(|| reductions::call(name, args))
        .or_else(|| further::call(name, args))
        .or_else(|| shapes::call(name, args))
        .or_else(|| tensors::call(name, args))
        .or_else(|| networks::call(name, args));
    outputs.unwrap_or_else(|| missing("the function"))
}

/// Returns the gradients of the weighted sum of all outputs.
fn gradients(outputs: &[Tensor], sources: &[Source], parameters: &[Tensor]) -> Vec<Tensor> {
    let mut loss: Option<Tensor> = None;
    for y in outputs
        .iter()
        .filter(|y| y.dtype().is_float() && y.track_op())
    {
        let weights: Vec<f64> = (0..y.elem_count()).map(weight).collect();
        let weights = Tensor::from_vec(weights, y.shape()).to_dtype(y.dtype());
        let sum = (y * weights).sum_all().to_dtype(DType::F64);
        loss = Some(match loss {
            Some(loss) => loss + sum,
            None => sum,
        });
    }
    // What is computed from a tensor without elements is a constant.
    let loss = loss.filter(Tensor::track_op);
    let gradients = loss.map(|loss| loss.backward());
    let of = |x: &Tensor| match &gradients {
        Some(gradients) => gradients.of(x),
        None => x.zeros_like(),
    };
    let inputs = sources
        .iter()
        .map(|source| source.gradient(&of(&source.leaf)));
    inputs.chain(parameters.iter().map(of)).collect()
}
