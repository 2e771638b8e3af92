//! Evaluate programs with their data: time to compile, log density, gradient and quantities, as lines of JSON.
//!
//! `cargo run --release -p hmcvi-stan --example evaluate -- FOLDER [NAME ...]` takes each `NAME.stan` with its `NAME.json`.
//! Points are `z[i] = 0.8 sin(1.7 i + p) + 0.1` for `p` in 0, 1, 2. Gradients are compared with differences.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use hmcvi::bayes::Data;
use hmcvi_graph::{CpuOptions, Executable, Graph, Run, Store};
use hmcvi_stan::{Model, Program, Settings};
use serde_json::{Value, json};

/// A model that can be evaluated.
struct Ready {
    model: Model,
    executable: Executable<f64>,
    nodes: usize,
    seconds: f64,
}

fn ready(path: &Path, data: &Data, constants: bool) -> Result<Ready, String> {
    let started = Instant::now();
    let settings = Settings { constants, ..Settings::default() };
    let program = Program::open(path).map_err(|e| e.to_string())?;
    let model = program.model_with(data, &settings).map_err(|e| e.to_string())?;
    let graph = Graph::new();
    let input = graph.batch_input("z", model.bound().dimension());
    let built = model.bound().at(input);
    let (log_density, row) = (built.log_density(), built.row());
    let gradient = graph.row_grad(log_density, input);
    let program =
        graph.program().output("value", log_density).output("gradient", gradient).output("row", row);
    let nodes = graph.len();
    let executable = program.compile().map_err(|e| e.to_string())?.on_cpu::<f64>(CpuOptions::for_rows(1));
    Ok(Ready { model, executable, nodes, seconds: started.elapsed().as_secs_f64() })
}

impl Ready {
    fn at(&mut self, z: &[f64]) -> Result<(f64, Vec<f64>, Vec<f64>), String> {
        let run = Run { rows: 1, inputs: &[("z", z)], ..Run::default() };
        self.executable.evaluate(&Store::new(), &run).map_err(|e| e.to_string())?;
        let output = |name| self.executable.output(name).map(<[f64]>::to_vec).ok_or("there is no output");
        Ok((output("value")?[0], output("gradient")?, output("row")?))
    }

    /// The largest difference between derivatives and those of differences of values, relative to their size.
    fn difference(&mut self, z: &[f64], gradient: &[f64]) -> Result<f64, String> {
        let mut most = 0.0_f64;
        for i in 0..z.len().min(40) {
            let (mut up, mut down) = (z.to_vec(), z.to_vec());
            let step = 1e-5;
            up[i] += step;
            down[i] -= step;
            let slope = (self.at(&up)?.0 - self.at(&down)?.0) / (2.0 * step);
            most = most.max((slope - gradient[i]).abs() / gradient[i].abs().max(1.0));
        }
        Ok(most)
    }
}

/// JSON has no numbers that are not finite.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}

fn numbers(all: &[f64]) -> Value {
    all.iter().map(|x| number(*x)).collect()
}

fn evaluate(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path.with_extension("json")).map_err(|e| e.to_string())?;
    let data = Data::from_json(&text).map_err(|e| e.to_string())?;
    let mut dropped = ready(path, &data, false)?;
    let mut kept = ready(path, &data, true)?;
    let size = dropped.model.bound().dimension();
    let mut points = Vec::new();
    let started = Instant::now();
    for p in 0..3 {
        let z: Vec<f64> = (0..size).map(|i| 0.8 * (1.7 * i as f64 + f64::from(p)).sin() + 0.1).collect();
        let (value, gradient, row) = dropped.at(&z)?;
        let (all, all_gradient, _) = kept.at(&z)?;
        let (array, failed) = match dropped.model.quantities(&row, 1, 0) {
            Ok(array) => (array, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        points.push(json!({
            "dropped": { "value": number(value), "gradient": numbers(&gradient) },
            "kept": { "value": number(all), "gradient": numbers(&all_gradient) },
            "array": numbers(&array), "failed": failed,
            "difference": number(dropped.difference(&z, &gradient)?),
        }));
    }
    Ok(json!({ "dimension": size, "names": dropped.model.names(), "points": points, "nodes": dropped.nodes,
        "seconds": dropped.seconds, "evaluation": started.elapsed().as_secs_f64() / (9.0 + 6.0 * size.min(40) as f64) }))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next().map(PathBuf::from) else { return println!("give a folder") };
    let only: Vec<String> = arguments.collect();
    let Ok(entries) = std::fs::read_dir(&folder) else { return println!("no folder {}", folder.display()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "stan"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if only.is_empty() || only.contains(&name) {
            let found = evaluate(&path).unwrap_or_else(|error| json!({ "error": error }));
            println!("{}", json!({ "name": name, "found": found }));
        }
    }
}
