//! The iopub socket. Each subscriber has a queue of its own, so that no subscriber waits for another.
//!
//! A queue holds up to a limit of bytes; the messages are shared by all queues. Beyond that, messages are dropped
//! for this subscriber alone, except for the status of the kernel: a front end that reads again must see
//! that a request has ended. A notice then reports how many messages are missing ([`Event::CaughtUp`]).

use super::listener::{self, Listener, Stream};
use super::outgoing::Socket;
use super::wire::Frames;
use super::zmtp::{self, Received};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::{io, mem};
use taper_host::mutex::lock;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

/// The limit of a queue in bytes. It is above what one cell can print and show (the session limits both), so only
/// a front end that does not read for a long time misses messages.
const QUEUE_BYTES: usize = 96 << 20;

/// The topic of messages that are never dropped.
const STATUS: &[u8] = b"status";
/// The index of the parent header in a message: topic, delimiter, signature, header, parent header.
const PARENT_HEADER: usize = 4;

/// What happened to a subscriber.
#[derive(Debug)]
pub(super) enum Event {
    /// It has subscribed to a topic.
    Subscribed { topic: String },
    /// It has read all that was kept for it, after messages were dropped.
    CaughtUp {
        subscriber: u64,
        dropped: u64,
        /// The parent header of the first dropped message, as JSON.
        parent_header: Vec<u8>,
    },
}

/// The iopub socket: accepts subscribers and sends them the messages.
pub(super) struct Publisher {
    subscribers: Arc<Subscribers>,
    events: UnboundedReceiver<Event>,
    accept: AbortHandle,
    /// The only subscriber to which messages are sent; `None` if all receive them.
    pub(super) only: Option<u64>,
}

struct Subscribers {
    limit: usize,
    queues: Mutex<BTreeMap<u64, Queue>>,
    events: UnboundedSender<Event>,
}

/// The topics of one subscriber, and the messages that it has yet to receive.
#[derive(Default)]
struct Queue {
    topics: Vec<Vec<u8>>,
    messages: VecDeque<Arc<Vec<u8>>>,
    bytes: usize,
    dropped: u64,
    parent_header: Vec<u8>,
    /// Whether no message will come any more.
    closed: bool,
    changed: Arc<Notify>,
}

impl Publisher {
    /// Creates a publisher for the subscribers that connect to `listener`.
    pub(super) fn new(listener: Listener) -> Self {
        Self::with_limit(listener, QUEUE_BYTES)
    }

    fn with_limit(listener: Listener, limit: usize) -> Self {
        let (sender, events) = unbounded_channel();
        let subscribers = Arc::new(Subscribers {
            limit,
            queues: Mutex::default(),
            events: sender,
        });
        let (served, mut id) = (subscribers.clone(), 0);
        let accept = tokio::spawn(listener::serve_all(listener, move |stream| {
            id += 1;
            serve(stream, id, served.clone())
        }));
        let accept = accept.abort_handle();
        Self {
            subscribers,
            events,
            accept,
            only: None,
        }
    }

    /// Returns the next event.
    pub(super) async fn event(&mut self) -> Event {
        match self.events.recv().await {
            Some(event) => event,
            None => unreachable!("the publisher holds a sender"),
        }
    }

    fn publish(&self, message: &Frames) {
        let Some(topic) = message.first() else { return };
        let mut bytes = None;
        for (id, queue) in lock(&self.subscribers.queues).iter_mut() {
            if self.only.is_some_and(|only| only != *id) || !queue.wants(topic) {
                continue;
            }
            let bytes = bytes.get_or_insert_with(|| Arc::new(zmtp::encode(message)));
            let is_full = queue.bytes + bytes.len() > self.subscribers.limit && queue.bytes > 0;
            if is_full && topic[..] != *STATUS {
                queue.drop_message(message);
            } else {
                queue.push(bytes.clone());
            }
        }
    }
}

impl Drop for Publisher {
    /// Stops accepting connections. The open ones end when the messages in their queues are sent.
    fn drop(&mut self) {
        self.accept.abort();
        for queue in lock(&self.subscribers.queues).values_mut() {
            queue.closed = true;
            queue.changed.notify_one();
        }
    }
}

impl Socket for Publisher {
    fn queue(&mut self, message: Frames) -> Result<(), &'static str> {
        self.publish(&message);
        Ok(())
    }
}

impl Queue {
    fn wants(&self, topic: &[u8]) -> bool {
        self.topics.iter().any(|prefix| topic.starts_with(prefix))
    }

    fn push(&mut self, message: Arc<Vec<u8>>) {
        self.bytes += message.len();
        self.messages.push_back(message);
        self.changed.notify_one();
    }

    fn pop(&mut self) -> Option<Arc<Vec<u8>>> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }

    fn drop_message(&mut self, message: &Frames) {
        if self.dropped == 0 {
            self.parent_header = message
                .get(PARENT_HEADER)
                .map_or(Vec::new(), |h| h.to_vec());
            eprintln!("taper: a front end does not read its outputs; further ones are dropped");
        }
        self.dropped += 1;
    }
}

/// Serves a subscriber until it leaves, or the publisher is dropped.
async fn serve(stream: Stream, id: u64, subscribers: Arc<Subscribers>) -> io::Result<()> {
    let (read, mut write) = stream;
    let mut read = BufReader::new(read);
    zmtp::greet(&mut read, &mut write, "XPUB").await?;
    let changed = Arc::new(Notify::new());
    let queue = Queue {
        changed: changed.clone(),
        ..Queue::default()
    };
    lock(&subscribers.queues).insert(id, queue);
    let listen = async {
        loop {
            let received = zmtp::read_subscription(&mut read).await?;
            subscribers.received(id, received);
        }
    };
    let send = async {
        while let Some(message) = subscribers.next(id, &changed).await {
            write.write_all(&message).await?;
        }
        Ok(())
    };
    let ended = tokio::select! {
        ended = listen => ended,
        ended = send => ended,
    };
    lock(&subscribers.queues).remove(&id);
    ended
}

