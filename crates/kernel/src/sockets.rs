//! The five sockets of a kernel.

use super::error::{Error, Result};
use super::listener::{self, Listener, Private};
use super::publisher::Publisher;
use super::stop::Stop;
use jupyter_protocol::{ConnectionInfo, JupyterMessage, Status, Transport};
use jupyter_zmq_client::{
    Connection, KernelControlConnection, KernelHeartbeatConnection, KernelShellConnection,
    KernelStdinConnection, RuntimeError, create_kernel_control_connection,
    create_kernel_heartbeat_connection, create_kernel_shell_connection,
    create_kernel_stdin_connection,
};
use std::time::{Duration, Instant};

/// How long to wait for a port that is in use.
const PORT_TIMEOUT: Duration = Duration::from_secs(3);

/// The channel on which outputs are published.
pub(super) type IopubConnection = Connection<Publisher>;

/// The kernel's ends of the five channels.
pub(super) struct Sockets {
    pub(super) shell: KernelShellConnection,
    pub(super) control: KernelControlConnection,
    pub(super) stdin: KernelStdinConnection,
    pub(super) iopub: IopubConnection,
    pub(super) heartbeat: KernelHeartbeatConnection,
}

impl Sockets {
    /// Binds the five sockets.
    pub(super) async fn bind(info: &ConnectionInfo) -> Result<Self> {
        let _private = (info.transport == Transport::IPC).then(Private::new);
        // The library creates a new session id for each message without a parent; the kernel uses the same
        // one for all.
        let session = JupyterMessage::from(Status::starting()).header.session;
        let shell = bind("shell", info, info.shell_port, async || {
            create_kernel_shell_connection(info, &session).await
        })
        .await?;
        let mac = shell.mac.clone();
        let iopub = bind("iopub", info, info.iopub_port, async || {
            Ok(Publisher::new(Listener::bind(info, info.iopub_port).await?))
        })
        .await?;
        Ok(Self {
            shell,
            control: bind("control", info, info.control_port, async || {
                create_kernel_control_connection(info, &session).await
            })
            .await?,
            stdin: bind("stdin", info, info.stdin_port, async || {
                create_kernel_stdin_connection(info, &session).await
            })
            .await?,
            iopub: Connection {
                socket: iopub,
                mac,
                session_id: session.clone(),
            },
            heartbeat: bind("heartbeat", info, info.hb_port, async || {
                create_kernel_heartbeat_connection(info).await
            })
            .await?,
        })
    }
}

/// Binds a port. After a restart it may still be in use by the old kernel, which is ending.
async fn bind<T>(
    channel: &'static str,
    info: &ConnectionInfo,
    port: u16,
    connect: impl AsyncFn() -> std::result::Result<T, RuntimeError>,
) -> Result<T> {
    let until = Instant::now() + PORT_TIMEOUT;
    loop {
        if let Some(path) = listener::path(info, port) {
            listener::remove_abandoned(&path);
        }
        match connect().await {
            Err(_) if Instant::now() < until => tokio::time::sleep(PORT_TIMEOUT / 60).await,
            bound => {
                return bound.map_err(|source| Error::Bind {
                    channel,
                    port,
                    source,
                });
            }
        }
    }
}

/// Answers heartbeats until the kernel stops.
pub(super) async fn answer_heartbeats(mut heartbeat: KernelHeartbeatConnection, stop: Stop) {
    loop {
        tokio::select! {
            answered = heartbeat.single_heartbeat() => if answered.is_err() {
                // A peer that sends malformed messages may fail again at once, endlessly.
                tokio::time::sleep(Duration::from_millis(100)).await;
            },
            () = stop.requested() => return,
        }
    }
}
