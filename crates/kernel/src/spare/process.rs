//! The process that is the spare: it starts a session, warms it, waits, and becomes the kernel of the
//! first proxy.

use super::fingerprint::fingerprint;
use super::handover::{ENDED, Launch, SERVING};
use super::launch::{DETACHED, start_detached, start_later};
use super::registry::Registry;
use super::settings::idle_timeout;
use crate::error::{Error, Result, chain};
use crate::lifecycle::{self, Adoption};
use crate::serve::serve_for;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use taper_evaluator::Evaluator;
use taper_host::progress::Console;
use taper_session::image::{Condition, Image};
use taper_session::workspace::Workspace;
use taper_session::{Session, image_key, start_session};

/// Runs the hidden command `taper __standby`, which starts the spare and ends. With the argument
/// `detached`, this process is the spare. Must be called before any thread is started, because it sets
/// the environment.
///
/// # Errors
/// When the session cannot be started, or the process that connects to the spare sends no launch.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let Some(timeout) = idle_timeout() else {
        return Ok(ExitCode::SUCCESS);
    };
    if arguments.iter().any(|argument| argument == DETACHED) {
        return wait_and_serve(timeout);
    }
    start_detached()?;
    Ok(ExitCode::SUCCESS)
}

fn wait_and_serve(timeout: Duration) -> Result<ExitCode> {
    // Signals to the terminal or to Jupyter's kernel must not reach the spare. The call fails for the
    // leader of a process group, which this process is only if it was started by hand.
    let _ = rustix::process::setsid();
    let key = image_key().map_err(Error::session)?;
    let registry = Registry::open()?;
    let Some(mut registration) = registry.register(&fingerprint(&key)?)? else {
        return Ok(ExitCode::SUCCESS);
    };
    if Image::find(&key).map_err(Error::session)?.0 != Condition::Ready {
        return Ok(ExitCode::SUCCESS);
    }
    let work = Workspace::create().map_err(Error::session)?;
    // SAFETY: this process has no other thread yet.
    unsafe { work.enter() };
    let folder = work.path();
    let mut session = start_session(work, &mut Console::new()).map_err(Error::session)?;
    session.warm();
    registration.mark_ready()?;
    let proxy = registration.wait(timeout)?;
    drop(registration);
    match proxy {
        Some(proxy) => match serve(proxy, session, &folder) {
            // Jupyter has ended the kernel before it was served, which is not an error. The spare has the streams of
            // Jupyter by now, whose user would read a message.
            Err(Error::ProxyEnded) => {
                Workspace::remove(&folder);
                Ok(ExitCode::SUCCESS)
            }
            served => served,
        },
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Serves as the kernel that Jupyter requested from the proxy.
fn serve(mut proxy: UnixStream, mut session: Session, folder: &Path) -> Result<ExitCode> {
    let (launch, streams) = Launch::receive(&mut proxy)?;
    take_over(&launch, streams)?;
    let answered = proxy.write_all(&[SERVING]);
    answered.map_err(|_| Error::ProxyEnded)?;
    let interrupts = proxy.try_clone();
    let adoption = Adoption {
        proxy: interrupts.map_err(Error::io("receive interrupts"))?,
        jupyter: launch.variable(lifecycle::JUPYTER),
    };
    let environment = launch.environment;
    let start = move || {
        session.adopt(environment)?;
        start_later();
        Ok(Box::new(session) as Box<dyn Evaluator>)
    };
    let connection_file = PathBuf::from(launch.connection_file);
    let served = serve_for(
        Some(adoption),
        &connection_file,
        taper_session::is_complete,
        start,
    );
    let code = match &served {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {}", chain(error));
            1
        }
    };
    let _ = proxy.write_all(&[ENDED, code]);
    // After the exit code was sent: the next start need not wait for the removal.
    Workspace::remove(folder);
    Ok(ExitCode::from(code))
}

/// Takes over the output streams and the folder of the proxy. The proxy's environment is set only for the processes
/// that the session starts: other threads of this process may be reading the environment.
fn take_over(launch: &Launch, [output, error]: [OwnedFd; 2]) -> Result<()> {
    let failed = || Error::io("take over the output streams of the kernel");
    rustix::stdio::dup2_stdout(output).map_err(failed())?;
    rustix::stdio::dup2_stderr(error).map_err(failed())?;
    let folder = Path::new(&launch.folder);
    std::env::set_current_dir(folder).map_err(Error::io(format!("enter {}", folder.display())))
}
