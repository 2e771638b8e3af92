//! Name the choices of a family beside its chain.

use serde::{Deserialize, Serialize};

use super::{Combine, StartKind, WeightGradient};

/// What approximates posteriors, and how their bound is formed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FamilySettings {
    /// Where draws begin.
    pub start: StartKind,
    /// Gaussians of a mixture, or layers of a flow.
    #[cfg_attr(test, schemars(range(min = 1, max = 64)))]
    pub parts: usize,
    /// Draws for every row, which form the bound together.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub draws: usize,
    /// Whether these draws begin at one place, from which chains of their own lead on.
    pub shared_start: bool,
    /// The bound that they form.
    pub combine: Combine,
    /// Estimate of its derivative.
    pub gradient: WeightGradient,
}

impl FamilySettings {
    /// What is not the default, in a few words each.
    pub fn words(&self) -> Vec<String> {
        let parts =
            |what: &str| Some(format!("{} {what}{}", self.parts, if self.parts == 1 { "" } else { "s" }));
        let start = match self.start {
            StartKind::Gaussian => None,
            StartKind::FullCovariance => Some("full covariance".into()),
            StartKind::Mixture => parts("mixed Gaussian"),
            StartKind::Planar => parts("planar flow"),
            StartKind::Coupling => parts("coupling flow"),
            StartKind::Autoregressive => parts("autoregressive flow"),
        };
        let mut all: Vec<String> = start.into_iter().collect();
        let combine = if self.combine == Combine::Mean { "the mean of " } else { "" };
        all.extend((self.draws > 1).then(|| format!("{combine}{} draws for each row", self.draws)));
        all.extend((self.draws > 1 && self.shared_start).then(|| "a shared start".into()));
        let doubly = self.gradient == WeightGradient::DoublyReparameterised;
        all.extend(doubly.then(|| "doubly reparameterised gradient".into()));
        all
    }
}

impl Default for FamilySettings {
    /// One draw of the chain.
    fn default() -> Self {
        FamilySettings {
            start: StartKind::Gaussian,
            parts: 4,
            draws: 1,
            shared_start: false,
            combine: Combine::Importance,
            gradient: WeightGradient::Plain,
        }
    }
}
