//! Write files so that a reader sees the old content or the new, never a part.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::DirectoryError;

/// How the names of temporary files begin.
pub(super) const TEMPORARY: &str = ".hmcvi-";

/// Writes to a temporary file in the same folder, flushes it to the disk, reads it back, and only then gives it its
/// name, which is flushed too.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), DirectoryError> {
    write_and_name(path, bytes, |temporary| fs::rename(temporary, path))
}

/// Does the same for a file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), DirectoryError> {
    write_and_name(path, bytes, |temporary| match fs::hard_link(temporary, path) {
        Ok(()) => {
            // The file has its name; a second one that stays does no harm.
            let _ = fs::remove_file(temporary);
            Ok(())
        }
        Err(taken) if taken.kind() == ErrorKind::AlreadyExists => Err(taken),
        Err(_) => claim_and_rename(temporary, path),
    })
}

/// Where a file system has no links, an empty file keeps the name from others until the content takes its place.
fn claim_and_rename(temporary: &Path, path: &Path) -> io::Result<()> {
    File::create_new(path)?;
    fs::rename(temporary, path).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

fn write_and_name(
    path: &Path,
    bytes: &[u8],
    name: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), DirectoryError> {
    let failed = |source| DirectoryError::io(path, "write", source);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (temporary, file) = create(folder).map_err(failed)?;
    let named = fill(file, &temporary, bytes).and_then(|()| name(&temporary));
    named.map_err(|why| {
        let _ = fs::remove_file(&temporary);
        failed(why)
    })?;
    // Not all file systems can flush a folder.
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

/// Creates a file under a name that nothing has yet.
fn create(folder: &Path) -> io::Result<(PathBuf, File)> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{TEMPORARY}{}-{number}", std::process::id()));
        match File::create_new(&path) {
            // A process with the same id left it, or writes it on another computer.
            Err(taken) if taken.kind() == ErrorKind::AlreadyExists => {}
            created => return Ok((path, created?)),
        }
    }
}

fn fill(mut file: File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()?;
    match fs::read(path)? == bytes {
        true => Ok(()),
        false => Err(io::Error::other("what was written is not what is there; the disk may be failing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_else_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        for content in ["a longer text", "short", ""] {
            write(&path, content.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("read"), content);
        }
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_new_file_never_replaces_another() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        write_new(&path, b"first").expect("the name is free");
        write_new(&path, b"second").expect_err("the name is taken");
        let spare = folder.path().join("spare");
        fs::write(&spare, "third").expect("written");
        claim_and_rename(&spare, &path).expect_err("the name is taken");
        assert_eq!(fs::read(&path).expect("read"), b"first");
        assert_eq!(names(folder.path()), ["file", "spare"]);
        claim_and_rename(&spare, &folder.path().join("other")).expect("the name is free");
        assert_eq!(fs::read(folder.path().join("other")).expect("read"), b"third");
        assert_eq!(names(folder.path()), ["file", "other"]);
    }

    #[test]
    fn a_name_that_cannot_be_given_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let taken = folder.path().join("folder");
        fs::create_dir(&taken).expect("a folder");
        write(&taken, b"text").expect_err("a folder is not replaced");
        write_new(&taken, b"text").expect_err("nor taken for nothing");
        write(&folder.path().join("missing").join("file"), b"text").expect_err("there is no such folder");
        assert_eq!(names(folder.path()), ["folder"]);
    }

    #[test]
    fn temporary_files_that_were_left_are_not_touched() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (left, _) = create(folder.path()).expect("created");
        let number = left.to_string_lossy().rsplit('-').next().and_then(|n| n.parse::<u64>().ok());
        let number = number.expect("a number at the end");
        for next in number + 1..number + 50 {
            let name = format!("{TEMPORARY}{}-{next}", std::process::id());
            fs::write(folder.path().join(name), "left").expect("written");
        }
        write(&folder.path().join("file"), b"text").expect("written");
        let left = names(folder.path()).into_iter().filter(|name| name.starts_with(TEMPORARY));
        let whole = left.filter(|name| fs::read(folder.path().join(name)).expect("read") == b"left");
        assert_eq!(whole.count(), 49);
    }

    /// Results are as readable as other files of their owner.
    #[cfg(unix)]
    #[test]
    fn files_have_the_rights_that_others_get() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [plain, ours, new] = ["plain", "ours", "new"].map(|name| folder.path().join(name));
        fs::write(&plain, "text").expect("written");
        write(&ours, b"text").expect("written");
        write_new(&new, b"text").expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode();
        assert_eq!([mode(&ours), mode(&new)], [mode(&plain); 2]);
    }
}
