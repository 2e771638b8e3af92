//! Say what is wrong with a fit, what it means, and what to do about it.

use hmcvi_record::{Finding, FitMethod, FitRecord, SamplerFacts};

use super::text::{ending, failure, missed_in_words};
use super::trust::{
    ESS_LIMIT, HIGH_K_HAT, MOST_DIVERGENCES, R_HAT_LIMIT, Trust, largest_rhat, of_weights, smallest_ess,
};
use crate::diagnose::{good, problem, remark, unchecked};
use crate::report::quoted;
use crate::words::{counted, fixed, grouped, with_error};

/// Energies of chains that change less than this with momenta do not reach the tails (Betancourt 2016).
const BFMI: f64 = 0.3;
/// Points of a trace, of 50 updates each, that its end is the mean of.
const LAST: usize = 6;
/// Standard errors beyond which estimates differ.
const ERRORS: f64 = 4.0;
/// A rise of the bound that is worth the HMC steps, in nats.
const GAIN: f64 = 0.01;

/// Nats by which the bound may be below the log evidence: draws without weights are that far from the posterior.
const NEAR: f64 = 1.0;
/// From here on some draws are where the posterior has next to nothing.
const FAR: f64 = 10.0;

/// Examines what is known of a fit. What could not be examined is [`Unchecked`](hmcvi_record::Level::Unchecked), never
/// good.
pub fn diagnose_fit(record: &FitRecord, place: &str) -> Vec<Finding> {
    let again = |more: &str| {
        let (settings, out) = (quoted(&format!("{place}/fit.toml")), quoted(&format!("{place}-again")));
        format!("hmcvi fit {settings} {more} --out {out}").replace("  ", " ")
    };
    let mut all = vec![end(record, &again)];
    if record.draws == 0 {
        return all;
    }
    match record.method {
        FitMethod::Nuts => {
            all.extend(
                record.sampler.as_ref().map(|facts| sampler(record, facts, &again)).unwrap_or_default(),
            );
        }
        FitMethod::Hmcvi | FitMethod::Gaussian => {
            all.extend(learning(record, &again));
            all.extend(gain(record, &again));
            all.push(weights(record, &again));
            all.extend(gap(record, &again));
            all.extend(dropped(record, &again));
            all.extend(bracket(record, &again));
            all.push(elsewhere(record, &again));
            all.push(against_nuts(record, &again));
        }
    }
    all.extend(quantities(record));
    all
}

/// What went wrong with the generated quantities of a program.
fn quantities(record: &FitRecord) -> Option<Finding> {
    let failed = record.generated.as_ref()?.failed.as_ref()?;
    let found = failure(failed, record.draws);
    let meaning =
        "what could not be computed is `NaN` in the files; draws of parameters are not touched by it";
    Some(remark("quantities", found, meaning, "mend the program there, or bound what it is given"))
}

