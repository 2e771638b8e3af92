//! Read and write the formats of data files, one module for each, none of which is trusted.

mod array;
mod arrays;
mod csr;
mod csv;
mod csv_records;
mod embedded;
mod file;
mod folder;
mod format;
mod idx;
mod lines;
mod mnist;
mod mtx;
mod npy;
mod npy_header;
mod npy_number;
mod npy_write;
mod npz;
mod npz_write;
mod part;
mod png;
mod stream;

pub use array::ByteArray;
pub(super) use arrays::Read;
pub use csv::{CsvColumns, read_csv, read_csv_bytes};
pub(super) use file::check_memory;
pub use folder::load_idx_folder;
pub(super) use folder::{folder_name, has_idx, has_npy, load_idx_folder_among, read_npy_folder};
pub use format::Format;
pub(super) use format::read_file;
pub use idx::{Storage, read_idx, read_idx_bytes, write_idx};
pub(super) use mnist::is_mnist;
pub use mnist::{
    FASHION_MNIST, FASHION_MNIST_FIRST, KnownFile, KnownSet, MNIST, MNIST_FILES, load_mnist, verify_mnist,
};
pub use mtx::{read_mtx, read_mtx_bytes};
pub use npy::{read_npy, read_npy_bytes};
pub use npy_write::{NpyValue, write_npy, write_npy_to};
pub use npz::is_safe_entry;
pub use npz_write::NpzWriter;
pub(super) use part::Readers;
pub(super) use png::{list as list_png, read_folder as read_images};
pub use png::{read_png_bytes, read_png_folder};
