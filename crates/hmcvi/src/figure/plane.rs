//! Look at a latent plane: energies of one image, decoded means, and the ways of chains.

use std::rc::Rc;

use hmcvi_graph::{Graph, Run};
use hmcvi_record::figure::{ChainPath, Field, Mosaic, Picture, Point};

use super::{FigureError, PlaneModel};
use crate::data::{Drawn, batch};
use crate::device::Prepared;
use crate::eval::Decoder;
use crate::nn::Parameters;

/// Rows that are computed together.
const ROWS: usize = 1000;

/// `U(z) = -log p(x, z)` of one image.
pub(super) struct Energies {
    runner: Prepared<f32>,
    image: Drawn,
}

impl Energies {
    pub(super) fn new(model: &PlaneModel<'_>, image: &Drawn) -> Result<Self, FigureError> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let (problem, observation) = (&model.subject.problem, image.observation());
        let potential = problem.model.potential(&parameters, observation.drawn(&graph));
        let energy = potential.energy(graph.batch_input("z", 2));
        let program = graph.program().output("energy", energy).compile()?;
        Ok(Energies { runner: model.device.prepare(&program, ROWS)?, image: image.clone() })
    }

    /// Energies of points.
    pub(super) fn of(&mut self, model: &PlaneModel<'_>, points: &[Point]) -> Result<Vec<f64>, FigureError> {
        let rows = [0u32; ROWS];
        let mut energies = Vec::with_capacity(points.len());
        for points in points.chunks(ROWS) {
            let z: Vec<f32> = points.as_flattened().iter().map(|z| *z as f32).collect();
            let run = Run {
                rows: points.len(),
                inputs: &[("z", &z)],
                data: &[self.image.data_set()],
                indices: &[batch(&rows[..points.len()])],
                ..Run::default()
            };
            self.runner.evaluate(model.store, &run)?;
            let found = self.runner.output("energy").expect("the program has this output");
            energies.extend(found.iter().map(|e| f64::from(*e)));
        }
        Ok(energies)
    }

    /// Energies on a grid.
    pub(super) fn on(&mut self, model: &PlaneModel<'_>, mut grid: Field) -> Result<Field, FigureError> {
        grid.values = self.of(model, &grid.points().collect::<Vec<_>>())?;
        Ok(grid)
    }
}

/// Decoded means of points that lie row by row, the upper row first.
pub(super) fn mosaic(
    model: &PlaneModel<'_>,
    points: &[Point],
    columns: usize,
    (height, width): (usize, usize),
) -> Result<Mosaic, FigureError> {
    let z: Vec<f32> = points.as_flattened().iter().map(|z| *z as f32).collect();
    let means = Decoder::new(&model.subject.problem, model.device)?.means(model.store, &z)?;
    let rows = points.len() / columns;
    let mut values = vec![0f32; means.len()];
    for (i, image) in means.chunks(height * width).enumerate() {
        let (left, top) = ((i % columns) * width, (i / columns) * height);
        for (y, line) in image.chunks(width).enumerate() {
            let at = (top + y) * columns * width + left;
            values[at..at + width].copy_from_slice(line);
        }
    }
    // A hundredth is finer than can be seen.
    values.iter_mut().for_each(|v| *v = (*v * 100.0).round() / 100.0);
    Ok(Mosaic { columns, rows, picture: Picture { height: rows * height, width: columns * width, values } })
}

/// Chains of one image with all their leapfrog steps.
pub(super) fn paths(
    model: &PlaneModel<'_>,
    image: &Drawn,
    count: usize,
    seed: u64,
) -> Result<Vec<ChainPath>, FigureError> {
    let graph = Graph::new();
    let parameters = Rc::new(Parameters::new(&graph));
    let (problem, observation) = (&model.subject.problem, image.observation());
    let draw = problem.infer(&parameters, observation.drawn(&graph));
    let mut program = graph.program().output("z0", draw.start).output("end", draw.z);
    let mut places = 1;
    for z in draw.path {
        program = program.output(&format!("z{places}"), z);
        places += 1;
    }
    let mut runner: Prepared<f32> = model.device.prepare(&program.compile()?, count)?;
    let rows = vec![0u32; count];
    let run =
        Run { rows: count, data: &[image.data_set()], indices: &[batch(&rows)], seed, ..Run::default() };
    runner.evaluate(model.store, &run)?;
    let place = |name: &str, row: usize| -> Point {
        let all = runner.output(name).expect("the program has this output");
        [0, 1].map(|i| f64::from(all[2 * row + i]))
    };
    let path = |row: usize| ChainPath {
        points: (0..places).map(|i| place(&format!("z{i}"), row)).collect(),
        end: place("end", row),
    };
    Ok((0..count).map(path).collect())
}

/// The smallest square around points with some room to spare.
pub(super) fn square_around(points: &[Point], room: f64) -> Option<(Point, Point)> {
    let finite = || points.iter().filter(|p| p[0].is_finite() && p[1].is_finite());
    finite().next()?;
    let low = [0, 1].map(|i| finite().map(|p| p[i]).fold(f64::INFINITY, f64::min));
    let high = [0, 1].map(|i| finite().map(|p| p[i]).fold(f64::NEG_INFINITY, f64::max));
    let half = 0.5 * (1.0 + room) * (high[0] - low[0]).max(high[1] - low[1]).max(1e-6);
    let middle = [0, 1].map(|i| 0.5 * (low[i] + high[i]));
    Some((middle.map(|m| m - half), middle.map(|m| m + half)))
}
