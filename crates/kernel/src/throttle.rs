//! Updates of displays, thinned out: a board that is drawn a thousand times a second would make the
//! page stand still.

use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::time::Duration;
use tokio::time::Instant;

/// Front ends get updates so often at most, and always the last one.
const INTERVAL: Duration = Duration::from_millis(50);

/// Updates that wait; of each display the newest only.
#[derive(Default)]
pub(super) struct Updates {
    held: Vec<JupyterMessage>,
    sent: Option<Instant>,
}

impl Updates {
    /// Whether this is a message that may be replaced by a later one of its kind.
    pub(super) fn is_one(message: &JupyterMessage) -> bool {
        display_id(message).is_some()
    }

    /// Holds an update, in the place of an older one of the same display.
    pub(super) fn hold(&mut self, message: JupyterMessage) {
        let id = display_id(&message);
        match self.held.iter_mut().find(|held| display_id(held) == id) {
            Some(older) => *older = message,
            None => self.held.push(message),
        }
    }

    /// When to send what is held; the first one after a while goes at once.
    pub(super) fn due(&self) -> Option<Instant> {
        let sent = self.sent;
        (!self.held.is_empty()).then(|| sent.map_or_else(Instant::now, |sent| sent + INTERVAL))
    }

    /// What is to be sent now.
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
        let mut updates = Updates::default();
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
        let mut updates = Updates::default();
        updates.hold(update("a", "1"));
        assert!(updates.due().expect("something is held") <= Instant::now());
        updates.take();
        let sent = Instant::now();
        updates.hold(update("a", "2"));
        let due = updates.due().expect("something is held");
        assert!(due > sent && due <= sent + INTERVAL);
    }
}
