//! Passes a cell's request for input from evcxr's thread, which waits, to the thread that listens and
//! answers.

use crate::relay;
use crossbeam_channel::{Receiver, Sender, bounded};

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

impl InputRequest {
    /// Creates a request, and the end at which the answer arrives, as a line of JSON.
    pub(super) fn new(prompt: String, password: bool) -> (InputRequest, Receiver<String>) {
        let (answer, answers) = bounded(1);
        let request = InputRequest {
            prompt,
            password,
            answer,
        };
        (request, answers)
    }
}

pub(super) fn ask(requests: &Sender<InputRequest>, prompt: String, password: bool) -> String {
    let (request, answers) = InputRequest::new(relay::prompt_of(&prompt), password);
    let _ = requests.send(request);
    answers.recv().unwrap_or_default()
}
