//! Tell which settings two descriptions of a run differ in.

use std::collections::BTreeMap;

use hmcvi_record::ChangedSetting;
use serde_json::{Map, Value};

use super::RunSpec;

/// Settings that do not affect the results of training.
const WITHOUT_EFFECT: [&str; 4] = ["data.source", "eval.", "train.save_seconds", "train.tensorboard"];

impl RunSpec {
    /// The settings that differ in `after` and that the numbers of a training depend on.
    pub fn changed_settings(&self, after: &RunSpec) -> Vec<ChangedSetting> {
        let (from, to) = (flat(self), flat(after));
        let mut keys: Vec<&String> = from.keys().chain(to.keys()).collect();
        keys.sort();
        keys.dedup();
        let matters = |key: &&&String| !WITHOUT_EFFECT.iter().any(|prefix| key.starts_with(prefix));
        let differs = |key: &&&String| from.get(**key) != to.get(**key);
        let change = |key: &String| {
            let value = |map: &BTreeMap<String, Value>| map.get(key).map(ToString::to_string);
            ChangedSetting { key: key.clone(), from: value(&from), to: value(&to) }
        };
        keys.iter().filter(matters).filter(differs).map(|key| change(key)).collect()
    }
}

/// Values by their whole keys.
fn flat(spec: &RunSpec) -> BTreeMap<String, Value> {
    fn add(prefix: &str, table: Map<String, Value>, all: &mut BTreeMap<String, Value>) {
        for (key, value) in table {
            match value {
                Value::Object(inner) => add(&format!("{prefix}{key}."), inner, all),
                value => drop(all.insert(format!("{prefix}{key}"), value)),
            }
        }
    }
    let mut all = BTreeMap::new();
    add("", spec.to_settings(), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_matter_are_named_with_both_values() {
        let before = RunSpec { seed: u64::MAX, ..RunSpec::default() };
        let mut after = before.clone();
        (after.train.epochs, after.train.save_seconds, after.eval.seed) = (before.train.epochs + 1, 1.0, 7);
        after.train.learning_rate.last = 0.5;
        let found = before.changed_settings(&after);
        let keys: Vec<&str> = found.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys, ["train.epochs", "train.learning_rate.last"]);
        assert_eq!(found[1].to.as_deref(), Some("0.5"));
        assert_eq!(before.changed_settings(&before), []);
    }
}
