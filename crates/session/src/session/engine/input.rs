//! Passes a cell's request for input to the thread that listens and answers, while the cell waits.

use crate::cells::Answer;
use crossbeam_channel::{Receiver, Sender, bounded};

/// A cell's request for a line of input.
pub(crate) struct InputRequest {
    prompt: String,
    password: bool,
    answer: Sender<Answer>,
}

impl InputRequest {
    /// Creates a request, and the end at which the answer arrives.
    pub(super) fn new(prompt: String, password: bool) -> (InputRequest, Receiver<Answer>) {
        let (answer, answers) = bounded(1);
        let request = InputRequest {
            prompt,
            password,
            answer,
        };
        (request, answers)
    }

    /// Gets the answer from `ask` and sends it to the cell.
    pub(crate) fn answer(self, ask: impl FnOnce(&str, bool) -> Answer) {
        let answer = ask(&self.prompt, self.password);
        let _ = self.answer.send(answer);
    }
}
