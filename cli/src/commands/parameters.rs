//! `taper parameters`: converts the values of parameters for papermill (`packaging/papermill`).

use anyhow::{Context, Result};
use std::process::ExitCode;
use taper_notebook::ParameterRequest;

pub(crate) fn run() -> Result<ExitCode> {
    let request: ParameterRequest = serde_json::from_reader(std::io::stdin())
        .context("expected a request of packaging/papermill as JSON")?;
    println!("{}", request.answer()?);
    Ok(ExitCode::SUCCESS)
}
