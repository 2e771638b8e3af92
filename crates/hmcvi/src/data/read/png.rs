//! Read folders of PNG images of one size.

use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use png::{ColorType, Decoder, Limits, Transformations};

use super::file::{self, MOST_BYTES, check_memory};
use super::stream::most_decompressed;
use crate::data::error::{DataError, name};
use crate::data::remark::{About, Remark};
use crate::data::table::Table;

/// Reads the files of a folder that end in `.png`, in the order of their names, as [`read_png_bytes`] does.
///
/// # Errors
/// If there are none, one cannot be read, or they differ in size.
pub fn read_png_folder(folder: &Path) -> Result<Table, DataError> {
    Ok(read_folder(folder)?.0)
}

/// The images of a folder, with a remark if some of them lose their colours.
pub(crate) fn read_folder(folder: &Path) -> Result<(Table, Option<Remark>), DataError> {
    let files = list(folder)?;
    let Some(first) = files.first() else {
        let (looked_for, next) = (vec!["*.png".to_owned()], "give another folder".to_owned());
        return Err(DataError::Missing { place: name(folder), looked_for, next });
    };
    let (mut size, mut bytes, mut coloured) = (None, Vec::new(), 0);
    for path in &files {
        let image = read(path)?;
        let expected = *size.get_or_insert(image.size);
        if image.size != expected {
            let expected = format!("{} x {} as `{}`", expected.0, expected.1, name(first));
            let found = format!("{} x {}", image.size.0, image.size.1);
            return Err(DataError::field(name(path), "size of the image", found, expected));
        }
        check_memory(&name(folder), (bytes.len() + image.pixels.len()) as u64, 1)?;
        bytes.extend(image.pixels);
        coloured += usize::from(image.coloured);
    }
    let remark = (coloured > 0).then(|| about_colours(coloured, files.len()));
    Ok((Table::images_of(&name(folder), size.unwrap_or_default(), bytes, None)?, remark))
}

fn about_colours(coloured: usize, images: usize) -> Remark {
    let text = format!(
        "{coloured} of {images} images have colours, which become grey levels; to keep the colours, save the pixels as \
         an array of {images} rows in a .npy file, with a column for each channel of each pixel"
    );
    Remark::note(About::Columns, text)
}

/// An image in grey.
struct Image {
    /// Height and width.
    size: (usize, usize),
    pixels: Vec<u8>,
    /// Whether it had colours that are lost.
    coloured: bool,
}

/// The PNG files of a folder in the order of their names.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let failed = |source| DataError::io(name(folder), "open", source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Image, DataError> {
    let (file, length) = file::open(path)?;
    let mut bytes = Vec::new();
    BufReader::new(file)
        .take(length)
        .read_to_end(&mut bytes)
        .map_err(|source| DataError::io(name(path), "read", source))?;
    decode(&name(path), &bytes)
}

/// Reads one PNG image that is in memory; `file` names it in errors.
///
/// Colours become grey as ITU-R BT.601 has it: 0.299 red + 0.587 green + 0.114 blue, rounded. Of sixteen bits the upper
/// eight are taken. Of an animation the first image is.
///
/// # Errors
/// If it is damaged, is larger than its file can hold, or has transparent pixels.
pub fn read_png_bytes(file: &str, bytes: &[u8]) -> Result<Table, DataError> {
    let image = decode(file, bytes)?;
    Table::images_of(file, image.size, image.pixels, None)
}

fn decode(file: &str, bytes: &[u8]) -> Result<Image, DataError> {
    let failed = |error: png::DecodingError| DataError::io(file, "decode the PNG image", error.into());
    let limit = most_decompressed(bytes.len() as u64);
    let limits = Limits { bytes: usize::try_from(limit).unwrap_or(usize::MAX) };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(failed)?;
    let (height, width) = (reader.info().height as usize, reader.info().width as usize);
    let found = height.saturating_mul(reader.info().raw_row_length()) as u64;
    let size = reader.output_buffer_size().unwrap_or(usize::MAX);
    if found > limit || size as u64 > MOST_BYTES {
        let (field, why) = ("the image", "more than a file of this length can hold");
        return Err(DataError::TooLarge { file: file.to_owned(), field, found, limit, why });
    }
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(failed)?;
    pixels.truncate(frame.buffer_size());
    check_opaque(file, frame.color_type, &pixels)?;
    let coloured = has_colours(frame.color_type, &pixels);
    Ok(Image { size: (height, width), pixels: grey(frame.color_type, &pixels), coloured })
}

fn check_opaque(file: &str, color: ColorType, pixels: &[u8]) -> Result<(), DataError> {
    if !matches!(color, ColorType::GrayscaleAlpha | ColorType::Rgba) {
        return Ok(());
    }
    let samples = color.samples();
    let opacity = |pixel: &[u8]| pixel[samples - 1];
    match pixels.chunks_exact(samples).map(opacity).enumerate().find(|(_, opacity)| *opacity != u8::MAX) {
        None => Ok(()),
        Some((at, opacity)) => {
            let field = format!("opacity of pixel {at}");
            let expected = "255; images must not be transparent, save them without an alpha channel";
            Err(DataError::field(file, field, opacity, expected))
        }
    }
}

fn has_colours(color: ColorType, pixels: &[u8]) -> bool {
    let differ = |pixel: &[u8]| pixel[0] != pixel[1] || pixel[1] != pixel[2];
    matches!(color, ColorType::Rgb | ColorType::Rgba) && pixels.chunks_exact(color.samples()).any(differ)
}

fn grey(color: ColorType, pixels: &[u8]) -> Vec<u8> {
    let value = |pixel: &[u8]| match (color, pixel) {
        (ColorType::Rgb | ColorType::Rgba, [red, green, blue, ..]) => {
            let [red, green, blue] = [*red, *green, *blue].map(u32::from);
            ((299 * red + 587 * green + 114 * blue + 500) / 1000) as u8
        }
        _ => pixel[0],
    };
    pixels.chunks_exact(color.samples()).map(value).collect()
}
