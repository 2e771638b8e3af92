//! Draw the motion of one particle: where it is, how it moves, and its energies.

use hmcvi_record::figure::{Field, Motion, Phase, Point};

use super::panel::{Key, Panel, legend};
use super::{contour, ramp};
use crate::palette::{Colour, INK, PAPER, SOFT};
use crate::scene::{Place, Rect, Scene, Shape, Stroke};

const SIDE: f64 = 300.0;
const TOP: f64 = 44.0;
/// Colour of the total energy.
const TOTAL: Colour = Colour::Fixed((85, 85, 85));

/// Levels between two values at equal distances.
pub(super) fn levels(low: f64, high: f64, count: usize) -> Vec<f64> {
    (1..=count).map(|i| low + (high - low) * i as f64 / (count + 1) as f64).collect()
}

/// The three panels of a motion.
pub fn motion(data: &Motion) -> Scene {
    let several = data.simulations.len() > 1;
    let title = "Motion of a particle under Hamiltonian dynamics: position, momentum and energies";
    let mut scene = Scene::new(title, 1140.0, 452.0);
    let area = |i: f64| Rect { x: 68.0 + 378.0 * i, y: TOP, width: SIDE, height: SIDE };
    positions(&mut scene, data, area(0.0));
    momenta(&mut scene, data, area(1.0));
    energies(&mut scene, data, area(2.0));
    let y = 436.0;
    let mut entries =
        vec![(Key::Dot(ramp::path(0.0)), "first state"), (Key::Dot(ramp::path(1.0)), "last state")];
    if several {
        entries.push((Key::Line(Stroke::new(SOFT, 2.2).dashed()), "momentum drawn anew"));
    }
    legend(&mut scene, (407.0, y), entries);
    let energy = vec![
        (Key::Line(Stroke::new(Colour::Line(0), 2.2)), "potential"),
        (Key::Line(Stroke::new(Colour::Line(1), 2.2)), "kinetic"),
        (Key::Line(Stroke::new(TOTAL, 2.2)), "total"),
    ];
    legend(&mut scene, (974.0, y), energy);
    scene
}

/// All states with their share of the way.
fn states(data: &Motion) -> Vec<Vec<(f64, &Phase)>> {
    let last = data.simulations.iter().flatten().map(|p| p.time).fold(0.0, f64::max).max(1e-9);
    let share = |p: &Phase| p.time / last;
    data.simulations.iter().map(|s| s.iter().map(|p| (share(p), p)).collect()).collect()
}

/// Dots along a way, larger where the momentum is drawn anew.
fn way(scene: &mut Scene, panel: &Panel, data: &Motion, place: impl Fn(&Phase) -> Point, jumps: bool) {
    let all = states(data);
    let at = |p: &Phase| panel.at(place(p));
    for simulation in &all {
        let places: Vec<Place> = simulation.iter().map(|(_, p)| at(p)).collect();
        scene.line(&places, Stroke::new(INK, 1.1));
    }
    for pair in all.windows(2).filter(|_| jumps) {
        let (end, start) = (pair[0][pair[0].len() - 1].1, pair[1][0].1);
        scene.line(&[at(end), at(start)], Stroke::new(SOFT, 1.4).dashed());
    }
    for simulation in &all {
        for (i, (share, phase)) in simulation.iter().enumerate() {
            let end = i == 0 || i + 1 == simulation.len();
            let radius = if end && all.len() > 1 { 7.0 } else { 5.0 };
            let (fill, edge) = (ramp::path(*share), Stroke::new(PAPER, 1.0));
            scene.add(Shape::Disc { place: at(phase), radius, fill, edge });
        }
    }
}

fn positions(scene: &mut Scene, data: &Motion, area: Rect) {
    let field = &data.landscape;
    let panel = Panel::new(area, field.low, field.high);
    let (low, high) = field.range();
    contour::bands(scene, &panel, field, &levels(low, high, 11), ramp::energy);
    scene.clipped(area, |scene| way(scene, &panel, data, |p| p.z, false));
    panel.axes(scene, "Position on U(z)", "z_1", "z_2");
}

fn momenta(scene: &mut Scene, data: &Motion, area: Rect) {
    let largest = data.simulations.iter().flatten().flat_map(|p| p.v).fold(1.0, |m: f64, v| m.max(v.abs()));
    let reach = 1.12 * largest;
    let mut field = Field::empty([-reach; 2], [reach; 2], 81, 81);
    field.values = field.points().map(|[x, y]| 0.5 * (x * x + y * y)).collect();
    let panel = Panel::new(area, field.low, field.high);
    let high = 0.5 * reach * reach;
    contour::bands(scene, &panel, &field, &levels(0.0, 2.0 * high, 11), ramp::energy);
    scene.clipped(area, |scene| way(scene, &panel, data, |p| p.v, true));
    panel.axes(scene, "Momentum on K(v)", "v_1", "v_2");
}

/// One kind of energy of a state.
type Energy = fn(&Phase) -> f64;

fn energies(scene: &mut Scene, data: &Motion, area: Rect) {
    let all = || data.simulations.iter().flatten();
    let values = || all().flat_map(|p| [p.potential, p.kinetic, p.potential + p.kinetic]);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let room = 0.07 * (high - low).max(1e-9);
    let last = all().map(|p| p.time).fold(0.0, f64::max).max(1e-9);
    let panel = Panel::new(area, [-0.03 * last, low - room], [1.03 * last, high + room]);
    for simulation in data.simulations.iter().skip(1) {
        let at = |v: f64| panel.at([simulation[0].time, v]);
        scene.line(
            &[at(panel.low[1]), at(panel.high[1])],
            Stroke::new(Colour::Fixed((190, 190, 190)), 1.2).dashed(),
        );
    }
    let kinds: [(Colour, Energy); 3] = [
        (TOTAL, |p| p.potential + p.kinetic),
        (Colour::Line(0), |p| p.potential),
        (Colour::Line(1), |p| p.kinetic),
    ];
    for (colour, energy) in kinds {
        for simulation in &data.simulations {
            let places: Vec<Place> = simulation.iter().map(|p| panel.at([p.time, energy(p)])).collect();
            scene.line(&places, Stroke::new(colour, 2.0));
            scene.add(Shape::Dots { places, radius: 3.6, colour, opacity: 1.0 });
        }
    }
    panel.axes(scene, "Energies over time", "time", "energy");
}