fn end(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Finding {
    let (draws, seconds) = (counted(record.draws, "draw"), fixed(record.seconds, 1));
    match (record.finished, record.draws) {
        (true, _) => good("fit", format!("finished in {seconds} s with {draws}"), "nothing was cut short"),
        (false, 0) => problem(
            "fit",
            "it was interrupted before there were draws",
            "there is nothing to examine",
            again(""),
        ),
        (false, _) => problem(
            "fit",
            format!("it was interrupted after {seconds} s; it has {draws}"),
            "these draws are those of an unfinished fit, further from the posterior than they need be",
            again(""),
        ),
    }
}

/// Whether the bound stood still.
fn learning(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Vec<Finding> {
    let of = |stage: &hmcvi_record::FitStage| {
        let about = format!("{}-stage", stage.name);
        let found = ending(stage)?;
        Some(match stage.stopped.as_deref() {
            Some("stood-still") => {
                good(&about, found, "further updates would add nothing that is worth them")
            }
            Some("given-up") => good(&about, found, "the fit goes on without it"),
            Some("most-updates") => remark(
                &about,
                found,
                "the bound may still have been rising",
                again("--set learning.most_updates=10000"),
            ),
            _ => problem(&about, found, "it has not learnt what it could", again("")),
        })
    };
    record.stages.iter().filter_map(of).collect()
}

/// What HMC steps are worth.
fn gain(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Option<Finding> {
    let last = |name: &str| {
        let stage = record.stages.iter().find(|stage| stage.name == name)?;
        let last = &stage.trace[stage.trace.len().saturating_sub(LAST)..];
        let bounds: Vec<f64> = last.iter().filter_map(|(_, bound)| *bound).collect();
        (!bounds.is_empty()).then(|| bounds.iter().sum::<f64>() / bounds.len() as f64)
    };
    let gain = last("chain")? - last("gaussian")?;
    let found = format!("HMC steps raise the bound by {} nats over the Gaussian alone", fixed(gain, 3));
    Some(match gain {
        gain if gain > GAIN => good("gain", found, "draws are closer to the posterior by so much"),
        _ => remark(
            "gain",
            found,
            "the Gaussian alone is as good, or the chain has not learnt",
            again("--method gaussian"),
        ),
    })
}

fn weights(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Finding {
    let (trust, meaning) = of_weights(record);
    let worth = record.effective_sample_size.map_or(String::new(), |ess| {
        format!("; weighted draws are worth {} of {}", fixed(ess, 0), grouped(record.draws))
    });
    let found = record.k_hat.map_or("unknown".into(), |k| format!("k-hat {}{worth}", fixed(k, 2)));
    match trust {
        Trust::Good => good("k-hat", found, meaning),
        Trust::Fair => remark("k-hat", found, meaning, again("--draws 20000")),
        Trust::Unknown => unchecked("k-hat", found, meaning, again("--draws 4000")),
        Trust::Bad => {
            let better = match record.method {
                FitMethod::Gaussian => "--method hmcvi",
                _ => "--method nuts",
            };
            problem("k-hat", format!("{found}, above {HIGH_K_HAT}"), meaning, again(better))
        }
    }
}

/// How far draws without weights are from the posterior. Weights that are next to nothing do not show in k-hat.
fn gap(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Option<Finding> {
    let gap = record.log_evidence? - record.bound?;
    let found = format!("the bound is {} nats below the log evidence", fixed(gap, 2));
    Some(if gap <= NEAR {
        good("gap", found, "draws are close to the posterior without their weights, too")
    } else if gap <= FAR {
        let meaning = "draws without their weights are that far from the posterior";
        remark("gap", found, meaning, again("--hmc-steps 6"))
    } else {
        let meaning = "some draws are where the posterior has next to nothing: use none without its weight";
        problem("gap", found, meaning, again("--check"))
    })
}

fn dropped(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Option<Finding> {
    let found =
        format!("the simulations of {} failed, and were made again", counted(record.divergences, "draw"));
    (record.divergences > 0).then(|| {
        remark(
            "divergences",
            found,
            "draws are missing where simulations fail; the bound is not quite one",
            again("--set chain.acceptance=simple"),
        )
    })
}

fn against_nuts(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Finding {
    let Some(check) = &record.check else {
        return unchecked(
            "NUTS",
            "the draws were not held against those of NUTS",
            "k-hat sees what weights can tell, and may miss a mode that no draw comes near",
            again("--check"),
        );
    };
    if !check.doubts.is_empty() {
        let meaning = "chains that are not to be trusted are no measure";
        return unchecked("NUTS", check.doubts.join("; "), meaning, again("--method nuts"));
    }
    let worst = |of: &dyn Fn(&hmcvi_record::FitDifference) -> Option<f64>| {
        let all = check.parameters.iter().filter_map(|d| Some((of(d)?, d.name.as_str())));
        all.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, "none"))
    };
    let (mean, of_mean) = worst(&|d| d.mean.map(f64::abs));
    let (sd, of_sd) = worst(&|d| d.sd_ratio.map(|ratio| (ratio - 1.0).abs()));
    let found = format!(
        "means are at most {} sd from those of NUTS ({of_mean}), standard deviations at most {}% ({of_sd})",
        fixed(mean, 2),
        fixed(100.0 * sd, 0)
    );
    match check.verdict.as_deref() {
        Some("agrees") => good("NUTS", found, "the fit has found what long chains find"),
        Some("differs") => {
            problem("NUTS", found, "the fit is visibly another distribution", again("--method nuts"))
        }
        _ => {
            let more = format!("--check --draws {}", 4 * record.draws);
            unchecked(
                "NUTS",
                found,
                "there are too few draws to tell whether these differences are real",
                again(&more),
            )
        }
    }
}

/// Whether walks from other places found what draws miss.
fn elsewhere(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Finding {
    let Some(elsewhere) = &record.elsewhere else {
        let found = "not looked for from other places";
        return unchecked("modes", found, "weights cannot see a mode that no draw comes near", again(""));
    };
    match &elsewhere.missed {
        None if elsewhere.walks == 0 => {
            let found = "walks from other places ended nowhere";
            unchecked("modes", found, "there may be modes that draws miss", again("--check"))
        }
        None => good(
            "modes",
            format!("{} found no other mode", counted(elsewhere.walks, "walk from other places")),
            "all of them ended where draws are",
        ),
        Some(missed) => problem(
            "modes",
            missed_in_words(missed),
            "draws, summaries and the log evidence are of one part of the posterior: if its modes are the same thing under \
             other names, order them; else describe each on its own",
            again("--starts 10"),
        ),
    }
}

/// Whether annealing from both sides brackets the log evidence.
fn bracket(record: &FitRecord, again: &dyn Fn(&str) -> String) -> Option<Finding> {
    let evidence = record.evidence.as_ref()?;
    let side = |e: &hmcvi_record::Estimate| with_error(e.mean, e.standard_error, 2);
    let found = format!(
        "annealing gives a log evidence of {} nats from below and {} from above",
        side(&evidence.lower),
        side(&evidence.upper)
    );
    let missed = evidence.importance.as_ref().map_or(0.0, |importance| {
        let error = importance.standard_error.hypot(evidence.lower.standard_error);
        evidence.lower.mean - importance.mean - ERRORS * error
    });
    Some(match evidence.is_bracket {
        true if missed > GAIN => remark(
            "evidence",
            format!("{found}; importance sampling is below both"),
            "importance weights miss a part of the posterior: the log evidence is that of annealing",
            again("--evidence --method hmcvi"),
        ),
        true => good(
            "evidence",
            found,
            "both sides are bounds in expectation, and not further apart the wrong way round than by chance",
        ),
        false => {
            let meaning =
                "the sides are the wrong way round, or the draws of the posterior are not to be trusted";
            problem("evidence", found, meaning, again("--evidence --check"))
        }
    })
}

/// What chains say about themselves.
fn sampler(record: &FitRecord, facts: &SamplerFacts, again: &dyn Fn(&str) -> String) -> Vec<Finding> {
    let mut all = Vec::new();
    let longer = format!("--draws {}", 4 * record.draws);
    all.push(match largest_rhat(record) {
        None => unchecked("R-hat", "unknown", "it takes four draws of each chain", again("--draws 4000")),
        Some((name, rhat)) => {
            let found = format!("at most {} ({name})", fixed(rhat, 3));
            match rhat > R_HAT_LIMIT {
                true => problem("R-hat", found, "chains do not agree on the posterior", again(&longer)),
                false => good("R-hat", found, "chains agree in location and scale"),
            }
        }
    });
    if let Some((name, ess)) = smallest_ess(record) {
        let found = format!("at least {} ({name})", fixed(ess, 0));
        all.push(match ess < ESS_LIMIT {
            true => problem("ess", found, "too few for quantiles, and for R-hat itself", again(&longer)),
            false => good("ess", found, "enough for means and quantiles"),
        });
    }
    all.push(match record.divergences {
        0 => good("divergences", "none", "trajectories were stable everywhere they came"),
        n => {
            let found = format!("{} of {}", counted(n, "divergence"), counted(record.draws, "draw"));
            let serious = n as f64 > MOST_DIVERGENCES * record.draws as f64;
            let finding = if serious { problem } else { remark };
            let meaning = "chains do not enter regions of high curvature, so draws may miss a part";
            finding("divergences", found, meaning, again("--set nuts.target_accept=0.95"))
        }
    });
    let lowest = facts.e_bfmi.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    if lowest < BFMI {
        let found = format!("E-BFMI {}, below {BFMI}", fixed(lowest, 2));
        let meaning = "momenta change the energy too little for chains to reach the tails";
        all.push(problem("energy", found, meaning, again(&longer)));
    }
    if facts.deepest > 0 {
        let found =
            format!("the trajectories of {} were as long as they may be", counted(facts.deepest, "draw"));
        all.push(remark(
            "depth",
            found,
            "draws cost more than they need; they are not wrong",
            again("--set nuts.after_fit=true"),
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use hmcvi_record::{Estimate, FitElsewhere, FitStage, Level, MissedPart};

    use super::super::tests::record;
    use super::super::trust::trust;
    use super::*;

    fn levels(record: &FitRecord) -> Vec<(String, Level)> {
        diagnose_fit(record, "runs/x").into_iter().map(|f| (f.about, f.level)).collect()
    }

    #[test]
    fn a_good_fit_is_good_but_not_held_against_nuts() {
        let found = levels(&record());
        let bad = |level| found.iter().filter(|f| f.1 == level).map(|f| f.0.as_str()).collect::<Vec<_>>();
        assert!(bad(Level::Problem).is_empty() && bad(Level::Remark).is_empty(), "{found:?}");
        assert_eq!(bad(Level::Unchecked), ["NUTS"]);
    }

    #[test]
    fn a_part_that_draws_miss_is_a_problem_and_one_that_nobody_looked_for_is_not_checked() {
        let of = |elsewhere| {
            let record = FitRecord { elsewhere, ..record() };
            let modes = diagnose_fit(&record, "runs/x").into_iter().find(|f| f.about == "modes");
            (modes.expect("it is looked at"), trust(&record).0, record)
        };
        let (finding, verdict, _) = of(Some(FitElsewhere { walks: 4, missed: None }));
        assert_eq!((finding.level, verdict), (Level::Good, Trust::Good));
        assert_eq!(of(None).0.level, Level::Unchecked);
        assert_eq!(of(Some(FitElsewhere { walks: 0, missed: None })).0.level, Level::Unchecked);
        let middle = ["a", "b", "c", "d", "e"].map(|name| (name.to_string(), -1.5)).to_vec();
        let log_evidence = Estimate { mean: -31.9, standard_error: 0.01 };
        let missed = Some(MissedPart { log_evidence, share: 0.549, middle });
        let (finding, verdict, record) = of(Some(FitElsewhere { walks: 4, missed }));
        assert_eq!((finding.level, verdict), (Level::Problem, Trust::Bad));
        assert!(
            finding.finding.contains("at least 54% as much") && finding.finding.ends_with("d = -1.500, …")
        );
        // What weights say of the draws that there are stays what it is.
        let weights = diagnose_fit(&record, "runs/x").into_iter().find(|f| f.about == "k-hat");
        assert_eq!(weights.expect("it is looked at").level, Level::Good);
    }

    #[test]
    fn a_bound_far_below_the_log_evidence_is_named_whatever_k_hat_says() {
        let level = |gap: f64| {
            let far = FitRecord { bound: Some(-30.0 - gap), log_evidence: Some(-30.0), ..record() };
            levels(&far).into_iter().find(|(about, _)| about == "gap").map(|(_, level)| level)
        };
        assert_eq!(
            [0.3, 3.0, 3e5, f64::NAN].map(level),
            [Level::Good, Level::Remark, Level::Problem, Level::Problem].map(Some)
        );
        let unknown = FitRecord { log_evidence: None, ..record() };
        assert!(levels(&unknown).iter().all(|(about, _)| about != "gap"));
    }

    #[test]
    fn heavy_tails_and_interruptions_are_problems_with_a_command() {
        let mut bad = FitRecord { k_hat: Some(0.9), finished: false, ..record() };
        bad.stages = vec![FitStage { name: "gaussian".into(), stopped: Some("asked".into()), trace: vec![] }];
        let found = diagnose_fit(&bad, "runs/my fit");
        let problems: Vec<&Finding> = found.iter().filter(|f| f.level == Level::Problem).collect();
        assert_eq!(problems.len(), 3, "{found:?}");
        assert!(
            problems.iter().all(|f| f.action.starts_with("hmcvi fit 'runs/my fit/fit.toml'")),
            "{found:?}"
        );
    }
}
