//! Read tables of data, of which images are those with a shape, split them and say how models see them.
//!
//! ```
//! use hmcvi::data::{Binarisation, PixelScale, Source, open};
//!
//! let dataset = open(&Source::from("embedded"))?;
//! assert_eq!((dataset.train().len(), dataset.validation().len(), dataset.test().len()), (5000, 1000, 1000));
//! let first = dataset.train().byte_rows(0..1).unwrap_or_default();
//! let binary = Binarisation::Threshold.pixels(PixelScale::P256, first, &[])?;
//! assert_eq!(binary.len(), 28 * 28);
//! # Ok::<(), hmcvi::data::DataError>(())
//! ```
//!
//! Rows are numbers of one [`Kind`], dense or sparse:
//!
//! ```
//! use hmcvi::data::{Dataset, Kind, Splitting, Table};
//!
//! let heights: Vec<f32> = (0..70).map(|i| 1.5 + 0.01 * i as f32).collect();
//! let parts = (Table::dense(1, heights)?, None, None);
//! let dataset = Dataset::from_parts("heights", "memory", Splitting::Shuffled, parts)?;
//! assert_eq!((dataset.kind(), dataset.train().len(), dataset.test().len()), (Kind::Real, 50, 10));
//! # Ok::<(), hmcvi::data::DataError>(())
//! ```
//!
//! [`open_as`] reads these, also compressed with gzip where that is usual:
//!
//! | source | content |
//! |---|---|
//! | `embedded` | a subset of MNIST |
//! | folder | IDX files such as those of MNIST, `.npy` files by name, or `.png` files of one size |
//! | `.npy` | one array of any real type: `[N]`, `[N, D]`, `[N, H, W]`, `[N, 1, H, W]` |
//! | `.npz` | such arrays by name, one of any name, or one sparse matrix of SciPy in CSR format |
//! | `.csv`, `.tsv` | text with a header; columns are chosen by name |
//! | `.mtx` | Matrix Market, sparse |
//!
//! Files are never trusted: sizes that a header declares are checked against the file before memory is taken for
//! them, and decompression stops where it has to. Everything that can fail returns a [`DataError`]. Rows and columns in
//! messages count from 0, lines of text files from 1.

mod binarise;
mod cells;
mod classes;
mod error;
mod hash;
mod hashing;
mod images;
mod info;
mod kind;
mod labels;
mod observation;
mod read;
mod remark;
mod source;
mod sparse;
mod split;
mod splitting;
mod spread;
mod summary;
mod table;
mod taking;

pub use binarise::{Binarisation, PixelScale};
pub use error::DataError;
pub(crate) use hash::Hasher;
pub use info::{DatasetInfo, SplitInfo, info};
pub use kind::{Kind, Stored};
pub use labels::Labels;
pub(crate) use observation::BATCH;
pub use observation::{Drawn, Observation, Seen, batch};
pub use read::{
    ByteArray, CsvColumns, FASHION_MNIST, FASHION_MNIST_FIRST, Format, KnownFile, KnownSet, MNIST,
    MNIST_FILES, NpyValue, NpzWriter, Storage, is_safe_entry, load_idx_folder, load_mnist, read_csv,
    read_csv_bytes, read_idx, read_idx_bytes, read_mtx, read_mtx_bytes, read_npy, read_npy_bytes,
    read_png_bytes, read_png_folder, verify_mnist, write_idx, write_npy, write_npy_to,
};
pub use remark::{About, Remark, Severity};
pub use source::{Reading, Source, open, open_among, open_as};
pub use split::{Dataset, Split};
pub(crate) use splitting::permutation;
pub use splitting::{SPLIT_SEED, Splitting};
pub use summary::Summary;
pub(crate) use table::Share;
pub use table::Table;
