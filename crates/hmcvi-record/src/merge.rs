//! Keep what earlier evaluations of the same model on the same images found out.

use crate::{Estimate, Evaluation, ImageEvaluation};

/// An evaluation with its values of every image.
pub type Evaluated = (Evaluation, Vec<ImageEvaluation>);

impl Evaluation {
    /// Whether both are of the same parameters, images and binarisation draws, so that parts of one hold for the other.
    pub fn same_subject(&self, other: &Evaluation) -> bool {
        let images =
            |e: &Evaluation| (e.split.clone(), e.images, e.draws, e.pixel_scale, e.data_sha256.clone());
        self.same_parameters(other) && images(self) == images(other) && self.seed == other.seed
    }

    fn same_parameters(&self, other: &Evaluation) -> bool {
        match (&self.checkpoint_sha256, &other.checkpoint_sha256) {
            (Some(own), Some(theirs)) => own == theirs,
            // Early records have no hash.
            _ => (&self.checkpoint, self.epoch) == (&other.checkpoint, other.epoch),
        }
    }

    /// Names of the parts that it has beside the bound.
    pub fn parts(&self) -> Vec<&'static str> {
        [
            ("importance sampling", self.importance_sampling.is_some()),
            ("encoder bound", self.encoder_bound.is_some()),
            ("quadrature", self.quadrature.is_some()),
            ("annealing", self.annealing.is_some()),
            ("bidirectional Monte Carlo", self.bidirectional.is_some()),
            ("posterior", self.posterior.is_some()),
            ("reverse models", self.reverse.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect()
    }
}

/// Takes over the parts of an earlier evaluation of the same subject that the new one did not compute, and returns their
/// names. Those of another subject are left alone.
pub fn keep_parts((new, images): &mut Evaluated, (old, old_images): &Evaluated) -> Vec<&'static str> {
    if !new.same_subject(old) || images.len() != old_images.len() {
        return Vec::new();
    }
    let before = new.parts();
    let kept: Vec<&str> = old.parts().into_iter().filter(|part| !before.contains(part)).collect();
    if kept.is_empty() {
        return kept;
    }
    fn keep<T: Clone>(new: &mut Option<T>, old: &Option<T>) {
        *new = new.take().or_else(|| old.clone());
    }
    keep(&mut new.importance_sampling, &old.importance_sampling);
    keep(&mut new.encoder_bound, &old.encoder_bound);
    keep(&mut new.quadrature, &old.quadrature);
    keep(&mut new.annealing, &old.annealing);
    keep(&mut new.bidirectional, &old.bidirectional);
    keep(&mut new.posterior, &old.posterior);
    keep(&mut new.reverse, &old.reverse);
    for (image, old) in images.iter_mut().zip(old_images) {
        keep(&mut image.log_likelihood, &old.log_likelihood);
        keep(&mut image.effective_sample_size, &old.effective_sample_size);
        keep(&mut image.log_weight_variance, &old.log_weight_variance);
        keep(&mut image.k_hat, &old.k_hat);
        keep(&mut image.exact, &old.exact);
        keep(&mut image.annealed, &old.annealed);
    }
    for (phase, seconds) in &old.seconds {
        new.seconds.entry(phase.clone()).or_insert(*seconds);
    }
    for command in old.kept_from.iter().chain([&old.command]) {
        if *command != new.command && !new.kept_from.contains(command) {
            new.kept_from.push(command.clone());
        }
    }
    compare_anew(new, images, &kept);
    kept
}

/// Differences from importance sampling, where one of the two was kept and the other is new.
fn compare_anew(new: &mut Evaluation, images: &[ImageEvaluation], kept: &[&str]) {
    let mixed = |part| kept.contains(&part) != kept.contains(&"importance sampling");
    let above = |of: fn(&ImageEvaluation) -> Option<f64>| {
        Estimate::of_finite(images.iter().filter_map(|i| Some(of(i)? - i.log_likelihood?)))
    };
    if let Some(quadrature) = new.quadrature.as_mut().filter(|_| mixed("quadrature")) {
        quadrature.above_importance_sampling = above(|i| i.exact);
    }
    if let Some(annealing) = new.annealing.as_mut().filter(|_| mixed("annealing")) {
        // Images are annealed with their first draw; their likelihoods are means over all.
        annealing.above_importance_sampling = if new.draws == 1 { above(|i| i.annealed) } else { None };
    }
}
