//! Show the potential energy that one image gives to the latent plane (`fig:EnergySurfaceMNIST`).

use hmcvi_record::figure::{EnergySurface, Field, Point};

use super::plane::{Energies, mosaic, paths, square_around};
use super::{FigureError, PlaneModel, observe, shape};
use crate::data::Table;

/// The plane is shown from minus this to this in both directions.
const REACH: f64 = 3.0;
/// Decoded images in a row.
const IMAGES: usize = 12;
/// Grid points of a side.
const GRID: usize = 121;
/// Chains that are shown.
const CHAINS: usize = 8;

/// The energy surface of one image, with chains on it.
pub fn energy_surface(
    model: &PlaneModel<'_>,
    images: &Table,
    image: usize,
    seed: u64,
) -> Result<EnergySurface, FigureError> {
    let observed = observe(&model.subject.observation, images, image)?;
    let mut energies = Energies::new(model, &observed.row)?;
    let energy = energies.on(model, Field::empty([-REACH; 2], [REACH; 2], GRID, GRID))?;
    let middle = |i: usize| REACH * ((2 * i + 1) as f64 / IMAGES as f64 - 1.0);
    let points: Vec<Point> =
        (0..IMAGES * IMAGES).map(|i| [middle(i % IMAGES), -middle(i / IMAGES)]).collect();
    let decoded = mosaic(model, &points, IMAGES, shape(images)?)?;
    let paths = paths(model, &observed.row, CHAINS, seed)?;
    let passed: Vec<Point> = paths.iter().flat_map(|p| p.points.iter().copied().chain([p.end])).collect();
    let (low, high) = square_around(&passed, 0.5).ok_or(FigureError::NoPosterior(image))?;
    let near = energies.on(model, Field::empty(low, high, GRID, GRID))?;
    Ok(EnergySurface {
        image,
        class: observed.class,
        observed: observed.picture,
        energy,
        decoded,
        near,
        paths,
        leapfrog_steps: model.subject.problem.family.steps().1,
    })
}
