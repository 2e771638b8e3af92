//! Draw where images lie in a latent plane, for several models side by side on the same axes.

use hmcvi_record::LatentPoint;

use super::classes;
use super::panel::{Panel, range};
use crate::ReportError;
use crate::scene::{Rect, Scene};

const SIDE: f64 = 480.0;
/// From the left of a panel to the left of the next.
const STEP: f64 = SIDE + 76.0;

/// Panels with their titles and points, from left to right, and which colour is which class. One unit is as long in all
/// panels and both directions.
pub fn latent_map(panels: &[(String, Vec<LatentPoint>)]) -> Result<Scene, ReportError> {
    let title = panels.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>().join(" | ");
    let all = || panels.iter().flat_map(|(_, points)| points);
    let ends = range(all().map(|p| p.x), 0.05).zip(range(all().map(|p| p.y), 0.05));
    let (x, y) = ends.ok_or_else(|| ReportError::Empty(title.clone()))?;
    let half = 0.5 * (x.1 - x.0).max(y.1 - y.0);
    let middle = [0.5 * (x.0 + x.1), 0.5 * (y.0 + y.1)];
    let width = STEP * panels.len() as f64 + if classes::any(all()) { 70.0 } else { 6.0 };
    let mut scene = Scene::new(title, width, SIDE + 104.0);
    for (i, (title, points)) in panels.iter().enumerate() {
        let area = Rect { x: 62.0 + STEP * i as f64, y: 40.0, width: SIDE, height: SIDE };
        let panel = Panel::new(area, middle.map(|m| m - half), middle.map(|m| m + half));
        classes::dots(&mut scene, &panel, points, 2.2);
        panel.axes(&mut scene, title, "z_1", "z_2");
    }
    classes::legend(&mut scene, (width - 58.0, 40.0), all());
    Ok(scene)
}
