//! Map the training rows into the unit square (`fig:2d_latent_visualization`).

use hmcvi_record::LatentPoint;
use hmcvi_record::figure::{LatentSquare, Mosaic, Point};

use super::plane::mosaic;
use super::{FigureError, PlaneModel};
use crate::data::Table;
use crate::dist::{normal_distribution, normal_quantile};
use crate::eval::{BoundEvaluator, TEST_SEED, rows};

/// Decoded images in a row.
const IMAGES: usize = 20;

/// Draws of the first `count` rows after the HMC steps and, where they are images, what the decoder makes of the square.
pub fn latent_square(
    model: &PlaneModel<'_>,
    images: &Table,
    count: usize,
    seed: u64,
) -> Result<LatentSquare, FigureError> {
    let count = count.min(images.len());
    let none = || FigureError::NoImage { image: count, images: images.len() };
    let shown = images.slice(0..count).ok_or_else(none)?;
    let drawn = model.subject.observation.draw(&shown, TEST_SEED, 0);
    let problem = &model.subject.problem;
    let mut evaluator = BoundEvaluator::new(problem, &drawn.observation(), model.device)?;
    let chains = evaluator.run(model.store, &drawn, &rows(count), seed, 0, |_| false)?;
    let points = chains.end.as_chunks::<2>().0.iter().enumerate().map(|(i, z)| LatentPoint {
        x: normal_distribution(z[0].into()),
        y: normal_distribution(z[1].into()),
        class: shown.labels().and_then(|labels| labels.class(i)),
    });
    let middle = |i: usize| normal_quantile((2 * i + 1) as f64 / (2 * IMAGES) as f64);
    let grid: Vec<Point> = (0..IMAGES * IMAGES).map(|i| [middle(i % IMAGES), -middle(i / IMAGES)]).collect();
    let decoded = match images.shape() {
        Some(shape) => mosaic(model, &grid, IMAGES, shape)?,
        None => Mosaic::default(),
    };
    Ok(LatentSquare {
        images: count,
        hmc_steps: problem.family.steps().0 as u64,
        points: points.filter(|p| p.x.is_finite() && p.y.is_finite()).collect(),
        decoded,
    })
}
