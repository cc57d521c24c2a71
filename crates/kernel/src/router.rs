//! A ROUTER socket: receives messages of all peers, and sends each reply to the peer that it names. It takes no more memory than
//! a [`Budget`] for messages that are not verified.

use super::budget::{Budget, Share};
use super::listener::{self, Listener, Stream};
use super::outgoing::Socket;
use super::wire::Frames;
use super::zmtp;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use taper_host::mutex::lock;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::AbortHandle;

/// How many messages wait for a peer that does not read; further ones are dropped.
const REPLIES: usize = 256;

/// A message, and its share of the budget until it is verified.
pub(super) type Unverified = (Frames, Share);

/// Receives the messages of all peers. Dropping it ends the socket.
pub(super) struct Reader {
    messages: Receiver<Unverified>,
    accept: AbortHandle,
}

/// Sends messages; their first frame is the identity of the peer.
pub(super) struct Writer(Arc<Peers>);

#[derive(Default)]
struct Peers {
    queues: Mutex<HashMap<Vec<u8>, Sender<Frames>>>,
    /// For the identities of peers that name none.
    count: AtomicU32,
}

/// Creates a socket for the peers that connect to `listener`.
pub(super) fn router(listener: Listener, budget: Arc<Budget>) -> (Writer, Reader) {
    let peers = Arc::new(Peers::default());
    // One: a connection waits until its message is taken, and does not fill a queue.
    let (sender, messages) = channel(1);
    let served = peers.clone();
    let accept = tokio::spawn(listener::serve_all(listener, move |stream| {
        serve(stream, served.clone(), sender.clone(), budget.clone())
    }));
    let accept = accept.abort_handle();
    (Writer(peers), Reader { messages, accept })
}

impl Reader {
    /// Returns the next message, which begins with the identity of the peer; `None` when the socket has ended.
    pub(super) async fn receive(&mut self) -> Option<Unverified> {
        self.messages.recv().await
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.accept.abort();
    }
}

impl Socket for Writer {
    fn queue(&mut self, mut message: Frames) -> Result<(), &'static str> {
        if message.len() < 2 {
            return Err("it has no receiver");
        }
        let content = message.split_off(1);
        let queues = lock(&self.0.queues);
        let queue = queues
            .get(&message[0][..])
            .ok_or("the front end has left")?;
        let queued = queue.try_send(content);
        queued.map_err(|_| "the front end does not read")
    }
}

impl Peers {
    /// Adds a peer under its identity, or under a new one if it has none. Returns `None` if another peer has this identity:
    /// a stranger must not get the replies to another front end.
    fn add(&self, identity: Vec<u8>, queue: Sender<Frames>) -> Option<Vec<u8>> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let identity = match identity.is_empty() {
            // No peer may name an identity that begins with a zero.
            true => [&[0][..], &number.to_be_bytes()].concat(),
            false if identity[0] == 0 => return None,
            false => identity,
        };
        let mut queues = lock(&self.queues);
        if queues.contains_key(&identity) {
            return None;
        }
        queues.insert(identity.clone(), queue);
        Some(identity)
    }
}

