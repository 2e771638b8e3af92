//! Hold a fit against chains that begin with it, and against others.

use std::ops::ControlFlow;

use hmcvi::bayes::Fitted;
use serde::{Deserialize, Serialize};

use crate::{Element, Limits, Nuts, NutsError, Progress, Sampled, Start, Trust, Verdict, compare};

/// How a fit is checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckSettings {
    /// Draws of the fit.
    pub draws: usize,
    /// Whether as many chains begin elsewhere, and in coordinates of their own: what finds a mode that the fit misses.
    pub cold: bool,
    /// How many times as far from the mean of the fit as its draws are chains begin.
    pub spread: f64,
    /// How far the fit may be off.
    pub limits: Limits,
}

impl Default for CheckSettings {
    fn default() -> Self {
        CheckSettings { draws: 4000, cold: false, spread: 2.0, limits: Limits::default() }
    }
}

/// A fit held against chains.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Every number of the model.
    pub elements: Vec<Element>,
    /// Whether the chains can be the referee.
    pub trust: Trust,
    /// Draws of the chains that began with the fit.
    pub warm: Sampled,
    /// Draws of the others, where there are any.
    pub cold: Option<Sampled>,
}

impl Check {
    /// What the check says; nothing if the chains cannot be trusted, or there is nothing to compare.
    pub fn verdict(&self) -> Option<Verdict> {
        let any = |verdict| self.elements.iter().any(|element| element.verdict == verdict);
        match self.trust.is_good() && !self.elements.is_empty() {
            false => None,
            true if any(Verdict::Differs) => Some(Verdict::Differs),
            true if any(Verdict::TooFewDraws) => Some(Verdict::TooFewDraws),
            true => Some(Verdict::Agrees),
        }
    }

    /// The numbers in which the fit differs, the worst first.
    pub fn differing(&self) -> Vec<&Element> {
        let mut all: Vec<&Element> =
            self.elements.iter().filter(|element| element.verdict == Verdict::Differs).collect();
        all.sort_by(|a, b| b.wasserstein.value.total_cmp(&a.wasserstein.value));
        all
    }
}

/// Holds a fit against chains of NUTS that begin with it, and against others if asked. `progress` is told of every draw
/// of every chain, those that begin elsewhere after the others.
///
/// # Errors
/// If the fit gives no draws, or chains find no place to begin.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use hmcvi::bayes::{Data, Fit, Model, normal};
/// use hmcvi_nuts::{CheckSettings, Nuts, Verdict, check};
///
/// let model = Model::new(|m| {
///     let x = m.sample("x", normal(3.0, 2.0));
///     let y = m.data("y");
///     m.observe("y", normal(x, 1.0), y);
/// });
/// let fitted = model.bind(&Data::new().with("y", [2.0, 2.5]))?.fit(&Fit::default().without_chain())?;
/// let nuts = Nuts { draws: 4000, ..Nuts::default() };
/// let checked = check(&fitted, &nuts, &CheckSettings::default(), |_| ControlFlow::Continue(()))?;
/// assert_eq!(checked.verdict(), Some(Verdict::Agrees), "{:?} {:?}", checked.trust, checked.elements);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    fitted: &Fitted,
    nuts: &Nuts,
    settings: &CheckSettings,
    mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Check, NutsError> {
    if !(settings.spread > 0.0 && settings.spread.is_finite()) {
        let (value, allowed) = (settings.spread.to_string(), "a positive number; 2 is usual");
        return Err(NutsError::Setting { key: "spread", value, allowed });
    }
    let start = Start::try_from(&fitted.gaussian())?.spread(settings.spread);
    let warm = nuts.run(fitted.model(), Some(&start), &mut progress)?;
    let others = Nuts { seed: nuts.seed ^ ELSEWHERE, ..nuts.clone() };
    let cold = match settings.cold && !warm.stopped {
        true => Some(others.run(fitted.model(), None, &mut progress)?),
        false => None,
    };
    let trust = Trust::of(&warm, cold.as_ref());
    let draws = fitted.draws(settings.draws, nuts.seed)?;
    Ok(Check { elements: compare(&draws, &warm, &settings.limits), trust, warm, cold })
}

/// Chains that begin elsewhere have other random numbers.
const ELSEWHERE: u64 = 0x656c_7365;
