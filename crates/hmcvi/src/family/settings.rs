//! Name the choices of a family beside its chain.

use serde::{Deserialize, Serialize};

use super::WeightGradient;

/// What approximates posteriors, and how their bound is formed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FamilySettings {
    /// Draws for every row, whose weights form the bound together: the more, the tighter it is.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub draws: usize,
    /// Estimate of the derivative of such a bound.
    pub gradient: WeightGradient,
}

impl FamilySettings {
    /// What is not the default, in a few words each.
    pub fn words(&self) -> Vec<String> {
        let mut all = Vec::new();
        all.extend((self.draws > 1).then(|| format!("{} draws for each row", self.draws)));
        let doubly = self.gradient == WeightGradient::DoublyReparameterised;
        all.extend(doubly.then(|| "doubly reparameterised gradient".into()));
        all
    }
}

impl Default for FamilySettings {
    /// One draw of the chain.
    fn default() -> Self {
        FamilySettings { draws: 1, gradient: WeightGradient::Plain }
    }
}
