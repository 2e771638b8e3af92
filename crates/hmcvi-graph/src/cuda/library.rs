//! Find libraries of NVIDIA where they are usually installed.

use std::path::{Path, PathBuf};

use libloading::Library;

/// Where [`load`] looks.
pub(super) const LOOKED_IN: &str = "the library path, /usr/local/cuda*/lib64 and Python's nvidia packages";

/// The first library of these names that can be loaded.
pub(super) fn load(names: &[&str]) -> impl Iterator<Item = Library> {
    // SAFETY: loading libraries of NVIDIA runs their initialisation only.
    candidates(names).into_iter().filter_map(|path| unsafe { Library::new(path) }.ok())
}

fn candidates(names: &[&str]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let mut folders: Vec<PathBuf> = vec!["/usr/local/cuda/lib64".into(), "/opt/cuda/lib64".into()];
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let read = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
        let mut all: Vec<PathBuf> = read.collect();
        all.sort();
        all
    };
    let starts = |path: &Path, with: &str| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(with))
    };
    folders.extend(
        entries(Path::new("/usr/local")).into_iter().filter(|p| starts(p, "cuda-")).map(|p| p.join("lib64")),
    );
    // Python packages, for a Python in one of the usual places.
    for prefix in ["/usr", "/usr/local", "/opt/venv", "/opt/torch/.venv"] {
        for python in entries(&Path::new(prefix).join("lib")).into_iter().filter(|p| starts(p, "python3")) {
            for packages in ["site-packages", "dist-packages"] {
                let nvidia = python.join(packages).join("nvidia");
                folders.extend(entries(&nvidia).into_iter().map(|p| p.join("lib")));
            }
        }
    }
    paths.extend(folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))));
    paths
}
