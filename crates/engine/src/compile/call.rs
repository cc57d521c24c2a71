//! A call of rustc, whatever it is for.

use crate::config::Config;
use std::process::{Command, Stdio};

/// Returns a call of rustc without arguments.
pub(super) fn rustc(config: &Config) -> Command {
    let mut command = Command::new(&config.rustc);
    command
        .current_dir(&config.folder)
        .stdin(Stdio::null())
        .envs(config.environment.iter().map(|(name, value)| (name, value)));
    command
}
