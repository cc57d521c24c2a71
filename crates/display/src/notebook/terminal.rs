//! Lines that change in place on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

/// The lines that are on the terminal now.
#[derive(Debug, Default)]
pub(super) struct Frame {
    lines: usize,
}

/// Returns whether standard error is a terminal.
pub(super) fn is_available() -> bool {
    static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
    *IS_TERMINAL.get_or_init(|| std::io::stderr().is_terminal())
}

/// Replaces the lines of the frame by a text.
pub(super) fn show(frame: &mut Frame, text: &str) {
    let _ = std::io::stderr().write_all(frame.replace(text).as_bytes());
}

/// Keeps the lines of the frame and continues below them.
pub(super) fn end(frame: &Frame) {
    if frame.lines > 0 {
        let _ = std::io::stderr().write_all(b"\n");
    }
}

impl Frame {
    /// Returns the escape sequences and the text that replace the lines of the frame.
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
    fn a_frame_replaces_its_previous_lines() {
        let mut frame = Frame::default();
        assert_eq!(frame.replace("1/2"), "\r\x1b[J1/2");
        assert_eq!(frame.replace("1/2\n5/9"), "\r\x1b[J1/2\n5/9");
        assert_eq!(frame.replace("2/2"), "\r\x1b[1A\x1b[J2/2");
    }
}
