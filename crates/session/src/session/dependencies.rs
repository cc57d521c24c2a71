//! `:dep`: the packages that a student adds are compiled before evcxr asks for them, with progress.

use super::interrupt::Interrupter;
use crate::image;
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::path::Path;
use std::time::{Duration, Instant};
use taper_evaluator::event::{Event, MimeBundle};
use taper_host::progress::{Progress, Step, duration};

/// How evcxr is to look for the packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// All that is needed lies in cargo's cache.
    NotNeeded,
    Needed,
}

/// Compiles the packages into the session's own work directory.
///
/// Errors are left to evcxr, which finds them again and says them.
pub(crate) fn compile(
    work: &Path,
    dependencies: &[(&str, &str)],
    interrupter: &Interrupter,
    tell: &mut dyn FnMut(Event),
) -> Network {
    let Ok(manifest) = add(work, dependencies) else {
        return Network::Needed;
    };
    let network = if image::resolves_offline(work) {
        Network::NotNeeded
    } else {
        Network::Needed
    };
    let mut progress = LiveLine::new(tell);
    let offline = network == Network::NotNeeded;
    // evcxr writes it too, but only after it has looked for the package.
    let config = format!("\n[net]\noffline = {offline}\n");
    let _ = std::fs::write(work.join(".cargo/config.toml"), config);
    let started = &mut |process| interrupter.instead(process);
    let _ = image::compile(work, offline, started, &mut progress);
    progress.finish();
    // evcxr compares the manifest with what it wrote last.
    let _ = std::fs::write(work.join("Cargo.toml"), manifest);
    network
}

/// Adds them to the manifest of the cells' crate; gives the manifest as it was.
fn add(work: &Path, dependencies: &[(&str, &str)]) -> Result<String> {
    let file = work.join("Cargo.toml");
    let before = std::fs::read_to_string(&file)?;
    let mut manifest: toml::Table = before.parse()?;
    let entries = manifest
        .entry("dependencies")
        .or_insert_with(|| toml::Table::new().into());
    let entries = entries.as_table_mut().context("a table")?;
    for (name, value) in dependencies {
        let line: toml::Table = format!("{name} = {value}").parse()?;
        entries.extend(line);
    }
    std::fs::write(&file, toml::to_string(&manifest)?)?;
    Ok(before)
}

/// One line below the cell that changes.
struct LiveLine<'a> {
    tell: &'a mut dyn FnMut(Event),
    id: String,
    begun: Instant,
}

/// What takes less shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

impl<'a> LiveLine<'a> {
    fn new(tell: &'a mut dyn FnMut(Event)) -> Self {
        LiveLine {
            tell,
            id: String::new(),
            begun: Instant::now(),
        }
    }

    fn show(&mut self, text: &str) {
        let data: MimeBundle = [("text/plain".to_owned(), Value::from(text))]
            .into_iter()
            .collect();
        let metadata = Map::new();
        let is_first = self.id.is_empty();
        if is_first {
            self.id = uuid::Uuid::new_v4().simple().to_string();
        }
        let display_id = self.id.clone();
        (self.tell)(if is_first {
            Event::Display {
                data,
                metadata,
                display_id: Some(display_id),
            }
        } else {
            Event::UpdateDisplay {
                data,
                metadata,
                display_id,
            }
        });
    }

    fn finish(&mut self) {
        if !self.id.is_empty() {
            let text = format!("SourceMap in {}.", duration(self.begun.elapsed()));
            self.show(&text);
        }
    }
}

impl Progress for LiveLine<'_> {
    fn line(&mut self, text: &str) {
        self.show(text);
    }

    fn step(&mut self, step: &Step) {
        if step.elapsed > PATIENCE {
            self.show(&step.describe());
        }
    }
}
