//! Passes a cell's request for input from evcxr's thread, which waits, to the thread that listens and
//! answers.

use crate::relay;
use crossbeam_channel::{Sender, bounded};

/// A cell's request for a line of input.
pub(crate) struct InputRequest {
    prompt: String,
    password: bool,
    answer: Sender<String>,
}

impl InputRequest {
    /// Gets the answer from `ask` and sends it to the cell.
    pub(crate) fn answer(self, ask: impl FnOnce(&str, bool) -> relay::Answer) {
        let answer = ask(&self.prompt, self.password);
        let _ = self
            .answer
            .send(serde_json::to_string(&answer).unwrap_or_default());
    }
}

pub(super) fn ask(requests: &Sender<InputRequest>, prompt: String, password: bool) -> String {
    let (answer, answers) = bounded(1);
    let _ = requests.send(InputRequest {
        prompt: relay::prompt_of(&prompt),
        password,
        answer,
    });
    answers.recv().unwrap_or_default()
}
