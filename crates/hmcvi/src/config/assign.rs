//! Replace single settings by their dotted names: `train.epochs=6`.

use serde_json::{Map, Value};

use super::error::ConfigError;
use super::schema::Schema;

/// Settings with some of them replaced. Values are TOML; what is not valid TOML is taken as a string, or in
/// brackets as a list of strings. `renamed` has names
/// that earlier versions had, with those of today.
pub(super) fn assigned<S: AsRef<str>>(
    mut settings: Map<String, Value>,
    schema: &Schema,
    renamed: &[(&str, &str)],
    assignments: &[S],
) -> Result<Map<String, Value>, ConfigError> {
    for assignment in assignments.iter().map(AsRef::as_ref) {
        let (key, text) = assignment
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
            .ok_or_else(|| ConfigError::Assignment(assignment.into()))?;
        let key = renamed.iter().find(|(old, _)| *old == key.trim()).map_or(key.trim(), |(_, new)| new);
        let value = toml::from_str::<Map<String, Value>>(&format!("value = {text}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .or_else(|| bare_list(text).filter(|list| schema.check_at(key, list).is_ok()))
            .unwrap_or_else(|| Value::String(text.into()));
        schema.check_at(key, &value)?;
        assign(&mut settings, key, value);
    }
    Ok(settings)
}

/// Strings without quotes in brackets.
fn bare_list(text: &str) -> Option<Value> {
    let words = text.trim().strip_prefix('[')?.strip_suffix(']')?.split(',');
    Some(words.map(|word| word.trim().into()).collect::<Vec<Value>>().into())
}

/// The table that holds a setting, and the setting's own name.
pub(super) fn holder<'t, 'k>(
    table: &'t mut Map<String, Value>,
    key: &'k str,
) -> Option<(&'t mut Map<String, Value>, &'k str)> {
    match key.split_once('.') {
        None => Some((table, key)),
        Some((head, rest)) => {
            holder(table.entry(head).or_insert_with(|| Map::new().into()).as_object_mut()?, rest)
        }
    }
}

/// Sets a value in nested tables.
pub(super) fn assign(table: &mut Map<String, Value>, key: &str, value: Value) {
    if let Some((table, name)) = holder(table, key) {
        table.insert(name.into(), value);
    }
}

/// Takes a value out of nested tables.
pub(super) fn take(table: &mut Map<String, Value>, key: &str) -> Option<Value> {
    let (table, name) = holder(table, key)?;
    table.remove(name)
}
