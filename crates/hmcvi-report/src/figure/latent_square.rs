//! Draw the map of the training rows in the unit square.

use hmcvi_record::figure::LatentSquare;

use super::classes;
use super::panel::Panel;
use super::picture::ground;
use crate::scene::{Rect, Scene};
use crate::words::counted;

const SIDE: f64 = 700.0;

/// Encoded rows, where they are images with decoded means behind them, and which colour is which class.
pub fn latent_square(data: &LatentSquare) -> Scene {
    let width = if classes::any(&data.points) { 884.0 } else { 800.0 };
    let mut scene = Scene::new("The latent space through the Gaussian distribution function", width, 810.0);
    let area = Rect { x: 72.0, y: 40.0, width: SIDE, height: SIDE };
    let panel = Panel::new(area, [0.0; 2], [1.0; 2]);
    let images = !data.decoded.picture.values.is_empty();
    if images {
        ground(&mut scene, area, &data.decoded.picture, 0.62);
    }
    classes::dots(&mut scene, &panel, &data.points, 2.4);
    let after = match data.hmc_steps {
        0 => "drawn from the encoder",
        1 => "after the HMC step",
        _ => "after the HMC steps",
    };
    let noun = if images { "training image" } else { "training row" };
    let title = format!("{} {after}", counted(data.images as u64, noun));
    panel.axes(&mut scene, &title, "Φ(z_1)", "Φ(z_2)");
    classes::legend(&mut scene, (area.right() + 30.0, area.y), &data.points);
    scene
}
