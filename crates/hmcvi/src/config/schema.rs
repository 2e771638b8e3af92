//! Check settings against their own JSON Schema, and name the key, the value and what is allowed where they do not fit.

use serde_json::{Map, Value};

use super::edits::edits;
use super::error::ConfigError;

/// The JSON Schema of all settings. Types, ranges, defaults and meanings stand beside the settings themselves; from
/// there a test writes this file, so that only tests build what derives it.
pub(super) const SCHEMA: &str = include_str!("schema.json");
/// The same of fits.
pub(super) const FIT_SCHEMA: &str = include_str!("fit-schema.json");

/// What settings may contain.
pub(super) struct Schema(Value);

impl Schema {
    pub(super) fn new(schema: Value) -> Self {
        Schema(schema)
    }

    /// Refuses unknown settings, values of the wrong type, and values out of range.
    pub(super) fn check(&self, settings: &Map<String, Value>) -> Result<(), ConfigError> {
        self.check_table("", &self.0, settings)
    }

    /// Refuses a setting that does not exist, or a value that does not fit it.
    pub(super) fn check_at(&self, key: &str, value: &Value) -> Result<(), ConfigError> {
        let mut node = &self.0;
        for part in key.split('.') {
            node = self.resolve(node["properties"].get(part).ok_or_else(|| self.unknown(key))?);
        }
        self.check_value(key, node, value)
    }

    fn check_table(&self, prefix: &str, node: &Value, table: &Map<String, Value>) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = format!("{prefix}{name}");
            let node = node["properties"].get(name).ok_or_else(|| self.unknown(&key))?;
            self.check_value(&key, self.resolve(node), value)?;
        }
        Ok(())
    }

    fn check_value(&self, key: &str, node: &Value, value: &Value) -> Result<(), ConfigError> {
        match (node["properties"].as_object(), value) {
            (Some(_), Value::Object(inner)) => self.check_table(&format!("{key}."), node, inner),
            (Some(properties), _) => Err(ConfigError::Table {
                key: key.into(),
                value: shown(value),
                keys: properties.keys().cloned().collect(),
                example: properties
                    .iter()
                    .find(|(_, node)| fits(self.resolve(node), value))
                    .map(|(name, _)| name.clone()),
            }),
            (None, _) if fits(node, value) => Ok(()),
            (None, _) => {
                Err(ConfigError::Value { key: key.into(), value: shown(value), allowed: allowed(node) })
            }
        }
    }

    /// Follows a reference to a definition, also where the setting may be left out.
    fn resolve<'s>(&'s self, node: &'s Value) -> &'s Value {
        let node = node["anyOf"].get(0).unwrap_or(node);
        let name = node["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/"));
        name.map_or(node, |name| &self.0["$defs"][name])
    }

    fn unknown(&self, key: &str) -> ConfigError {
        let near = self.nearest(key).map(|known| format!("did you mean `{known}`?"));
        let hint = near.unwrap_or_else(|| {
            let (table, names) = self.deepest_table(key);
            format!("{table} has the settings {}", names.join(", "))
        });
        ConfigError::Unknown { key: key.into(), hint }
    }

    /// The setting that was probably meant: one of the same name elsewhere, or one that is spelt almost the same.
    fn nearest(&self, key: &str) -> Option<String> {
        let mut known = Vec::new();
        self.collect("", &self.0, &mut known);
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        // A table of the same name elsewhere is not what was meant.
        let distance = |(known, table): &(String, bool)| match last(known) == last(key) {
            true if !table => 0,
            false if !table => edits(known, key).min(edits(&last(known), &last(key))),
            _ => edits(known, key),
        };
        let best = known.into_iter().min_by_key(distance)?;
        // A third of the letters may be wrong.
        (3 * distance(&best) <= last(key).len()).then_some(best.0)
    }

    /// The last table on the way to a setting, with what it has.
    fn deepest_table(&self, key: &str) -> (String, Vec<&str>) {
        let (mut node, mut way) = (&self.0, Vec::new());
        for part in key.split('.') {
            let Some(next) = node["properties"].get(part).map(|n| self.resolve(n)) else { break };
            if next["properties"].is_object() {
                node = next;
                way.push(part);
            }
        }
        let names = node["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str);
        let table = if way.is_empty() { "a run".into() } else { format!("`{}`", way.join(".")) };
        (table, names.collect())
    }

    /// All settings below a node, and whether they are tables.
    fn collect(&self, prefix: &str, node: &Value, all: &mut Vec<(String, bool)>) {
        for (name, node) in node["properties"].as_object().into_iter().flatten() {
            let node = self.resolve(node);
            all.push((format!("{prefix}{name}"), node["properties"].is_object()));
            self.collect(&format!("{prefix}{name}."), node, all);
        }
    }
}

