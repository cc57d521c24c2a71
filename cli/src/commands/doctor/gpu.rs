//! Checks what a computation on the GPU needs: driver, card, toolkit, cuDNN, packages; then multiplies two
//! matrices.

use super::finding::{Finding, SET_UP, State};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::process::{Command, Stdio};
use taper_host::gpu::settings::Settings;
use taper_host::gpu::smi::{self, Answer, Driver};
use taper_host::gpu::toolkit;
use taper_host::process;
use taper_session::image::{Condition, Image};

/// The sum of the product of two matrices of ones: 256 × 256 × 256, which `f32` holds exactly.
const PRODUCT: &str = "let x = ones((256, 256)).to_device(&gpu(0)?);\n\
    print!(\"{}\", x.matmul(&x).sum_all().item());";
const EXPECTED_SUM: &str = "16777216";

/// Returns the findings, each after the ones on which it depends.
pub(super) fn findings() -> Result<Vec<Finding>> {
    let settings = Settings::read()?;
    let wanted = settings.as_ref().is_some_and(|s| s.has("cuda"));
    let answer = smi::ask();
    let mut findings = vec![
        finding("NVIDIA driver", driver(&answer, wanted)),
        finding("GPU", card(&answer)),
    ];
    let settings = settings.unwrap_or_default();
    if let Some(toolkit) = toolkit_state(&settings) {
        findings.push(finding("CUDA toolkit", toolkit));
        findings.push(finding("cuDNN", cudnn_state(&settings)));
    }
    findings.push(finding("built for", packages(&settings, &answer)));
    if !settings.features.is_empty() && is_ready()? {
        findings.push(finding("product on the GPU", product_state(&answer)));
    }
    Ok(findings)
}

fn finding(name: &'static str, state: State) -> Finding {
    Finding { name, state }
}

/// Describes the driver, which is required only if the packages are built for CUDA.
fn driver(answer: &Answer, wanted: bool) -> State {
    let there = |what: String| match wanted {
        true => State::Bad(what),
        false => State::Absent(what),
    };
    match answer {
        Answer::NoDriver => there(
            "none (no nvidia-smi). Everything runs on the CPU. If there is an NVIDIA card, install its driver, 580 or \
             newer"
                .to_owned(),
        ),
        Answer::Broken(said) => there(format!(
            "it does not work; restart the machine if it was just installed or updated. Its message: {said}"
        )),
        Answer::NoCard => State::Good("works, but finds no GPU".to_owned()),
        Answer::Works(Driver { version, cuda, .. }) => {
            State::Good(format!("{version}, runs CUDA up to {}.{}", cuda.0, cuda.1))
        }
    }
}

fn card(answer: &Answer) -> State {
    match answer {
        Answer::Works(driver) => {
            let cards = driver.cards.iter();
            let cards = cards.map(|card| format!("{} ({})", card.name, card.capability));
            State::Good(cards.collect::<Vec<_>>().join(", "))
        }
        _ => State::Absent("none found".to_owned()),
    }
}

fn toolkit_state(settings: &Settings) -> Option<State> {
    let root = settings.toolkit.as_ref()?;
    Some(match root.join("bin/nvcc").exists() {
        true => State::Good(root.display().to_string()),
        false => State::Bad(format!("{} is gone; {SET_UP}", root.display())),
    })
}

/// Describes cuDNN, without which everything runs.
fn cudnn_state(settings: &Settings) -> State {
    const WITHOUT: &str = "convolutions and their gradients are slower without it";
    match &settings.cudnn {
        Some(library) if library.exists() => State::Good(library.display().to_string()),
        Some(library) => State::Absent(format!(
            "{} is gone; {WITHOUT}; {SET_UP}",
            library.display()
        )),
        None => State::Absent(format!(
            "none; {WITHOUT}. Install cuDNN 9 for the toolkit's version of CUDA, then {SET_UP}"
        )),
    }
}

/// Describes the device for which the packages are built, and whether a better one is available.
fn packages(settings: &Settings, answer: &Answer) -> State {
    let what = match settings.because.strip_prefix("for ") {
        Some(what) => what.to_owned(),
        None => return State::Absent(format!("nothing yet; {SET_UP}")),
    };
    let usable =
        matches!(answer, Answer::Works(driver) if toolkit::wheels_fit(Some(driver)).is_ok());
    match settings.features.is_empty() && usable {
        true => State::Absent(format!("{what}. There is a GPU: {SET_UP} to use it")),
        false => State::Good(what),
    }
}

fn is_ready() -> Result<bool> {
    Ok(Image::find(&taper_session::image_key()?)?.0 == Condition::Ready)
}

/// Runs a cell like those of a notebook, so everything that a chapter needs is checked.
fn product_state(answer: &Answer) -> State {
    match product() {
        Ok(()) => State::Good("correct".to_owned()),
        Err(error) if matches!(answer, Answer::Works(_)) => State::Bad(format!("{error:#}")),
        Err(error) => State::Absent(format!("{error:#}")),
    }
}

fn product() -> Result<()> {
    let mut session = Command::new(process::program()?)
        .arg("events")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("starting a session")?;
    let mut cells = session
        .stdin
        .take()
        .context("the session has no standard input")?;
    let cell = serde_json::json!({ "code": PRODUCT });
    writeln!(cells, "{cell}").and_then(|()| cells.flush())?;
    drop(cells);
    let output = session.wait_with_output()?;
    let (mut printed, mut failed) = (String::new(), None);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        match event["event"].as_str() {
            Some("text") if event["stream"] == "stdout" => {
                printed += event["text"].as_str().unwrap_or_default();
            }
            Some("error") => failed = event["message"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    if let Some(message) = failed {
        bail!("{}", message.replace('\n', ". "));
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("the session failed: {}", said.trim().replace('\n', ". "));
    }
    if printed != EXPECTED_SUM {
        bail!(
            "the sum is {printed:?}, expected {EXPECTED_SUM}; {SET_UP}, and if that does not help, report it"
        );
    }
    Ok(())
}
