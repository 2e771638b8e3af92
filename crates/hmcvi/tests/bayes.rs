//! Models by description: their densities, dimensions and messages.

use hmcvi::bayes::{Bound, Data, Model, ModelError, half_cauchy, normal, poisson_log};
use hmcvi_graph::{CpuOptions, Graph, Run, Store};

const Y: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const SD: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

fn schools() -> Bound {
    let model = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sigma"));
        let mu = m.sample("mu", normal(0.0, 5.0));
        let tau = m.sample("tau", half_cauchy(5.0));
        let raw = m.sample("raw", normal(0.0, 1.0).shape(8));
        let theta = m.deterministic("theta", mu + tau * raw);
        m.observe("y", normal(theta, sd), y);
    });
    model.bind(&Data::new().with("y", Y).with("sigma", SD)).expect("a model")
}

/// Log density and values of rows of real numbers.
fn at(bound: &Bound, z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let graph = Graph::new();
    let built = bound.at(graph.batch_input("z", bound.dimension()));
    let program = graph.program().output("log_density", built.log_density()).output("row", built.row());
    let rows = z.len() / bound.dimension();
    let mut executable = program.compile().expect("a program").on_cpu::<f64>(CpuOptions::for_rows(rows));
    let run = Run { rows, inputs: &[("z", z)], ..Run::default() };
    executable.evaluate(&Store::new(), &run).expect("it runs");
    let output = |name| executable.output(name).expect("an output").to_vec();
    (output("log_density"), output("row"))
}

#[test]
fn eight_schools_have_the_density_of_the_book() {
    let bound = schools();
    assert_eq!(bound.dimension(), 10);
    assert_eq!(bound.element_names()[8..12], ["raw[7]", "raw[8]", "theta[1]", "theta[2]"]);
    let z: Vec<f64> = (0..20).map(|i| f64::from(i).sin()).collect();
    let (found, rows) = at(&bound, &z);
    let gauss = |x: f64, m: f64, s: f64| {
        -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
    };
    for (row, z) in z.chunks(10).enumerate() {
        let tau = z[1].exp();
        let mut expected = gauss(z[0], 0.0, 5.0) + z[1];
        expected += (2.0 / (std::f64::consts::PI * 5.0 * (1.0 + (tau / 5.0).powi(2)))).ln();
        for j in 0..8 {
            let theta = z[0] + tau * z[2 + j];
            expected += gauss(z[2 + j], 0.0, 1.0) + gauss(Y[j], theta, SD[j]);
            assert!((rows[row * 18 + 10 + j] - theta).abs() < 1e-12);
        }
        assert!((found[row] - expected).abs() < 1e-11, "{} {expected}", found[row]);
    }
}

#[test]
fn what_does_not_fit_is_reported_by_the_name_of_the_variable() {
    let message = |model: Model, data: Data| model.bind(&data).expect_err("an error").to_string();
    let vectors = Data::new().with("y", Y).with("sigma", [1.0, 2.0]);
    let model = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sigma"));
        let mu = m.sample("mu", normal(0.0, 1.0));
        m.observe("y", normal(mu, sd), y);
    });
    assert_eq!(message(model.clone(), vectors.clone()), "`y`: normal describes [2], but the data are [8]");
    assert_eq!(message(model, Data::new().with("y", Y)), "the model needs data `sigma`; given are y");
    let model = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sigma"));
        let mu = m.sample("mu", normal(y + sd, 1.0));
        m.deterministic("double", mu * 2.0);
    });
    assert_eq!(message(model, vectors), "`mu`: `+` needs equal dimensions or a scalar, not [8] and [2]");
    let model = Model::new(|m| {
        m.sample("k", poisson_log(0.0));
    });
    let text = message(model, Data::new());
    assert!(text.contains("`k`: poisson_log") && text.contains("continuous"), "{text}");
    let twice = Model::new(|m| {
        m.sample("a", normal(0.0, 1.0));
        m.sample("a", normal(0.0, 1.0));
    });
    assert_eq!(twice.bind(&Data::new()).expect_err("an error"), ModelError::Twice { name: "a".into() });
    let elements = Model::new(|m| {
        m.sample("a", normal(0.0, 1.0).shape(2));
        m.sample("a[1]", normal(0.0, 1.0));
    });
    assert_eq!(elements.bind(&Data::new()).expect_err("an error"), ModelError::Twice { name: "a[1]".into() });
    let nameless = Model::new(|m| {
        m.sample("", normal(0.0, 1.0));
    });
    assert_eq!(message(nameless, Data::new()), "``: a variable needs a name");
    assert_eq!(Model::new(|_| ()).bind(&Data::new()).expect_err("an error"), ModelError::Empty);
}
