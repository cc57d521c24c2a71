//! Limits how often a live display is redrawn.

use std::time::{Duration, Instant};

/// The shortest pause between two drawings. More than ten updates a second are not visible, and each costs
/// the front end time.
const SHORTEST: Duration = Duration::from_millis(100);
/// The ratio of the time since the first drawing to the pause, which grows with that time…
const TIME_SHOWN_PER_PAUSE: u32 = 100;
/// … up to this maximum, so that a display still moves visibly after hours.
const LONGEST: Duration = Duration::from_secs(1);
/// The ratio of a pause to the duration of the drawing before it: drawing takes at most about a tenth of
/// the time.
const PAUSE_PER_DRAWING: u32 = 10;

/// Decides when to redraw. Its callers pass the time.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    first_drawn: Option<Instant>,
    next: Option<Instant>,
}

impl Throttle {
    /// Returns whether a change should be drawn now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// Records that the display was drawn from `began` to `ended`.
    pub(crate) fn drawn(&mut self, began: Instant, ended: Instant) {
        let first_drawn = *self.first_drawn.get_or_insert(began);
        let slower = (ended - first_drawn) / TIME_SHOWN_PER_PAUSE;
        let pause = (ended - began) * PAUSE_PER_DRAWING;
        self.next = Some(ended + slower.clamp(SHORTEST, LONGEST).max(pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the drawings in `seconds` of a display that changes 1000 times a second.
    fn drawn(seconds: u64, cost: Duration) -> u32 {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let mut now = start;
        let mut count = 0;
        while now < start + Duration::from_secs(seconds) {
            now += Duration::from_millis(1);
            if throttle.is_due(now) {
                throttle.drawn(now, now + cost);
                now += cost;
                count += 1;
            }
        }
        count
    }

    #[test]
    fn the_first_change_is_drawn_at_once_and_the_next_after_a_pause() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        assert!(throttle.is_due(start));
        throttle.drawn(start, start);
        assert!(!throttle.is_due(start + Duration::from_millis(99)));
        assert!(throttle.is_due(start + Duration::from_millis(100)));
    }

    #[test]
    fn at_most_ten_drawings_a_second() {
        assert!((95..=100).contains(&drawn(10, Duration::ZERO)));
    }

    #[test]
    fn slow_drawing_takes_a_tenth_of_the_time() {
        let count = drawn(100, Duration::from_millis(200));
        assert!((40..=50).contains(&count), "{count}");
    }

    #[test]
    fn drawing_slows_down_to_once_a_second() {
        let hour = drawn(3600, Duration::ZERO);
        assert!((3600..4000).contains(&hour), "{hour}");
    }
}
