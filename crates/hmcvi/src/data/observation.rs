//! Say how rows of a data set become what a model sees, inside a program or beforehand.

use std::ops::Range;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{DataSet, Expr, Graph};

use super::{Binarisation, Images, PixelScale};

/// Random stream of the images' pixels.
const STREAM_PIXELS: u16 = 0;
/// What programs call the data set.
pub(crate) const DATA: &str = "data";
/// What programs call the numbers of the rows in a batch.
pub(crate) const BATCH: &str = "batch";

/// How rows of a data set become what a model sees: pixels may be drawn from their grey values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// How grey pixels become binary ones.
    pub binarisation: Binarisation,
    /// What bytes are divided by.
    pub scale: PixelScale,
    /// Columns of a row.
    pub columns: usize,
}

impl Observation {
    fn bytes<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        graph.gather(DATA, BATCH, self.columns)
    }

    fn grey<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        self.bytes(graph) * self.scale.probability(1)
    }

    /// The rows of a batch, drawn anew in every step.
    pub fn anew<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        let grey = self.grey(graph);
        match self.binarisation {
            Binarisation::None => grey,
            Binarisation::Threshold => grey.greater_equal(0.5),
            Binarisation::Stochastic => graph.uniform(STREAM_PIXELS, self.columns).less(grey),
        }
    }

    /// The rows of a batch where they were drawn beforehand by [`draw`](Self::draw).
    pub fn drawn<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        match self.binarisation {
            Binarisation::None => self.grey(graph),
            _ => self.bytes(graph),
        }
    }

    /// Draws all rows once and for all.
    pub fn draw(&self, images: &Images, seed: u64, draw: usize) -> Drawn {
        if self.binarisation == Binarisation::None {
            return Drawn { of: *self, bytes: images.bytes().to_vec() };
        }
        let mut uniform = vec![0f32; self.columns];
        let mut bytes = Vec::with_capacity(images.bytes().len());
        for (row, pixels) in images.bytes().chunks(self.columns).enumerate() {
            let key = Key { seed, stream: STREAM_PIXELS, step: draw as u64, row: row as u32 };
            random::uniform(key, &mut uniform);
            let pixel = |(&byte, &u): (&u8, &f32)| self.binarisation.pixel(self.scale, byte, u) as u8;
            bytes.extend(pixels.iter().zip(&uniform).map(pixel));
        }
        Drawn { of: *self, bytes }
    }
}

/// Rows as they were drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    of: Observation,
    bytes: Vec<u8>,
}

impl Drawn {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.of.columns
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Columns of a row.
    pub fn columns(&self) -> usize {
        self.of.columns
    }

    /// The data set of programs that use [`Observation::drawn`].
    pub fn data_set(&self) -> (&'static str, DataSet<'_>) {
        (DATA, DataSet::Bytes(&self.bytes))
    }

    /// What the model sees of some rows, row after row.
    pub fn values(&self, rows: Range<usize>) -> Vec<f32> {
        let one = match self.of.binarisation {
            Binarisation::None => self.of.scale.probability(1) as f32,
            _ => 1.0,
        };
        let columns = self.of.columns;
        self.bytes[rows.start * columns..rows.end * columns].iter().map(|b| f32::from(*b) * one).collect()
    }
}

impl Images {
    /// The data set of programs that use [`Observation::anew`].
    pub fn data_set(&self) -> (&'static str, DataSet<'_>) {
        (DATA, DataSet::Bytes(self.bytes()))
    }
}

/// The rows of a batch, for programs that use an [`Observation`].
pub fn batch(rows: &[u32]) -> (&'static str, &[u32]) {
    (BATCH, rows)
}