impl Subscribers {
    fn received(&self, id: u64, received: Received) {
        let mut queues = lock(&self.queues);
        let Some(queue) = queues.get_mut(&id) else {
            return;
        };
        match received {
            Received::Subscribe(topic) => {
                queue.topics.push(topic.clone());
                let topic = String::from_utf8_lossy(&topic).into_owned();
                let _ = self.events.send(Event::Subscribed { topic });
            }
            Received::Unsubscribe(topic) => {
                if let Some(at) = queue.topics.iter().position(|one| *one == topic) {
                    queue.topics.remove(at);
                }
            }
            Received::Other => {}
        }
    }

    /// Returns the next message to send to a subscriber; `None` when there will be none.
    async fn next(&self, id: u64, changed: &Notify) -> Option<Arc<Vec<u8>>> {
        loop {
            {
                let mut queues = lock(&self.queues);
                let queue = queues.get_mut(&id)?;
                if let Some(message) = queue.pop() {
                    return Some(message);
                }
                if queue.closed {
                    return None;
                }
                if queue.dropped > 0 {
                    let _ = self.events.send(Event::CaughtUp {
                        subscriber: id,
                        dropped: mem::take(&mut queue.dropped),
                        parent_header: mem::take(&mut queue.parent_header),
                    });
                }
            }
            changed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};
    use zeromq::{Socket as _, SocketRecv, SubSocket};

    const LIMIT: usize = 1 << 20;

    async fn publisher() -> (Publisher, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (Publisher::with_limit(Listener::Tcp(listener), LIMIT), port)
    }

    fn message(topic: &str, size: usize) -> Frames {
        let content = "x".repeat(size);
        let parts = [
            topic,
            "<IDS|MSG>",
            "signature",
            "header",
            "parent",
            &content,
        ];
        parts.map(|part| part.to_owned().into()).to_vec()
    }

    /// Connects by hand, subscribes to everything, and reads nothing.
    async fn silent(publisher: &mut Publisher, port: u16) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut read, mut write) = stream.split();
        zmtp::greet(&mut read, &mut write, "SUB").await.unwrap();
        write.write_all(&[0, 1, 1]).await.unwrap();
        assert!(matches!(publisher.event().await, Event::Subscribed { topic } if topic.is_empty()));
        stream
    }

    #[tokio::test]
    async fn a_subscriber_that_does_not_read_harms_no_other() {
        let (mut publisher, port) = publisher().await;
        let mut silent = silent(&mut publisher, port).await;
        let mut reader = SubSocket::new();
        reader
            .connect(&format!("tcp://127.0.0.1:{port}"))
            .await
            .unwrap();
        reader.subscribe("").await.unwrap();
        publisher.event().await;
        // More than the buffers of the system hold.
        for size in 0..400 {
            publisher
                .queue(message("display_data", 100_000 + size))
                .unwrap();
            let received = reader.recv().await.unwrap();
            assert_eq!(received.get(5).unwrap().len(), 100_000 + size);
        }
        publisher.queue(message("status", 1)).unwrap();
        assert_eq!(reader.recv().await.unwrap().get(0).unwrap()[..], *STATUS);

        // It reads again: the status has come, and what was dropped is reported.
        let mut received: Vec<u8> = Vec::new();
        let mut buffer = vec![0; 1 << 20];
        let caught_up = loop {
            tokio::select! {
                event = publisher.event() => break event,
                read = silent.read(&mut buffer) => received.extend(&buffer[..read.unwrap()]),
            }
        };
        let Event::CaughtUp {
            dropped,
            parent_header,
            ..
        } = caught_up
        else {
            panic!("{caught_up:?}");
        };
        assert!(dropped > 0 && parent_header == b"parent", "{dropped}");
        // All is written, but not all is read.
        let has_status = |received: &[u8]| {
            let tail = &received[received.len().saturating_sub(200)..];
            tail.windows(STATUS.len()).any(|part| part == STATUS)
        };
        while !has_status(&received) {
            let length = silent.read(&mut buffer).await.unwrap();
            assert!(length > 0, "{}", received.len());
            received.extend(&buffer[..length]);
        }
    }

    #[tokio::test]
    async fn only_topics_that_are_subscribed_are_sent() {
        let (mut publisher, port) = publisher().await;
        let mut reader = SubSocket::new();
        reader
            .connect(&format!("tcp://127.0.0.1:{port}"))
            .await
            .unwrap();
        reader.subscribe("stream").await.unwrap();
        let event = publisher.event().await;
        assert!(matches!(event, Event::Subscribed { topic } if topic == "stream"));
        for topic in ["status", "stream"] {
            publisher.queue(message(topic, 300)).unwrap();
        }
        assert_eq!(reader.recv().await.unwrap().get(0).unwrap()[..], *b"stream");
    }

    #[tokio::test]
    async fn what_is_queued_is_sent_when_the_publisher_is_dropped() {
        let (mut publisher, port) = publisher().await;
        let mut silent = silent(&mut publisher, port).await;
        publisher.queue(message("stream", 10)).unwrap();
        drop(publisher);
        let mut received = Vec::new();
        silent.read_to_end(&mut received).await.unwrap();
        assert!(received.ends_with(b"xxxxxxxxxx"), "{received:?}");
    }
}
