//! Compute the data behind the paper's figures, one module for each. [`hmcvi_record::figure`] holds the results.
//!
//! The figures of a trained model work for every run whose latent space is a plane.

mod binarised;
mod energy_surface;
mod ensemble;
mod exact;
mod flow_chart;
mod kernel;
mod latent_square;
mod modes;
mod motion;
mod plane;
mod posteriors;
mod simulation;

pub use binarised::binarised;
pub use energy_surface::energy_surface;
pub use ensemble::{EnsembleSettings, ensemble};
pub use flow_chart::flow_chart;
pub use latent_square::latent_square;
pub use modes::{ModesSettings, modes};
pub use motion::{MotionSettings, motion};
pub use posteriors::posteriors;

use hmcvi_graph::Store;
use hmcvi_record::figure::Picture;

use crate::config::RunSpec;
use crate::data::{DataError, Drawn, Kind, Observation, Table};
use crate::device::{Device, DeviceError};
use crate::eval::{EvalError, TEST_SEED};
use crate::family::BeginError;
use crate::hmc::SamplerError;
use crate::problem::Subject;
use crate::train::FitError;

/// A figure that cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The model cannot be evaluated.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The landscape cannot be simulated.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// A family cannot be fitted to the image.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A family finds nothing to begin with.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The images cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The latent space is not a plane.
    #[error("`model.latent` is {0}, but must be 2: this figure shows a plane")]
    NotAPlane(usize),
    /// There is no such image.
    #[error("image {image} was asked for, but there are {images}, counted from 0")]
    NoImage {
        /// Its number.
        image: usize,
        /// Images there are.
        images: usize,
    },
    /// The rows are no images.
    #[error("this figure shows images, but the rows of this data have no height and width")]
    NoShape,
    /// The values are no pixels.
    #[error("this figure binarises grey pixels, but the values of this data are {}", .0.words())]
    NotPixels(Kind),
    /// The posterior of the image could not be found on a grid.
    #[error("the energy of image {0} is not finite anywhere near the origin of the latent plane")]
    NoPosterior(usize),
}

impl From<DeviceError> for FigureError {
    fn from(error: DeviceError) -> Self {
        EvalError::from(error).into()
    }
}

impl From<hmcvi_graph::CompileError> for FigureError {
    fn from(error: hmcvi_graph::CompileError) -> Self {
        EvalError::from(error).into()
    }
}

/// A trained model whose latent space is a plane.
pub struct PlaneModel<'a> {
    subject: Subject,
    store: &'a Store<f32>,
    device: &'a Device,
}

impl<'a> PlaneModel<'a> {
    /// The model of a run with its parameters, for rows such as these.
    ///
    /// # Errors
    /// [`FigureError::NotAPlane`] for other dimensions than two.
    pub fn new(
        spec: &RunSpec,
        rows: &Table,
        store: &'a Store<f32>,
        device: &'a Device,
    ) -> Result<Self, FigureError> {
        PlaneModel::of(Subject::of_run(spec, rows), store, device)
    }

    /// Any model with any family.
    ///
    /// # Errors
    /// [`FigureError::NotAPlane`] for other dimensions than two.
    pub fn of(subject: Subject, store: &'a Store<f32>, device: &'a Device) -> Result<Self, FigureError> {
        match subject.problem.model.latent() {
            2 => Ok(PlaneModel { subject, store, device }),
            other => Err(FigureError::NotAPlane(other)),
        }
    }
}

/// An image as a model sees it.
struct Observed {
    row: Drawn,
    class: Option<u8>,
    picture: Picture,
}

/// One image, binarised once and for all as the settings say.
fn observe(observation: &Observation, images: &Table, image: usize) -> Result<Observed, FigureError> {
    let none = || FigureError::NoImage { image, images: images.len() };
    let one = images.slice(image..image + 1).ok_or_else(none)?;
    let row = observation.draw(&one, TEST_SEED, 0);
    let mut values = row.values(0..1);
    let largest = values.iter().copied().fold(0.0, f32::max);
    if largest > 0.0 {
        values.iter_mut().for_each(|v| *v /= largest);
    }
    let (height, width) = shape(&one)?;
    Ok(Observed {
        row,
        class: one.labels().and_then(|l| l.class(0)),
        picture: Picture { height, width, values },
    })
}

/// Height and width of images.
fn shape(images: &Table) -> Result<(usize, usize), FigureError> {
    images.shape().ok_or(FigureError::NoShape)
}
