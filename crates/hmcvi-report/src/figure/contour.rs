//! Find lines of equal value on a grid, and colour the bands between them.

use std::collections::HashMap;

use hmcvi_record::figure::{Field, Point};

use super::panel::Panel;
use super::ramp::Rgba;
use crate::palette::Colour;
use crate::scene::{Look, Pixels, Place, Scene, Shape, Stroke};

/// An edge of the grid: the grid point at its lower left end, and whether it goes upwards.
type Edge = (usize, bool);

/// Lines along which a field has the value `level`, by linear interpolation along the edges of the grid.
pub(super) fn lines(field: &Field, level: f64) -> Vec<Vec<Point>> {
    let mut neighbours: HashMap<Edge, Vec<Edge>> = HashMap::new();
    let columns = field.columns;
    for row in 0..field.rows - 1 {
        for column in 0..columns - 1 {
            let at = row * columns + column;
            for (a, b) in crossings(field, level, at) {
                neighbours.entry(a).or_default().push(b);
                neighbours.entry(b).or_default().push(a);
            }
        }
    }
    // Begin with the ends of open lines, in a fixed order; what is left then are rings.
    let mut edges: Vec<Edge> = neighbours.keys().copied().collect();
    edges.sort_by_key(|edge| (neighbours[edge].len(), *edge));
    let mut lines = Vec::new();
    for first in edges {
        let mut line = vec![first];
        let mut here = first;
        while let Some(next) = neighbours.get_mut(&here).and_then(Vec::pop) {
            let back = neighbours.get_mut(&next).expect("both ends know each other");
            if let Some(i) = back.iter().position(|e| *e == here) {
                back.swap_remove(i);
            }
            line.push(next);
            here = next;
        }
        if line.len() > 1 {
            lines.push(line.into_iter().map(|edge| crossing(field, level, edge)).collect());
        }
    }
    lines
}

/// Pairs of edges of one cell that a line connects.
fn crossings(field: &Field, level: f64, at: usize) -> Vec<(Edge, Edge)> {
    let columns = field.columns;
    let corners = [at, at + 1, at + columns + 1, at + columns].map(|i| field.values[i]);
    if corners.iter().any(|v| !v.is_finite()) {
        return Vec::new();
    }
    let above = corners.map(|v| v > level);
    // Below, right, above, left.
    let edges = [(at, false), (at + 1, true), (at + columns, false), (at, true)];
    let crossed: Vec<Edge> = (0..4).filter(|i| above[*i] != above[(i + 1) % 4]).map(|i| edges[i]).collect();
    match crossed[..] {
        [a, b] => vec![(a, b)],
        // A saddle: the value in the middle says which corners belong together.
        [a, b, c, d] => {
            let middle = corners.iter().sum::<f64>() / 4.0 > level;
            if middle == above[0] { vec![(a, b), (c, d)] } else { vec![(a, d), (b, c)] }
        }
        _ => Vec::new(),
    }
}

fn crossing(field: &Field, level: f64, (at, upwards): Edge) -> Point {
    let other = if upwards { at + field.columns } else { at + 1 };
    let (a, b) = (field.values[at], field.values[other]);
    let share = ((level - a) / (b - a)).clamp(0.0, 1.0);
    let [dx, dy] = field.spacing();
    let (column, row) = ((at % field.columns) as f64, (at / field.columns) as f64);
    let (x, y) = if upwards { (column, row + share) } else { (column + share, row) };
    [field.low[0] + x * dx, field.low[1] + y * dy]
}

/// Draws lines of equal value.
pub(super) fn draw_lines(
    scene: &mut Scene,
    panel: &Panel,
    field: &Field,
    level: f64,
    (stroke, opacity): (Stroke, f64),
) {
    let place = |line: Vec<Point>| -> Vec<Place> { line.into_iter().map(|p| panel.at(p)).collect() };
    let parts: Vec<Vec<Place>> = lines(field, level).into_iter().map(place).collect();
    if !parts.is_empty() {
        scene.add(Shape::Lines { parts, closed: false, fill: None, stroke: Some(stroke), opacity });
    }
}

