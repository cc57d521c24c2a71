//! The progress bars of nested loops, as text and as HTML.

use crate::notebook::MimeBundle;
use crate::notebook::escape::Escaped;
use crate::notebook::live::LiveContent;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The bar of a loop, followed by the bars of the loops inside it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bars {
    rows: Vec<Row>,
    /// The number of loops that have begun, which is the id of the last one.
    begun: u64,
}

#[derive(Clone, Debug)]
struct Row {
    id: u64,
    description: String,
    done: usize,
    total: Option<usize>,
    began: Instant,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    at: Instant,
    complete: bool,
}

impl Bars {
    /// Returns whether the outermost loop is still running.
    pub(super) fn is_running(&self) -> bool {
        self.rows.first().is_some_and(|row| row.end.is_none())
    }

    /// Adds a loop inside the innermost running loop and removes the loops inside it that have ended. Returns
    /// the id of the new loop.
    pub(super) fn begin(&mut self, description: &str, total: Option<usize>, now: Instant) -> u64 {
        let running = self.rows.iter().rposition(|row| row.end.is_none());
        self.rows.truncate(running.map_or(0, |last| last + 1));
        self.begun += 1;
        self.rows.push(Row {
            id: self.begun,
            description: description.to_owned(),
            done: 0,
            total,
            began: now,
            end: None,
        });
        self.begun
    }

    /// Counts one more item as done. Returns whether anything changed.
    pub(super) fn step(&mut self, id: u64) -> bool {
        let row = self.running(id);
        row.map(|(_, row)| row.done += 1).is_some()
    }

    /// Ends a loop; `complete` is false if the loop was left early. Returns whether anything changed.
    pub(super) fn finish(&mut self, id: u64, complete: bool, now: Instant) -> bool {
        let Some((index, row)) = self.running(id) else {
            return false;
        };
        row.end = Some(End { at: now, complete });
        // If the outer loop ended early, the inner bars stay: they show how far its last step got.
        if complete && index == 0 {
            self.rows.truncate(1);
        }
        true
    }

    fn running(&mut self, id: u64) -> Option<(usize, &mut Row)> {
        let mut rows = self.rows.iter_mut().enumerate();
        rows.find(|(_, row)| row.id == id && row.end.is_none())
    }

    fn at(&self, now: Instant) -> MimeBundle {
        let text: Vec<String> = self.rows.iter().map(|row| row.text(now)).collect();
        let rows: String = self.rows.iter().map(|row| row.html(now)).collect();
        let columns = "display:grid;grid-template-columns:max-content 14em auto;\
                       gap:0 0.6em;align-items:center";
        let html = format!("<div style=\"{columns}\">{rows}</div>");
        MimeBundle::text(text.join("\n")).with("text/html", html)
    }
}

impl LiveContent for Bars {
    const IS_TEXT: bool = true;

    fn bundle(&self) -> MimeBundle {
        self.at(Instant::now())
    }
}

/// The length of the bar in characters.
const WIDTH: usize = 20;

impl Row {
    /// Returns the row as text: `epoch [#####     ] 50/100 1.2 s, 41.7 it/s`.
    fn text(&self, now: Instant) -> String {
        let mut text = self.description.clone();
        if !text.is_empty() {
            text.push(' ');
        }
        if self.total.is_some() {
            let full = (self.fraction() * WIDTH as f64) as usize;
            let _ = write!(text, "[{:WIDTH$}] ", "#".repeat(full));
        }
        text + &self.counts(now)
    }

    /// Returns three cells of the grid: name, bar, counts and times.
    fn html(&self, now: Instant) -> String {
        let name = Escaped(&self.description);
        let label = Escaped(match self.description.as_str() {
            "" => "progress",
            description => description,
        });
        let value = match (self.total, self.end) {
            // A bar without a value is animated.
            (None, None) => String::new(),
            (None, Some(_)) => " value=\"1\"".to_owned(),
            (Some(_), _) => format!(" value=\"{:.4}\"", self.fraction()),
        };
        let counts = self.counts(now);
        format!(
            "<span>{name}</span>\
             <progress max=\"1\"{value} aria-label=\"{label}\" \
             style=\"width:100%;accent-color:#0072b2\"></progress>\
             <code style=\"background:none;color:inherit\">{counts}</code>"
        )
    }

    /// Returns the fraction of items that are done, from 0 to 1.
    fn fraction(&self) -> f64 {
        match self.total {
            Some(total) if total > 0 => (self.done as f64 / total as f64).min(1.0),
            Some(_) => 1.0,
            None => 0.0,
        }
    }

