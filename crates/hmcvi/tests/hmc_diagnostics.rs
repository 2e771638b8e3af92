//! Compare convergence diagnostics with those that ArviZ computes (`reference/diagnostics.py`), and check what is said
//! of chains that cannot be assessed.

use hmcvi::hmc::diagnostics::{Summary, summary};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Results of ArviZ, which sums by Fourier transforms and so in another order.
const RELATIVE_ERROR: f64 = 1e-9;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// How chains are made, and what ArviZ says of them.
#[derive(Deserialize)]
struct Case {
    name: String,
    seed: u64,
    chains: usize,
    draws: usize,
    autoregression: Vec<f64>,
    location: Vec<f64>,
    scale: Vec<f64>,
    drift: f64,
    heavy_tails: bool,
    levels: u32,
    expected: Map<String, Value>,
}

/// Knuth's MMIX generator, as in the script.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 9_007_199_254_740_992.0
    }

    fn normal(&mut self) -> f64 {
        (0..12).fold(-6.0, |sum, _| sum + self.uniform())
    }
}

impl Case {
    fn chain(&self, number: usize) -> Vec<f64> {
        let mut noise = Noise(self.seed * 1000 + number as u64);
        let mut parts = vec![0.0; self.autoregression.len()];
        let draw = |step: usize| {
            for (part, rho) in parts.iter_mut().zip(&self.autoregression) {
                *part = rho * *part + (1.0 - rho * rho).sqrt() * noise.normal();
            }
            let mut value = parts.iter().fold(0.0, |sum, part| sum + part);
            if self.heavy_tails {
                value /= noise.normal();
            }
            if self.levels > 0 {
                value = (value * f64::from(self.levels)).floor() / f64::from(self.levels);
            }
            let of = |values: &[f64]| values[number % values.len()];
            of(&self.location) + of(&self.scale) * value + self.drift * step as f64
        };
        (0..self.draws).map(draw).collect()
    }

    fn summary(&self) -> Summary {
        let chains: Vec<_> = (0..self.chains).map(|c| self.chain(c)).collect();
        summary(&chains).unwrap_or_else(|| panic!("{}: there is something to go by", self.name))
    }
}

fn cases() -> Vec<Case> {
    let file: File =
        serde_json::from_str(include_str!("reference/diagnostics.json")).expect("the reference is JSON");
    file.cases
}

fn empty_tail(case: &Case) -> f64 {
    assert_eq!(case.name, "all chains frozen at different places");
    case.expected["ess_tail"].as_f64().expect("a number")
}

#[test]
fn diagnostics_are_those_of_arviz() {
    let cases = cases();
    assert!(cases.len() > 20, "{}", cases.len());
    for case in cases {
        let s = case.summary();
        let found = [
            ("mean", s.mean),
            ("standard_deviation", s.standard_deviation),
            ("r_hat", s.r_hat),
            ("ess_bulk", s.ess_bulk),
            // Where the upper tail is empty ArviZ takes its size for that of all draws, and goes by the lower one.
            ("ess_tail", s.ess_tail.unwrap_or_else(|| empty_tail(&case))),
            ("ess_mean", s.ess_mean),
            ("mcse_mean", s.mcse_mean),
        ];
        for (name, value) in found {
            let expected = case.expected[name].as_f64().expect("a number");
            // Chains that never move have no variance within, but for rounding.
            let same = if expected > 1e12 {
                value > 1e12
            } else {
                (value - expected).abs() <= RELATIVE_ERROR * expected.abs()
            };
            assert!(same, "{}: {name} is {value}, not {expected}", case.name);
        }
    }
}

#[test]
fn slow_components_are_not_hidden_by_antithetic_ones() {
    let cases = cases();
    let find = |name: &str| cases.iter().find(|c| c.name == name).expect("it is a case").summary();
    // The sum of AR(-0.5) and AR(0.99): times 1/3 and 199, so that 20,000 draws count as about 200 in the mean.
    let s = find("AR(-0.5) and AR(0.99) added");
    let exact = 20_000.0 * 2.0 / (1.0 / 3.0 + 199.0);
    assert!(s.ess_mean / exact > 0.5 && s.ess_mean / exact < 2.0, "{s:?}, {exact}");
}

#[test]
fn chains_that_cannot_be_assessed_are_never_called_good() {
    let chain = |f: fn(f64) -> f64| -> Vec<f64> { (0..50).map(|i| f(f64::from(i))).collect() };
    let good = chain(f64::sin);
    assert!(summary(&[good.clone(), chain(f64::cos)]).is_some());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut other = good.clone();
        other[7] = bad;
        assert_eq!(summary(&[good.clone(), other]), None, "{bad}");
    }
    assert_eq!(summary(&[]), None);
    assert_eq!(summary(&[good.clone(), good[1..].to_vec()]), None, "different lengths");
    assert_eq!(summary(&[good[..3].to_vec(), good[3..6].to_vec()]), None, "three draws");
    // 0.1 is not exact: rounding of its mean must not pass for variance.
    assert_eq!(summary(&vec![vec![0.1; 50]; 4]), None, "nothing ever moved");
    let frozen: Vec<Vec<f64>> = [0.1, 0.2, 0.3, 0.4].map(|x| vec![x; 50]).to_vec();
    let s = summary(&frozen).expect("chains differ");
    assert!(s.r_hat > 1e6 && s.ess_bulk < 5.0, "{s:?}");
    // A tenth of the draws is equal to the largest: above the 95% quantile there is nothing.
    let cut: Vec<f64> = good.iter().map(|x| x.min(0.9)).collect();
    let s = summary(&[cut.clone(), cut]).expect("they move");
    assert_eq!(s.ess_tail, None);
}