/// Fills a panel with the colours of a field's values.
pub(super) fn fill(scene: &mut Scene, panel: &Panel, field: &Field, colour: impl Fn(f64) -> Rgba) {
    let (width, height) = (panel.area.width.round() as usize, panel.area.height.round() as usize);
    let mut rgba = Vec::with_capacity(4 * width * height);
    for y in 0..height {
        for x in 0..width {
            let share = |i: usize, n: usize| (i as f64 + 0.5) / n as f64;
            let at = |i: usize, s: f64| panel.low[i] + s * (panel.high[i] - panel.low[i]);
            rgba.extend(colour(value(field, [at(0, share(x, width)), at(1, 1.0 - share(y, height))])));
        }
    }
    let pixels = Pixels { width, height, rgba };
    scene.add(Shape::Picture { area: panel.area, pixels, look: Look::Smooth });
}

/// The value at a point, interpolated between the four grid points around it.
pub(super) fn value(field: &Field, point: Point) -> f64 {
    let spacing = field.spacing();
    let last = [field.columns - 1, field.rows - 1];
    let at = [0, 1].map(|i| ((point[i] - field.low[i]) / spacing[i]).clamp(0.0, last[i] as f64));
    let cell = [0, 1].map(|i| (at[i] as usize).min(last[i].saturating_sub(1)));
    let part = [0, 1].map(|i| at[i] - cell[i] as f64);
    let of = |dx: usize, dy: usize| field.values[(cell[1] + dy) * field.columns + cell[0] + dx];
    let low = of(0, 0) * (1.0 - part[0]) + of(1, 0) * part[0];
    let high = of(0, 1) * (1.0 - part[0]) + of(1, 1) * part[0];
    low * (1.0 - part[1]) + high * part[1]
}

/// Fills a panel with bands between levels, and draws the levels as thin lines.
pub(super) fn bands(
    scene: &mut Scene,
    panel: &Panel,
    field: &Field,
    levels: &[f64],
    colour: impl Fn(f64) -> Rgba,
) {
    let band = |v: f64| levels.iter().filter(|l| v > **l).count() as f64 / levels.len().max(1) as f64;
    fill(scene, panel, field, |v| colour(band(v)));
    for level in levels {
        let stroke = Stroke::new(Colour::Fixed((90, 112, 145)), 0.8);
        draw_lines(scene, panel, field, *level, (stroke, 0.6));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(f: impl Fn(Point) -> f64) -> Field {
        let mut field = Field::empty([-2.0; 2], [2.0; 2], 41, 41);
        field.values = field.points().map(f).collect();
        field
    }

    #[test]
    fn the_contour_of_a_bowl_is_one_ring_of_the_right_radius() {
        let rings = lines(&field(|[x, y]| x * x + y * y), 1.0);
        assert_eq!(rings.len(), 1);
        assert_eq!(rings[0].first(), rings[0].last(), "it is closed");
        // Linear interpolation is off by less than h²/8 · f'' in the value.
        assert!(rings[0].iter().all(|[x, y]| (x.hypot(*y) - 1.0).abs() < 2e-3));
        assert!(rings[0].len() > 60);
    }

    #[test]
    fn the_contour_of_a_slope_is_one_open_line() {
        let found = lines(&field(|[x, _]| x), 0.25);
        assert_eq!((found.len(), found[0].len()), (1, 41));
        assert!(found[0].iter().all(|[x, _]| (x - 0.25).abs() < 1e-12));
        assert!(lines(&field(|[x, _]| x), 5.0).is_empty());
    }

    #[test]
    fn values_between_grid_points_are_interpolated() {
        let plane = field(|[x, y]| 2.0 * x - y);
        assert!((value(&plane, [0.123, -0.77]) - (0.246 + 0.77)).abs() < 1e-12);
    }
}
