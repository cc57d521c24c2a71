//! Asks for the compiler that waits in the session, over a socket in the session's folder.

use super::{group, memory};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The answer with the name of the recipe that the next cell will probably use.
pub(crate) const NEXT: &str = "next-recipe";
/// The socket in the session's folder.
pub(crate) const SOCKET: &str = "early";

/// Records the recipe by which a cell was compiled, for the next cell.
pub(crate) fn expect(name: &str, session: &Path) {
    if memory::read(NEXT, session).as_deref() != Some(name.as_bytes()) {
        memory::keep(NEXT, name.as_bytes(), session);
    }
}

/// Lets the waiting compiler compile a source, and returns its exit code and its messages. Returns
/// `None` if no compiler is waiting, or only with another recipe.
pub(crate) fn compile(name: &str, source: &str, session: &Path) -> Option<(i32, Vec<u8>)> {
    let mut stream = UnixStream::connect(session.join(SOCKET)).ok()?;
    stream
        .write_all(format!("{name}\n{source}").as_bytes())
        .ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    let mut answer = BufReader::new(stream);
    group::include(number(&mut answer)?);
    let code = number(&mut answer)?;
    let mut said = Vec::new();
    answer.read_to_end(&mut said).ok()?;
    Some((code, said))
}

fn number(answer: &mut impl BufRead) -> Option<i32> {
    let mut line = String::new();
    answer.read_line(&mut line).ok()?;
    line.trim_end().parse().ok()
}
