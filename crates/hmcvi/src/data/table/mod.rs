//! Read general tables of data: rows of numbers of one kind, dense or sparse, of which images are those with a shape.
//!
//! ```
//! use hmcvi::data::Splitting;
//! use hmcvi::data::table::{Kind, Table, Tables};
//!
//! let heights: Vec<f32> = (0..70).map(|i| 1.5 + 0.01 * i as f32).collect();
//! let tables = Tables::from_parts("heights", "memory", Splitting::Shuffled, (Table::dense(1, heights)?, None, None), None)?;
//! assert_eq!((tables.kind(), tables.train().len(), tables.test().len()), (Kind::Real, 50, 10));
//! assert!(tables.remarks()[0].text.contains("not integers"));
//! # Ok::<(), hmcvi::data::DataError>(())
//! ```
//!
//! [`open`] reads these, also compressed with gzip where that is usual:
//!
//! | file | content |
//! |---|---|
//! | `.npy` | one array of any real type: `[N]`, `[N, D]`, `[N, H, W]`, `[N, 1, H, W]` |
//! | `.npz` | such arrays by name, as [`super::open`] has them, or one sparse matrix of SciPy in CSR format |
//! | `.csv`, `.tsv` | text with a header; columns are chosen by name |
//! | `.mtx` | Matrix Market, sparse |
//! | folder | `.npy` files by name, or `.png` files of one size |
//!
//! Rows and columns in messages count from 0, lines of text files from 1.

mod cells;
mod csr;
mod csv;
mod csv_records;
mod kind;
mod labels;
mod lines;
mod mtx;
mod npy;
mod open;
mod png;
mod rows;
mod summary;
mod tables;

pub use csv::{CsvColumns, read_csv, read_csv_bytes};
pub use kind::{Kind, Stored};
pub use labels::Labels;
pub use mtx::{read_mtx, read_mtx_bytes};
pub use npy::{read_npy, read_npy_bytes};
pub use open::{Format, TableReading, open};
pub use png::{read_png_bytes, read_png_folder};
pub use rows::Table;
pub use summary::Summary;
pub use tables::Tables;
