//! Read the description of a sweep: what all rows have in common, a list of rows, and a grid of settings that is laid
//! over each of them.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Most rows of a sweep.
const MOST: usize = 100_000;
/// Longest name of a row, in letters: file systems take no more than 255 bytes.
const LONGEST: usize = 150;

/// The part of the data that rows are evaluated on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Evaluate {
    /// Rows that settings may be chosen with.
    #[default]
    Validation,
    /// Rows to report results on.
    Test,
}

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    base: Option<String>,
    evaluate: Evaluate,
    set: Map<String, Value>,
    grid: Map<String, Value>,
    rows: Vec<Map<String, Value>>,
}

/// One row: what it is called, what it starts from, and what it changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) title: String,
    /// A preset or a file of settings.
    pub(super) base: Option<String>,
    /// Title of the row that it begins with.
    pub(super) after: Option<String>,
    /// Settings of all rows.
    pub(super) set: Vec<String>,
    /// Settings that tell it from others, by whole name.
    pub(super) own: Vec<(String, Value)>,
}

/// A sweep as its file describes it.
#[derive(Debug, PartialEq)]
pub(super) struct Sweep {
    pub(super) evaluate: Evaluate,
    pub(super) cases: Vec<Case>,
}

type Settings = Vec<(String, Value)>;

/// Words that name no setting.
const BASE: &str = "base";
const NAME: &str = "name";
const AFTER: &str = "after";

impl Case {
    /// All its settings, as `--set` has them.
    pub(super) fn assignments(&self) -> Vec<String> {
        let own = self.own.iter().filter(|(key, _)| key != BASE).map(assignment);
        self.set.iter().cloned().chain(own).collect()
    }
}

/// JSON's strings, numbers and lists are TOML's.
fn assignment((key, value): &(String, Value)) -> String {
    format!("{key}={value}")
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Sweep, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::Usage(format!("cannot read {}: {e}", path.display())))?;
    parse(&text).map_err(|why| why.about(&path.display().to_string()))
}

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Sweep, Failure> {
    let file: File = toml::from_str(text).map_err(|e| {
        Failure::Usage(e.to_string().trim().to_owned())
            .then("a sweep has `base`, `evaluate` and the tables [set], [grid] and [[rows]]; docs/sweeps.md has examples")
    })?;
    let set: Vec<String> = flat(&file.set).iter().map(assignment).collect();
    let combinations = product(&flat(&file.grid))?;
    let list = if file.rows.is_empty() { vec![Map::new()] } else { file.rows };
    let count = list.len().saturating_mul(combinations.len());
    if count > MOST {
        return Err(Failure::Usage(format!(
            "the grid and the list make {count} rows, but at most {MOST} are allowed"
        )));
    }
    let mut cases = Vec::new();
    for row in &list {
        for combination in &combinations {
            cases.push(case(row, combination, file.base.as_deref(), &set)?);
        }
    }
    check(&cases)?;
    Ok(Sweep { evaluate: file.evaluate, cases })
}

/// Settings in nested tables by their whole names.
fn flat(table: &Map<String, Value>) -> Settings {
    let mut all = Settings::new();
    for (key, value) in table {
        match value {
            Value::Object(inner) => {
                all.extend(flat(inner).into_iter().map(|(k, v)| (format!("{key}.{k}"), v)))
            }
            value => all.push((key.clone(), value.clone())),
        }
    }
    all
}

/// Every combination of a value of each setting.
fn product(axes: &[(String, Value)]) -> Result<Vec<Settings>, Failure> {
    let mut all = vec![Settings::new()];
    for (key, values) in axes {
        let Some(values) = values.as_array().filter(|values| !values.is_empty()) else {
            let text = format!("`grid.{key}` is {values}, but must be a list of values, such as [1, 2]");
            return Err(Failure::Usage(text));
        };
        if all.len().saturating_mul(values.len()) > MOST {
            return Err(Failure::Usage(format!("the grid has more than {MOST} rows with `grid.{key}`")));
        }
        let with = |base: &Settings, value: &Value| [&base[..], &[(key.clone(), value.clone())]].concat();
        all = all.iter().flat_map(|base| values.iter().map(move |value| with(base, value))).collect();
    }
    Ok(all)
}

fn case(
    row: &Map<String, Value>,
    grid: &Settings,
    base: Option<&str>,
    set: &[String],
) -> Result<Case, Failure> {
    let text = |settings: &Map<String, Value>, key: &str| match settings.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(other) => Err(Failure::Usage(format!("`{key}` of a row is {other}, but must be a word"))),
    };
    let (name, after) = (text(row, NAME)?, text(row, AFTER)?);
    let mut listed = row.clone();
    listed.retain(|key, _| key != NAME && key != AFTER);
    let listed = flat(&listed);
    let label = |settings: &Settings| settings.iter().map(label).collect::<Vec<_>>().join(",");
    let title =
        |name: &str| [name, &label(grid)].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(",");
    let own = [&listed[..], &grid[..]].concat();
    let own_base = own.iter().rev().find(|(key, _)| key == BASE);
    let base = match own_base {
        Some((_, Value::String(base))) => Some(base.clone()),
        Some((_, other)) => {
            return Err(Failure::Usage(format!("`base` is {other}, but must be a preset or a file")));
        }
        None => base.map(Into::into),
    };
    let named = title(&name.unwrap_or_else(|| label(&listed)));
    let title_of = |title: String| if title.is_empty() { "row".to_owned() } else { title };
    Ok(Case {
        title: plain(&title_of(named)),
        base,
        after: after.map(|a| plain(&title(&a))),
        set: set.to_vec(),
        own,
    })
}

