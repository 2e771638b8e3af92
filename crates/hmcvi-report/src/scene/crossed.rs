//! Find texts that lines go through, for tests of layouts.

use super::{Place, Rect, Scene, Shape, text_width};

impl Scene {
    /// Texts that a line goes through.
    pub(crate) fn crossed(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut boxes = Vec::new();
        gather(&self.shapes, &mut lines, &mut boxes);
        let inside = |(x, y): Place, r: &Rect| x > r.x && x < r.right() && y > r.y && y < r.bottom();
        let meets = |ends: &[Place; 2], r: &Rect| {
            let [(x0, y0), (x1, y1)] = *ends;
            let at = |i: i32| (x0 + (x1 - x0) * f64::from(i) / 200.0, y0 + (y1 - y0) * f64::from(i) / 200.0);
            (0..=200).any(|i| inside(at(i), r))
        };
        boxes
            .into_iter()
            .filter(|(r, _)| lines.iter().any(|ends| meets(ends, r)))
            .map(|(_, text)| text)
            .collect()
    }
}

/// Straight lines, and the rectangles that texts take.
fn gather(shapes: &[Shape], lines: &mut Vec<[Place; 2]>, boxes: &mut Vec<(Rect, String)>) {
    for shape in shapes {
        match shape {
            Shape::Lines { parts, stroke: Some(_), .. } => {
                lines.extend(parts.iter().flat_map(|p| p.windows(2).map(|w| [w[0], w[1]])));
            }
            Shape::Clipped { area, shapes } => {
                let mut inner = Vec::new();
                gather(shapes, &mut inner, boxes);
                // What is cut off crosses nothing.
                let within = |(_, y): Place| y >= area.y && y <= area.bottom();
                lines.extend(inner.into_iter().filter(|ends| ends.iter().all(|end| within(*end))));
            }
            Shape::Text(t) => {
                let (width, (x, y)) = (text_width(&t.text, t.size), t.place);
                let before = width * [0.0, 0.5, 1.0][t.anchor as usize];
                let (up, down) = (0.75 * t.size, 0.2 * t.size);
                let area = match t.upwards {
                    false => Rect { x: x - before, y: y - up, width, height: up + down },
                    true => Rect { x: x - up, y: y + before - width, width: up + down, height: width },
                };
                boxes.push((area, t.text.clone()));
            }
            _ => {}
        }
    }
}