/// A value as it is written. TOML has no null: it stands for a number that JSON does not have.
fn shown(value: &Value) -> String {
    if value.is_null() { "not a finite number".into() } else { value.to_string() }
}

/// The values of an enumeration.
fn choices(node: &Value) -> Option<Vec<&Value>> {
    let named = node["oneOf"].as_array().map(|all| all.iter().map(|choice| &choice["const"]).collect());
    named.or_else(|| node["enum"].as_array().map(|all| all.iter().collect()))
}

/// The type of a value; optional ones are left out, not null.
fn kind(node: &Value) -> &str {
    let of = &node["type"];
    of.as_str().or_else(|| of[0].as_str()).unwrap_or_default()
}

fn fits(node: &Value, value: &Value) -> bool {
    if let Some(choices) = choices(node) {
        return choices.contains(&value);
    }
    match kind(node) {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => (value.is_u64() || value.is_i64()) && in_range(node, value),
        "number" => value.is_number() && in_range(node, value),
        "array" => value.as_array().is_some_and(|items| {
            node["maxItems"].as_u64().is_none_or(|most| items.len() as u64 <= most)
                && items.iter().all(|item| fits(&node["items"], item))
        }),
        _ => false,
    }
}

fn in_range(node: &Value, value: &Value) -> bool {
    let limit = |name: &str| node[name].as_f64();
    value.as_f64().is_some_and(|v| {
        limit("minimum").is_none_or(|least| v >= least)
            && limit("maximum").is_none_or(|most| v <= most)
            && limit("exclusiveMinimum").is_none_or(|least| v > least)
            && limit("exclusiveMaximum").is_none_or(|most| v < most)
    })
}

fn allowed(node: &Value) -> String {
    if let Some(choices) = choices(node) {
        let all: Vec<String> = choices.iter().map(ToString::to_string).collect();
        let (last, others) = all.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
        return format!("{} or {last}", others.join(", "));
    }
    match kind(node) {
        "string" => "a string".into(),
        "boolean" => "true or false".into(),
        "integer" => format!("a whole number{}", range(node)),
        "array" => {
            let most = node["maxItems"].as_u64().map_or(String::new(), |most| format!("at most {most} "));
            match kind(&node["items"]) {
                "string" => format!("a list of {most}strings, such as [\"a\", \"b\"]"),
                _ => {
                    let range = range(&node["items"]);
                    format!("a list of {most}whole numbers{range}, such as {}", node["default"])
                }
            }
        }
        _ => format!("a number{}", range(node)),
    }
}

fn range(node: &Value) -> String {
    let limit = |name: &str| node.get(name).map(|limit| limit.to_string().trim_end_matches(".0").to_owned());
    let (least, most) = (limit("minimum"), limit("maximum"));
    match (&least, &most) {
        (Some(least), Some(most)) => return format!(" from {least} to {most}"),
        (Some(least), None) if node.get("exclusiveMaximum").is_none() => {
            return format!(" of at least {least}");
        }
        _ => {}
    }
    let low = least
        .map(|l| format!(" of at least {l}"))
        .or(limit("exclusiveMinimum").map(|l| format!(" above {l}")));
    let high =
        most.map(|m| format!("at most {m}")).or(limit("exclusiveMaximum").map(|m| format!("below {m}")));
    format!("{} and {}", low.unwrap_or_default(), high.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{FIT_SCHEMA, SCHEMA};
    use crate::config::{FitSpec, RunSpec};

    fn is_that_of<T: schemars::JsonSchema>(name: &str, known: &str) {
        let mut found =
            serde_json::to_string_pretty(&schemars::schema_for!(T).to_value()).expect("a schema is JSON");
        found.push('\n');
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            let file = format!("{}/src/config/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::write(file, &found).expect("the file can be written");
            return;
        }
        let again = "UPDATE_SNAPSHOTS=1 cargo test -p hmcvi the_schema_is_that_of_the_settings";
        assert_eq!(found, known, "settings have changed: `{again}` writes their schema anew");
    }

    #[test]
    fn the_schema_is_that_of_the_settings() {
        is_that_of::<RunSpec>("schema.json", SCHEMA);
        is_that_of::<FitSpec>("fit-schema.json", FIT_SCHEMA);
    }
}
