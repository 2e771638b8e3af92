//! Write draws as CmdStan does, and read them again: comments, one line of column names, one line for each draw.

use std::fmt::Write;

/// Draws of one chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawTable {
    /// Names of the columns: what the sampler says of a draw, which ends in `__`, then the numbers of the model as Stan
    /// writes them, such as `theta[1]`.
    pub columns: Vec<String>,
    /// Values, row by row.
    pub values: Vec<f64>,
}

/// A file of draws that is none.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {found}, expected {expected}")]
pub struct DrawError {
    line: usize,
    found: String,
    expected: String,
}

impl DrawTable {
    /// Number of draws.
    pub fn len(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values of a column.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let place = self.columns.iter().position(|known| known == name)?;
        Some(self.values.chunks_exact(self.columns.len()).map(|row| row[place]).collect())
    }

    /// Names of the numbers of the model.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str).filter(|name| !name.ends_with("__"))
    }

    /// The text of a file. Each line of `comments` stands before the names of the columns.
    pub fn to_csv(&self, comments: &[String]) -> String {
        let mut text = String::with_capacity(20 * self.values.len() + 1000);
        for comment in comments {
            text += &format!("# {comment}\n");
        }
        let names: Vec<String> = self.columns.iter().map(|name| dotted(name)).collect();
        text += &(names.join(",") + "\n");
        for row in self.values.chunks_exact(self.columns.len().max(1)) {
            for (i, value) in row.iter().enumerate() {
                // Writing to a text cannot fail.
                let _ = write!(text, "{}{value}", if i == 0 { "" } else { "," });
            }
            text.push('\n');
        }
        text
    }

    /// Reads such a text, with or without comments.
    ///
    /// # Errors
    /// If it is no table of numbers; the message names the line.
    pub fn from_csv(text: &str) -> Result<Self, DrawError> {
        Self::some_of_csv(text, |_| true)
    }

    /// Reads those columns of such a text whose names are wanted.
    ///
    /// # Errors
    /// As those of [`from_csv`](Self::from_csv), of all columns.
    pub fn some_of_csv(text: &str, wanted: impl Fn(&str) -> bool) -> Result<Self, DrawError> {
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let error = |line, found: String, expected: String| DrawError { line, found, expected };
        let Some((_, names)) = lines.next() else {
            return Err(error(1, "nothing".into(), "the names of columns".into()));
        };
        let names: Vec<String> = names.split(',').map(bracketed).collect();
        let keep: Vec<bool> = names.iter().map(|name| wanted(name)).collect();
        let expected = names.len();
        let kept = names.into_iter().zip(&keep).filter_map(|(name, keep)| keep.then_some(name));
        let mut table = DrawTable { columns: kept.collect(), values: Vec::new() };
        for (number, line) in lines {
            let mut found = 0;
            for cell in line.split(',') {
                if keep.get(found).copied().unwrap_or(true) {
                    let value = cell.parse();
                    let value = value.map_err(|_| error(number, format!("`{cell}`"), "a number".into()))?;
                    table.values.push(value);
                }
                found += 1;
            }
            if found != expected {
                return Err(error(number, format!("{found} values"), expected.to_string()));
            }
        }
        Ok(table)
    }
}

/// `theta.1.2` for `theta[1,2]`
fn dotted(name: &str) -> String {
    name.trim_end_matches(']').replace(['[', ','], ".")
}

/// `theta[1,2]` for `theta.1.2`
fn bracketed(name: &str) -> String {
    match name.split_once('.') {
        Some((name, places)) => format!("{name}[{}]", places.replace('.', ",")),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let columns = ["lp__", "mu", "L[1,2]"].map(String::from).to_vec();
        let values = vec![-1.0 / 3.0, 1e-300, f64::INFINITY, -2.5, 0.1 + 0.2, -7e22];
        let table = DrawTable { columns, values };
        let text = table.to_csv(&["model = eight-schools".into()]);
        assert!(text.starts_with("# model = eight-schools\nlp__,mu,L.1.2\n"), "{text}");
        assert_eq!(DrawTable::from_csv(&text).expect("a table"), table);
        assert_eq!(table.column("mu"), Some(vec![1e-300, 0.1 + 0.2]));
        assert_eq!(table.names().collect::<Vec<_>>(), ["mu", "L[1,2]"]);
        let some = DrawTable::some_of_csv(&text, |name| name != "mu").expect("a table");
        assert_eq!(some.columns, ["lp__", "L[1,2]"]);
        assert_eq!(some.values, [-1.0 / 3.0, f64::INFINITY, -2.5, -7e22]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        for (text, why) in [
            ("", "line 1: nothing"),
            ("# a\na,b\n1,2\n3\n", "line 4: 1 values, expected 2"),
            ("a\nx\n", "line 2: `x`, expected a number"),
        ] {
            let error = DrawTable::from_csv(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
