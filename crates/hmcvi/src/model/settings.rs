//! Name the choices of an auto-encoder, and let the kind of the data make those that were left out.

use hmcvi_graph::Store;
use serde::{Deserialize, Serialize};

use super::likelihood::{LikelihoodKind, LikelihoodSettings, Scale};
use crate::data::Kind;
use crate::nn::Activation;

/// Counts in at least so many columns are taken as shares of their row's sum: documents, baskets, cells. Few columns are
/// counts of their own.
const MANY_COLUMNS: usize = 50;

/// Sizes and choices of a variational auto-encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct VaeSettings {
    /// Dimensions of the latent space.
    #[cfg_attr(test, schemars(range(min = 1, max = 4096)))]
    pub latent: usize,
    /// Sizes of the hidden layers of decoder, encoder and reverse models.
    #[cfg_attr(test, schemars(length(max = 64), inner(range(min = 1, max = 65536))))]
    pub hidden: Vec<usize>,
    /// Sizes of the decoder's hidden layers, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 64), inner(range(min = 1, max = 65536))))]
    pub decoder_hidden: Option<Vec<usize>>,
    /// Sizes of the encoder's hidden layers, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(length(max = 64), inner(range(min = 1, max = 65536))))]
    pub encoder_hidden: Option<Vec<usize>>,
    /// Activation of the decoder's hidden layers. Energies should be smooth.
    pub decoder_activation: Activation,
    /// Activation of the hidden layers of encoder and reverse models.
    pub encoder_activation: Activation,
    /// How data follow from what the decoder gives; left out, the kind of the data decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<LikelihoodKind>,
    /// Whether counts take the sum of their row as given and model its shares; left out, the number of columns decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_factor: Option<bool>,
    /// Standard deviations of real numbers around what the decoder gives.
    pub scale: Scale,
    /// The share of each column's standard deviation that `scale = "fixed"` takes.
    #[cfg_attr(test, schemars(range(min = 0.000_001, max = 1_000_000.0)))]
    pub fixed_scale: f64,
    /// Numbers of classes of the categorical variables, in the order of their columns; empty for one variable.
    #[cfg_attr(test, schemars(length(max = 65536), inner(range(min = 2, max = 65536))))]
    pub groups: Vec<usize>,
}

impl Default for VaeSettings {
    /// The paper's networks (`sec:ModelSpecifications`) with 20 latent dimensions.
    fn default() -> Self {
        VaeSettings {
            latent: 20,
            hidden: vec![200, 200],
            decoder_hidden: None,
            encoder_hidden: None,
            decoder_activation: Activation::Softplus,
            encoder_activation: Activation::Relu,
            likelihood: None,
            size_factor: None,
            scale: Scale::default(),
            fixed_scale: 1.0,
            groups: Vec::new(),
        }
    }
}

impl VaeSettings {
    /// Sizes of the decoder's hidden layers.
    pub fn decoder_layers(&self) -> &[usize] {
        self.decoder_hidden.as_deref().unwrap_or(&self.hidden)
    }

    /// Sizes of the encoder's hidden layers.
    pub fn encoder_layers(&self) -> &[usize] {
        self.encoder_hidden.as_deref().unwrap_or(&self.hidden)
    }

    /// The likelihood: that of binary columns where none was chosen.
    pub fn likelihood(&self) -> LikelihoodKind {
        self.likelihood.unwrap_or_default()
    }

    /// Choices of the likelihood.
    pub fn likelihood_settings(&self) -> LikelihoodSettings {
        LikelihoodSettings {
            size_factor: self.size_factor.unwrap_or(false),
            scale: self.scale,
            fixed_scale: self.fixed_scale,
            groups: self.groups.clone(),
        }
    }

    /// Columns of the data that a model with these settings and parameters takes.
    pub fn columns(&self, parameters: &Store<f32>) -> Option<usize> {
        let outputs = parameters.get(&format!("decoder.{}.bias", self.decoder_layers().len()))?.cols;
        Some(outputs / self.likelihood().likelihood().outputs(1))
    }

    /// The same with the choices that were left to the data: its kind, its columns, and the numbers of classes of its
    /// categorical variables.
    #[must_use]
    pub fn for_data(&self, kind: Kind, columns: usize, groups: Option<&[usize]>) -> Self {
        let likelihood = self.likelihood.unwrap_or(match kind {
            Kind::Binary | Kind::Byte => LikelihoodKind::Bernoulli,
            Kind::Count => LikelihoodKind::NegativeBinomial,
            Kind::Real => LikelihoodKind::Gaussian,
            Kind::Class => LikelihoodKind::Categorical,
        });
        let counts = likelihood.likelihood().has_size_factor();
        let size_factor = self.size_factor.or(counts.then_some(columns >= MANY_COLUMNS));
        let known = groups.filter(|_| self.groups.is_empty()).map(<[usize]>::to_vec);
        VaeSettings {
            likelihood: Some(likelihood),
            size_factor,
            groups: known.unwrap_or_else(|| self.groups.clone()),
            ..self.clone()
        }
    }

    /// What [`for_data`](Self::for_data) chose and why, for whoever left it to the data.
    pub fn explained(&self, kind: Kind, columns: usize) -> Option<String> {
        if self.likelihood.is_some() {
            return None;
        }
        let chosen = self.for_data(kind, columns, None);
        let name = chosen.likelihood().name();
        let shares = match chosen.size_factor {
            Some(true) => {
                format!(", with a size factor for each row as there are at least {MANY_COLUMNS} columns")
            }
            Some(false) => format!(", without a size factor as there are fewer than {MANY_COLUMNS} columns"),
            None => String::new(),
        };
        let what = match kind {
            Kind::Binary => "binary",
            Kind::Byte => "intensities",
            Kind::Count => "counts",
            Kind::Real => "real numbers",
            Kind::Class => "classes",
        };
        Some(format!(
            "likelihood: {name}, because the data are {what}{shares}; `model.likelihood` chooses another"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_the_data_chooses_what_was_left_open_and_nothing_else() {
        let open = VaeSettings::default();
        let chosen = |kind, columns| {
            let found = open.for_data(kind, columns, None);
            (found.likelihood(), found.size_factor)
        };
        assert_eq!(chosen(Kind::Byte, 784), (LikelihoodKind::Bernoulli, None));
        assert_eq!(chosen(Kind::Real, 4), (LikelihoodKind::Gaussian, None));
        assert_eq!(chosen(Kind::Count, 2000), (LikelihoodKind::NegativeBinomial, Some(true)));
        assert_eq!(chosen(Kind::Count, 3), (LikelihoodKind::NegativeBinomial, Some(false)));
        let classes = open.for_data(Kind::Class, 5, Some(&[2, 3]));
        assert_eq!((classes.likelihood(), &classes.groups[..]), (LikelihoodKind::Categorical, &[2, 3][..]));
        let own = VaeSettings { likelihood: Some(LikelihoodKind::Poisson), size_factor: Some(false), ..open };
        assert_eq!(own.for_data(Kind::Count, 2000, None), own);
        assert_eq!(own.explained(Kind::Count, 2000), None);
    }
}
