//! How often something that changes all the time is drawn anew.

use std::time::{Duration, Instant};

/// No eye follows more, and every picture is work for the front end as well.
const SHORTEST: Duration = Duration::from_millis(100);
/// A picture after an hour need not move as fast as one after a second…
const PART_OF_TIME_SHOWN: u32 = 100;
/// … but should be seen to move.
const LONGEST: Duration = Duration::from_secs(1);
/// How much longer than drawing itself the pause after it is, so that it takes a tenth of the time.
const PAUSE: u32 = 10;

/// Says when it is time to draw again. It has no clock of its own.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    shown_at: Option<Instant>,
    next: Option<Instant>,
}

impl Throttle {
    /// Whether a change should be drawn now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// It was drawn, from `began` to `ended`.
    pub(crate) fn drawn(&mut self, began: Instant, ended: Instant) {
        let shown_at = *self.shown_at.get_or_insert(began);
        let slower = (ended - shown_at) / PART_OF_TIME_SHOWN;
        let pause = (ended - began) * PAUSE;
        self.next = Some(ended + slower.clamp(SHORTEST, LONGEST).max(pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often something is drawn in `seconds`, if it changes 1000 times a second.
    fn drawn(seconds: u64, cost: Duration) -> u32 {
        let (mut pace, start) = (Throttle::default(), Instant::now());
        let mut now = start;
        let mut count = 0;
        while now < start + Duration::from_secs(seconds) {
            now += Duration::from_millis(1);
            if pace.is_due(now) {
                pace.drawn(now, now + cost);
                now += cost;
                count += 1;
            }
        }
        count
    }

    #[test]
    fn the_first_change_is_drawn_at_once_and_the_next_after_a_while() {
        let (mut pace, start) = (Throttle::default(), Instant::now());
        assert!(pace.is_due(start));
        pace.drawn(start, start);
        assert!(!pace.is_due(start + Duration::from_millis(99)));
        assert!(pace.is_due(start + Duration::from_millis(100)));
    }

    #[test]
    fn at_most_ten_pictures_a_second() {
        assert!((95..=100).contains(&drawn(10, Duration::ZERO)));
    }

    #[test]
    fn a_costly_picture_takes_a_tenth_of_the_time() {
        let count = drawn(100, Duration::from_millis(200));
        assert!((40..=50).contains(&count), "{count}");
    }

    #[test]
    fn a_long_training_slows_down_to_one_picture_a_second() {
        let hour = drawn(3600, Duration::ZERO);
        assert!((3600..4000).contains(&hour), "{hour}");
    }
}
