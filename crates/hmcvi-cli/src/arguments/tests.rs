//! Guard what the help says.

use super::*;
use clap::CommandFactory;

/// All commands with the words that call them.
fn commands(command: &clap::Command, name: &str, all: &mut Vec<(String, clap::Command)>) {
    all.push((name.into(), command.clone()));
    for inner in command.get_subcommands().filter(|c| c.get_name() != "help") {
        commands(inner, &format!("{name} {}", inner.get_name()), all);
    }
}

fn all_commands() -> Vec<(String, clap::Command)> {
    let mut program = Arguments::command();
    program.build();
    let mut all = Vec::new();
    commands(&program, "hmcvi", &mut all);
    all
}

#[test]
fn every_command_has_examples_that_parse() {
    for (name, command) in all_commands() {
        let help = command.get_after_help().map_or(String::new(), ToString::to_string);
        let examples: Vec<&str> = help.lines().map(str::trim).filter(|l| l.starts_with("hmcvi")).collect();
        assert!(!examples.is_empty(), "`{name} --help` has no example");
        for example in examples {
            assert!(name == "hmcvi" || example.starts_with(&name), "{name}: {example}");
            Arguments::try_parse_from(example.split_whitespace()).expect(example);
        }
    }
}

#[test]
fn shared_options_come_after_a_commands_own() {
    for (name, mut command) in all_commands() {
        let help = command.render_long_help().to_string();
        let place = |heading: &str| help.find(&format!("\n{heading}:"));
        let order = ["Options", MODEL_AND_DATA, WHERE_TO_COMPUTE, OUTPUT_AND_HELP];
        let places: Vec<usize> = order.into_iter().filter_map(place).collect();
        assert!(places.is_sorted(), "{name}: {help}");
        let last = place(OUTPUT_AND_HELP).expect("every command has it");
        assert!(help[last..].contains("--json") && help[last..].contains("--version"), "{name}: {help}");
    }
}

#[test]
fn a_model_is_named_once_by_position_or_by_option() {
    let parsed = |line: &str| Arguments::try_parse_from(line.split_whitespace());
    assert!(parsed("hmcvi eval run").is_ok() && parsed("hmcvi eval --model run").is_ok());
    assert!(parsed("hmcvi eval run --model run").is_err());
    let missing = parsed("hmcvi eval").expect_err("a run is required").to_string();
    assert!(missing.contains("Usage: hmcvi eval") && missing.contains("<RUN>"), "{missing}");
}
