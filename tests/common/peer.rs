//! A kernel without an evaluator, and a peer that writes ZMTP by hand, so that it can write anything else too.

use ring::hmac::{HMAC_SHA256, Key, sign};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long a reply may take, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const KEY: &[u8] = b"the key";
const CHANNELS: [&str; 5] = ["shell", "iopub", "stdin", "control", "hb"];

/// A kernel that replies to each cell with an error, in a thread.
pub(crate) struct Kernel {
    ports: [u16; 5],
    key: Key,
    thread: std::thread::JoinHandle<()>,
}

impl Kernel {
    pub(crate) fn start() -> Kernel {
        let listeners = CHANNELS.map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("a port").port());
        let mut info = json!({"transport": "tcp", "ip": "127.0.0.1", "signature_scheme": "hmac-sha256",
            "key": String::from_utf8_lossy(KEY), "kernel_name": "taper"});
        for (channel, port) in CHANNELS.iter().zip(ports) {
            info[format!("{channel}_port")] = port.into();
        }
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(info.to_string().as_bytes()).expect("a file");
        let thread = std::thread::spawn(move || {
            let refused = || anyhow::bail!("there is no evaluator");
            taper_kernel::serve(file.path(), taper_session::is_complete, refused)
                .expect("it serves");
        });
        Kernel {
            ports,
            key: Key::new(HMAC_SHA256, KEY),
            thread,
        }
    }

    /// Connects to a channel.
    pub(crate) fn connect(&self, channel: &str) -> Peer {
        let at = CHANNELS.iter().position(|name| *name == channel);
        let port = self.ports[at.expect("a channel")];
        let until = Instant::now() + LIMIT;
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{channel}: {error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        let mut peer = Peer(stream);
        let mut greeting = [0; 64];
        greeting[0] = 0xff;
        greeting[9] = 0x7f;
        greeting[10] = 3;
        greeting[12..16].copy_from_slice(b"NULL");
        peer.send_raw(&greeting);
        peer.send_raw(b"\x04\x06\x05READY");
        peer.read(64);
        let (flags, _) = peer.read_frame();
        assert_eq!(flags & 4, 4, "a command READY");
        peer
    }

    /// Returns the parts of a signed message.
    pub(crate) fn message(&self, kind: &str, id: &str, content: &[u8]) -> Vec<Vec<u8>> {
        let header = json!({"msg_id": id, "msg_type": kind, "username": "", "session": "s",
            "date": "2026-01-01T00:00:00Z", "version": "5.3"});
        let parts = [header.to_string().as_bytes(), b"{}", b"{}", content].map(<[u8]>::to_vec);
        [&[b"<IDS|MSG>".to_vec(), self.sign(&parts)][..], &parts].concat()
    }

    pub(crate) fn sign(&self, parts: &[Vec<u8>]) -> Vec<u8> {
        let tag = sign(&self.key, &parts.concat());
        let hex: String = tag
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        hex.into_bytes()
    }

    /// Ends the kernel as a front end does.
    pub(crate) fn end(self) {
        let mut control = self.connect("control");
        control.send(&self.message("shutdown_request", "end", br#"{"restart": false}"#));
        control.skip_to_reply("end");
        self.thread.join().expect("it ends without a panic");
    }
}

/// A connection to a channel of a kernel.
pub(crate) struct Peer(TcpStream);

impl Peer {
    pub(crate) fn send(&mut self, parts: &[Vec<u8>]) {
        self.send_raw(&Self::frames(parts));
    }

    /// Sends bytes. The kernel may have closed the connection.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// Returns a message as frames.
    pub(crate) fn frames(parts: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            bytes.push(2 | u8::from(number + 1 < parts.len()));
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// Reads replies until the reply to the request with this id.
    pub(crate) fn skip_to_reply(&mut self, id: &str) {
        while self.reply() != id {}
    }

    /// Fails unless the next reply to a request of the test is to this one; replies to other messages are possible.
    pub(crate) fn expect_reply(&mut self, id: &str) {
        loop {
            let found = self.reply();
            if found == id {
                return;
            }
            assert!(!found.starts_with("alive"), "a second reply to {found}");
        }
    }

    /// Returns the id of the request to which the next reply belongs.
    fn reply(&mut self) -> String {
        let mut parts = Vec::new();
        loop {
            let (flags, part) = self.read_frame();
            parts.push(part);
            if flags & 1 == 0 {
                break;
            }
        }
        let parent: Value = serde_json::from_slice(&parts[3]).expect("a parent header");
        parent["msg_id"].as_str().unwrap_or_default().to_owned()
    }

    fn read_frame(&mut self) -> (u8, Vec<u8>) {
        let flags = self.read(1)[0];
        let length = match flags & 2 {
            0 => u64::from(self.read(1)[0]),
            _ => u64::from_be_bytes(self.read(8).try_into().expect("eight bytes")),
        };
        (flags, self.read(length as usize))
    }

    fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).expect("the kernel answers");
        bytes
    }
}
