//! A few lines that change in place on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

/// What is on the terminal now.
#[derive(Debug, Default)]
pub(super) struct Frame {
    lines: usize,
}

/// Whether somebody looks at standard error.
pub(super) fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| std::io::stderr().is_terminal())
}

/// Writes the text over what the frame held.
pub(super) fn show(frame: &mut Frame, text: &str) {
    let _ = std::io::stderr().write_all(frame.replace(text).as_bytes());
}

/// Leaves the frame as it is and goes on below it.
pub(super) fn end(frame: &Frame) {
    if frame.lines > 0 {
        let _ = std::io::stderr().write_all(b"\n");
    }
}

impl Frame {
    /// What to write so that `text` stands where the frame's lines were.
    fn replace(&mut self, text: &str) -> String {
        let mut written = String::from("\r");
        if self.lines > 1 {
            written += &format!("\x1b[{}A", self.lines - 1);
        }
        // Erase to the end of the screen: the new text may have fewer lines or shorter ones.
        written += "\x1b[J";
        written += text;
        self.lines = text.lines().count().max(1);
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_written_over_the_one_before() {
        let mut frame = Frame::default();
        assert_eq!(frame.replace("1/2"), "\r\x1b[J1/2");
        assert_eq!(frame.replace("1/2\n5/9"), "\r\x1b[J1/2\n5/9");
        assert_eq!(frame.replace("2/2"), "\r\x1b[1A\x1b[J2/2");
    }
}
