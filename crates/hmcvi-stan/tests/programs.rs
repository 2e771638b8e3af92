//! Log densities and gradients of programs, one for each construct, against Stan's own.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::path::{Path, PathBuf};

use hmcvi::bayes::{Bound, Data};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};
use hmcvi_stan::{Program, Settings};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// All programs by name, with their data, which their first lines have.
fn programs() -> Vec<(String, String, Data)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("programs").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a program");
        let name = entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
        let data = text.lines().next().and_then(|line| line.strip_prefix("// data: ")).expect("data");
        let data = Data::from_json(data).expect("data");
        all.push((name, text, data));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Log density and gradient.
fn at(bound: &Bound, z: &[f64]) -> (f64, Vec<f64>) {
    let graph = Graph::new();
    let input = graph.batch_input("z", bound.dimension());
    let log_density = bound.at(input).log_density();
    let gradient = graph.row_grad(log_density, input);
    let program = graph.program().output("value", log_density).output("gradient", gradient);
    let mut executable = program.compile().expect("a program").on_cpu::<f64>(CpuOptions::for_rows(1));
    let run = Run { rows: 1, inputs: &[("z", z)], ..Run::default() };
    executable.evaluate(&Store::new(), &run).expect("it runs");
    let output = |name| executable.output(name).expect("an output").to_vec();
    (output("value")[0], output("gradient"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// What differs between a model and the reference.
fn differences(name: &str, text: &str, data: &Data, reference: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (kind, constants) in [("dropped", false), ("kept", true)] {
        let settings = Settings { constants, ..Settings::default() };
        let model = match Program::parse(text).and_then(|program| program.model_with(data, &settings)) {
            Ok(model) => model,
            Err(error) => return vec![format!("{name}: {error}")],
        };
        let size = model.bound().dimension();
        for (p, point) in reference.as_array().expect("points").iter().enumerate() {
            let z: Vec<f64> = (0..size).map(|i| 0.8 * (1.7 * i as f64 + p as f64).sin() + 0.1).collect();
            let gradient: Vec<f64> =
                point[kind]["gradient"].as_array().expect("a gradient").iter().map(number).collect();
            if gradient.len() != size {
                return vec![format!("{name}: {size} dimensions, and {} by Stan", gradient.len())];
            }
            let (value, own) = at(model.bound(), &z);
            // What is solved in steps is as exact as its steps are.
            let allowed = if name.contains("oscillator") { 1e-6 } else { 1e-8 };
            // Not a number differs from all numbers.
            let close = |a: f64, b: f64| (a - b).abs() <= allowed * b.abs().max(1.0);
            let differs = |a: f64, b: f64| !close(a, b);
            let expected = number(&point[kind]["value"]);
            if differs(value, expected) {
                found.push(format!("{name} {kind} at {p}: {value}, and {expected} by Stan"));
            }
            if let Some(i) = (0..size).find(|&i| differs(own[i], gradient[i])) {
                found.push(format!(
                    "{name} {kind} at {p}: derivative {i} is {}, and {} by Stan",
                    own[i], gradient[i]
                ));
            }
        }
    }
    found
}

#[test]
fn log_densities_and_gradients_are_those_of_stan() {
    // By Stan 2.21 from R, and by Stan 2.35 what needs it.
    let tables = [include_str!("reference/programs.json"), include_str!("reference/newer.json")]
        .map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (name, text, data) in programs() {
        match tables.iter().find_map(|table| table["programs"].get(&name)) {
            Some(reference) => {
                wrong.extend(differences(&name, &text, &data, reference));
                compared += 1;
            }
            None => wrong.push(format!("{name} has no reference")),
        }
    }
    assert!(wrong.is_empty(), "of {compared} programs:\n{}", wrong.join("\n"));
    assert!(compared >= 60, "{compared} programs are compared");
}
