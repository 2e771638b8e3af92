//! Draw what methods have reached after how much time: a line for each, with its name beside its end.

use hmcvi_record::{Curve, Likelihoods};

use super::chart::{Chart, stroke};
use super::panel::{BELOW, Panel, logarithmic_ticks, range};
use super::{NUMBER, TITLE};
use crate::ReportError;
use crate::palette::{Colour, SOFT};
use crate::scene::{Anchor, Place, Rect, Scene, Shape, Stroke, Text, text_width};
use crate::words::fixed;

const WIDTH: f64 = 860.0;
const TOP: f64 = 44.0;
/// Height of the panel, and at least so much for every name.
const HEIGHT: f64 = 400.0;
const LINE: f64 = 18.0;
/// Space between the panel and the names, for lines that lead to them.
const LEAD: f64 = 26.0;
/// Share of both ranges that is left free on either side.
const MARGIN: f64 = 0.06;
/// Least width of the axis of time, in powers of ten: there is always a round number in it.
const LEAST: f64 = 0.5;

/// What the rows of a comparison have reached, by the best estimate that there is of all of them.
pub fn likelihoods(data: &Likelihoods) -> Result<Scene, ReportError> {
    let (how, _) = data.estimate();
    against_time(&Chart {
        title: format!("Negative log-likelihood of {} rows by {how}", data.split),
        x: "seconds of training, after one plain model".into(),
        y: "NLL [nats]".into(),
        curves: data.curves(),
    })
}

/// The drawing, with time on a logarithmic axis; an error if no point is finite and later than 0.
pub fn against_time(data: &Chart) -> Result<Scene, ReportError> {
    let curves: Vec<Curve> = data.curves.iter().map(drawn).collect();
    let all = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let empty = || ReportError::Empty(data.title.clone());
    let x = wide(range(all().map(|p| p.0), MARGIN).ok_or_else(empty)?);
    let y = range(all().map(|p| p.1), MARGIN).ok_or_else(empty)?;
    let count = curves.iter().filter(|curve| !curve.points.is_empty()).count();
    let height = HEIGHT.max(LINE * count as f64);
    let names = curves.iter().map(|curve| text_width(&curve.name, NUMBER)).fold(0.0, f64::max);
    let left = Panel::left(y.0, y.1, height) + 2.0;
    let area = Rect { x: left, y: TOP, width: WIDTH - left - LEAD - names - 10.0, height };
    let panel = Panel::new(area, [x.0, y.0], [x.1, y.1]);
    let mut scene = Scene::new(spoken(data, &curves), WIDTH, TOP + height + BELOW);
    panel.grid(&mut scene);
    let mut ends = Vec::new();
    for (i, curve) in curves.iter().enumerate() {
        let places: Vec<Place> = curve.points.iter().map(|p| panel.at([p.0, p.1])).collect();
        let Some(end) = places.last().copied() else { continue };
        if places.len() > 1 {
            scene.line(&places, stroke(i));
        }
        scene.add(Shape::Dots { places, radius: 3.5, colour: Colour::Line(i), opacity: 1.0 });
        ends.push((end, curve.name.as_str(), i));
    }
    let numbers = logarithmic_ticks(x.0, x.1);
    panel.axes_at(&mut scene, &numbers, "", &data.x, &data.y);
    name(&mut scene, area, ends);
    scene.text(Text::new((WIDTH / 2.0, 24.0), &data.title, TITLE).bold());
    Ok(scene)
}

/// A range of at least the least width.
fn wide((low, high): (f64, f64)) -> (f64, f64) {
    let more = (LEAST - (high - low)).max(0.0) / 2.0;
    (low - more, high + more)
}

/// What can be drawn of a curve, with the logarithm of time.
fn drawn(curve: &Curve) -> Curve {
    let finite = curve.points.iter().filter(|p| p.0 > 0.0 && p.0.is_finite() && p.1.is_finite());
    let mut points: Vec<(f64, f64)> = finite.map(|p| (p.0.log10(), p.1)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve { name: curve.name.clone(), points }
}

/// Writes names beside the panel, as near to the ends of their lines as there is room, and leads there.
fn name(scene: &mut Scene, area: Rect, mut ends: Vec<(Place, &str, usize)>) {
    ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    let heights = apart(&ends.iter().map(|end| end.0.1).collect::<Vec<_>>(), area);
    for (((x, y), name, i), at) in ends.into_iter().zip(heights) {
        let lead = [(x, y), (area.right() + 4.0, y), (area.right() + LEAD - 4.0, at)];
        scene.line(&lead, Stroke::new(SOFT, 0.7));
        let dot = vec![(area.right() + LEAD, at)];
        scene.add(Shape::Dots { places: dot, radius: 3.0, colour: Colour::Line(i), opacity: 1.0 });
        let place = (area.right() + LEAD + 6.0, at + 0.36 * NUMBER);
        scene.text(Text::new(place, name, NUMBER).anchor(Anchor::Start).literal());
    }
}

/// Heights for names at these heights, in order, no two closer than a line and all within an area.
fn apart(wanted: &[f64], area: Rect) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::new();
    for y in wanted {
        let least = found.last().map_or(area.y, |last| last + LINE);
        found.push(y.max(least));
    }
    let mut most = area.bottom();
    for y in found.iter_mut().rev() {
        *y = y.min(most);
        most = *y - LINE;
    }
    found
}

fn spoken(data: &Chart, curves: &[Curve]) -> String {
    let last = |curve: &Curve| Some((curve.points.last()?.1, curve.name.clone()));
    let mut ends: Vec<(f64, String)> = curves.iter().filter_map(last).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends: Vec<String> = ends.iter().map(|(value, name)| format!("{name} {}", fixed(*value, 2))).collect();
    format!("{}: {}.", data.title, ends.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_apart_and_within_the_panel() {
        let area = Rect { x: 0.0, y: 10.0, width: 100.0, height: 100.0 };
        assert_eq!(apart(&[20.0, 60.0], area), [20.0, 60.0]);
        assert_eq!(apart(&[20.0, 25.0, 30.0], area), [20.0, 38.0, 56.0]);
        assert_eq!(apart(&[100.0, 105.0, 109.0], area), [74.0, 92.0, 110.0]);
        assert_eq!(apart(&[0.0], area), [10.0]);
    }

    #[test]
    fn names_are_not_crossed_by_lines() {
        let curve = |i: usize| {
            let at = |k: usize| (10f64.powi(k as i32 + 1), 90.0 - 2.0 * k as f64 + (i * i % 7) as f64 * 0.1);
            Curve { name: format!("method {i}"), points: (0..=i % 3).map(at).collect() }
        };
        let data = Chart { title: "A race".into(), curves: (0..22).map(curve).collect(), ..Chart::default() };
        let scene = against_time(&data).expect("there are points");
        assert_eq!(scene.crossed(), Vec::<String>::new());
        let nothing = Chart { title: "Nothing".into(), ..Chart::default() };
        assert!(matches!(against_time(&nothing), Err(ReportError::Empty(title)) if title == "Nothing"));
    }
}
