//! Keep what was read of a fit, and name whose draws are set beside each other.

use hmcvi_record::{DrawTable, FitMethod, FitRecord};

/// Everything that was read of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FitData {
    /// What it is called.
    pub name: String,
    /// Its folder.
    pub place: String,
    /// What was found.
    pub record: FitRecord,
    /// The complete settings, as TOML.
    pub config: String,
    /// Draws of each chain.
    pub chains: Vec<DrawTable>,
    /// Draws of the Gaussian that a chain begins with.
    pub gaussian: Option<DrawTable>,
    /// Draws of NUTS, where it was run beside the fit.
    pub nuts: Vec<DrawTable>,
}

/// Draws that others are compared with, or that are shown beside them.
pub(super) struct Series<'d> {
    pub(super) name: String,
    pub(super) chains: &'d [DrawTable],
    /// Whether they are draws of NUTS, which others are held against.
    pub(super) nuts: bool,
}

impl Series<'_> {
    /// All draws of one number; nothing where there is no such number.
    pub(super) fn column(&self, name: &str) -> Option<Vec<f64>> {
        let all: Option<Vec<Vec<f64>>> = self.chains.iter().map(|chain| chain.column(name)).collect();
        all.map(|all| all.concat()).filter(|all| !all.is_empty())
    }
}

/// The Gaussian alone: what a chain begins with, and what weights choose from.
pub(super) const GAUSSIAN: &str = "Gaussian alone";

/// Whose draws there are: of one fit those of its Gaussian, its own, and those of NUTS; of several their own.
pub(super) fn series(fits: &[FitData]) -> Vec<Series<'_>> {
    let own = |fit: &FitData| match fit.record.method {
        FitMethod::Hmcvi => "after HMC steps".to_string(),
        FitMethod::Gaussian if fit.record.resampled => "Gaussian, weighted".into(),
        FitMethod::Gaussian => "Gaussian".into(),
        FitMethod::Nuts => "NUTS".into(),
    };
    let [fit] = fits else {
        let of =
            |fit: &FitData| -> (String, bool) { (fit.name.clone(), fit.record.method == FitMethod::Nuts) };
        let with = |fit| {
            let (name, nuts) = of(fit);
            Series { name, chains: &fit.chains, nuts }
        };
        return fits.iter().map(with).collect();
    };
    let nuts = fit.record.method == FitMethod::Nuts;
    let mut all = vec![Series { name: own(fit), chains: &fit.chains, nuts }];
    if let Some(gaussian) = &fit.gaussian {
        let chains = std::slice::from_ref(gaussian);
        all.push(Series { name: GAUSSIAN.into(), chains, nuts: false });
    }
    if !fit.nuts.is_empty() {
        all.push(Series { name: "NUTS".into(), chains: &fit.nuts, nuts: true });
    }
    all
}

/// What the others are held against: NUTS where it was run, else the first of several fits.
pub(super) fn reference<'s, 'd>(all: &'s [Series<'d>], fits: usize) -> Option<&'s Series<'d>> {
    all.iter().find(|series| series.nuts).or_else(|| all.first().filter(|_| fits > 1))
}
