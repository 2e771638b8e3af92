//! Programs and data that were changed at random give a model or an error, never a panic, and soon.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::path::Path;

use hmcvi::bayes::Data;
use hmcvi::dist::random::RandomSource;
use hmcvi_graph::random::Key;
use hmcvi_stan::{Model, Program, StanError};

/// Changes in a run of all tests; `HMCVI_MUTATIONS` asks for more.
const FEW: u32 = 400;

/// Pieces that are put into programs.
const PIECES: [&str; 40] = [
    "0",
    "1",
    "-1",
    "3",
    "1e300",
    "2147483647",
    "99999999",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ";",
    ",",
    ":",
    "+",
    "-",
    "*",
    "/",
    "^",
    "'",
    "~",
    "=",
    "<lower=0>",
    "real x;",
    "vector[3] v;",
    "int",
    "array[3]",
    "target +=",
    "normal(0, 1)",
    "if (1)",
    "for (i in 1:1000000)",
    "while (1)",
    "mu",
    "y",
    "N",
    ".*",
    "rep_vector(1, 100000000)",
    "\"",
];

fn pick(random: &mut RandomSource, n: usize) -> usize {
    ((random.uniform() * n as f64) as usize).min(n.saturating_sub(1))
}

/// Words and signs of a text.
fn words(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for c in text.chars() {
        match all.last_mut() {
            Some(last) if c.is_alphanumeric() && last.chars().all(char::is_alphanumeric) => last.push(c),
            _ => all.push(c.to_string()),
        }
    }
    all
}

fn changed(text: &str, random: &mut RandomSource) -> String {
    let mut all = words(text);
    for _ in 0..=pick(random, 3) {
        if all.is_empty() {
            break;
        }
        let (at, other) = (pick(random, all.len()), pick(random, all.len()));
        match pick(random, 5) {
            0 => drop(all.remove(at)),
            1 => all[at] = all[other].clone(),
            2 => all.insert(at, all[other].clone()),
            3 => all.swap(at, other),
            _ => all.insert(at, PIECES[pick(random, PIECES.len())].to_owned()),
        }
    }
    all.concat()
}

/// Quantities of two draws, unless the change made a model of thousands of numbers.
fn quantities(model: &Model) -> Result<(), StanError> {
    let dimension = model.bound().dimension();
    if dimension > 1000 {
        return Ok(());
    }
    let places: Vec<f64> = (0..2 * dimension).map(|i| (i as f64).sin()).collect();
    let Ok(found) = model.bound().evaluate(&places) else { return Ok(()) };
    model.all_quantities(&found.values, 1, 1, &|_| true).map(|_| ())
}

/// What comes of a program: whether it was a model.
fn try_program(text: &str, data: &str) -> Result<bool, String> {
    let Ok(data) = Data::from_json(data) else { return Ok(false) };
    let is_ours = |error: &StanError| error.message().contains("mistake of hmcvi-stan");
    match Program::parse(text).and_then(|program| program.model(&data)) {
        Ok(model) => match quantities(&model) {
            Err(error) if is_ours(&error) => Err(error.to_string()),
            _ => Ok(true),
        },
        Err(error) if is_ours(&error) => Err(error.to_string()),
        Err(error) => {
            let shown = error.to_string();
            assert!(error.line().is_none() || shown.contains('^'), "{shown}");
            Ok(false)
        }
    }
}

/// Programs with their data in the first line. Those with generated quantities come as often as all the others.
fn texts() -> Vec<String> {
    let read = |folder: &str| -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        let mut files: Vec<_> =
            std::fs::read_dir(folder).expect("programs").flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.iter().map(|file| std::fs::read_to_string(file).expect("a program")).collect()
    };
    let (mut all, generated) = (read("programs"), read("generated"));
    all.extend(generated.iter().cycle().take(all.len()).cloned().collect::<Vec<_>>());
    all
}

#[test]
fn generated_quantities_that_are_changed_were_right() {
    for text in texts().iter().rev().take(2) {
        let (first, program) = text.split_once('\n').expect("data and a program");
        let data = Data::from_json(first.trim_start_matches("// data: ")).expect("data");
        let model = Program::parse(program).and_then(|program| program.model(&data));
        let model = model.unwrap_or_else(|error| panic!("{error}"));
        let places = vec![0.1; 40 * model.bound().dimension()];
        let rows = model.bound().evaluate(&places).expect("values").values;
        let found = model.all_quantities(&rows, 1, 2, &|_| true).expect("draws").expect("all of them");
        assert_eq!(found.failed, None);
        assert!(found.values.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn changed_programs_and_data_are_models_or_errors() {
    let texts = texts();
    let count = std::env::var("HMCVI_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(FEW);
    let (mut models, mut wrong) = (0, Vec::new());
    for change in 0..count {
        let mut random = RandomSource::new(Key { seed: 5, stream: 1, step: 0, row: change });
        let text = &texts[pick(&mut random, texts.len())];
        let (first, program) = text.split_once('\n').expect("data and a program");
        let data = first.trim_start_matches("// data: ");
        let (data, program) = match pick(&mut random, 4) {
            0 => (changed(data, &mut random), program.to_owned()),
            _ => (data.to_owned(), changed(program, &mut random)),
        };
        let started = std::time::Instant::now();
        match try_program(&program, &data) {
            Ok(model) => models += u32::from(model),
            Err(message) => wrong.push(format!("{message}\n{data}\n{program}")),
        }
        if started.elapsed().as_secs() > 30 {
            wrong.push(format!("{} seconds\n{data}\n{program}", started.elapsed().as_secs()));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n----\n"));
    assert!(models > 0, "some changes leave a model");
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [("(", ")"), ("-", ""), ("{", "}"), ("[", "]"), ("1 ? 1 : ", "")] {
        let text = format!(
            "parameters {{ real x; }} model {{ x ~ normal({}1{}, 1); }}",
            open.repeat(100_000),
            close.repeat(100_000)
        );
        let error = Program::parse(&text).expect_err("an error");
        assert!(error.message().contains("levels of nesting"), "{}", error.message());
    }
    let text = format!("parameters {{ real x; }} model {{ {} }}", "if (1) ".repeat(100_000));
    assert!(Program::parse(&text).is_err());
}

#[test]
fn absurd_sizes_and_loops_are_errors() {
    let model = |text: &str| Program::parse(text).and_then(|program| program.model(&Data::new()));
    for text in [
        "parameters { vector[999999999] x; } model { }",
        "parameters { real x; } model { matrix[99999, 99999] m; }",
        "parameters { real x; } model { int i = 0; while (1) i += 1 - 1; }",
        "transformed data { vector[3] v = rep_vector(1, 2000000000); } parameters { real x; } model { }",
        "functions { real f(real x) { return f(x); } } parameters { real x; } model { x ~ normal(f(x), 1); }",
    ] {
        let error = model(text).expect_err("an error");
        assert!(error.line() == Some(1), "{error}");
    }
}
