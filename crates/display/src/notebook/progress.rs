//! Progress bars of loops.

mod bars;

use crate::notebook::live::Live;
use bars::Bars;
use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Wraps an iterator and shows a progress bar while a loop consumes it.
///
/// The bar appears below the cell, or in a program on standard error if that is a terminal. Bars of
/// nested loops are stacked; those of inner loops disappear when the outer loop ends. The bar of a loop
/// that is left early keeps its last state.
///
/// An interrupt does not end the loop: use [`check_interrupt`](crate::check_interrupt) or
/// [`interrupted`](crate::interrupted) in it.
///
/// ```
/// use taper::prelude::*;
///
/// let mut sum = 0;
/// for epoch in progress(0..3).description("epoch") {
///     for batch in progress([1, 2, 3]) {
///         check_interrupt()?;
///         sum += epoch * batch;
///     }
/// }
/// assert_eq!(sum, 18);
/// # Ok::<(), Error>(())
/// ```
#[must_use = "the bar moves when a loop consumes the iterator"]
pub fn progress<I: IntoIterator>(items: I) -> Progress<I::IntoIter> {
    let items = items.into_iter();
    let total = match items.size_hint() {
        (least, Some(most)) if least == most => Some(most),
        _ => None,
    };
    Progress {
        items,
        description: String::new(),
        total,
        bar: None,
    }
}

/// An iterator with a progress bar. Returned by [`progress`].
///
/// ```
/// use taper::prelude::*;
///
/// let mut batches = progress(0..3);
/// assert_eq!(batches.next(), Some(0)); // the bar appears, with 0 of 3 done
/// ```
#[derive(Debug)]
pub struct Progress<I> {
    items: I,
    description: String,
    /// The number of items; `None` if it is unknown.
    total: Option<usize>,
    /// The bar; `None` before the first step.
    bar: Option<Bar>,
}

impl<I> Progress<I> {
    setters! {
        /// Sets a text in front of the bar.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let squares: Vec<u32> = progress(0..4).description("squares").map(|x| x * x).collect();
        /// assert_eq!(squares, [0, 1, 4, 9]);
        /// ```
        pub fn description(self, text: impl Into<String>): self.description = text.into();

        /// Sets the number of items, if the iterator does not know it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let odd = (0..10).filter(|x| x % 2 == 1);
        /// assert_eq!(progress(odd).total(5).count(), 5);
        /// ```
        pub fn total(self, items: usize): self.total = Some(items);
    }
}

impl<I: Iterator> Iterator for Progress<I> {
    type Item = I::Item;

    /// Returns the next item, and counts the previous one as done.
    fn next(&mut self) -> Option<I::Item> {
        match &self.bar {
            Some(bar) => bar.step(),
            None => self.bar = Some(Bar::begin(&self.description, self.total)),
        }
        let item = self.items.next();
        if item.is_none()
            && let Some(bar) = &self.bar
        {
            bar.finish(true);
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Progress<I> {}

thread_local! {
    /// The bars of the outermost loop that this thread runs.
    static CURRENT: RefCell<Weak<Live<Bars>>> = const { RefCell::new(Weak::new()) };
}

/// The bar of a loop, with the bars of the loops around it.
#[derive(Debug)]
struct Bar {
    bars: Arc<Live<Bars>>,
    id: u64,
}

impl Bar {
    fn begin(description: &str, total: Option<usize>) -> Self {
        let around = CURRENT.with_borrow(Weak::upgrade);
        let bars = around
            .filter(|bars| bars.is_in_current_area() && bars.read().is_running())
            .unwrap_or_default();
        CURRENT.set(Arc::downgrade(&bars));
        let mut id = 0;
        bars.change(|bars| {
            id = bars.begin(description, total, Instant::now());
            true
        });
        Bar { bars, id }
    }

    fn step(&self) {
        self.bars.change(|bars| bars.step(self.id));
    }

    fn finish(&self, complete: bool) {
        self.bars
            .change(|bars| bars.finish(self.id, complete, Instant::now()));
    }
}

impl Drop for Bar {
    /// Marks the loop as left early, unless it has ended normally.
    fn drop(&mut self) {
        self.finish(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::testing::{records, under_evcxr};

    /// Returns the last text of each display, without times and rates.
    fn last_texts(records: &[serde_json::Value]) -> Vec<String> {
        let mut displays: Vec<(String, String)> = Vec::new();
        for record in records {
            let id = record["display_id"].to_string();
            let text = record["data"]["text/plain"].as_str().unwrap_or_default();
            let lines = text.lines().map(|line| {
                let stopped = if line.ends_with("stopped") {
                    " stopped"
                } else {
                    ""
                };
                let end = line.find(" 0.").unwrap_or(line.len());
                format!("{}{stopped}", &line[..end])
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            match displays.iter_mut().find(|(known, _)| *known == id) {
                Some(display) => display.1 = text,
                None => displays.push((id, text)),
            }
        }
        displays.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn loops_leave_the_right_last_state() {
        let records = records(
            "notebook::progress::tests::loops_leave_the_right_last_state",
            || {
                for _ in progress(0..10).description("whole") {}
                for i in progress(0..10).description("left") {
                    if i == 5 {
                        break;
                    }
                }
                for _ in progress((0..10).filter(|x| x % 2 == 0)).description("unknown") {}
                for _ in progress(Vec::<u8>::new()).description("empty") {}
            },
        );
        assert_eq!(
            last_texts(&records),
            [
                "whole [####################] 10/10",
                "left [##########          ] 5/10 stopped",
                "unknown 5 it",
                "empty [####################] 0/0",
            ]
        );
    }

    #[test]
    fn nested_loops_share_one_display() {
        let records = records(
            "notebook::progress::tests::nested_loops_share_one_display",
            || {
                for _ in progress(0..2).description("epoch") {
                    for _ in progress(0..3).description("batch") {}
                }
                'epochs: for epoch in progress(0..2).description("epoch") {
                    for batch in progress(0..4).description("batch") {
                        if (epoch, batch) == (1, 3) {
                            break 'epochs;
                        }
                    }
                }
            },
        );
        assert_eq!(
            last_texts(&records),
            [
                "epoch [####################] 2/2",
                "epoch [##########          ] 1/2 stopped\nbatch [###############     ] 3/4 stopped",
            ]
        );
    }

    #[test]
    fn a_bar_of_an_earlier_cell_is_separate() {
        let records = records(
            "notebook::progress::tests::a_bar_of_an_earlier_cell_is_separate",
            || {
                let mut kept = progress(0..10).description("kept");
                kept.next();
                crate::notebook::hooks::taper_begin_cell();
                for _ in progress(0..1).description("new") {}
                drop(kept);
            },
        );
        assert_eq!(last_texts(&records)[1], "new [####################] 1/1");
    }

    #[test]
    fn stock_evcxr_prints_the_last_state_as_text() {
        let printed = under_evcxr(
            "notebook::progress::tests::stock_evcxr_prints_the_last_state_as_text",
            || for _ in progress(0..10) {},
        );
        assert!(
            printed.starts_with("[####################] 10/10 0.0 s"),
            "{printed}"
        );
        assert_eq!(printed.lines().count(), 1);
    }

    #[test]
    fn items_are_passed_through() {
        let mut items = progress([1, 2, 3]);
        assert_eq!(items.len(), 3);
        assert_eq!(items.by_ref().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(items.next(), None);
    }
}
