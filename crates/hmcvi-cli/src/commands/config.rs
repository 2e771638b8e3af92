//! Show, check and document settings.

use clap::Subcommand;
use hmcvi::config::RunSpec;

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
  hmcvi config schema --json")]
    Schema,
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
        Command::Schema => match context.terminal.json {
            true => context.terminal.print_json(&RunSpec::json_schema()),
            false => context.terminal.print(SCHEMA),
        },
    }
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
