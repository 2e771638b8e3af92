//! Keep the finished parts of something long, so that it goes on where it was interrupted.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use hmcvi_record::{ReadError, Versioned, read};
use serde::Deserialize;
use serde_json::{Value, json};

use super::atomic;
use super::error::DirectoryError;

/// Finished parts by name, one line of JSON each. The first line says what they are parts of.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    parts: HashMap<String, Value>,
}

/// Version of journals.
const SCHEMA: u32 = 1;

/// The first line.
#[derive(Deserialize)]
struct Head {
    of: Value,
}

/// The first journals carried no schema.
impl Versioned for Head {
    const SCHEMAS: RangeInclusive<u32> = SCHEMA..=SCHEMA;
    const UNNUMBERED: Option<u32> = Some(1);
}

impl Journal {
    /// Opens the journal of the work that `of` describes. Parts of other work are dropped, and so is a
    /// line that was cut off. A journal of a later version is refused: it is not ours to drop.
    pub fn open(path: &Path, of: &Value) -> Result<Self, DirectoryError> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let same = match read::<Head>(path, first) {
            Ok(head) => head.of == *of,
            Err(newer @ ReadError::Newer { .. }) => return Err(newer.into()),
            Err(_) => false,
        };
        let lines = rest.lines().map_while(|line| serde_json::from_str::<Value>(line).ok());
        let known = lines.filter(|_| same).filter_map(|mut line| {
            let value = line.get_mut("value")?.take();
            Some((line["part"].as_str()?.to_owned(), value))
        });
        let parts: HashMap<String, Value> = known.collect();
        let mut content = format!("{}\n", json!({ "schema": SCHEMA, "of": of }));
        for (part, value) in &parts {
            content += &line(part, value);
        }
        atomic::write(path, content.as_bytes())?;
        let file = File::options().append(true).open(path);
        let file = file.map_err(|source| DirectoryError::io(path, "open", source))?;
        Ok(Journal { path: path.into(), file, parts })
    }

    /// Number of parts that are known.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether no part is known.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The value of a finished part.
    pub fn recall(&self, part: &str) -> Option<&Value> {
        self.parts.get(part)
    }

    /// Keeps a part.
    pub fn keep(&mut self, part: &str, value: &Value) -> Result<(), DirectoryError> {
        let written = self.file.write_all(line(part, value).as_bytes());
        written.map_err(|source| DirectoryError::io(&self.path, "write", source))
    }

    /// Removes the journal of finished work.
    pub fn finish(self) -> Result<(), DirectoryError> {
        std::fs::remove_file(&self.path).map_err(|source| DirectoryError::io(&self.path, "remove", source))
    }
}

fn line(part: &str, value: &Value) -> String {
    format!("{}\n", json!({ "part": part, "value": value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_same_work_are_known_again_and_others_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("parts.jsonl");
        let work = json!({"samples": 5});
        let mut journal = Journal::open(&path, &work).expect("a new journal");
        journal.keep("a", &json!([0.1, -1e-300])).expect("written");
        journal.keep("b", &json!(2)).expect("written");
        drop(journal);
        // A line that was cut off.
        let cut = std::fs::read_to_string(&path).expect("readable") + "{\"part\":\"c\",\"val";
        std::fs::write(&path, cut).expect("written");
        let mut again = Journal::open(&path, &work).expect("the same journal");
        assert_eq!(
            (again.len(), again.recall("a"), again.recall("c")),
            (2, Some(&json!([0.1, -1e-300])), None)
        );
        again.keep("c", &json!(3)).expect("written");
        assert_eq!(Journal::open(&path, &work).expect("the same journal").len(), 3);
        assert!(Journal::open(&path, &json!({"samples": 6})).expect("another journal").is_empty());
    }
}
