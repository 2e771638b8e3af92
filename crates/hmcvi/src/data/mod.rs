//! Read, split and binarise the images that models are trained on.
//!
//! ```
//! use hmcvi::data::{Binarisation, PixelScale, Source, open};
//!
//! let dataset = open(&Source::from("embedded"))?;
//! assert_eq!((dataset.train().len(), dataset.validation().len(), dataset.test().len()), (5000, 1000, 1000));
//! let first = dataset.train().rows(0..1).unwrap_or_default();
//! let binary = Binarisation::Threshold.pixels(PixelScale::P256, first, &[])?;
//! assert_eq!(binary.len(), 28 * 28);
//! # Ok::<(), hmcvi::data::DataError>(())
//! ```
//!
//! Files are never trusted: sizes that a header declares are checked against the file before memory is taken for
//! them, and decompression stops where it has to. Everything that can fail returns a [`DataError`].

mod array;
mod arrays;
mod binarise;
mod embedded;
mod error;
mod file;
mod folder;
mod hash;
mod idx;
mod images;
mod info;
mod kind;
mod mnist;
mod npy;
mod npy_header;
mod npy_number;
mod npy_other;
mod npz;
mod observation;
mod remark;
mod source;
mod split;
mod splitting;
mod stream;
pub mod table;

pub use array::ByteArray;
pub use binarise::{Binarisation, PixelScale};
pub use error::DataError;
pub use folder::{load_idx_folder, load_npy_folder};
pub(crate) use hash::Hasher;
pub use idx::{Storage, read_idx, read_idx_bytes, write_idx};
pub use images::Images;
pub use info::{DatasetInfo, SplitInfo, info};
pub use kind::Kind;
pub use mnist::{KnownFile, MNIST_FILES, load_mnist, verify_mnist};
pub use npy::{NpyValue, read_npy, read_npy_bytes, write_npy, write_npy_to};
pub use npz::is_safe_entry;
pub(crate) use observation::BATCH;
pub use observation::{Drawn, Observation, batch};
pub use remark::{About, Remark, Severity};
pub use source::{Reading, Source, open, open_as};
pub use split::{Dataset, Split};
pub(crate) use splitting::permutation;
pub use splitting::{SPLIT_SEED, Splitting};
