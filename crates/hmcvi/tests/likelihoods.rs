//! Check what every likelihood promises: derivatives, draws that fit the density, numbers that stay finite, and first
//! values that are the data's own. Each test goes through all likelihoods, so that a new one is tested, too.

mod common;

use common::{STANDARD_ERRORS, STENCIL, assert_close, assert_mean, mean_and_error, normals};
use hmcvi::dist::RandomSource;
use hmcvi::model::likelihood::{
    ColumnStatistics, Columns, LikelihoodError, LikelihoodKind, LikelihoodSettings, Observed, Scale,
};
use hmcvi::nn::Parameters;
use hmcvi_graph::random::Key;
use hmcvi_graph::{CpuOptions, Executable, Expr, Graph, Real, Run, Store};

const COLUMNS: usize = 5;

/// Training rows: one column never changes, and one is always 0. The mean of their sums is an integer, as draws have it.
const ROWS: [[f32; COLUMNS]; 4] = [
    [3.0, 2.0, 0.0, 1.0, 0.0],
    [0.0, 2.0, 0.0, 4.0, 8.0],
    [1.0, 2.0, 0.0, 0.0, 14.0],
    [2.0, 2.0, 0.0, 3.0, 0.0],
];

fn statistics() -> ColumnStatistics {
    ColumnStatistics::of_rows(COLUMNS, ROWS.map(|row| row.into_iter().enumerate()))
}

/// Every likelihood with every choice that matters to it.
fn variants() -> Vec<(LikelihoodKind, LikelihoodSettings)> {
    use LikelihoodKind::*;
    let mut all: Vec<_> =
        LikelihoodKind::ALL.iter().map(|kind| (*kind, LikelihoodSettings::default())).collect();
    for kind in [Poisson, NegativeBinomial, ZeroInflatedNegativeBinomial] {
        all.push((kind, LikelihoodSettings { size_factor: true, ..LikelihoodSettings::default() }));
    }
    for scale in [Scale::Shared, Scale::Fixed] {
        all.push((Gaussian, LikelihoodSettings { scale, fixed_scale: 0.3, ..LikelihoodSettings::default() }));
    }
    all.push((Categorical, LikelihoodSettings { groups: vec![2, 3], ..LikelihoodSettings::default() }));
    all
}

/// A likelihood of a decoder's outputs, which are an input here.
struct Built<'g> {
    parameters: Parameters<'g>,
    decoded: Expr<'g>,
    observed: Box<dyn Observed<'g> + 'g>,
    x: Expr<'g>,
}

/// The likelihood in a graph; with `knows_x` it may look at the rows for their sums.
fn build<'g>(
    graph: &'g Graph,
    (kind, settings): &(LikelihoodKind, LikelihoodSettings),
    knows_x: bool,
) -> Built<'g> {
    let (parameters, likelihood) = (Parameters::new(graph), kind.likelihood());
    let decoded = graph.batch_input("decoded", likelihood.outputs(COLUMNS));
    let x = graph.batch_input("x", COLUMNS);
    let statistics = statistics();
    let columns =
        Columns { parameters: &parameters, settings, count: COLUMNS, statistics: Some(&statistics) };
    let observed = likelihood.given(&columns, decoded, knows_x.then_some(x));
    Built { parameters, decoded, observed, x }
}

impl Built<'_> {
    /// First values, with those that are trained moved a little so that they differ between columns.
    fn store<T: Real>(&self) -> Store<T> {
        let mut store = self.parameters.initial_values(1);
        for (name, _) in self.parameters.all() {
            let values = &mut store.get_mut(&name).expect("a parameter").values;
            let moves = normals(30, values.len());
            values.iter_mut().zip(moves).for_each(|(v, m)| *v = *v + T::from_f64(f64::from(0.5 * m as f32)));
        }
        store
    }
}

/// A program in either precision.
struct Compiled<T: Real>(Executable<T>);

impl<T: Real> Compiled<T> {
    fn new(graph: &Graph, rows: usize, outputs: &[(&str, Expr<'_>)]) -> Self {
        let program =
            outputs.iter().fold(graph.program(), |program, (name, value)| program.output(name, *value));
        let options = CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) };
        Compiled(program.compile().expect("a program").on_cpu(options))
    }

