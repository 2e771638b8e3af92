//! Find the exact posterior of one image in the plane by quadrature, and how far densities are from it.

use hmcvi_graph::random::{self, Key};
use hmcvi_record::figure::{Field, Point};

use super::plane::{Energies, square_around};
use super::{FigureError, PlaneModel};
use crate::data::Drawn;

/// The posterior is looked for from minus this to this in both directions.
const REACH: f64 = 5.0;
/// Grid points of a side of the search.
const SEARCH: usize = 321;
/// Grid points of a side of the quadrature.
const GRID: usize = 161;
/// Energies so far above the lowest belong to the posterior: the rest has less than a millionth of its density.
const DEPTH: f64 = 14.0;
/// Standard deviations of the encoder that have to be on the grid.
const DEVIATIONS: f64 = 5.5;
/// Random stream of draws from the exact posterior.
const STREAM_EXACT: u16 = 13;

/// The posterior of one image on a grid.
pub(super) struct Exact {
    /// Its density.
    pub(super) density: Field,
    /// `log p(x)`
    pub(super) log_evidence: f64,
    log_density: Vec<f64>,
}

impl Exact {
    /// On a grid that holds the posterior and the encoder's Gaussian, given by mean and log variance.
    pub(super) fn of(
        model: &PlaneModel<'_>,
        (row, image): (&Drawn, usize),
        (mean, log_variance): (Point, Point),
    ) -> Result<Self, FigureError> {
        let mut energies = Energies::new(model, row)?;
        let search = energies.on(model, Field::empty([-REACH; 2], [REACH; 2], SEARCH, SEARCH))?;
        let lowest = search.range().0;
        let deep = search.points().zip(&search.values).filter(|(_, e)| **e < lowest + DEPTH).map(|(z, _)| z);
        let edge = |sign: f64| [0, 1].map(|i| mean[i] + sign * DEVIATIONS * (0.5 * log_variance[i]).exp());
        let seen: Vec<Point> = deep.chain([edge(-1.0), edge(1.0)]).collect();
        let (low, high) = square_around(&seen, 0.1).ok_or(FigureError::NoPosterior(image))?;
        let energy = energies.on(model, Field::empty(low, high, GRID, GRID))?;
        if !energy.range().0.is_finite() {
            return Err(FigureError::NoPosterior(image));
        }
        let (density, log_evidence) = normalised(&energy);
        let log_density = energy.values.iter().map(|e| -e - log_evidence).collect();
        Ok(Exact { density, log_evidence, log_density })
    }

    /// `KL(q ‖ p)` for a density on the same grid.
    pub(super) fn divergence(&self, q: &Field) -> f64 {
        let term = |(q, log_p): (&f64, &f64)| if *q > 0.0 { q * (q.ln() - log_p) } else { 0.0 };
        let values = q.values.iter().zip(&self.log_density).map(term).collect();
        Field { values, ..Field::empty(q.low, q.high, q.columns, q.rows) }.integral()
    }

    /// Draws from the density, which is taken to be constant in the cell around each grid point.
    pub(super) fn draws(&self, count: usize, seed: u64) -> Vec<Point> {
        let mut sums = self.density.values.clone();
        let mut total = 0.0;
        for sum in &mut sums {
            total += *sum;
            *sum = total;
        }
        let (points, spacing): (Vec<Point>, Point) =
            (self.density.points().collect(), self.density.spacing());
        let mut uniform = vec![0f64; 3 * count];
        random::uniform(Key { seed, stream: STREAM_EXACT, step: 0, row: 0 }, &mut uniform);
        let draw = |u: &[f64; 3]| -> Point {
            let at = sums.partition_point(|sum| *sum < u[0] * total).min(points.len() - 1);
            [0, 1].map(|i| points[at][i] + (u[i + 1] - 0.5) * spacing[i])
        };
        uniform.as_chunks::<3>().0.iter().map(draw).collect()
    }
}

