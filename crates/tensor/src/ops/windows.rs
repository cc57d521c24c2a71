//! The windows that convolutions and pooling move over images: their sizes, and the places of their pixels.

use super::check;
use crate::device::Windows;
use crate::tensor::Raw;
use candle_core::Result;
use std::fmt::Display;
use taper_compute::strided::in_order_of;

/// The settings of a window, for rows and for columns.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) padding: [usize; 2],
    pub(super) dilation: [usize; 2],
}

impl Window {
    /// Returns the height and width of the dilated kernel, in pixels.
    pub(super) fn extent(&self) -> [usize; 2] {
        [0, 1].map(|i| {
            let steps = self.kernel[i].saturating_sub(1);
            steps.saturating_mul(self.dilation[i]).saturating_add(1)
        })
    }

    /// Checks that `x` are images of at least `smallest` rows and columns, and that the window fits into them with their
    /// padding. Returns the window with a stride and dilation of at most this size: longer ones have no effect.
    pub(super) fn check(
        &self,
        caller: &dyn Display,
        x: &Raw,
        smallest: usize,
        advice: &str,
    ) -> Result<Self> {
        let (_, channels, height, width) = check::images(caller, x)?;
        let (size, extent) = ([height, width], self.extent());
        let added = self.padding.map(|padding| padding.saturating_mul(2));
        let least = [0, 1].map(|i| extent[i].saturating_sub(added[i]).max(smallest));
        if (0..2).any(|i| size[i] < least[i]) {
            let least = match least {
                [height, width] if height == width => format!("and width must be at least {width}"),
                [height, width] => format!("must be at least {height}, its width {width}"),
            };
            let expected = format!("Its height {least}{advice}");
            return Err(check::wrong_shape(caller, x, expected));
        }
        let padded = [0, 1].map(|i| size[i].saturating_add(added[i]));
        check::output(caller, &[channels.max(1), padded[0], padded[1]], x)?;
        let at_most = |steps: [usize; 2]| [0, 1].map(|i| steps[i].min(padded[i].max(1)));
        Ok(Window {
            stride: at_most(self.stride),
            dilation: at_most(self.dilation),
            ..*self
        })
    }

    /// Returns the windows over planes of this size, at least as large as the window without its padding. The last ones may
    /// reach beyond the padding, if `ceil`, but begin in front of it.
    pub(super) fn over(&self, planes: usize, size: [usize; 2], ceil: bool) -> Windows {
        let (extent, padding, stride) = (self.extent(), self.padding, self.stride);
        let output = [0, 1].map(|i| {
            let room = size[i] + 2 * padding[i] - extent[i];
            let steps = match ceil {
                false => room / stride[i],
                true => { room.div_ceil(stride[i]) }.min((size[i] + padding[i] - 1) / stride[i]),
            };
            steps + 1
        });
        Windows {
            planes,
            size,
            kernel: self.kernel,
            output,
            stride,
            dilation: self.dilation,
            padding,
        }
    }
}

impl Windows {
    /// Returns where the last windows end, counted from the padding's first row and column.
    pub(super) fn ends(&self) -> [usize; 2] {
        [0, 1].map(|i| {
            let extent = (self.kernel[i] - 1) * self.dilation[i] + 1;
            (self.output[i] - 1) * self.stride[i] + extent
        })
    }

    /// Returns the index in its plane of each pixel of each window, as (rows, columns, out_height, out_width); `None` for the
    /// padding.
    pub(super) fn all_pixels(&self) -> impl Iterator<Item = Option<usize>> {
        let windows = *self;
        let shape = [self.kernel, self.output].concat();
        let steps = in_order_of(&shape);
        (0..self.places() * self.outputs()).map(move |index| {
            let at = |k: usize| index / steps[k] % shape[k];
            let inside = |i: usize| {
                let place = at(2 + i) * windows.stride[i] + at(i) * windows.dilation[i];
                let place = place.checked_sub(windows.padding[i]);
                place.filter(|place| *place < windows.size[i])
            };
            Some(inside(0)? * windows.size[1] + inside(1)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that differ between rows and columns.
    fn settings() -> impl Iterator<Item = (Window, [usize; 2])> {
        (0..400).filter_map(|i: usize| {
            let pick = |by: usize, least: usize, count: usize| {
                [0, 1].map(|k| least + (i * by + k * (i / 7 + 3)) % count)
            };
            let window = Window {
                kernel: pick(3, 1, 4),
                stride: pick(5, 1, 3),
                padding: pick(7, 0, 3),
                dilation: pick(11, 1, 3),
            };
            let size = pick(13, 1, 9);
            let fits = |k: usize| window.extent()[k] <= size[k] + 2 * window.padding[k];
            (fits(0) && fits(1)).then_some((window, size))
        })
    }

    /// Returns the places that a window covers, counted from the padding's first row or column.
    fn places(window: &Window, i: usize, index: usize) -> Vec<usize> {
        let place = |tap: usize| index * window.stride[i] + tap * window.dilation[i];
        (0..window.kernel[i]).map(place).collect()
    }

    #[test]
    fn windows_are_where_the_settings_say() {
        assert!(settings().count() > 100);
        for (window, size) in settings() {
            for ceil in [false, true] {
                let windows = window.over(1, size, ceil);
                for i in [0, 1] {
                    let end = size[i] + 2 * window.padding[i];
                    let covers = |index: usize| {
                        let covered = places(&window, i, index);
                        let before =
                            index == 0 || places(&window, i, index - 1).last() < Some(&(end - 1));
                        match ceil {
                            false => covered.last() < Some(&end),
                            true => {
                                before && (index == 0 || covered[0] < size[i] + window.padding[i])
                            }
                        }
                    };
                    let count = (0..).take_while(|index| covers(*index)).count();
                    assert_eq!(windows.output[i], count, "{i} {ceil}");
                    let last = places(&window, i, count - 1);
                    assert_eq!(windows.ends()[i], last[last.len() - 1] + 1);
                }
                let mut pixels = windows.all_pixels();
                for (row_tap, column_tap) in pairs(window.kernel) {
                    for (row, column) in pairs(windows.output) {
                        let place = |i: usize, index: usize, tap: usize| {
                            let place =
                                places(&window, i, index)[tap].checked_sub(window.padding[i]);
                            place.filter(|place| *place < size[i])
                        };
                        let row = place(0, row, row_tap);
                        let column = place(1, column, column_tap);
                        let want = row.zip(column).map(|(row, column)| row * size[1] + column);
                        assert_eq!(pixels.next(), Some(want));
                    }
                }
                assert_eq!(pixels.next(), None);
            }
        }
    }

    fn pairs([rows, columns]: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
        (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    /// A stride longer than the image matters if the padding is wide; one longer than both does not.
    #[test]
    fn a_window_is_checked_with_its_padding() {
        let x = crate::tensor::zeros((1, 1, 2, 3));
        let window = Window {
            kernel: [1, 1],
            stride: [5, usize::MAX],
            padding: [3, 0],
            dilation: [1, 1],
        };
        let checked = window
            .check(&"f", x.raw(), 1, "")
            .expect("a window that fits");
        assert_eq!(checked.stride, [5, 3]);
        assert_eq!(checked.over(1, [2, 3], false).output, [2, 1]);
        for kernel in [[9, 1], [1, 4]] {
            let window = Window { kernel, ..window };
            assert!(window.check(&"f", x.raw(), 1, "").is_err());
        }
    }
}
