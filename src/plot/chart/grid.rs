//! The grid of a chart: the axes at the bottom and at the left, their ticks with labels, and the lines from them.

use super::spec::{Area, TICK};
use crate::plot::axis::Axis;
use crate::plot::render::decimate::Point;
use crate::plot::render::palette::INK;
use crate::plot::render::scene::{Anchor, Line, Scene};

/// Two axes, and the area to which they map values.
pub(super) struct Grid {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) area: Area,
}

impl Grid {
    /// Returns the first and the last coordinate of each axis. The last one is within the area.
    fn ends(&self) -> [(i32, i32); 2] {
        let ((left, top), (right, bottom)) = self.area;
        [(left, right - 1), (bottom - 1, top)]
    }

    /// Returns the coordinates of a point.
    pub(super) fn map(&self, (x, y): (f64, f64)) -> Point {
        let [of_x, of_y] = self.ends();
        (self.x.map(x, of_x), self.y.map(y, of_y))
    }

    pub(super) fn draw(&self, scene: &mut Scene) {
        let [(left, right), (bottom, top)] = self.ends();
        let columns = self.x.ticks_between((left, right));
        let rows = self.y.ticks_between((bottom, top));
        for (x, _) in &columns {
            scene.draw_grid_line((*x, bottom), (*x, top));
        }
        for (y, _) in &rows {
            scene.draw_grid_line((left, *y), (right, *y));
        }
        let axis = left - 1;
        scene.draw_rule((axis, top), (axis, bottom));
        for (y, label) in rows {
            scene.write(label, (left - 2 * TICK, y), Anchor::End, INK);
            scene.draw_rule((axis - TICK, y), (axis, y));
        }
        let axis = bottom + 1;
        scene.draw_rule((left, axis), (right, axis));
        for (x, label) in columns {
            scene.write_centred(label, (x, axis + 2 * TICK), Line::Top);
            scene.draw_rule((x, axis), (x, axis + TICK));
        }
    }
}