/// `exp(-U)` divided by its integral, and the logarithm of that integral.
fn normalised(energy: &Field) -> (Field, f64) {
    let lowest = energy.range().0;
    let mut field =
        Field { values: energy.values.iter().map(|e| (lowest - e).exp()).collect(), ..energy.clone() };
    let mass = field.integral();
    field.values.iter_mut().for_each(|v| *v /= mass);
    (field, mass.ln() - lowest)
}

/// Points whose coordinates follow each other; those that are not finite are left out.
pub(super) fn points(z: &[f32]) -> Vec<Point> {
    let all = z.as_chunks::<2>().0.iter().map(|z| [z[0].into(), z[1].into()]);
    all.filter(|z: &Point| z[0].is_finite() && z[1].is_finite()).collect()
}

/// The modes of a posterior: connected regions of its highest density, the one with the largest mass first.
pub(super) struct Regions {
    /// Masses of the regions.
    pub(super) masses: Vec<f64>,
    /// The region of every grid point that is in one.
    of: Vec<Option<usize>>,
    grid: Field,
}

impl Exact {
    /// The regions that hold a share of the mass together.
    pub(super) fn regions(&self, share: f64) -> Regions {
        let Field { values, columns, rows, .. } = &self.density;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
        let total: f64 = values.iter().sum();
        let mut inside = 0.0;
        let count = order.iter().take_while(|i| {
            let counted = inside < share * total;
            inside += values[**i];
            counted
        });
        let count = count.count();
        let mut of: Vec<Option<usize>> = vec![None; values.len()];
        let mut is_high = vec![false; values.len()];
        order[..count].iter().for_each(|i| is_high[*i] = true);
        let mut masses: Vec<f64> = Vec::new();
        for &seed in &order[..count] {
            if of[seed].is_some() {
                continue;
            }
            let (region, mut mass, mut ahead) = (masses.len(), 0.0, vec![seed]);
            of[seed] = Some(region);
            while let Some(at) = ahead.pop() {
                mass += values[at] / total;
                let (x, y) = (at % columns, at / columns);
                let left = (x > 0).then(|| at - 1);
                let right = (x + 1 < *columns).then(|| at + 1);
                let below = (y > 0).then(|| at - columns);
                let above = (y + 1 < *rows).then(|| at + columns);
                for next in [left, right, below, above].into_iter().flatten() {
                    if is_high[next] && of[next].is_none() {
                        of[next] = Some(region);
                        ahead.push(next);
                    }
                }
            }
            masses.push(mass);
        }
        let mut ranks: Vec<usize> = (0..masses.len()).collect();
        ranks.sort_by(|a, b| masses[*b].total_cmp(&masses[*a]));
        let rank = |region: usize| ranks.iter().position(|r| *r == region);
        let of = of.into_iter().map(|region| region.and_then(rank)).collect();
        let grid = Field::empty(self.density.low, self.density.high, *columns, *rows);
        Regions { masses: ranks.iter().map(|region| masses[*region]).collect(), of, grid }
    }
}

impl Regions {
    /// Shares of points that are in each region.
    pub(super) fn shares(&self, points: &[Point]) -> Vec<f64> {
        let spacing = self.grid.spacing();
        let mut counts = vec![0usize; self.masses.len()];
        for z in points {
            let at = [0, 1].map(|i| ((z[i] - self.grid.low[i]) / spacing[i]).round());
            let is_inside = at[0] >= 0.0
                && at[1] >= 0.0
                && at[0] < self.grid.columns as f64
                && at[1] < self.grid.rows as f64;
            if !is_inside {
                continue;
            }
            if let Some(region) = self.of[at[1] as usize * self.grid.columns + at[0] as usize] {
                counts[region] += 1;
            }
        }
        counts.into_iter().map(|count| count as f64 / points.len().max(1) as f64).collect()
    }
}
