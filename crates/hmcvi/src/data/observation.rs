//! Say how rows of a data set become what a model sees, inside a program or beforehand.

use std::ops::Range;
use std::sync::Arc;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{DataSet, Expr, Graph};

use super::binarise::{Binarisation, PixelScale};
use super::cells::Cells;
use super::table::Table;

/// Random stream of the images' pixels.
const STREAM_PIXELS: u16 = 0;
/// What programs call the data set.
pub(crate) const DATA: &str = "data";
/// What programs call the numbers of the rows in a batch.
pub(crate) const BATCH: &str = "batch";

/// How rows of a data set become what a model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What is done to values.
    pub seen: Seen,
    /// Columns of a row.
    pub columns: usize,
}

/// What is done to values before a model sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Bytes are scaled, and pixels may be drawn from their grey values.
    Pixels {
        /// How grey pixels become binary ones.
        binarisation: Binarisation,
        /// What bytes are divided by.
        scale: PixelScale,
    },
    /// Nothing.
    Values,
}

impl Observation {
    /// Whether each look at a row takes random numbers.
    pub fn is_random(&self) -> bool {
        matches!(self.seen, Seen::Pixels { binarisation, .. } if binarisation.is_random())
    }

    fn bytes<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        graph.gather(DATA, BATCH, self.columns)
    }

    fn grey<'g>(&self, graph: &'g Graph, scale: PixelScale) -> Expr<'g> {
        self.bytes(graph) * scale.probability(1)
    }

    /// The rows of a batch, drawn anew in every step.
    pub fn anew<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        let Seen::Pixels { binarisation, scale } = self.seen else {
            return graph.gather_values(DATA, BATCH, self.columns);
        };
        let grey = self.grey(graph, scale);
        match binarisation {
            Binarisation::None => grey,
            Binarisation::Threshold => grey.greater_equal(0.5),
            Binarisation::Stochastic => graph.uniform(STREAM_PIXELS, self.columns).less(grey),
        }
    }

    /// The rows of a batch where they were drawn beforehand by [`draw`](Self::draw).
    pub fn drawn<'g>(&self, graph: &'g Graph) -> Expr<'g> {
        match self.seen {
            Seen::Values => graph.gather_values(DATA, BATCH, self.columns),
            Seen::Pixels { binarisation: Binarisation::None, scale } => self.grey(graph, scale),
            Seen::Pixels { .. } => self.bytes(graph),
        }
    }

    /// Draws all rows once and for all. Where nothing is drawn, the table's own values are shared.
    pub fn draw(&self, table: &Table, seed: u64, draw: usize) -> Drawn {
        let cells = match self.seen {
            Seen::Pixels { binarisation, scale }
                if binarisation != Binarisation::None && table.are_bytes() =>
            {
                let pixel = |byte, uniform| binarisation.pixel(scale, byte, uniform) as u8;
                Arc::new(Cells::bytes(self.columns, self.draw_bytes(table, (seed, draw), pixel)))
            }
            _ => table.cells.clone(),
        };
        Drawn { of: *self, cells }
    }

    fn draw_bytes(
        &self,
        table: &Table,
        (seed, draw): (u64, usize),
        pixel: impl Fn(u8, f32) -> u8,
    ) -> Vec<u8> {
        let mut uniform = vec![0f32; self.columns];
        let mut drawn = Vec::with_capacity(table.len() * self.columns);
        table.cells.each_bytes(|bytes| {
            for pixels in bytes.chunks(self.columns) {
                let row = (drawn.len() / self.columns) as u32;
                random::uniform(Key { seed, stream: STREAM_PIXELS, step: draw as u64, row }, &mut uniform);
                drawn.extend(pixels.iter().zip(&uniform).map(|(&byte, &uniform)| pixel(byte, uniform)));
            }
        });
        drawn
    }
}

/// Rows as they were drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    of: Observation,
    cells: Arc<Cells>,
}

impl Drawn {
    /// How they were drawn.
    pub fn observation(&self) -> Observation {
        self.of
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.cells.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns of a row.
    pub fn columns(&self) -> usize {
        self.of.columns
    }

    /// The data set of programs that use [`Observation::drawn`].
    pub fn data_set(&self) -> (&'static str, DataSet<'_>) {
        (DATA, self.cells.data_set())
    }

    /// What the model sees of some rows, row after row.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn values(&self, rows: Range<usize>) -> Vec<f32> {
        let mut values = self.cells.read(rows).into_owned();
        if let Seen::Pixels { binarisation: Binarisation::None, scale } = self.of.seen {
            let one = scale.probability(1) as f32;
            values.iter_mut().for_each(|value| *value *= one);
        }
        values
    }
}

/// The rows of a batch, for programs that use an [`Observation`].
pub fn batch(rows: &[u32]) -> (&'static str, &[u32]) {
    (BATCH, rows)
}
