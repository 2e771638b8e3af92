//! Keep data by name: numbers and arrays, also from JSON as Stan's programs read it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Dims, ModelError};
use crate::data::Hasher;

/// Data of a model, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    arrays: BTreeMap<String, Array>,
}

/// Numbers with dimensions, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Dimensions.
    pub dims: Dims,
    /// The numbers.
    pub values: Vec<f64>,
}

impl From<f64> for Array {
    fn from(value: f64) -> Self {
        Array { dims: Dims::SCALAR, values: vec![value] }
    }
}

impl<const N: usize> From<[f64; N]> for Array {
    fn from(values: [f64; N]) -> Self {
        Array { dims: N.into(), values: values.into() }
    }
}

impl From<&[f64]> for Array {
    fn from(values: &[f64]) -> Self {
        values.to_vec().into()
    }
}

impl From<Vec<f64>> for Array {
    fn from(values: Vec<f64>) -> Self {
        Array { dims: values.len().into(), values }
    }
}

impl Data {
    /// No data yet.
    pub fn new() -> Self {
        Data::default()
    }

    /// The same with a number or a vector more.
    #[must_use]
    pub fn with(mut self, name: &str, values: impl Into<Array>) -> Self {
        self.arrays.insert(name.into(), values.into());
        self
    }

    /// The same with a matrix more, given row by row.
    ///
    /// # Errors
    /// If there are not `rows · columns` values.
    pub fn with_matrix(
        self,
        name: &str,
        rows: usize,
        columns: usize,
        values: impl Into<Vec<f64>>,
    ) -> Result<Self, ModelError> {
        let (dims, values) = (Dims::from((rows, columns)), values.into());
        if values.len() != dims.elements() {
            let found = values.len();
            return Err(ModelError::Data(format!(
                "`{name}` has {found} values, but its dimensions are {dims}"
            )));
        }
        Ok(self.with(name, Array { dims, values }))
    }

    /// The array of that name.
    pub fn get(&self, name: &str) -> Option<&Array> {
        self.arrays.get(name)
    }

    /// Names of all arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.keys().map(String::as_str)
    }

    /// SHA-256 of names, dimensions and values.
    pub fn sha256(&self) -> String {
        let mut hasher = Hasher::default();
        for (name, array) in &self.arrays {
            hasher.number(name.len());
            hasher.update(name.as_bytes());
            hasher.number(array.dims.sizes().len());
            array.dims.sizes().iter().for_each(|&size| hasher.number(size));
            array.values.iter().for_each(|value| hasher.update(&value.to_le_bytes()));
        }
        hasher.finish()
    }

    /// The same as a JSON object, which [`from_json`](Self::from_json) reads again.
    pub fn to_json(&self) -> String {
        let all =
            self.arrays.iter().map(|(name, array)| (name.clone(), nested(array.dims.sizes(), &array.values)));
        Value::Object(all.collect()).to_string()
    }

    /// Data from a JSON object of numbers and arrays, nested for matrices. `true` is 1, `false` is 0.
    ///
    /// # Errors
    /// If it is no such object; the message names the array.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        let value: Value = serde_json::from_str(text)
            .or_else(|error| serde_json::from_str(&quoted(text)).map_err(|_| error))
            .map_err(|e| ModelError::Data(format!("not JSON: {e}")))?;
        let Value::Object(object) = value else {
            return Err(ModelError::Data("expected a JSON object with one entry for each array".into()));
        };
        let mut data = Data::new();
        for (name, value) in object {
            let array = array(&value).map_err(|why| ModelError::Data(format!("`{name}`: {why}")))?;
            data.arrays.insert(name, array);
        }
        Ok(data)
    }
}

/// Numbers as nested arrays; NaN and infinities, which JSON does not have, become text.
fn nested(sizes: &[usize], values: &[f64]) -> Value {
    match sizes {
        [] => values.first().map_or(Value::Null, |value| match *value {
            value if value.is_nan() => "NaN".into(),
            f64::INFINITY => "Inf".into(),
            f64::NEG_INFINITY => "-Inf".into(),
            value => value.into(),
        }),
        [size, rest @ ..] => {
            let each: usize = rest.iter().product();
            (0..*size).map(|i| nested(rest, &values[i * each..(i + 1) * each])).collect()
        }
    }
}