/// A setting in a title: the last word of its name and its value.
fn label((key, value): &(String, Value)) -> String {
    let value = words(value);
    match key.rsplit('.').next() {
        Some(BASE) => {
            Path::new(&value).file_stem().map_or(value.clone(), |s| s.to_string_lossy().into_owned())
        }
        Some(last) => format!("{last}={value}"),
        None => value,
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join("x"),
        other => other.to_string(),
    }
}

/// A title that can be the name of a folder everywhere.
fn plain(title: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || "._=+,-".contains(c);
    let text: String = title.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    text.trim_start_matches(['.', '-']).to_owned()
}

/// Names are the folders of rows: each has one of its own.
fn check(cases: &[Case]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for case in cases {
        let length = case.title.chars().count();
        if length == 0 || length > LONGEST {
            let text = format!("the row `{}` needs a name of 1 to {LONGEST} letters", case.title);
            return Err(Failure::Usage(text).then("add `name = \"...\"` to its table in [[rows]]"));
        }
        // Some file systems take capitals for small letters.
        if !seen.insert(case.title.to_lowercase()) {
            let text = format!("two rows are called `{}`", case.title);
            return Err(
                Failure::Usage(text).then("give each of them a `name = \"...\"` of its own in [[rows]]")
            );
        }
    }
    for case in cases {
        let Some(after) = &case.after else { continue };
        let Some(first) = cases.iter().find(|c| c.title == *after) else {
            let text = format!("the row `{}` comes after `{after}`, which is no row", case.title);
            return Err(Failure::Usage(text).then("`after` is the name of another row of [[rows]]"));
        };
        if first.after.is_some() {
            let text =
                format!("`{}` comes after `{after}`, which itself comes after another row", case.title);
            return Err(Failure::Usage(text)
                .then("rows begin with plain models: `after` names a row without `after`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(text: &str) -> Vec<String> {
        parse(text).expect("a sweep").cases.into_iter().map(|case| case.title).collect()
    }

    #[test]
    fn a_grid_is_laid_over_every_row_of_the_list() {
        let text = r#"
            base = "hmcvi-13"
            [set]
            train.epochs = 3
            [grid]
            seed = [1, 2]
            chain.mass = ["global", "network"]
            [[rows]]
            name = "short"
            chain.leapfrog_steps = 2
            [[rows]]
            base = "dir/long.toml"
            model.hidden = [200, 100]
        "#;
        let sweep = parse(text).expect("a sweep");
        assert_eq!(sweep.evaluate, Evaluate::Validation);
        let first = &sweep.cases[0];
        assert_eq!(first.title, "short,mass=global,seed=1");
        assert_eq!(first.base.as_deref(), Some("hmcvi-13"));
        let expected = ["train.epochs=3", "chain.leapfrog_steps=2", "chain.mass=\"global\"", "seed=1"];
        assert_eq!(first.assignments(), expected);
        assert_eq!(sweep.cases.len(), 8);
        let last = &sweep.cases[7];
        assert_eq!(last.title, "long,hidden=200x100,mass=network,seed=2");
        assert_eq!(last.base.as_deref(), Some("dir/long.toml"));
        assert!(last.assignments().iter().all(|a| !a.starts_with("base")), "{last:?}");
    }

    #[test]
    fn rows_begin_with_others_of_the_same_place_in_the_grid() {
        let text = r#"
            [grid]
            seed = [1, 2]
            [[rows]]
            name = "plain"
            base = "basic-2d"
            [[rows]]
            name = "better"
            base = "hmcvi-4"
            after = "plain"
        "#;
        let cases = parse(text).expect("a sweep").cases;
        assert_eq!(cases[3].title, "better,seed=2");
        assert_eq!(cases[3].after.as_deref(), Some("plain,seed=2"));
        assert_eq!(titles("base = \"basic-2d\""), ["row"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (text, said) in [
            ("grid.seed = 3", "grid.seed"),
            ("grid.seed = []", "grid.seed"),
            ("[[rows]]\nseed = 1\n[[rows]]\nseed = 1", "`seed=1`"),
            ("[[rows]]\nname = \"a/b\"\n[[rows]]\nname = \"A-b\"", "`A-b`"),
            ("[[rows]]\nname = \"a\"\nafter = \"b\"", "`b`"),
            ("[[rows]]\nname = \"a\"\nafter = \"a\"", "`after`"),
            ("bass = 1", "bass"),
            ("evaluate = \"train\"", "train"),
            ("[[rows]]\nname = 1", "`name`"),
            ("grid.base = [1]", "`base`"),
        ] {
            let why = parse(text).expect_err(text).to_string();
            assert!(why.contains(said), "{text}: {why}");
        }
        let axis = format!("{:?}", (0..400).collect::<Vec<_>>());
        let why = parse(&format!("grid.seed = {axis}\ngrid.model.latent = {axis}")).expect_err("too many");
        assert!(why.to_string().contains("100000"), "{why}");
    }
}
