//! A throttle for updates of displays: a plot that is redrawn a thousand times a second would block
//! the front end.

use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two updates. The last update is always sent.
const INTERVAL: Duration = Duration::from_millis(50);

/// Holds the newest update of each display until it is due.
#[derive(Default)]
pub(super) struct UpdateThrottle {
    held: Vec<JupyterMessage>,
    sent: Option<Instant>,
}

impl UpdateThrottle {
    /// Returns whether a later message of the same kind can replace this message.
    pub(super) fn accepts(message: &JupyterMessage) -> bool {
        display_id(message).is_some()
    }

    /// Holds an update, in place of an older update of the same display.
    pub(super) fn hold(&mut self, message: JupyterMessage) {
        let id = display_id(&message);
        match self.held.iter_mut().find(|held| display_id(held) == id) {
            Some(older) => *older = message,
            None => self.held.push(message),
        }
    }

    /// Returns when to send the updates that are held; `None` if none is held. The time may have passed already.
    pub(super) fn due(&self) -> Option<Instant> {
        let sent = self.sent;
        (!self.held.is_empty()).then(|| sent.map_or_else(Instant::now, |sent| sent + INTERVAL))
    }

    /// Returns the updates to send now.
    pub(super) fn take(&mut self) -> Vec<JupyterMessage> {
        if !self.held.is_empty() {
            self.sent = Some(Instant::now());
        }
        std::mem::take(&mut self.held)
    }
}

fn display_id(message: &JupyterMessage) -> Option<&str> {
    match &message.content {
        JupyterMessageContent::UpdateDisplayData(update) => update.transient.display_id.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jupyter_protocol::{MediaType, Transient, UpdateDisplayData};

    fn update(id: &str, text: &str) -> JupyterMessage {
        let display_id = Some(id.to_owned());
        let update = UpdateDisplayData {
            data: MediaType::Plain(text.to_owned()).into(),
            metadata: Default::default(),
            transient: Transient { display_id },
        };
        update.into()
    }

    fn texts(messages: &[JupyterMessage]) -> Vec<String> {
        let text = |message: &JupyterMessage| match &message.content {
            JupyterMessageContent::UpdateDisplayData(update) => match &update.data.content[..] {
                [MediaType::Plain(text)] => text.clone(),
                _ => String::new(),
            },
            _ => String::new(),
        };
        messages.iter().map(text).collect()
    }

    #[test]
    fn of_each_display_the_newest_is_kept_in_order_of_their_first() {
        let mut updates = UpdateThrottle::default();
        assert_eq!(updates.due(), None);
        for (id, text) in [("a", "a1"), ("b", "b1"), ("a", "a2"), ("a", "a3")] {
            updates.hold(update(id, text));
        }
        assert_eq!(texts(&updates.take()), ["a3", "b1"]);
        assert_eq!(updates.due(), None);
        assert!(updates.take().is_empty());
    }

    #[test]
    fn the_first_goes_at_once_and_the_next_after_the_interval() {
        let mut updates = UpdateThrottle::default();
        updates.hold(update("a", "1"));
        assert!(updates.due().expect("something is held") <= Instant::now());
        updates.take();
        let sent = Instant::now();
        updates.hold(update("a", "2"));
        let due = updates.due().expect("something is held");
        assert!(due > sent && due <= sent + INTERVAL);
    }
}
