//! The connection file, in which Jupyter says where the kernel listens.

use anyhow::{Context, Result, bail};
use jupyter_protocol::{ConnectionInfo, Transport};
use std::net::IpAddr;
use std::path::Path;
use taper_host::error::OnFile as _;

/// The signature scheme that the protocol's library implements.
const SIGNATURE_SCHEME: &str = "hmac-sha256";

/// Reads the connection file and refuses a connection that is not safe.
pub(super) fn read(file: &Path) -> Result<ConnectionInfo> {
    let text = std::fs::read_to_string(file).on_file("read the connection file", file)?;
    let info = serde_json::from_str(&text).with_context(|| {
        let file = file.display();
        format!("{file} is not a connection file: Jupyter writes it when it starts the kernel")
    })?;
    check(&info)?;
    Ok(info)
}

/// Refuses a connection unless its messages are signed and come from this machine: a kernel runs whatever code it
/// receives.
fn check(info: &ConnectionInfo) -> Result<()> {
    let local = match info.ip.parse::<IpAddr>() {
        _ if info.transport == Transport::IPC => true,
        Ok(address) => address.is_loopback(),
        Err(_) => info.ip == "localhost",
    };
    if !local {
        bail!(
            "the kernel must not listen on {}: anybody on the network could run code here. \
             Start Jupyter with `--KernelManager.ip=127.0.0.1`",
            info.ip
        );
    }
    if info.signature_scheme != SIGNATURE_SCHEME {
        bail!(
            "signature scheme `{}` is not supported: start Jupyter with \
             `--Session.signature_scheme={SIGNATURE_SCHEME}`",
            info.signature_scheme
        );
    }
    if info.key.is_empty() {
        bail!(
            "the connection file has no key: anybody on this machine could run code here. \
             Start Jupyter without an empty `Session.key`"
        );
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a connection that is accepted.
    pub(crate) fn info() -> ConnectionInfo {
        ConnectionInfo {
            ip: "127.0.0.1".to_owned(),
            transport: Transport::TCP,
            shell_port: 1,
            iopub_port: 2,
            stdin_port: 3,
            control_port: 4,
            hb_port: 5,
            key: "a key".to_owned(),
            signature_scheme: "hmac-sha256".to_owned(),
            kernel_name: None,
        }
    }

    #[test]
    fn only_signed_messages_from_this_machine() {
        for ip in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
            let ip = ip.to_owned();
            check(&ConnectionInfo { ip, ..info() }).unwrap();
        }
        let refused = [
            ("0.0.0.0", "hmac-sha256", "a key", Transport::TCP),
            ("*", "hmac-sha256", "a key", Transport::TCP),
            ("192.168.0.7", "hmac-sha256", "a key", Transport::TCP),
            ("127.0.0.1", "hmac-md5", "a key", Transport::TCP),
            ("127.0.0.1", "hmac-sha256", "", Transport::TCP),
            ("/tmp/socket", "hmac-sha256", "", Transport::IPC),
        ];
        for (ip, scheme, key, transport) in refused {
            let asked = ConnectionInfo {
                ip: ip.to_owned(),
                signature_scheme: scheme.to_owned(),
                key: key.to_owned(),
                transport,
                ..info()
            };
            let error = check(&asked).unwrap_err().to_string();
            assert!(error.contains("Start Jupyter") || error.contains("start Jupyter"));
        }
    }
}
