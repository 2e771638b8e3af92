//! Gather the images of a batch inside a program, and binarise them there.

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{Expr, Graph};

use super::{Binarisation, Images, PixelScale};

/// Random stream of the images' pixels.
const STREAM_PIXELS: u16 = 0;

fn grey(graph: &Graph, scale: PixelScale, pixels: usize) -> Expr<'_> {
    graph.gather("images", "batch", pixels) * scale.probability(1)
}

/// The rows of the data set `images` that the index `batch` names, binarised anew in every step.
pub fn images_of_batch(
    graph: &Graph,
    binarisation: Binarisation,
    scale: PixelScale,
    pixels: usize,
) -> Expr<'_> {
    let grey = grey(graph, scale, pixels);
    match binarisation {
        Binarisation::None => grey,
        Binarisation::Threshold => grey.greater_equal(0.5),
        Binarisation::Stochastic => graph.uniform(STREAM_PIXELS, pixels).less(grey),
    }
}

/// The same rows where they were binarised beforehand by [`fixed_draw`].
pub fn images_given(graph: &Graph, binarisation: Binarisation, scale: PixelScale, pixels: usize) -> Expr<'_> {
    match binarisation {
        Binarisation::None => grey(graph, scale, pixels),
        _ => graph.gather("images", "batch", pixels),
    }
}

/// One fixed draw of all images: bytes 0 and 1, or the grey values where nothing is binarised.
pub fn fixed_draw(
    images: &Images,
    binarisation: Binarisation,
    scale: PixelScale,
    seed: u64,
    draw: usize,
) -> Vec<u8> {
    if binarisation == Binarisation::None {
        return images.bytes().to_vec();
    }
    let mut uniform = vec![0f32; images.pixels()];
    let mut bytes = Vec::with_capacity(images.bytes().len());
    for (row, pixels) in images.bytes().chunks(images.pixels()).enumerate() {
        random::uniform(
            Key { seed, stream: STREAM_PIXELS, step: draw as u64, row: row as u32 },
            &mut uniform,
        );
        bytes.extend(pixels.iter().zip(&uniform).map(|(&byte, &u)| binarisation.pixel(scale, byte, u) as u8));
    }
    bytes
}
