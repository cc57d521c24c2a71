//! The plot area with its grid and the axes at the left and at the bottom.

use super::spec::{Area, TICK, middle};
use crate::plot::axis::Axis;
use crate::plot::render::UNIT;
use crate::plot::render::decimate::Point;
use crate::plot::render::palette::INK;
use crate::plot::render::scene::{ABOVE, Anchor, BELOW, Scene};
use crate::plot::render::text::centred;

/// The axes and the area to which they map values.
pub(super) struct Axes {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) area: Area,
}

impl Axes {
    /// Returns the place of a value of the x axis; the last one is a unit before the right edge.
    fn x(&self, value: f64) -> i32 {
        let ((left, _), (right, _)) = self.area;
        self.x.map(value, (left, right - 1))
    }

    fn y(&self, value: f64) -> i32 {
        let ((_, top), (_, bottom)) = self.area;
        self.y.map(value, (bottom - 1, top))
    }

    pub(super) fn point(&self, x: f64, y: f64) -> Point {
        (self.x(x), self.y(y))
    }

    /// Draws the labels of the axes, the grid, and both axes with their ticks.
    pub(super) fn draw(&self, scene: &mut Scene, labels: [&str; 2]) {
        let ((left, top), (right, bottom)) = self.area;
        let size = (scene.size.0 as i32 * UNIT, scene.size.1 as i32 * UNIT);
        let middle = middle(self.area);
        let [x_label, y_label] = labels;
        let x_label = centred(x_label, middle.0, size.0);
        let y_label = centred(y_label, middle.1, size.1);
        scene.place(&y_label, (UNIT, middle.1), (Anchor::Middle, BELOW), 270);
        let below = (middle.0, size.1 - UNIT);
        scene.place(&x_label, below, (Anchor::Middle, ABOVE), 0);
        for (tick, _) in self.x.ticks() {
            scene.draw_grid_line((self.x(*tick), bottom - 1), (self.x(*tick), top));
        }
        for (tick, _) in self.y.ticks() {
            scene.draw_grid_line((left, self.y(*tick)), (right - 1, self.y(*tick)));
        }
        let axis = left - 1;
        scene.draw_rule((axis, top), (axis, bottom - 1));
        for (tick, label) in self.y.ticks() {
            let y = self.y(*tick);
            scene.write(label, (left - 2 * TICK, y), Anchor::End, INK);
            scene.draw_rule((axis - TICK, y), (axis, y));
        }
        scene.draw_rule((left, bottom), (right - 1, bottom));
        for (tick, label) in self.x.ticks() {
            let x = self.x(*tick);
            scene.place(label, (x, bottom + 2 * TICK), (Anchor::Middle, BELOW), 0);
            scene.draw_rule((x, bottom), (x, bottom + TICK));
        }
    }
}
