//! Draw one image under every binarisation strategy, side by side.

use hmcvi_record::figure::Binarised;

use super::picture::framed;
use super::{LABEL, TITLE};
use crate::palette::SOFT;
use crate::scene::{Rect, Scene, Text};

const SIDE: f64 = 224.0;

/// Four pictures with their names.
pub fn binarised(data: &Binarised) -> Scene {
    let mut scene = Scene::new("Binarisation strategies compared on one digit", 1020.0, 326.0);
    let average = format!("mean of {} such draws", data.draws);
    let parts = [
        ("Original", "grey values", &data.original),
        ("Threshold", "1 from one half on", &data.threshold),
        ("Stochastic", "1 with the grey value", &data.stochastic),
        ("Averaged", average.as_str(), &data.average),
    ];
    for (i, (name, how, picture)) in parts.into_iter().enumerate() {
        let area = Rect { x: 24.0 + 249.0 * i as f64, y: 48.0, width: SIDE, height: SIDE };
        let cx = area.centre().0;
        scene.text(Text::new((cx, 34.0), name, TITLE).bold());
        framed(&mut scene, area, picture);
        scene.text(Text::new((cx, area.bottom() + 26.0), how, LABEL).colour(SOFT));
    }
    scene
}