    /// Returns counts, times and rate: `50/100 1.2 s, 41.7 it/s, 1.2 s left`.
    fn counts(&self, now: Instant) -> String {
        let until = self.end.map_or(now, |end| end.at);
        let spent = until.saturating_duration_since(self.began);
        let mut text = match self.total {
            Some(total) => format!("{}/{total} {}", self.done, duration(spent)),
            None => format!("{} it {}", self.done, duration(spent)),
        };
        if self.done > 0 && !spent.is_zero() {
            let each = spent.as_secs_f64() / self.done as f64;
            let _ = write!(text, ", {}", rate(each));
            if let (Some(total), None) = (self.total, self.end) {
                let left = each * total.saturating_sub(self.done) as f64;
                // The total of a loop that never ends is so large that the time is not a `Duration`.
                if let Ok(left) = Duration::try_from_secs_f64(left) {
                    let _ = write!(text, ", {} left", duration(left));
                }
            }
        }
        if self.end.is_some_and(|end| !end.complete) {
            text += ", stopped";
        }
        text
    }
}

/// Formats the rate of steps that take this many seconds each: `41.7 it/s`, `80.0 s/it`.
fn rate(seconds: f64) -> String {
    let per_second = 1.0 / seconds;
    match per_second {
        r if r < 1.0 => format!("{seconds:.1} s/it"),
        r if r < 1000.0 => format!("{r:.1} it/s"),
        r => format!("{r:.0} it/s"),
    }
}

/// Formats a duration: `1.2 s`, `3 min 05 s`, `2 h 07 min`.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn text(bars: &Bars, now: Instant) -> String {
        bars.at(now)
            .get("text/plain")
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn a_running_bar_shows_count_rate_and_time_left() {
        let (mut bars, start) = (Bars::default(), Instant::now());
        let id = bars.begin("epoch 1", Some(100), start);
        assert_eq!(
            text(&bars, start),
            "epoch 1 [                    ] 0/100 0.0 s"
        );
        (0..50).for_each(|_| assert!(bars.step(id)));
        assert_eq!(
            text(&bars, start + seconds(1.25)),
            "epoch 1 [##########          ] 50/100 1.2 s, 40.0 it/s, 1.2 s left"
        );
    }

    #[test]
    fn a_loop_without_a_visible_end_has_no_time_left() {
        let (mut bars, start) = (Bars::default(), Instant::now());
        let id = bars.begin("", Some(usize::MAX), start);
        bars.step(id);
        let shown = text(&bars, start + seconds(2.0));
        assert!(
            shown.ends_with("] 1/18446744073709551615 2.0 s, 2.0 s/it"),
            "{shown}"
        );
        // A step may take less than a nanosecond.
        bars.step(id);
        bars.step(id);
        let shown = text(&bars, start + Duration::from_nanos(1));
        assert!(shown.contains("0.0 s, 3000000000 it/s, "), "{shown}");
    }

    #[test]
    fn a_bar_keeps_its_last_state() {
        let (mut bars, start) = (Bars::default(), Instant::now());
        let id = bars.begin("", Some(4), start);
        (0..4).for_each(|_| assert!(bars.step(id)));
        assert!(bars.finish(id, true, start + seconds(2.0)));
        let ended = "[####################] 4/4 2.0 s, 2.0 it/s";
        assert_eq!(text(&bars, start + seconds(9.0)), ended);
        // Neither a late step nor dropping the iterator changes it.
        assert!(!bars.step(id) && !bars.finish(id, false, start + seconds(9.0)));
        assert_eq!(text(&bars, start + seconds(9.0)), ended);

        let mut bars = Bars::default();
        let id = bars.begin("", None, start);
        bars.step(id);
        bars.finish(id, false, start + seconds(80.0));
        assert_eq!(text(&bars, start), "1 it 1 min 20 s, 80.0 s/it, stopped");
    }

    #[test]
    fn inner_bars_are_replaced_and_end_with_the_outer_one() {
        let (mut bars, now) = (Bars::default(), Instant::now());
        let outer = bars.begin("outer", Some(2), now);
        let first = bars.begin("first", Some(1), now);
        bars.step(first);
        bars.finish(first, true, now);
        assert_eq!(text(&bars, now).lines().count(), 2);
        bars.step(outer);
        let second = bars.begin("second", Some(1), now);
        let shown = text(&bars, now);
        assert!(
            shown.lines().count() == 2 && shown.contains("second"),
            "{shown}"
        );
        bars.finish(second, false, now);
        bars.finish(outer, true, now);
        assert_eq!(text(&bars, now), "outer [##########          ] 1/2 0.0 s");
    }

    #[test]
    fn the_html_has_a_label_for_screen_readers() {
        let (mut bars, now) = (Bars::default(), Instant::now());
        let id = bars.begin("a < b", Some(8), now);
        bars.step(id);
        let bundle = bars.at(now);
        let html = bundle.get("text/html").unwrap_or_default();
        assert!(html.contains("<progress max=\"1\" value=\"0.1250\" aria-label=\"a &lt; b\""));
        assert!(roxmltree::Document::parse(html).is_ok(), "{html}");
    }
}
