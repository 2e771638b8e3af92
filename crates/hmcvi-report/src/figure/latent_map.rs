//! Draw where images lie in a latent plane, for several models side by side.

use hmcvi_record::LatentPoint;

use super::classes;
use super::panel::{Panel, range};
use crate::ReportError;
use crate::scene::{Rect, Scene};

const SIDE: f64 = 480.0;
/// From the left of a panel to the left of the next.
const STEP: f64 = SIDE + 76.0;

/// Panels with their titles and points, from left to right, and which colour is which class.
pub fn latent_map(panels: &[(String, Vec<LatentPoint>)]) -> Result<Scene, ReportError> {
    let title = panels.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>().join(" | ");
    let width = 62.0 + STEP * panels.len().max(1) as f64 + 8.0;
    let mut scene = Scene::new(&title, width, SIDE + 104.0);
    for (i, (title, points)) in panels.iter().enumerate() {
        let area = Rect { x: 62.0 + STEP * i as f64, y: 40.0, width: SIDE, height: SIDE };
        let empty = || ReportError::Empty(title.clone());
        let x = range(points.iter().map(|p| p.x), 0.05).ok_or_else(empty)?;
        let y = range(points.iter().map(|p| p.y), 0.05).ok_or_else(empty)?;
        let panel = Panel::new(area, [x.0, y.0], [x.1, y.1]);
        classes::dots(&mut scene, &panel, points, 2.2);
        panel.axes(&mut scene, title, "z_1", "z_2");
    }
    let last = classes::last(panels.iter().flat_map(|(_, points)| points));
    classes::legend(&mut scene, (width - 58.0, 40.0), last);
    Ok(scene)
}
