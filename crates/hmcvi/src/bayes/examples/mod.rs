//! Give models to try and to learn from, most of them with their data.
//!
//! Posteriors of these models are known: from long runs of NUTS in posteriordb, or as targets on which variational methods
//! are compared. `assets/posteriors/README.md` names the sources of the data.

mod grouped;
mod others;
mod regression;
mod series;

use std::io::Read;

use flate2::read::GzDecoder;

use super::{Builder, Data, Model, ModelError};

/// A model with a name.
#[derive(Clone, Copy)]
pub struct Example {
    /// Its name.
    pub name: &'static str,
    /// What it describes, in a few words.
    pub about: &'static str,
    describe: for<'g> fn(&mut Builder<'g>),
    source: Source,
}

/// Where the data of an example are.
#[derive(Clone, Copy)]
enum Source {
    /// Compressed JSON.
    Embedded(&'static [u8]),
    /// There are none.
    NoneNeeded,
    /// They have to be given.
    Given,
}

macro_rules! examples {
    ($($name:literal, $about:literal, $describe:path, $source:ident $(($file:literal))?;)*) => {
        /// All examples.
        pub fn all() -> &'static [Example] {
            const ALL: &[Example] = &[$(Example {
                name: $name,
                about: $about,
                describe: $describe,
                source: Source::$source $((include_bytes!(concat!("../../../assets/posteriors/", $file, ".json.gz"))))?,
            }),*];
            ALL
        }
    };
}

examples! {
    "eight-schools", "effects of coaching in eight schools, from a common distribution", grouped::eight_schools,
        Embedded("eight-schools");
    "radon", "radon in 919 houses of 85 counties, whose levels have a common distribution", grouped::radon,
        Embedded("radon");
    "seeds", "germinated seeds on 21 plates: a logistic regression with an effect for each plate", grouped::seeds,
        Embedded("seeds");
    "logistic", "malignant or benign: a logistic regression of 569 tumours on 30 measurements", regression::logistic,
        Embedded("logistic");
    "sonar", "rock or mine: a logistic regression on 60 frequencies", regression::logistic, Embedded("sonar");
    "ionosphere", "good or bad radar returns: a logistic regression on 34 signals", regression::logistic,
        Embedded("ionosphere");
    "credit", "good or bad credit: a logistic regression on 24 attributes, flat priors", regression::credit,
        Embedded("credit");
    "regression", "a linear regression of 100 values on 5 others", regression::linear, Embedded("regression");
    "diamonds", "logarithms of prices: a linear regression on 24 columns; its data have to be given",
        regression::diamonds, Given;
    "earnings", "earnings by height: a linear regression", regression::earnings, Embedded("earnings");
    "log-earnings", "logarithms of earnings by height and sex, which interact", regression::log_earnings,
        Embedded("earnings");
    "kidscore-momhsiq", "test scores of children by their mothers' education and IQ", regression::kid_score_parents,
        Embedded("kidscores");
    "kidscore-interaction", "the same, with an interaction", regression::kid_score_interaction,
        Embedded("kidscores");
    "kidscore-mom-work", "test scores of children by their mothers' work", regression::kid_score_work,
        Embedded("kidscores");
    "mesquite", "weights of bushes by their measures", regression::mesquite, Embedded("mesquite");
    "log-mesquite", "the same on logarithms, with volume, area and shape", regression::log_mesquite,
        Embedded("mesquite");
    "nes1972", "party identification in the elections of 1972", regression::elections, Embedded("nes1972");
    "nes2000", "party identification in the elections of 2000", regression::elections, Embedded("nes2000");
    "ark", "a series that depends on its last five values", series::autoregressive, Embedded("ark");
    "arma", "a series that depends on its last value and its last surprise", series::arma, Embedded("arma");
    "garch", "a series whose variance depends on the last one and on the last surprise", series::garch,
        Embedded("garch");
    "brownian", "a random walk seen with noise, not seen in its middle", series::brownian, Embedded("brownian");
    "mixture", "1,000 values from one of two Gaussians", others::mixture_of_two, Embedded("mixture");
    "gp", "a smooth function seen at 11 points: a Gaussian process", others::gaussian_process, Embedded("gp");
    "funnel", "nine variables whose scale is the tenth; the log evidence is 0", others::funnel, NoneNeeded;
}

/// The example of that name.
pub fn find(name: &str) -> Option<&'static Example> {
    all().iter().find(|example| example.name == name)
}

impl Example {
    /// The model.
    pub fn model(&self) -> Model {
        Model::new(self.describe)
    }

    /// Its data; nothing where they have to be given.
    ///
    /// # Errors
    /// If what is embedded cannot be read.
    pub fn data(&self) -> Result<Option<Data>, ModelError> {
        let compressed = match self.source {
            Source::Embedded(compressed) => compressed,
            Source::NoneNeeded => return Ok(Some(Data::new())),
            Source::Given => return Ok(None),
        };
        let mut text = String::new();
        let read = GzDecoder::new(compressed).read_to_string(&mut text);
        read.map_err(|why| ModelError::Data(format!("the embedded data of `{}`: {why}", self.name)))?;
        Data::from_json(&text).map(Some)
    }
}
