//! Fits of models by description, held against what is known of their posteriors.

use hmcvi::bayes::{Bound, Data, Fit, Model, half_cauchy, normal};

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

#[test]
fn trial() {
    let bound = schools();
    for settings in [Fit::default().without_chain(), Fit::default()] {
        let fitted = bound.fit(&settings).expect("a fit");
        eprintln!("{:?} {:?} {:.2} s", fitted.gaussian_learning(), fitted.chain_learning(), fitted.seconds());
        let draws = fitted.draws(4000, 1).expect("draws");
        eprintln!("bound {:?} weights {:?}", draws.bound(), draws.weights());
        for row in draws.summary().iter().filter(|r| !r.name.starts_with("raw")) {
            eprintln!("{row:?}");
        }
    }
}
