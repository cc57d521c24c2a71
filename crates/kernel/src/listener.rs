//! Where the kernel listens: on ports of this machine, or on sockets in the file system (`ipc`), which only its user
//! can open. Over TCP every user of the machine can read what the kernel publishes.

use jupyter_protocol::{ConnectionInfo, Transport};
use rustix::fs::Mode;
use rustix::process::umask;
use std::io;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// A socket that accepts the peers of a channel.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Both directions of a connection.
pub(super) type Stream = (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

impl Listener {
    pub(super) async fn bind(info: &ConnectionInfo, port: u16) -> io::Result<Self> {
        Ok(match path(info, port) {
            Some(path) => Self::Unix(UnixListener::bind(path)?),
            None => Self::Tcp(TcpListener::bind((info.ip.as_str(), port)).await?),
        })
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let (read, write) = stream.into_split();
                (Box::new(read), Box::new(write))
            }
            Self::Unix(listener) => {
                let (read, write) = listener.accept().await?.0.into_split();
                (Box::new(read), Box::new(write))
            }
        })
    }
}

/// Accepts peers and serves each in a task of its own.
pub(super) async fn serve_all<Served>(listener: Listener, mut serve: impl FnMut(Stream) -> Served)
where
    Served: Future<Output = io::Result<()>> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok(stream) => {
                let served = serve(stream);
                // An error means that the peer has left, or speaks another protocol.
                tokio::spawn(async move { _ = served.await });
            }
            // Too many open files, for instance.
            Err(error) => {
                eprintln!("taper: a front end could not connect: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Returns the path of a socket for `ipc`, `None` for TCP. Jupyter calls the suffix of the path a port.
pub(super) fn path(info: &ConnectionInfo, port: u16) -> Option<PathBuf> {
    (info.transport == Transport::IPC).then(|| PathBuf::from(format!("{}-{port}", info.ip)))
}

/// Removes the file of a socket on which no process listens: a killed kernel leaves it, and a new one is started with the
/// same connection file.
pub(super) fn remove_abandoned(path: &Path) {
    let connected = BlockingStream::connect(path);
    if connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        let _ = std::fs::remove_file(path);
    }
}

/// A guard: until it is dropped, only this user can open the files and sockets that the process creates.
pub(super) struct Private(Mode);

impl Private {
    pub(super) fn new() -> Self {
        Self(umask(Mode::RWXG | Mode::RWXO))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        umask(self.0);
    }
}
