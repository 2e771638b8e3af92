//! Show, check and document settings.

use clap::Subcommand;
use hmcvi::config::{FitSpec, RunSpec};
use serde_json::Value;

use crate::Context;
use crate::failure::Failure;
use crate::settings::{assigned, find};

/// What was typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the complete settings of a preset, a file or a run
    #[command(after_help = "Examples:
  hmcvi config show hmcvi-13
  hmcvi config show runs/basic-2d-1 --set train.epochs=100")]
    Show {
        /// A preset, a TOML file or a run directory
        #[arg(value_name = "PRESET|FILE|RUN")]
        target: String,
        /// Change settings, such as `train.epochs=6`
        #[arg(long = "set", value_name = "KEY=VALUE", num_args = 1..)]
        assignments: Vec<String>,
    },
    /// Check a settings file
    #[command(after_help = "Example:
  hmcvi config check settings.toml")]
    Check {
        /// TOML file
        file: String,
    },
    /// Print all settings with their defaults and ranges as a TOML file, or with --json as a JSON Schema
    #[command(after_help = "Examples:
  hmcvi config schema
  hmcvi config schema --fit
  hmcvi config schema --json")]
    Schema {
        /// Those of `hmcvi fit` instead of those of `hmcvi train`
        #[arg(long)]
        fit: bool,
    },
}

/// All settings with their defaults; a test keeps it complete and correct.
const SCHEMA: &str = include_str!("schema.toml");

pub(crate) fn run(context: &Context, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Show { target, assignments } => show(context, &assigned(find(target)?, assignments)?.spec),
        Command::Check { file } => {
            let spec = find(file)?.spec;
            match context.terminal.json {
                true => context.terminal.print_json(&spec),
                false => context.terminal.print(&format!("{file}: the settings are valid\n")),
            }
        }
        Command::Schema { fit } => match (context.terminal.json, fit) {
            (true, false) => context.terminal.print_json(&RunSpec::json_schema()),
            (false, false) => context.terminal.print(SCHEMA),
            (true, true) => context.terminal.print_json(&FitSpec::json_schema()),
            (false, true) => context.terminal.print(&of_fit()),
        },
    }
}

/// All settings of fits with their defaults, and what the schema says of each.
fn of_fit() -> String {
    let schema = FitSpec::json_schema();
    let defaults = FitSpec::default().to_toml();
    let mut text = "# All settings of `hmcvi fit` with their defaults. A file may omit any of them. On the command line, set \
                    them with\n# --set, for example --set learning.rows=128 chain.mass=identity.\n\n"
        .to_string();
    let mut table = &schema;
    for line in defaults.lines() {
        let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        let key = name.or_else(|| Some(line.split_once(" = ")?.0));
        let node = match (name, key) {
            (Some(name), _) => {
                table = node(&schema, &schema["properties"][name]);
                Some(&schema["properties"][name])
            }
            (None, key) => key.map(|key| &table["properties"][key]),
        };
        if let Some(node) = node {
            text += &described(&schema, node);
        }
        text += &format!("{line}\n");
    }
    text
}

/// What a setting may contain.
fn node<'s>(schema: &'s Value, setting: &'s Value) -> &'s Value {
    let name = setting["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/"));
    name.map_or(setting, |name| &schema["$defs"][name])
}

/// What a setting means, and the choices that there are, as comments.
fn described(schema: &Value, setting: &Value) -> String {
    let comment = |text: &Value| text.as_str().unwrap_or_default().replace('\n', " ");
    let choices = node(schema, setting)["oneOf"].as_array().into_iter().flatten();
    let choices = choices.map(|c| format!("#   {}: {}\n", c["const"], comment(&c["description"])));
    format!("# {}\n{}", comment(&setting["description"]), choices.collect::<String>())
}

fn show(context: &Context, spec: &RunSpec) -> Result<(), Failure> {
    match context.terminal.json {
        true => context.terminal.print_json(spec),
        false => context.terminal.print(&spec.to_toml()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dotted names of all values of a table.
    fn keys(table: &toml::Table, prefix: &str, all: &mut Vec<String>) {
        for (key, value) in table {
            match value {
                toml::Value::Table(inner) => keys(inner, &format!("{prefix}{key}."), all),
                _ => all.push(format!("{prefix}{key}")),
            }
        }
    }

    #[test]
    fn the_settings_of_fits_are_all_described() {
        let text = of_fit();
        assert_eq!(FitSpec::from_toml(&text).expect("the text is a valid file"), FitSpec::default());
        assert!(!text.contains("# \n"), "something has no description: {text}");
        assert!(text.contains("#   \"mean-field\": Variances only.\ncovariance = \"auto\""), "{text}");
    }

    #[test]
    fn the_schema_names_every_setting_with_its_default() {
        let spec = RunSpec::from_toml(SCHEMA).expect("the schema is a valid file");
        assert_eq!(spec, RunSpec::default());
        let all = |text: &str| {
            let mut all = Vec::new();
            keys(&toml::from_str(text).expect("valid TOML"), "", &mut all);
            all.sort();
            all
        };
        assert_eq!(all(SCHEMA), all(&RunSpec::default().to_toml()));
    }
}
