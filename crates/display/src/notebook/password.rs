//! Reads a line that is hidden while the user types it.

use super::record::Host;
use std::io::{self, Write};

/// Reads a line that is not shown while it is typed: in a notebook, in a box below the cell. Packages that read
/// from a terminal, such as `rpassword`, find none there.
///
/// In a program outside a notebook, the prompt is printed and the line is visible.
///
/// ```no_run
/// let token = taper::notebook::read_password("Token: ")?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// When the standard input cannot be read.
pub fn read_password(prompt: &str) -> io::Result<String> {
    let mut output = io::stdout().lock();
    match Host::current() {
        Host::Plain => write!(output, "{prompt}")?,
        // The mark of evcxr, which both kernels read: the prompt ends with the line.
        _ => writeln!(
            output,
            "EVCXR_INPUT_REQUEST_PASSWORD:{}",
            prompt.replace('\n', " ")
        )?,
    }
    output.flush()?;
    drop(output);
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
