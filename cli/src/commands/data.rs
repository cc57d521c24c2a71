//! `taper data`

use crate::data::{self, ALL, DataSet, Hub, Source, store};
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::checkout;
use taper_host::progress::{Console, Progress};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the data sets, their sizes, and which are downloaded
    List,
    /// Download a data set, unless it is complete already
    Get {
        #[arg(value_parser = PossibleValuesParser::new(ALL.iter().map(|set| set.name)))]
        name: String,
        /// Read the files as their authors publish them from this folder, instead of downloading
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = store::folder()?;
    match &arguments.action {
        Action::List => list(&folder),
        Action::Get { name, from } => get(name, from.as_deref(), &folder)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(folder: &Path) {
    for set in &ALL {
        println!("{}", describe(set, store::is_there(set, folder)));
    }
    println!(
        "\nThey are stored in {}. To download one: {} data get NAME",
        folder.display(),
        checkout::command()
    );
    println!("SmallMnist, Digits, Shapes, Leaves and SyntheticRegression come with Taper.");
}

fn describe(set: &DataSet, complete: bool) -> String {
    let [train, test] = set.parts.each_ref().map(|part| part.count / 1000);
    let state = if complete { "ready" } else { "-" };
    format!(
        "{:13} {state:5} {:3} MB  {train},000 + {test},000 images: {}",
        set.name, set.megabytes, set.about
    )
}

fn get(name: &str, from: Option<&Path>, folder: &Path) -> Result<()> {
    let set = data::find(name).context("there is no data set of this name")?;
    let source = match from {
        Some(folder) => Source::Folder(folder.to_owned()),
        None => Source::Hub(Hub::from_environment()?),
    };
    let mut progress = Console::new();
    data::get(set, &source, folder, &mut progress)?;
    progress.line(&format!("{name} is in {}.", folder.join(name).display()));
    Ok(())
}