/// Serves a peer until it leaves.
async fn serve(
    stream: Stream,
    peers: Arc<Peers>,
    messages: Sender<Unverified>,
    budget: Arc<Budget>,
) -> io::Result<()> {
    let (read, mut write) = stream;
    let mut read = BufReader::new(read);
    zmtp::greet(&mut read, &mut write, "ROUTER").await?;
    let identity = zmtp::read_identity(&mut read).await?;
    let (queue, mut replies) = channel(REPLIES);
    let Some(identity) = peers.add(identity, queue) else {
        return Ok(());
    };
    let listen = async {
        loop {
            let Some((content, share)) = zmtp::read_message(&mut read, Share::of(&budget)).await?
            else {
                eprintln!("taper: dropped a message that is too large");
                continue;
            };
            let mut message = vec![identity.clone().into()];
            message.extend(content);
            if messages.send((message, share)).await.is_err() {
                return Ok(());
            }
        }
    };
    let send = async {
        while let Some(message) = replies.recv().await {
            write.write_all(&zmtp::encode(&message)).await?;
        }
        Ok(())
    };
    let ended: io::Result<()> = tokio::select! {
        ended = listen => ended,
        ended = send => ended,
    };
    lock(&peers.queues).remove(&identity);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};
    use zeromq::util::PeerIdentity;
    use zeromq::{DealerSocket, Socket as _, SocketOptions, SocketRecv, SocketSend, ZmqMessage};

    const LIMIT: usize = 1 << 20;

    async fn socket() -> (Writer, Reader, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let budget = Arc::new(Budget::with_limit(LIMIT));
        let (writer, reader) = router(Listener::Tcp(listener), budget);
        (writer, reader, port)
    }

    async fn dealer(port: u16, identity: Option<&str>) -> DealerSocket {
        let mut options = SocketOptions::default();
        if let Some(identity) = identity {
            options.peer_identity(PeerIdentity::try_from(identity.as_bytes().to_vec()).unwrap());
        }
        let mut dealer = DealerSocket::with_options(options);
        let endpoint = format!("tcp://127.0.0.1:{port}");
        dealer.connect(&endpoint).await.unwrap();
        dealer
    }

    /// Connects by hand, and sends the beginning of a message.
    async fn half(port: u16, bytes: usize) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut read, mut write) = stream.split();
        zmtp::greet(&mut read, &mut write, "DEALER").await.unwrap();
        zmtp::read_identity(&mut read).await.unwrap();
        // READY, then the header of a long frame.
        write.write_all(b"\x04\x06\x05READY\x02").await.unwrap();
        write
            .write_all(&(800_u64 << 20).to_be_bytes())
            .await
            .unwrap();
        write.write_all(&vec![0; bytes]).await.unwrap();
        stream
    }

    #[tokio::test]
    async fn a_reply_reaches_the_peer_that_asked() {
        let (mut writer, mut reader, port) = socket().await;
        let mut dealers = [dealer(port, Some("one")).await, dealer(port, None).await];
        for dealer in &mut dealers {
            dealer.send(ZmqMessage::from("question")).await.unwrap();
            let (mut reply, _share) = reader.receive().await.unwrap();
            let question = reply.split_off(1);
            assert_eq!(question[0][..], *b"question");
            reply.push(vec![1; 1000].into());
            writer.queue(reply).unwrap();
            assert_eq!(dealer.recv().await.unwrap().get(0).unwrap().len(), 1000);
        }
        let unknown = vec!["nobody".into(), vec![1].into()];
        assert!(writer.queue(unknown).is_err());
    }

    #[tokio::test]
    async fn a_second_peer_does_not_get_the_replies_to_the_first() {
        let (mut writer, mut reader, port) = socket().await;
        let mut first = dealer(port, Some("one")).await;
        first.send(ZmqMessage::from("question")).await.unwrap();
        reader.receive().await.unwrap();
        // Refused: its connection ends.
        let mut second = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let mut greeting = [&[0xff; 1][..], &[0; 9], &[3, 0], b"NULL", &[0; 48]].concat();
        greeting.extend(b"\x04\x16\x05READY\x08Identity\0\0\0\x03one");
        second.write_all(&greeting).await.unwrap();
        second.read_to_end(&mut Vec::new()).await.unwrap();
        writer.queue(vec!["one".into(), vec![1].into()]).unwrap();
        assert_eq!(first.recv().await.unwrap().get(0).unwrap()[..], [1]);
    }

    #[tokio::test]
    async fn peers_that_never_end_a_message_leave_room_for_cells() {
        let (_writer, mut reader, port) = socket().await;
        let mut halves = Vec::new();
        for _ in 0..4 {
            halves.push(half(port, LIMIT).await);
        }
        let mut front = dealer(port, Some("front")).await;
        front.send(ZmqMessage::from(vec![7; 40_000])).await.unwrap();
        let (message, _share) = reader.receive().await.unwrap();
        assert_eq!(message[1].len(), 40_000);
    }
}
