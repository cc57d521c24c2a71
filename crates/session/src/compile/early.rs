//! A compiler that is started before its source is known.
//!
//! For a small cell, rustc spends a sixth of its time before it reads the source. So the session starts
//! it when it receives a cell, and while the cell is analysed, rustc waits for the source on its
//! standard input. The program in cargo's place asks the session for the result over a socket in the
//! session's folder, and names the recipe that it needs. If the waiting compiler has another recipe,
//! that program compiles the cell itself.

use super::memory;
use super::replay::Recipe;
use super::waiting::{NEXT, SOCKET};
use crate::error::Result;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use taper_host::cache;
use taper_host::error::Context as _;

/// The folder in which rustc is started, with a source that is its standard input.
const FOLDER: &str = "early-cell";

/// A waiting compiler, which is ended when this is dropped.
pub(crate) struct Early {
    rustc: Arc<Mutex<Child>>,
    socket: PathBuf,
}

impl Early {
    /// Starts the compiler of a cell in a work directory. Returns `None` if the cell is a command of
    /// evcxr, or if it is not known how rustc will be called.
    pub(crate) fn start(code: &str, work: &Path) -> Option<Early> {
        let session = work.parent()?;
        (!code.trim_start().starts_with(':')).then_some(())?;
        let name = String::from_utf8(memory::read(NEXT, session)?).ok()?;
        let recipe: Recipe = serde_json::from_slice(&memory::read(&name, session)?).ok()?;
        // Other systems are not tested, and a wrapper of rustc may read the source file.
        (cfg!(target_os = "linux") && recipe.calls_rustc()).then_some(())?;
        let socket = session.join(SOCKET);
        // Left by a session that was killed.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).ok()?;
        let rustc = start(&recipe, session).ok()?;
        let early = Early {
            rustc: Arc::new(Mutex::new(rustc)),
            socket,
        };
        let rustc = early.rustc.clone();
        std::thread::spawn(move || serve(&listener, &rustc, &name));
        Some(early)
    }
}

impl Drop for Early {
    fn drop(&mut self) {
        end(&mut self.rustc.lock().expect("no panic while locked"));
        // The thread may still wait for a request.
        let _ = UnixStream::connect(&self.socket);
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn start(recipe: &Recipe, session: &Path) -> Result<Child> {
    let folder = session.join(FOLDER);
    let source = folder.join("src/lib.rs");
    if !source.exists() {
        cache::make(&folder.join("src"))?;
        std::os::unix::fs::symlink("/dev/stdin", &source).on_file("create", &source)?;
    }
    let mut rustc = recipe.command(false, session)?;
    rustc
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        // rustc and its linker are one group.
        .process_group(0);
    Ok(rustc.spawn().starting(rustc.get_program())?)
}

fn end(rustc: &mut Child) {
    if let Ok(None) = rustc.try_wait() {
        let _ = kill_process_group(Pid::from_child(rustc), Signal::KILL);
        let _ = rustc.wait();
    }
}

/// Answers the first request.
fn serve(listener: &UnixListener, rustc: &Mutex<Child>, name: &str) -> std::io::Result<()> {
    let (asked, _) = listener.accept()?;
    let mut request = Vec::new();
    let mut reader = BufReader::new(&asked);
    reader.read_until(b'\n', &mut request)?;
    if request != format!("{name}\n").as_bytes() {
        return Ok(());
    }
    let (id, stdin, stderr) = {
        let mut rustc = rustc.lock().expect("no panic while locked");
        (rustc.id(), rustc.stdin.take(), rustc.stderr.take())
    };
    let (Some(mut stdin), Some(mut stderr)) = (stdin, stderr) else {
        return Ok(());
    };
    (&asked).write_all(format!("{id}\n").as_bytes())?;
    std::io::copy(&mut reader, &mut stdin)?;
    drop(stdin);
    let mut said = Vec::new();
    stderr.read_to_end(&mut said)?;
    let status = rustc.lock().expect("no panic while locked").wait()?;
    let code = status.code().unwrap_or(-1);
    (&asked).write_all(format!("{code}\n").as_bytes())?;
    (&asked).write_all(&said)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::recorder::Call;
    use super::super::waiting::{compile, expect};
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const RECIPE: &str = "a.recipe";

    /// Returns the folder of a session whose compiler is a script.
    fn session(script: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let rustc = folder.path().join("rustc");
        std::fs::write(&rustc, format!("#!/bin/sh\n{script}")).expect("a file");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&rustc, executable).expect("it is ours");
        let call = Call {
            arguments: vec![rustc.into()],
            environment: Vec::new(),
            folder: folder.path().join("work"),
        };
        let recipe = Recipe::new(call, &Default::default(), None, folder.path());
        let recipe = serde_json::to_vec(&recipe).expect("it is written");
        memory::keep(RECIPE, &recipe, folder.path());
        folder
    }

    #[test]
    fn a_waiting_compiler_gets_the_source() {
        let folder = session("cat src/lib.rs >&2\nexit 1");
        let (session, work) = (folder.path(), folder.path().join("work"));
        assert!(
            Early::start("let x = 1;", &work).is_none(),
            "nothing was compiled yet"
        );
        expect(RECIPE, session);
        for source in ["let x = 1;\n", "let y = 2;"] {
            let _early = Early::start(source, &work).expect("it starts");
            let made = compile(RECIPE, source, session);
            assert_eq!(made, Some((1, source.as_bytes().to_vec())));
            assert_eq!(compile(RECIPE, source, session), None, "it was used");
        }
        assert!(Early::start(":vars", &work).is_none());
        assert_eq!(compile(RECIPE, "", session), None, "none is waiting");
    }

    #[test]
    fn a_compiler_that_is_not_needed_ends() {
        let folder = session("exec cat src/lib.rs");
        let (session, work) = (folder.path(), folder.path().join("work"));
        expect(RECIPE, session);
        let early = Early::start("let x = 1;", &work).expect("it starts");
        let rustc = early.rustc.clone();
        assert_eq!(compile("b.recipe", "", session), None, "another is waiting");
        drop(early);
        let ended = rustc.lock().expect("no panic").try_wait();
        assert!(ended.expect("it is ours").is_some());
    }
}
