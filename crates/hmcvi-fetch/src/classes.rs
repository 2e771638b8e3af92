//! Make the four files of a data set out of images that come by class, as JSON.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use hmcvi::data::{ByteArray, DataError, KnownFile, Storage, write_idx};
use serde::Deserialize;
use tar::Entry;

use super::error::FetchError;
use super::npm::{Tarball, check_type, missing, wrong};

const CLASSES: usize = 10;

/// Most bytes of a class: the largest has 17 MB.
const MOST_BYTES: u64 = 32 << 20;

/// The content of `0.json` and so on.
#[derive(Deserialize)]
struct Class {
    data: Vec<Vec<u8>>,
}

/// Writes `files` into the folder `scratch`. The classes take turns, so that every part of a file has all of them.
pub(super) fn make_files(
    tarball: &Tarball,
    folder: &str,
    files: &[KnownFile; 4],
    scratch: &Path,
) -> Result<(), FetchError> {
    let [train_images, train_labels, test_images, test_labels] = files;
    let each = |labels: &KnownFile| labels.shape.iter().product::<usize>() / CLASSES;
    let (test, all) = (each(test_labels), each(test_labels) + each(train_labels));
    let classes = read(tarball, folder, all, train_images.shape.iter().skip(1).product())?;
    for (ranks, images, labels) in
        [(test..all, train_images, train_labels), (0..test, test_images, test_labels)]
    {
        let (pixels, classes) = in_turn(&classes, ranks);
        for (file, bytes) in [(images, pixels), (labels, classes)] {
            let array = ByteArray::new(file.shape.to_vec(), bytes)?;
            write_idx(&scratch.join(file.name), &array, Storage::Plain)?;
        }
    }
    Ok(())
}

/// Pixels and labels of the images with the given ranks in their classes.
fn in_turn(classes: &[Vec<Vec<u8>>], ranks: Range<usize>) -> (Vec<u8>, Vec<u8>) {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for rank in ranks {
        for (label, images) in (0..).zip(classes) {
            pixels.extend_from_slice(&images[rank]);
            labels.push(label);
        }
    }
    (pixels, labels)
}

/// Reads the images of all classes, of which each has `count`.
fn read(
    tarball: &Tarball,
    folder: &str,
    count: usize,
    pixels: usize,
) -> Result<Vec<Vec<Vec<u8>>>, FetchError> {
    let names: Vec<String> = (0..CLASSES).map(|class| format!("{class}.json")).collect();
    let mut classes = vec![None; CLASSES];
    tarball.each(folder, |name, entry| {
        if let Some(class) = names.iter().position(|known| known == name) {
            let place = tarball.place(name);
            let images = parse(entry, &place)?;
            check(&images, count, pixels, &place)?;
            classes[class] = Some(images);
        }
        Ok(())
    })?;
    let absent = names.iter().zip(&classes).filter(|(_, images)| images.is_none());
    let absent: Vec<String> = absent.map(|(name, _)| format!("{folder}{name}")).collect();
    if absent.is_empty() {
        Ok(classes.into_iter().flatten().collect())
    } else {
        Err(missing(tarball, absent))
    }
}

/// The images of a class. Empty ones are left out: they were blank lines where the package's author read them.
fn parse(entry: Entry<'_, impl Read>, place: &str) -> Result<Vec<Vec<u8>>, FetchError> {
    check_type(&entry, place)?;
    if entry.size() > MOST_BYTES {
        return Err(wrong(place, "size", entry.size(), format!("at most {MOST_BYTES}")));
    }
    let mut text = Vec::new();
    let failed = |source| DataError::Io { file: place.to_owned(), action: "unpack", source };
    entry.take(MOST_BYTES).read_to_end(&mut text).map_err(failed)?;
    let expected = "{\"data\": [image, ...]} with images as lists of bytes";
    let class: Class =
        serde_json::from_slice(&text).map_err(|error| wrong(place, "content", error, expected))?;
    Ok(class.data.into_iter().filter(|image| !image.is_empty()).collect())
}

fn check(images: &[Vec<u8>], count: usize, pixels: usize, place: &str) -> Result<(), FetchError> {
    if images.len() != count {
        return Err(wrong(place, "number of images", images.len(), count));
    }
    match images.iter().find(|image| image.len() != pixels) {
        Some(image) => Err(wrong(place, "number of pixels of an image", image.len(), pixels)),
        None => Ok(()),
    }
}
