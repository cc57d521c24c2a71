//! The five sockets: where they listen, and what comes in through them.

use super::defaults::fill_in;
use super::shared::{Shared, lock};
use anyhow::{Context, Result, bail, ensure};
use jupyter_protocol::{
    ConnectionInfo, Header, JupyterMessage, JupyterMessageContent, Status, Transport,
    UnknownMessage,
};
use jupyter_zmq_client::{
    Connection, KernelControlConnection, KernelHeartbeatConnection, KernelIoPubXPubConnection,
    KernelShellConnection, KernelStdinConnection, RawMessage, RuntimeError,
    create_kernel_control_connection, create_kernel_heartbeat_connection,
    create_kernel_iopub_xpub_connection, create_kernel_shell_connection,
    create_kernel_stdin_connection,
};
use serde_json::{Value, from_slice};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zeromq::{SocketRecv, ZmqMessage};

/// Stands between who sent a message and its signature.
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// How long a port may be taken.
const TAKEN: Duration = Duration::from_secs(3);

/// The only way of signing that the protocol's library knows.
const SIGNATURE: &str = "hmac-sha256";

/// Reads what Jupyter wrote for us, and refuses what would not be safe.
pub(super) fn read(file: &Path) -> Result<ConnectionInfo> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the connection file {}", file.display()))?;
    let info = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a connection file", file.display()))?;
    check(&info)?;
    Ok(info)
}

/// A kernel runs whatever code it is sent: only signed messages from this machine will do.
pub(super) fn check(info: &ConnectionInfo) -> Result<()> {
    ensure!(
        info.transport == Transport::TCP,
        "transport `{}` is not supported: start Jupyter with `--KernelManager.transport=tcp`",
        info.transport
    );
    let loopback = match info.ip.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => info.ip == "localhost",
    };
    if !loopback {
        bail!(
            "will not listen on {}: anybody on the network could run code here. \
             Start Jupyter with `--KernelManager.ip=127.0.0.1`",
            info.ip
        );
    }
    ensure!(
        info.signature_scheme == SIGNATURE,
        "signature scheme `{}` is not supported: start Jupyter with \
         `--Session.signature_scheme={SIGNATURE}`",
        info.signature_scheme
    );
    ensure!(
        !info.key.is_empty(),
        "the connection file has no key: anybody on this machine could run code here. \
         Start Jupyter without an empty `Session.key`"
    );
    Ok(())
}

/// The kernel's ends of the five channels.
pub(super) struct Sockets {
    pub(super) shell: KernelShellConnection,
    pub(super) control: KernelControlConnection,
    pub(super) stdin: KernelStdinConnection,
    pub(super) iopub: KernelIoPubXPubConnection,
    pub(super) heartbeat: KernelHeartbeatConnection,
}

impl Sockets {
    /// Binds all five.
    pub(super) async fn bind(info: &ConnectionInfo) -> Result<Self> {
        // The library gives each message without a parent a fresh session id: one serves us.
        let session = JupyterMessage::from(Status::starting()).header.session;
        Ok(Self {
            shell: free("shell", info.shell_port, async || {
                create_kernel_shell_connection(info, &session).await
            })
            .await?,
            control: free("control", info.control_port, async || {
                create_kernel_control_connection(info, &session).await
            })
            .await?,
            stdin: free("stdin", info.stdin_port, async || {
                create_kernel_stdin_connection(info, &session).await
            })
            .await?,
            iopub: free("iopub", info.iopub_port, async || {
                create_kernel_iopub_xpub_connection(info, &session).await
            })
            .await?,
            heartbeat: free("heartbeat", info.hb_port, async || {
                create_kernel_heartbeat_connection(info).await
            })
            .await?,
        })
    }
}

/// Binds; waits a little for a port that is taken. After a restart it is the old kernel's, which
/// may still be ending.
async fn free<T>(
    channel: &str,
    port: u16,
    bind: impl AsyncFn() -> Result<T, RuntimeError>,
) -> Result<T> {
    let until = Instant::now() + TAKEN;
    loop {
        match bind().await {
            Err(_) if Instant::now() < until => tokio::time::sleep(TAKEN / 60).await,
            bound => {
                return bound.with_context(|| format!("cannot bind the {channel} port {port}"));
            }
        }
    }
}

/// Answers heartbeats until the kernel stops.
pub(super) async fn beat(mut heartbeat: KernelHeartbeatConnection, shared: Arc<Shared>) {
    loop {
        tokio::select! {
            beaten = heartbeat.single_heartbeat() => if beaten.is_err() {
                // A peer that sends nonsense may fail again at once, for ever.
                tokio::time::sleep(Duration::from_millis(100)).await;
            },
            () = shared.stopped() => return,
        }
    }
}

/// The next message that is signed correctly; `None` when the kernel stops.
///
/// What is not signed, was read before, or has no readable header, is said on standard error and
/// dropped: nobody is known who could get an answer.
pub(super) async fn receive<S: SocketRecv>(
    connection: &mut Connection<S>,
    shared: &Shared,
) -> Option<JupyterMessage> {
    loop {
        let multipart = tokio::select! {
            multipart = connection.socket.recv() => multipart,
            () = shared.stopped() => return None,
        };
        let multipart = match multipart {
            Ok(multipart) => multipart,
            Err(error) => {
                eprintln!("taper: a socket of the kernel has failed: {error}");
                shared.stop();
                return None;
            }
        };
        let signature = signature(&multipart);
        let signed = RawMessage::from_multipart(multipart, &connection.mac);
        if signed.is_ok() && !lock(&shared.signatures).is_new(&signature) {
            eprintln!("taper: dropped a message that was sent before");
            continue;
        }
        match signed.and_then(parse) {
            Ok(message) => return Some(message),
            Err(RuntimeError::VerifyError(_)) => {
                eprintln!("taper: dropped a message with a wrong signature");
            }
            Err(error) => eprintln!("taper: dropped a message: {error}"),
        }
    }
}

/// What stands behind the delimiter.
fn signature(multipart: &ZmqMessage) -> Vec<u8> {
    let mut parts = multipart.iter().skip_while(|part| part[..] != *DELIMITER);
    parts.nth(1).map(|part| part.to_vec()).unwrap_or_default()
}

/// Reads the parts of a message. Content that does not fit its type becomes an unknown message of
/// that type, so that whoever sent it can be told; the library's own reading would lose the sender.
fn parse(raw: RawMessage) -> Result<JupyterMessage, RuntimeError> {
    let header: Header = from_slice(&raw.jparts[0])?;
    let mut content: Value = from_slice(&raw.jparts[3]).unwrap_or_default();
    let kind = &header.msg_type;
    fill_in(kind, &mut content);
    let content =
        JupyterMessageContent::from_type_and_content(kind, content).unwrap_or_else(|error| {
            eprintln!("taper: cannot read the content of a message `{kind}`: {error}");
            let msg_type = kind.clone();
            let content = Value::Null;
            UnknownMessage { msg_type, content }.into()
        });
    Ok(JupyterMessage {
        zmq_identities: raw.zmq_identities,
        parent_header: from_slice(&raw.jparts[1]).ok(),
        metadata: from_slice(&raw.jparts[2]).unwrap_or_default(),
        buffers: raw.jparts[4..].to_vec(),
        channel: None,
        header,
        content,
    })
}