/// The text with quotes around `NaN`, `Infinity` and `-Inf`: many programs write them bare, which JSON does not know.
fn quoted(text: &str) -> String {
    let mut all = String::with_capacity(text.len() + 100);
    let (mut inside, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '+').unwrap_or(rest.len());
        let word = &rest[..end];
        if !inside && matches!(word.trim_start_matches(['-', '+']), "NaN" | "Inf" | "Infinity") {
            all.extend(["\"", word, "\""]);
            rest = &rest[end..];
            continue;
        }
        inside ^= c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        all.push(c);
        rest = &rest[c.len_utf8()..];
    }
    all
}

/// Numbers of nested arrays with equal lengths.
fn array(value: &Value) -> Result<Array, String> {
    let (mut sizes, mut inner) = (Vec::new(), value);
    while let Value::Array(parts) = inner {
        sizes.push(parts.len());
        match parts.first() {
            Some(part) => inner = part,
            None => break,
        }
    }
    let dims = Dims::new(&sizes)
        .ok_or_else(|| format!("{} dimensions, but at most {} are allowed", sizes.len(), Dims::MOST))?;
    let mut values = Vec::with_capacity(dims.elements());
    flatten(value, &sizes, &mut values)?;
    Ok(Array { dims, values })
}

fn flatten(value: &Value, sizes: &[usize], values: &mut Vec<f64>) -> Result<(), String> {
    match (value, sizes) {
        (Value::Array(parts), [size, rest @ ..]) if parts.len() == *size => {
            parts.iter().try_for_each(|part| flatten(part, rest, values))
        }
        (Value::Array(parts), [size, ..]) => {
            Err(format!("rows have different lengths, {size} and {}", parts.len()))
        }
        (Value::Array(_), []) | (_, [_, ..]) => Err("numbers and arrays are mixed".into()),
        (value, []) => {
            values.push(number(value)?);
            Ok(())
        }
    }
}

fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(|| format!("{number} is too large")),
        Value::Bool(truth) => Ok(f64::from(u8::from(*truth))),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "nan" => Ok(f64::NAN),
            "inf" | "+inf" | "infinity" | "+infinity" => Ok(f64::INFINITY),
            "-inf" | "-infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(format!("\"{text}\" is not a number")),
        },
        Value::Object(_) => {
            Err("tuples are not supported; give their parts as arrays with names of their own".into())
        }
        other => Err(format!("{other} is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_arrays_with_dimensions() {
        let data =
            Data::from_json(r#"{"n": 2, "y": [1, true], "x": [[1, 2, 3], [4, 5, 6.5]]}"#).expect("data");
        assert_eq!(data.get("n"), Some(&2.0.into()));
        assert_eq!(data.get("y"), Some(&[1.0, 1.0].into()));
        let matrix = data.get("x").expect("given");
        assert_eq!((matrix.dims, matrix.values[5]), ((2, 3).into(), 6.5));
    }

    #[test]
    fn data_come_back_from_json_as_they_were() {
        let data = Data::new()
            .with("n", 3.0)
            .with("empty", Vec::new())
            .with("y", [0.1 + 0.2, -1e300, f64::INFINITY, f64::NEG_INFINITY])
            .with_matrix("x", 2, 3, [1.0, 2.0, 3.0, 4.0, 5.0, 6.5])
            .expect("six values");
        let again = Data::from_json(&data.to_json()).expect("data");
        assert_eq!((again.sha256(), &again), (data.sha256(), &data));
    }

    #[test]
    fn numbers_that_are_none_may_stand_bare() {
        let text = r#"{"a\"NaN": [NaN, -Infinity, 1e-3, "Inf"], "NaN": [ +Inf,"inf"]}"#;
        let data = Data::from_json(text).expect("data");
        let a = &data.get("a\"NaN").expect("given").values;
        assert!(a[0].is_nan() && a[1..] == [f64::NEG_INFINITY, 1e-3, f64::INFINITY], "{a:?}");
        assert_eq!(data.get("NaN").expect("given").values, [f64::INFINITY; 2]);
    }

    #[test]
    fn what_is_no_data_is_refused_by_name() {
        for (text, why) in [
            (r#"{"x": [[1, 2], [3]]}"#, "`x`: rows have different lengths, 2 and 1"),
            (r#"{"x": [1, [2]]}"#, "`x`: numbers and arrays are mixed"),
            (r#"{"x": null}"#, "`x`: null is not a number"),
            (r#"{"x": [{"1": 3, "2": [1]}]}"#, "`x`: tuples are not supported"),
            (r#"{"x": NAN}"#, "not JSON"),
            ("[1]", "expected a JSON object"),
            ("{", "not JSON"),
        ] {
            let error = Data::from_json(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
