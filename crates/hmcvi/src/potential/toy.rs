//! Offer two-dimensional landscapes with known shapes, for figures, tests and first contact.

use hmcvi_graph::{Expr, Graph};
use serde::{Deserialize, Serialize};

use super::Potential;

/// A two-dimensional landscape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Landscape {
    /// Several deep craters in a plateau with a gentle slope to the middle, as in the paper's figures.
    #[default]
    Craters,
    /// A Gaussian with variances 1 and 0.25 and correlation 0.8.
    Gaussian,
    /// A bent Gaussian: `z₀ ~ N(0, 1)`, `z₁ ~ N(z₀² - 1, 0.5²)`.
    Banana,
    /// Two equal Gaussians with standard deviation 0.7 at `(-1, 0)` and `(1, 0)`.
    Mixture,
}

/// Centre, depth and width of the craters.
const CRATERS: [([f64; 2], f64, f64); 4] =
    [([-1.6, 1.1], 9.0, 0.55), ([1.3, 1.4], 7.0, 0.45), ([0.4, -1.5], 8.0, 0.6), ([-1.2, -0.9], 5.0, 0.4)];

impl Landscape {
    /// All landscapes.
    pub const ALL: [Landscape; 4] =
        [Landscape::Craters, Landscape::Gaussian, Landscape::Banana, Landscape::Mixture];

    /// The landscape as a potential energy.
    pub fn potential<'g>(self, graph: &'g Graph) -> Potential<'g> {
        Potential::from_expression(2, move |z| self.log_density(graph, z))
    }

    fn log_density<'g>(self, graph: &'g Graph, z: Expr<'g>) -> Expr<'g> {
        let (x, y) = (z.slice_cols(0, 1), z.slice_cols(1, 1));
        match self {
            Landscape::Craters => {
                // -U: wells of Gaussian shape, and a slope of ⅛|z|² that keeps particles in.
                let slope = z.square().sum_cols() * -0.125;
                CRATERS.iter().fold(slope, |sum, &([cx, cy], depth, width)| {
                    let distance = (x - cx).square() + (y - cy).square();
                    sum + (distance * (-0.5 / (width * width))).exp() * depth
                })
            }
            Landscape::Gaussian => {
                // Precision of the covariance [[1, 0.4], [0.4, 0.25]], whose determinant is 0.09.
                (x.square() * 0.25 - x * y * 0.8 + y.square()) * (-0.5 / 0.09)
            }
            Landscape::Banana => (x.square() + (y - x.square() + 1.0).square() * 4.0) * -0.5,
            Landscape::Mixture => {
                let well = |centre: f64| ((x - centre).square() + y.square()) * (-0.5 / 0.49);
                Expr::concat_cols(&[well(-1.0), well(1.0)]).log_sum_exp() + graph.constant(0.5).log()
            }
        }
    }

    /// Mean and variance of both coordinates, where they are known in closed form.
    pub fn moments(self) -> Option<([f64; 2], [f64; 2])> {
        match self {
            Landscape::Craters => None,
            Landscape::Gaussian => Some(([0.0, 0.0], [1.0, 0.25])),
            // E[z₀² - 1] = 0; Var[z₀² - 1] + 0.25 = 2 + 0.25.
            Landscape::Banana => Some(([0.0, 0.0], [1.0, 2.25])),
            // 0.49 + 1 along the line through the centres.
            Landscape::Mixture => Some(([0.0, 0.0], [1.49, 0.49])),
        }
    }
}
