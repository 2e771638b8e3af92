//! Check folders of PNG images: order, colours, sizes, and files that lie.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use hmcvi::data::{DataError, Kind, Source, open, read_png_bytes, read_png_folder};
use png::{BitDepth, ColorType};

fn png(width: u32, height: u32, color: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette(vec![10, 10, 10, 255, 0, 0]);
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    bytes
}

fn grey(width: u32, height: u32, data: &[u8]) -> Vec<u8> {
    png(width, height, ColorType::Grayscale, BitDepth::Eight, data)
}

fn save(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).unwrap();
}

fn message(result: Result<impl std::fmt::Debug, DataError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn images_come_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in [("b.png", 20), ("a.PNG", 10), ("c.png", 200)] {
        save(folder.path(), name, &grey(3, 2, &[value; 6]));
    }
    save(folder.path(), "notes.txt", b"no image");
    let images = read_png_folder(folder.path()).unwrap();
    assert_eq!((images.shape(), images.len(), images.memory()), (Some((2, 3)), 3, 18));
    assert_eq!(images.bytes().unwrap().chunks(6).map(|image| image[0]).collect::<Vec<_>>(), [10, 20, 200]);
    let dataset = open(&Source::Folder(folder.path().into())).unwrap();
    assert_eq!((dataset.kind(), dataset.train().shape()), (Kind::Byte, Some((2, 3))));
    assert_eq!(dataset.summary().max, 200.0);
}

#[test]
fn lost_colours_are_remarked_on() {
    let folder = tempfile::tempdir().unwrap();
    for image in 0..10 {
        save(folder.path(), &format!("a{image}.png"), &grey(2, 1, &[0, 255]));
    }
    save(folder.path(), "b.png", &png(2, 1, ColorType::Rgb, BitDepth::Eight, &[7, 7, 7, 9, 9, 9]));
    let remarks = || {
        let dataset = open(&Source::Folder(folder.path().into())).unwrap();
        dataset.remarks().into_iter().map(|remark| remark.text).collect::<Vec<_>>().join("\n")
    };
    assert!(!remarks().contains("colours"), "{}", remarks());
    save(folder.path(), "c.png", &png(2, 1, ColorType::Rgb, BitDepth::Eight, &[7, 7, 7, 9, 9, 8]));
    assert!(remarks().contains("1 of 12 images have colours, which become grey levels"), "{}", remarks());
}

#[test]
fn colours_become_grey() {
    let read = |bytes: &[u8]| read_png_bytes("test.png", bytes).unwrap().bytes().unwrap().to_vec();
    // 0.299 x 255 = 76.2, 0.587 x 255 = 149.7, 0.114 x 255 = 29.1, and white stays white.
    let colours = [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255];
    assert_eq!(read(&png(2, 2, ColorType::Rgb, BitDepth::Eight, &colours)), [76, 150, 29, 255]);
    let opaque = [255, 0, 0, 255, 7, 7, 7, 255];
    assert_eq!(read(&png(2, 1, ColorType::Rgba, BitDepth::Eight, &opaque)), [76, 7]);
    assert_eq!(read(&png(2, 1, ColorType::GrayscaleAlpha, BitDepth::Eight, &[9, 255, 8, 255])), [9, 8]);
    // Of sixteen bits the upper eight; one bit is black or white; an index is its colour.
    assert_eq!(read(&png(2, 1, ColorType::Grayscale, BitDepth::Sixteen, &[18, 99, 200, 1])), [18, 200]);
    assert_eq!(read(&png(3, 1, ColorType::Grayscale, BitDepth::One, &[0b1010_0000])), [255, 0, 255]);
    assert_eq!(read(&png(2, 1, ColorType::Indexed, BitDepth::Eight, &[0, 1])), [10, 76]);
    let transparent = png(2, 1, ColorType::GrayscaleAlpha, BitDepth::Eight, &[9, 255, 8, 254]);
    let error = message(read_png_bytes("test.png", &transparent));
    assert!(error.contains("opacity of pixel 1 is 254"), "{error}");
}

#[test]
fn folders_that_do_not_fit_are_refused_by_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(message(read_png_folder(folder.path())).contains("*.png"));
    save(folder.path(), "a.png", &grey(3, 2, &[1; 6]));
    save(folder.path(), "b.png", &grey(2, 3, &[1; 6]));
    let error = message(read_png_folder(folder.path()));
    assert!(
        error.contains("b.png: size of the image is 3 x 2, expected 2 x 3 as") && error.contains("a.png"),
        "{error}"
    );
    let whole = grey(30, 20, &(0..600).map(|i| (i * 7 % 251) as u8).collect::<Vec<_>>());
    save(folder.path(), "b.png", &whole[..whole.len() / 2]);
    let error = message(read_png_folder(folder.path()));
    assert!(error.contains("b.png: cannot decode the PNG image"), "{error}");
    save(folder.path(), "b.png", b"GIF89a");
    assert!(message(read_png_folder(folder.path())).contains("b.png"));
}

#[test]
fn sizes_are_claims() {
    let mut bytes = grey(3, 2, &[1; 6]);
    // Width and height of the header become 2^24 each; the checksum that follows is made to fit.
    bytes[16..24].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0]);
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.sum().to_be_bytes());
    assert!(matches!(
        read_png_bytes("test.png", &bytes),
        Err(DataError::TooLarge { .. } | DataError::Io { .. })
    ));
}