    fn run(&mut self, store: &mut Store<T>, decoded: &[f64], x: &[f64]) {
        let [decoded, x] = [decoded, x].map(|v| v.iter().map(|v| T::from_f64(*v)).collect::<Vec<T>>());
        let inputs: &[(&str, &[T])] = &[("decoded", &decoded), ("x", &x)];
        let rows = x.len() / COLUMNS;
        self.0.run(store, &Run { rows, inputs, ..Run::default() }).expect("all is given");
    }

    fn get(&self, name: &str) -> Vec<f64> {
        self.0.output(name).expect("an output").iter().map(|v| v.to_f64()).collect()
    }
}

/// Decoder outputs of some rows.
fn outputs(kind: LikelihoodKind, rows: usize) -> Vec<f64> {
    normals(7, rows * kind.likelihood().outputs(COLUMNS)).iter().map(|v| f64::from(*v as f32)).collect()
}

/// Draws of the rows that belong to `decoded`, and the parameters that they were drawn with.
fn draw(variant: &(LikelihoodKind, LikelihoodSettings), decoded: &[f64]) -> Vec<f64> {
    let likelihood = variant.0.likelihood();
    let rows = decoded.len() / likelihood.outputs(COLUMNS);
    let graph = Graph::new();
    let built = build(&graph, variant, false);
    let mut compiled = Compiled::<f32>::new(&graph, rows, &[("parameters", built.observed.parameters())]);
    compiled.run(&mut built.store(), decoded, &vec![0.0; rows * COLUMNS]);
    let parameters = compiled.get("parameters");
    let width = parameters.len() / rows;
    let mut x = vec![0f32; rows * COLUMNS];
    for (row, (x, parameters)) in x.chunks_mut(COLUMNS).zip(parameters.chunks(width)).enumerate() {
        let parameters: Vec<f32> = parameters.iter().map(|v| *v as f32).collect();
        let mut source = RandomSource::new(Key { seed: 9, stream: 80, step: 0, row: row as u32 });
        likelihood.sample(&variant.1, &parameters, &mut source, x);
        assert!(x.iter().all(|v| likelihood.allows(*v)), "{variant:?}: {x:?}");
    }
    x.into_iter().map(f64::from).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Moves one of the things that a likelihood depends on along a direction.
fn moved(store: &Store<f64>, decoded: &[f64], name: &str, along: &[f64], by: f64) -> (Store<f64>, Vec<f64>) {
    let (mut store, mut decoded) = (store.clone(), decoded.to_vec());
    let values =
        if name == "decoded" { &mut decoded } else { &mut store.get_mut(name).expect("a parameter").values };
    values.iter_mut().zip(along).for_each(|(v, d)| *v += by * d);
    (store, decoded)
}

#[test]
fn first_and_second_derivatives_agree_with_finite_differences() {
    const ROWS: usize = 7;
    const STEP: f64 = 1e-3;
    for variant in variants() {
        let decoded = outputs(variant.0, ROWS);
        let x = draw(&variant, &decoded);
        let graph = Graph::new();
        let built = build(&graph, &variant, true);
        let value = built.observed.log_prob(built.x).sum_rows();
        let mut wrt = vec![("decoded".to_owned(), built.decoded)];
        wrt.extend(built.parameters.all());
        let gradients = graph.grad(value, &wrt.iter().map(|(_, w)| *w).collect::<Vec<_>>());
        for ((name, w), gradient) in wrt.iter().zip(gradients) {
            let size = if name == "decoded" { decoded.len() } else { w.cols() };
            // The same direction for all rows.
            let direction = normals(50, w.cols());
            let along: Vec<f64> = direction.iter().copied().cycle().take(size).collect();
            let direction = graph.constant_matrix(1, w.cols(), &direction);
            let slope = (gradient * direction).sum();
            let curvature = (graph.grad(slope, &[*w])[0] * direction).sum();
            let outputs = [("value", value), ("slope", slope), ("curvature", curvature)];
            let mut compiled = Compiled::<f64>::new(&graph, ROWS, &outputs);
            let store = built.store();
            let mut at = |by: f64| {
                let (mut store, decoded) = moved(&store, &decoded, name, &along, by);
                compiled.run(&mut store, &decoded, &x);
                ["value", "slope", "curvature"].map(|name| compiled.get(name)[0])
            };
            let here = at(0.0);
            let mut found = [0.0; 2];
            for (distance, weight) in STENCIL {
                let there = at(distance * STEP);
                (0..2).for_each(|i| found[i] += weight * there[i] / STEP);
            }
            // The stencil's error is h⁴ times fifth derivatives, here of the size of the counts.
            let size = dot(&x, &x).sqrt() + here[1].abs() + here[2].abs();
            for i in 0..2 {
                let error = (found[i] - here[i + 1]).abs() / size;
                let which = ["first", "second"][i];
                assert!(error < 1e-9, "{variant:?}, {which} by {name}: {} not {}", here[i + 1], found[i]);
            }
        }
    }
}

#[test]
fn draws_fit_the_density() {
    const BLOCKS: usize = 60;
    const BLOCK: usize = 500;
    for variant in variants() {
        let likelihood = variant.0.likelihood();
        // One point of latent space, so that all rows have one distribution.
        let width = likelihood.outputs(COLUMNS);
        let point: Vec<f64> = outputs(variant.0, 1).iter().map(|v| 0.5 * v).collect();
        let decoded: Vec<f64> = point.iter().copied().cycle().take(BLOCKS * BLOCK * width).collect();
        let x = draw(&variant, &decoded);
        let graph = Graph::new();
        let built = build(&graph, &variant, false);
        let value = built.observed.log_prob(built.x);
        let score = graph.row_grad(value, built.decoded);
        let along = normals(60, width);
        let direction = graph.constant_matrix(1, width, &along);
        let slope = (score * direction).sum_cols();
        let curvature = (graph.row_grad(slope, built.decoded) * direction).sum_cols();
        let trained = built.parameters.all();
        let wrt: Vec<Expr<'_>> = trained.iter().map(|(_, w)| *w).collect();
        let gradients = graph.grad(value.sum_rows(), &wrt);
        let mut all = vec![
            ("score", score),
            ("slope", slope),
            ("curvature", curvature),
            ("mean", built.observed.mean()),
        ];
        all.extend(trained.iter().zip(&gradients).map(|((name, _), g)| (name.as_str(), *g)));
        let mut compiled = Compiled::<f64>::new(&graph, BLOCK, &all);
        let (mut scores, mut information, mut by_parameter) = (Vec::new(), Vec::new(), Vec::new());
        for (decoded, x) in decoded.chunks(BLOCK * width).zip(x.chunks(BLOCK * COLUMNS)) {
            compiled.run(&mut built.store(), decoded, x);
            let (slopes, curvatures) = (compiled.get("slope"), compiled.get("curvature"));
            information
                .extend(slopes.iter().zip(curvatures).map(|(slope, curvature)| slope * slope + curvature));
            scores.extend(compiled.get("score"));
            by_parameter.push(trained.iter().flat_map(|(name, _)| compiled.get(name)).collect::<Vec<f64>>());
        }
        let mean = compiled.get("mean");
        for column in 0..COLUMNS {
            let values: Vec<f64> = x.chunks(COLUMNS).map(|row| row[column]).collect();
            assert_expected(&format!("{variant:?}, column {column}"), &values, mean[column]);
        }
        // Under the density that draws come from, the mean slope is 0, and its variance is the mean curvature downwards.
        for output in 0..width {
            let values: Vec<f64> = scores.chunks(width).map(|s| s[output]).collect();
            assert_expected(&format!("{variant:?}, slope by output {output}"), &values, 0.0);
        }
        assert_expected(&format!("{variant:?}, information"), &information, 0.0);
        for i in 0..by_parameter[0].len() {
            let values: Vec<f64> = by_parameter.iter().map(|block| block[i]).collect();
            assert_mean(&format!("{variant:?}, slope by parameter {i}"), &values, 0.0);
        }
    }
}

/// As [`assert_mean`], also for values that are all the same up to rounding.
#[track_caller]
fn assert_expected(what: &str, values: &[f64], expected: f64) {
    let (mean, error) = mean_and_error(values);
    let distance = (mean - expected).abs();
    assert!(distance < STANDARD_ERRORS * error + 1e-6, "{what}: mean {mean} ± {error}, expected {expected}");
}

#[test]
fn single_precision_agrees_with_double_precision() {
    const ROWS: usize = 50;
    for variant in variants() {
        let decoded = outputs(variant.0, ROWS);
        let x = draw(&variant, &decoded);
        let graph = Graph::new();
        let built = build(&graph, &variant, true);
        let value = built.observed.log_prob(built.x);
        let slope = graph.row_grad(value, built.decoded);
        let all = [("value", value), ("slope", slope), ("mean", built.observed.mean())];
        let mut single = Compiled::<f32>::new(&graph, ROWS, &all);
        let mut double = Compiled::<f64>::new(&graph, ROWS, &all);
        single.run(&mut built.store(), &decoded, &x);
        double.run(&mut built.store(), &decoded, &x);
        for (name, _) in all {
            for (single, double) in single.get(name).iter().zip(double.get(name)) {
                // Counts are below a hundred here: sums of a few such numbers, each to seven digits.
                let error = (single - double).abs() / double.abs().max(10.0);
                assert!(error < 1e-5, "{variant:?}, {name}: {single}, not {double}");
            }
        }
    }
}

#[test]
fn decoders_that_go_astray_leave_finite_numbers() {
    for variant in variants() {
        let likelihood = variant.0.likelihood();
        let width = likelihood.outputs(COLUMNS);
        let sizes = [0.0, 30.0, -30.0, 1000.0, -1000.0];
        let decoded: Vec<f64> = sizes.iter().flat_map(|size| vec![*size; width]).collect();
        let row = match variant.0 {
            LikelihoodKind::Bernoulli => [1.0, 0.0, 1.0, 0.0, 1.0],
            LikelihoodKind::Categorical => [1.0, 0.0, 0.0, 1.0, 0.0],
            _ => [0.0, 1.0, 7.0, 1000.0, 1e6],
        };
        let x = row.repeat(sizes.len());
        let graph = Graph::new();
        let built = build(&graph, &variant, true);
        let value = built.observed.log_prob(built.x);
        let mut all = vec![
            ("value".to_owned(), value),
            ("slope".to_owned(), graph.row_grad(value, built.decoded)),
            ("mean".to_owned(), built.observed.mean()),
        ];
        let trained = built.parameters.all();
        let wrt: Vec<Expr<'_>> = trained.iter().map(|(_, w)| *w).collect();
        let gradients = graph.grad(value.sum_rows(), &wrt);
        all.extend(trained.into_iter().zip(gradients).map(|((name, _), gradient)| (name, gradient)));
        let all: Vec<(&str, Expr<'_>)> = all.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let mut compiled = Compiled::<f32>::new(&graph, sizes.len(), &all);
        compiled.run(&mut built.store(), &decoded, &x);
        for (name, _) in all {
            let found = compiled.get(name);
            assert!(found.iter().all(|v| v.is_finite()), "{variant:?}, {name}: {found:?}");
        }
    }
}

#[test]
fn binary_data_keep_the_expression_they_always_had() {
    let graph = Graph::new();
    let built = build(&graph, &(LikelihoodKind::default(), LikelihoodSettings::default()), true);
    let (x, logits) = (built.x, built.decoded);
    // Equal expressions of a graph are one.
    assert_eq!(built.observed.log_prob_terms(x), x * logits - logits.softplus());
    assert_eq!(built.observed.log_prob(x), (x * logits - logits.softplus()).sum_cols());
    assert_eq!(built.observed.mean(), logits.sigmoid());
    let settings = LikelihoodSettings::default();
    let columns =
        Columns { parameters: &built.parameters, settings: &settings, count: COLUMNS, statistics: None };
    let likelihood = LikelihoodKind::default().likelihood();
    assert_eq!(likelihood.encoder_input(&columns, x), x);
    assert_eq!((built.parameters.count(), likelihood.outputs(COLUMNS)), (0, COLUMNS));
}

#[test]
fn what_is_linear_in_the_data_is_the_log_density() {
    let mut seen = 0;
    for variant in variants() {
        let graph = Graph::new();
        let built = build(&graph, &variant, false);
        let Some((l, c)) = variant.0.likelihood().linear(built.decoded) else { continue };
        seen += 1;
        let decoded = outputs(variant.0, 6);
        let x = draw(&variant, &decoded);
        let all = [("linear", (built.x * l).sum_cols() + c), ("log_prob", built.observed.log_prob(built.x))];
        let mut compiled = Compiled::<f64>::new(&graph, 6, &all);
        compiled.run(&mut built.store(), &decoded, &x);
        assert_close(&format!("{variant:?}"), &compiled.get("linear"), &compiled.get("log_prob"), 1e-13);
    }
    assert!(seen > 0, "that of binary data is");
}

/// Means and encoder inputs of a likelihood whose decoder gives zeros.
fn at_zero(variant: &(LikelihoodKind, LikelihoodSettings), x: &[f64]) -> [Vec<f64>; 2] {
    let graph = Graph::new();
    let built = build(&graph, variant, true);
    let statistics = statistics();
    let columns = Columns {
        parameters: &built.parameters,
        settings: &variant.1,
        count: COLUMNS,
        statistics: Some(&statistics),
    };
    let input = variant.0.likelihood().encoder_input(&columns, built.x);
    let rows = x.len() / COLUMNS;
    let outputs = [("mean", built.observed.mean()), ("input", input)];
    let mut compiled = Compiled::<f64>::new(&graph, rows, &outputs);
    let decoded = vec![0.0; rows * variant.0.likelihood().outputs(COLUMNS)];
    compiled.run(&mut built.parameters.initial_values(1), &decoded, x);
    [compiled.get("mean"), compiled.get("input")]
}

#[test]
fn training_begins_at_the_datas_own_means() {
    use LikelihoodKind::*;
    let rows: Vec<f64> = ROWS.iter().flatten().map(|v| f64::from(*v)).collect();
    let means = [1.5, 2.0, 0.0, 2.0, 5.5];
    // Half an event in four rows where there was none.
    let positive = [1.5, 2.0, 0.125, 2.0, 5.5];
    let plain = |kind| (kind, LikelihoodSettings::default());
    let [found, input] = at_zero(&plain(Gaussian), &rows);
    assert_close("Gaussian means", &found[..COLUMNS], &means, 1e-6);
    for column in 0..COLUMNS {
        let values: Vec<f64> = input.chunks(COLUMNS).map(|row| row[column]).collect();
        let squares: f64 = values.iter().map(|v| v * v).sum::<f64>() / 4.0;
        let changes = column != 1 && column != 2;
        assert_close("mean", &[values.iter().sum::<f64>()], &[0.0], 1e-6);
        assert_close("variance", &[squares], &[f64::from(u8::from(changes))], 1e-6);
    }
    for kind in [Poisson, NegativeBinomial] {
        let [found, input] = at_zero(&plain(kind), &rows);
        assert_close("means of counts", &found[..COLUMNS], &positive, 1e-6);
        assert_close("inputs", &input, &rows.iter().map(|x| x.ln_1p()).collect::<Vec<_>>(), 1e-12);
    }
    // σ(-2) of the values are zeros of another cause.
    let [found, _] = at_zero(&plain(ZeroInflatedNegativeBinomial), &rows);
    let share = 1.0 / (1.0 + f64::exp(-2.0));
    assert_close("zero-inflated means", &found[..COLUMNS], &positive.map(|m| m * share), 1e-6);
    // Shares of the sum of each row.
    let total: f64 = positive.iter().sum();
    let size_factor = LikelihoodSettings { size_factor: true, ..LikelihoodSettings::default() };
    for variant in [(Poisson, size_factor.clone()), (NegativeBinomial, size_factor), plain(Multinomial)] {
        let [found, _] = at_zero(&variant, &rows);
        for (row, found) in ROWS.iter().zip(found.chunks(COLUMNS)) {
            let sum = f64::from(row.iter().sum::<f32>());
            assert_close("shares", found, &positive.map(|m| sum * m / total), 1e-5);
        }
    }
}

#[test]
fn what_is_known_of_the_data_is_stored_but_not_trained() {
    let names = |kind, settings: LikelihoodSettings| {
        let graph = Graph::new();
        let built = build(&graph, &(kind, settings), true);
        let trained: Vec<String> = built.parameters.all().into_iter().map(|(name, _)| name).collect();
        let store: Store<f32> = built.parameters.initial_values(1);
        let stored: Vec<String> = store.iter().map(|(name, _)| name.to_owned()).collect();
        (trained.join(" "), stored.join(" "))
    };
    let plain = LikelihoodSettings::default;
    let expected = |trained: &str, stored: &str| (trained.to_owned(), stored.to_owned());
    assert_eq!(
        names(LikelihoodKind::Gaussian, plain()),
        expected("likelihood.log_scale", "columns.mean columns.scale likelihood.log_scale")
    );
    let fixed = LikelihoodSettings { scale: Scale::Fixed, ..plain() };
    assert_eq!(names(LikelihoodKind::Gaussian, fixed), expected("", "columns.mean columns.scale"));
    assert_eq!(
        names(LikelihoodKind::NegativeBinomial, LikelihoodSettings { size_factor: true, ..plain() }),
        expected("likelihood.log_dispersion", "columns.mean likelihood.log_dispersion rows.total")
    );
    assert_eq!(names(LikelihoodKind::Multinomial, plain()), expected("", "columns.mean rows.total"));
}

#[test]
fn a_fixed_scale_is_a_share_of_each_columns_own() {
    let settings =
        LikelihoodSettings { scale: Scale::Fixed, fixed_scale: 0.3, ..LikelihoodSettings::default() };
    let graph = Graph::new();
    let built = build(&graph, &(LikelihoodKind::Gaussian, settings), false);
    let mut compiled = Compiled::<f64>::new(&graph, 1, &[("parameters", built.observed.parameters())]);
    compiled.run(&mut built.store(), &[1.0; COLUMNS], &[0.0; COLUMNS]);
    let (found, statistics) = (compiled.get("parameters"), statistics());
    for i in 0..COLUMNS {
        let (mean, scale) = (f64::from(statistics.mean[i]), f64::from(statistics.scale[i]));
        assert_close("mean", &[found[i]], &[mean + scale], 1e-12);
        assert_close("deviation", &[(0.5 * found[COLUMNS + i]).exp()], &[0.3 * scale], 1e-12);
    }
}

#[test]
fn classes_have_to_be_as_many_as_the_columns() {
    let check = |groups: &[usize], columns| {
        let settings = LikelihoodSettings { groups: groups.to_vec(), ..LikelihoodSettings::default() };
        LikelihoodKind::Categorical.likelihood().check(&settings, columns)
    };
    assert_eq!([check(&[], 5), check(&[2, 3], 5)], [Ok(()), Ok(())]);
    assert_eq!(check(&[], 1), Err(LikelihoodError::SingleClass { columns: 1 }));
    assert!(check(&[1, 4], 5).is_err(), "a variable with one class");
    let message = check(&[2, 2], 5).expect_err("four classes").to_string();
    assert!(message.starts_with("`groups` is [2, 2], which adds up to 4, but must be"), "{message}");
    assert!(message.contains("the 5 columns of the data; leave it empty"), "{message}");
}

#[test]
fn likelihoods_are_chosen_by_name() {
    let names: Vec<String> = LikelihoodKind::ALL
        .iter()
        .map(|kind| serde_json::to_value(kind).expect("a name").as_str().expect("a string").to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "bernoulli",
            "gaussian",
            "poisson",
            "negative-binomial",
            "zero-inflated-negative-binomial",
            "multinomial",
            "categorical"
        ]
    );
    for (name, kind) in names.iter().zip(LikelihoodKind::ALL) {
        let read: LikelihoodKind = serde_json::from_value(name.as_str().into()).expect("a kind");
        assert_eq!(read, *kind);
    }
    let settings: LikelihoodSettings =
        serde_json::from_str(r#"{"scale": "shared", "size_factor": true}"#).expect("settings");
    assert_eq!((settings.scale, settings.size_factor, settings.fixed_scale), (Scale::Shared, true, 1.0));
}

#[test]
fn each_likelihood_says_which_values_it_takes() {
    use LikelihoodKind::*;
    let takes = |kind: LikelihoodKind| {
        [-1.0, 0.0, 0.5, 1.0, 7.0, f32::NAN].map(|value| u8::from(kind.likelihood().allows(value)))
    };
    assert_eq!(takes(Bernoulli), [0, 1, 1, 1, 0, 0]);
    assert_eq!(takes(Gaussian), [1, 1, 1, 1, 1, 0]);
    assert_eq!(takes(Categorical), [0, 1, 0, 1, 0, 0]);
    for kind in [Poisson, NegativeBinomial, ZeroInflatedNegativeBinomial, Multinomial] {
        assert_eq!(takes(kind), [0, 1, 0, 1, 1, 0]);
    }
}
