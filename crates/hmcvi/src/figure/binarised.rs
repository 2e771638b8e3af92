//! Compare the ways to make binary pixels of grey ones (`fig:MNISTBinarizationComparison`).

use hmcvi_graph::random::{self, Key};
use hmcvi_record::figure::{Binarised, Picture};

use super::{FigureError, shape};
use crate::data::{Binarisation, PixelScale, Table};

/// Draws that are averaged.
const DRAWS: usize = 200;

/// One image under every strategy.
pub fn binarised(
    images: &Table,
    image: usize,
    scale: PixelScale,
    seed: u64,
) -> Result<Binarised, FigureError> {
    let none = || FigureError::NoImage { image, images: images.len() };
    images.bytes().ok_or(FigureError::NotPixels(images.kind()))?;
    let bytes = images.byte_rows(image..image + 1).ok_or_else(none)?;
    let (height, width) = shape(images)?;
    let picture = |values: Vec<f32>| Picture { height, width, values };
    let draw = |step: usize| {
        let mut uniform = vec![0f32; bytes.len()];
        random::uniform(Key { seed, stream: 0, step: step as u64, row: image as u32 }, &mut uniform);
        Binarisation::Stochastic.pixels(scale, bytes, &uniform)
    };
    let mut average = vec![0f32; bytes.len()];
    for step in 0..DRAWS {
        average.iter_mut().zip(draw(step)?).for_each(|(sum, x)| *sum += x / DRAWS as f32);
    }
    Ok(Binarised {
        image,
        class: images.labels().and_then(|labels| labels.class(image)),
        original: picture(Binarisation::None.pixels(scale, bytes, &[])?),
        threshold: picture(Binarisation::Threshold.pixels(scale, bytes, &[])?),
        stochastic: picture(draw(0)?),
        average: picture(average),
        draws: DRAWS,
    })
}
