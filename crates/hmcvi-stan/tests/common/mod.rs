//! Models that are known twice: with the builder, and as a Stan program.
#![allow(dead_code, reason = "every test has its own use for it")]

use std::f64::consts::LN_2;
use std::path::Path;

use hmcvi::bayes::{Array, Bound, Data, examples};
use hmcvi_graph::{CpuOptions, Executable, Graph, Run, Store};
use hmcvi_stan::{Program, Settings};

/// A posterior of the built-in examples, as a Stan program.
pub(crate) struct Posterior {
    /// Name of the example.
    pub(crate) name: &'static str,
    /// Name of the program, which is that of posteriordb's.
    file: &'static str,
    pub(crate) program: &'static str,
    /// Data that the program needs beside those of the example: a size, and of what.
    sizes: &'static [(&'static str, &'static str, usize)],
    /// What the builder's log density has more: the logarithm of 2 for each half of a distribution, of which Stan has
    /// the whole one on positive numbers.
    pub(crate) more: f64,
}

macro_rules! posteriors {
    ($($name:literal $file:literal [$($size:literal $of:literal $dim:literal),*] $more:expr;)*) => {
        pub(crate) const POSTERIORS: &[Posterior] = &[$(Posterior {
            name: $name,
            file: $file,
            program: include_str!(concat!("../posteriors/", $file, ".stan")),
            sizes: &[$(($size, $of, $dim)),*],
            more: $more,
        }),*];
    };
}

posteriors! {
    "eight-schools" "eight_schools_noncentered" ["J" "y" 0] LN_2;
    "ark" "arK" ["T" "y" 0] LN_2;
    "arma" "arma11" ["T" "y" 0] LN_2;
    "garch" "garch11" ["T" "y" 0] 0.0;
    "gp" "gp_regr" ["N" "y" 0] 2.0 * LN_2;
    "mixture" "low_dim_gauss_mix" ["N" "y" 0] 2.0 * LN_2;
    "regression" "blr" ["N" "X" 0, "D" "X" 1] LN_2;
    // The program divides by the mass of positive numbers, and the builder does not.
    "diamonds" "diamonds" ["N" "X" 0, "K" "X" 1] -LN_2;
    "earnings" "earn_height" ["N" "earn" 0] 0.0;
    "log-earnings" "logearn_interaction_z" ["N" "earn" 0] 0.0;
    "kidscore-interaction" "kidscore_interaction" ["N" "mom_iq" 0] LN_2;
    "kidscore-momhsiq" "kidscore_momhsiq" ["N" "mom_iq" 0] LN_2;
    "kidscore-mom-work" "kidscore_mom_work" ["N" "mom_work" 0] 0.0;
    "mesquite" "mesquite" ["N" "weight" 0] 0.0;
    "log-mesquite" "logmesquite_logvas" ["N" "weight" 0] 0.0;
    "nes1972" "nes" ["N" "income" 0] 0.0;
    "nes2000" "nes" ["N" "income" 0] 0.0;
}

impl Posterior {
    /// The data of the example with those that the program needs beside. Of `diamonds`, which has none, so many rows of
    /// made ones.
    pub(crate) fn data(&self, rows: usize) -> Data {
        let example = examples::find(self.name).expect("an example");
        let mut data = example.data().expect("data").unwrap_or_else(|| made(rows));
        for (size, of, dim) in self.sizes {
            let value = data.get(of).expect("an array").dims.sizes()[*dim];
            data = data.with(size, value as f64);
        }
        data
    }

    /// The data in a folder with those of posteriordb, where the name of the program comes after that of the data.
    pub(crate) fn data_of(&self, folder: &Path) -> Data {
        let end = format!("-{}.data.json", self.file);
        let names =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").file_name());
        let mut all: Vec<String> =
            names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(&end)).collect();
        // Of a program for several data.
        if all.len() > 1 {
            all.retain(|name| name.starts_with(self.name));
        }
        assert_eq!(all.len(), 1, "{}: {all:?}", self.name);
        let text = std::fs::read_to_string(folder.join(&all[0])).expect("text");
        Data::from_json(&text).expect("data")
    }

    /// The model of the builder.
    pub(crate) fn builder(&self, data: &Data) -> Bound {
        examples::find(self.name).expect("an example").model().bind(data).expect("a model")
    }

    /// The model of the program, with all constants.
    pub(crate) fn stan(&self, data: &Data) -> Bound {
        let settings = Settings { constants: true, ..Settings::default() };
        let model = Program::parse(self.program).and_then(|program| program.model_with(data, &settings));
        model.unwrap_or_else(|error| panic!("{}: {error}", self.name)).bound().clone()
    }
}

/// Logarithms of prices and 25 columns, the first of ones.
fn made(rows: usize) -> Data {
    let at =
        |i: usize, j: usize| if j == 0 { 1.0 } else { ((i * 7 + j * 13) as f64 * 0.37 * j as f64).sin() };
    let x: Vec<f64> = (0..rows).flat_map(|i| (0..25).map(move |j| at(i, j))).collect();
    let y: Vec<f64> = (0..rows).map(|i| 8.0 + at(i, 1) - 0.5 * at(i, 2) + 0.3 * (i as f64).cos()).collect();
    Data::new().with("X", Array { dims: (rows, 25).into(), values: x }).with("Y", y)
}

/// Log density and gradient of a model, compiled.
pub(crate) struct Compiled {
    executable: Executable<f64>,
    store: Store<f64>,
}

impl Compiled {
    /// The program for rows of `bound.dimension()` numbers, so many at a time.
    pub(crate) fn new(bound: &Bound, rows: usize, threads: usize) -> Self {
        let graph = Graph::new();
        let input = graph.batch_input("z", bound.dimension());
        let log_density = bound.at(input).log_density();
        let gradient = graph.row_grad(log_density, input);
        let program = graph.program().output("value", log_density).output("gradient", gradient);
        let options = CpuOptions { threads, ..CpuOptions::for_rows(rows) };
        let executable = program.compile().expect("a program").on_cpu::<f64>(options);
        Compiled { executable, store: Store::new() }
    }

    /// Evaluates rows.
    pub(crate) fn run(&mut self, z: &[f64], rows: usize) {
        let run = Run { rows, inputs: &[("z", z)], ..Run::default() };
        self.executable.evaluate(&self.store, &run).expect("it runs");
    }

    /// Evaluates one row: log density and gradient.
    pub(crate) fn at(&mut self, z: &[f64]) -> (f64, Vec<f64>) {
        self.run(z, 1);
        let output = |name| self.executable.output(name).expect("an output").to_vec();
        (output("value")[0], output("gradient"))
    }
}

/// Some place for a number of dimensions.
pub(crate) fn place(dimension: usize, point: usize) -> Vec<f64> {
    (0..dimension).map(|i| 0.9 * (1.7 * i as f64 + 2.3 * point as f64).sin()).collect()
}
