//! The five sockets of a kernel.

use super::budget::{Budget, Share};
use super::listener::{self, Listener, Private, Stream};
use super::outgoing::Connection;
use super::publisher::Publisher;
use super::router::{Reader, Writer, router};
use super::stop::Stop;
use super::wire::Wire;
use super::zmtp;
use anyhow::{Context, Result};
use jupyter_protocol::{ConnectionInfo, JupyterMessage, Status, Transport};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncWriteExt, BufReader};

/// How long to wait for a port that is in use.
const PORT_TIMEOUT: Duration = Duration::from_secs(3);

/// The channel on which outputs are published.
pub(super) type IopubConnection = Connection<Publisher>;

/// A channel on which replies and questions are sent.
pub(super) type ReplyConnection = Connection<Writer>;

/// The kernel's ends of the five channels.
pub(super) struct Sockets {
    pub(super) shell: (ReplyConnection, Reader),
    pub(super) control: (ReplyConnection, Reader),
    pub(super) stdin: (ReplyConnection, Reader),
    pub(super) iopub: IopubConnection,
    pub(super) heartbeat: Listener,
}

impl Sockets {
    /// Binds the five sockets.
    pub(super) async fn bind(info: &ConnectionInfo) -> Result<Self> {
        let _private = (info.transport == Transport::IPC).then(Private::new);
        // The library creates a new session id for each message without a parent; the kernel uses the same
        // one for all.
        let session = JupyterMessage::from(Status::starting()).header.session;
        let wire = Wire::new(&info.key, session);
        let budget = Arc::new(Budget::default());
        let channel = async |name: &'static str, port: u16| {
            let (socket, reader) = router(bind(name, info, port).await?, budget.clone());
            let wire = wire.clone();
            let replies = Connection { socket, wire };
            anyhow::Ok((replies, reader))
        };
        Ok(Self {
            shell: channel("shell", info.shell_port).await?,
            control: channel("control", info.control_port).await?,
            stdin: channel("stdin", info.stdin_port).await?,
            iopub: Connection {
                socket: Publisher::new(bind("iopub", info, info.iopub_port).await?),
                wire: wire.clone(),
            },
            heartbeat: bind("heartbeat", info, info.hb_port).await?,
        })
    }
}

/// Binds a port. After a restart it may still be in use by the old kernel, which is ending.
async fn bind(channel: &'static str, info: &ConnectionInfo, port: u16) -> Result<Listener> {
    let until = Instant::now() + PORT_TIMEOUT;
    loop {
        if let Some(path) = listener::path(info, port) {
            listener::remove_abandoned(&path);
        }
        match Listener::bind(info, port).await {
            Err(_) if Instant::now() < until => tokio::time::sleep(PORT_TIMEOUT / 60).await,
            bound => {
                return bound.with_context(|| format!("cannot bind the {channel} port {port}"));
            }
        }
    }
}

/// Answers heartbeats until the kernel stops.
pub(super) async fn answer_heartbeats(heartbeat: Listener, stop: Stop) {
    tokio::select! {
        () = listener::serve_all(heartbeat, echo) => {}
        () = stop.requested() => {}
    }
}

/// Returns each message of a peer, as the protocol asks.
async fn echo((read, mut write): Stream) -> io::Result<()> {
    let mut read = BufReader::new(read);
    zmtp::greet(&mut read, &mut write, "REP").await?;
    zmtp::read_identity(&mut read).await?;
    // Heartbeats are a few bytes: a share of no budget is enough.
    let budget = Arc::new(Budget::with_limit(0));
    loop {
        if let Some((message, _)) = zmtp::read_message(&mut read, Share::of(&budget)).await? {
            write.write_all(&zmtp::encode(&message)).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;
    use zeromq::{ReqSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

    #[tokio::test]
    async fn a_heartbeat_returns_what_was_sent() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stop = Stop::default();
        tokio::spawn(answer_heartbeats(Listener::Tcp(listener), stop));
        let mut request = ReqSocket::new();
        let endpoint = format!("tcp://127.0.0.1:{port}");
        request.connect(&endpoint).await.unwrap();
        for text in ["ping", ""] {
            request.send(ZmqMessage::from(text)).await.unwrap();
            let answer = request.recv().await.unwrap();
            assert_eq!(answer.get(0).unwrap()[..], *text.as_bytes());
        }
    }
}
