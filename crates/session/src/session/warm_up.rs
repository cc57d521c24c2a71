//! The session of a spare kernel: it is warmed up before there is a user, and then handed over.

use super::ahead::Ahead;
use super::{Session, Silent};
use crate::environment;
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

/// The cells that [`Session::warm`] runs.
const WARM_UP_CELLS: [&str; 2] = [
    "let warm = zeros((2, 3)) + 1.0;\nwarm",
    "let warmer = warm.matmul(&warm.t()).sum_all().item();\nprintln!(\"{warmer}\");",
];

impl Session {
    /// Runs cells like the user's first ones, so that one-time costs are paid, and discards their variables.
    pub fn warm(&mut self) {
        for cell in WARM_UP_CELLS {
            let _ = self.run(cell, &mut Silent);
        }
        self.engine.prepare_completions();
        let _ = self.engine.end_process();
    }

    /// Starts a new cells process in this process's current folder. The cells, and whatever else this session
    /// starts for the user, get this environment.
    ///
    /// # Errors
    ///
    /// When the process cannot be started.
    pub fn adopt(
        &mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<()> {
        let variables: HashMap<OsString, OsString> = environment.into_iter().collect();
        self.ahead = Ahead::new(|name| variables.get(OsStr::new(name)).cloned());
        environment::adopt(variables);
        let restart = ":restart";
        self.run(restart, &mut Silent)
            .map_err(Error::own_cell(restart))
    }
}
