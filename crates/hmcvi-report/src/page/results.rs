//! Set results beside the paper's and the basic model's, or runs beside each other.

use hmcvi_record::{Basic, ComparedRun, Difference, Estimate, Published, Report, RunReport};

use super::html::{duration, escape, fixed, negated, signed};
use super::plot::{Interval, intervals};
use super::table::{behind, table};
use crate::report::grouped;

pub(super) fn results(report: &Report) -> String {
    match &report.runs[..] {
        [run] => single(run),
        _ => several(&report.comparison.runs),
    }
}

/// An estimate of a run with what it is compared with.
struct Row {
    name: String,
    here: Estimate,
    basic: Option<Estimate>,
    gain: Option<Difference>,
    paper: Option<f64>,
    paper_basic: bool,
}

fn single(run: &RunReport) -> String {
    let rows = rows(run);
    if rows.is_empty() {
        return not_judged(run);
    }
    let basic = run.basic.as_ref().filter(|_| rows.iter().any(|r| r.basic.is_some()));
    let (with_basic, with_paper) = (basic.is_some(), run.facts.published.is_some());
    let with_gain = rows.iter().any(|r| r.gain.is_some());
    let mut titles = vec!["Estimate".to_string(), escape(&run.facts.name)];
    if let Some(basic) = basic {
        let source = if basic.place.is_some() { "basic model" } else { "basic model, paper" };
        titles.push(format!("{}<small>{source}</small>", escape(&basic.name)));
    }
    titles.extend(with_gain.then(|| "Gain".to_string()));
    titles.extend(run.facts.published.as_ref().map(|p| format!("{}<small>paper</small>", escape(&p.name))));
    let cells = |row: &Row| {
        let dash = || "–".to_string();
        let mut cells = vec![escape(&row.name), format!("<strong>{}</strong>", negated(&row.here))];
        cells.extend(with_basic.then(|| row.basic.as_ref().map_or_else(dash, negated)));
        cells.extend(with_gain.then(|| row.gain.as_ref().map_or_else(dash, gained)));
        cells.extend(with_paper.then(|| row.paper.map_or_else(dash, |p| fixed(-p, 2))));
        cells
    };
    let lines: Vec<Vec<String>> = rows.iter().map(cells).collect();
    format!(
        "<div class=\"lone\">{}{}</div>\n{}",
        table("−log p(x) in nats per image", &titles, &lines),
        notes(run, &rows),
        drawn(run, &rows)
    )
}

fn rows(run: &RunReport) -> Vec<Row> {
    let Some(evaluation) = &run.facts.evaluation else { return Vec::new() };
    let (basic, paper) = (run.basic.as_ref(), run.facts.published.as_ref());
    let paper_basic = basic.is_some_and(|b| b.place.is_none());
    let row =
        |name: String, here: Estimate| Row { name, here, basic: None, gain: None, paper: None, paper_basic };
    let of_basic = |of: fn(&Basic) -> Option<Estimate>| basic.and_then(of);
    let gain = |of: fn(&Basic) -> Option<Difference>| basic.and_then(of);
    let published = |of: fn(&Published) -> f64| paper.map(of);
    let mut rows = vec![Row {
        basic: of_basic(|b| b.bound),
        gain: gain(|b| b.bound_gain),
        paper: published(|p| p.bound),
        ..row("Bound".into(), evaluation.bound)
    }];
    if let Some(encoder) = &evaluation.encoder_bound {
        let name = format!("Bound of the encoder alone, {} samples", grouped(encoder.samples));
        rows.push(row(name, encoder.bound));
    }
    if let Some(sampling) = &evaluation.importance_sampling {
        rows.push(Row {
            basic: of_basic(|b| b.log_likelihood),
            gain: gain(|b| b.log_likelihood_gain),
            paper: published(|p| p.log_likelihood),
            ..row(
                format!("Importance sampling, {} samples", grouped(sampling.samples)),
                sampling.log_likelihood,
            )
        });
    }
    if let Some(quadrature) = &evaluation.quadrature {
        rows.push(row("Quadrature".into(), quadrature.log_likelihood));
    }
    if let Some(annealing) = &evaluation.annealing {
        let name = format!("Annealing, first {} images", grouped(annealing.images));
        rows.push(row(name, annealing.log_likelihood));
    }
    rows
}

fn gained(gain: &Difference) -> String {
    let Estimate { mean, standard_error } = gain.estimate;
    format!("{} ± {}", fixed(mean, 2), fixed(standard_error, 2))
}

/// What the numbers are of, and how far they compare.
fn notes(run: &RunReport, rows: &[Row]) -> String {
    let Some(e) = &run.facts.evaluation else { return String::new() };
    let mut text = format!(
        "{} {} images, {} binarisation {} of each.",
        grouped(e.images),
        e.split,
        e.draws,
        if e.draws == 1 { "draw" } else { "draws" }
    );
    if let Some(gain) = rows.iter().find_map(|r| r.gain) {
        text += match gain.paired {
            true => " Errors of gains are over pairs: both models saw the same binary images.",
            false => {
                " Errors of gains are those of independent means: the two were not judged on the same images."
            }
        };
    }
    if run.facts.published.as_ref().is_some_and(|p| p.same_data == Some(false)) {
        text += " The paper’s numbers are for all of MNIST; this data is another, so they do not compare.";
    }
    format!("<p class=\"meaning\">{}</p>\n", escape(&text))
}

fn drawn(run: &RunReport, rows: &[Row]) -> String {
    let mut all = Vec::new();
    for row in rows {
        all.push(Interval {
            name: row.name.clone(),
            mean: -row.here.mean,
            error: row.here.standard_error,
            colour: 0,
        });
        if let (Some(basic), Some(model), false) = (row.basic, &run.basic, row.paper_basic) {
            let name = format!("{} of {}", row.name, model.name);
            all.push(Interval { name, mean: -basic.mean, error: basic.standard_error, colour: 1 });
        }
    }
    figure("estimates", "Estimates with two standard errors", &all)
}

fn figure(id: &str, title: &str, all: &[Interval]) -> String {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|i| {
            vec![
                escape(&i.name),
                fixed(i.mean, 2),
                fixed(i.mean - 2.0 * i.error, 2),
                fixed(i.mean + 2.0 * i.error, 2),
            ]
        })
        .collect();
    let titles = ["Estimate", "−log p(x)", "from", "to"].map(String::from);
    format!(
        "<div class=\"panels\"><figure id=\"figure-{id}\" class=\"full\" aria-labelledby=\"title-{id}\">\n<h3 id=\"title-{id}\">{title}</h3>\n\
         <figcaption>−log p(x) in nats; further left is better.</figcaption>\n{}{}</figure></div>\n",
        intervals(title, all),
        behind(title, &titles, &rows)
    )
}

/// What is known without an evaluation.
fn not_judged(run: &RunReport) -> String {
    let last = run.last.as_ref().and_then(|e| Some((e.epoch, *e.validation.as_ref()?.get("bound")?)));
    let known = last.map_or(String::new(), |(epoch, bound)| {
        format!(" In epoch {epoch} the bound of validation images was −log p(x) ≤ {} nats.", fixed(-bound, 2))
    });
    let paper = run.facts.published.as_ref().map_or(String::new(), |p| {
        format!(
            " The paper has {} for the bound and {} for the likelihood of {}.",
            fixed(-p.bound, 2),
            fixed(-p.log_likelihood, 2),
            p.name
        )
    });
    format!(
        "<div class=\"lone\"><p style=\"margin:0\">{}</p>\n<pre tabindex=\"0\"><code>hmcvi eval {}</code></pre></div>\n",
        escape(&format!(
            "The model was not judged on test images yet.{known}{paper} This command judges it:"
        )),
        escape(&crate::report::quoted(&run.facts.place))
    )
}

fn several(runs: &[ComparedRun]) -> String {
    let first = runs.first().map_or("", |r| r.name.as_str());
    let against = |what: &str| format!("{what}<small>less {}</small>", escape(first));
    let titles = [
        "Run".to_string(),
        "Bound<small>−log p(x) ≤</small>".into(),
        against("Bound"),
        "Likelihood<small>−log p(x) ≈</small>".into(),
        against("Likelihood"),
        "Validation bound<small>best</small>".into(),
        "Epochs".into(),
        "Time".into(),
        "Divergences".into(),
    ];
    let dash = || "–".to_string();
    let row = |(i, r): (usize, &ComparedRun)| {
        let of = |d: &Option<Difference>| match (d, i) {
            (Some(d), _) => {
                format!("{}<small>{}</small>", signed(d), if d.paired { "paired" } else { "unpaired" })
            }
            (None, _) => dash(),
        };
        vec![
            escape(&r.name),
            r.bound.as_ref().map_or_else(dash, negated),
            of(&r.bound_difference),
            r.log_likelihood.as_ref().map_or_else(dash, negated),
            of(&r.log_likelihood_difference),
            r.validation_bound.map_or_else(dash, |b| fixed(-b, 2)),
            grouped(r.epochs),
            duration(r.seconds),
            grouped(r.divergences),
        ]
    };
    let rows: Vec<Vec<String>> = runs.iter().enumerate().map(row).collect();
    let interval = |(i, r): (usize, &ComparedRun)| {
        let bound = r.bound.map(|b| Interval {
            name: format!("{}: bound", r.name),
            mean: -b.mean,
            error: b.standard_error,
            colour: i,
        });
        let nll = r.log_likelihood.map(|l| Interval {
            name: format!("{}: likelihood", r.name),
            mean: -l.mean,
            error: l.standard_error,
            colour: i,
        });
        [bound, nll]
    };
    let all: Vec<Interval> = runs.iter().enumerate().flat_map(interval).flatten().collect();
    let drawn = if all.is_empty() {
        String::new()
    } else {
        figure("estimates", "Estimates with two standard errors", &all)
    };
    format!(
        "<div class=\"lone\">{}<p class=\"meaning\">Differences of paired runs are over the same binary images, so their errors are \
         smaller than those of the runs themselves. A negative difference is an improvement.</p></div>\n{drawn}",
        table("−log p(x) in nats per image", &titles, &rows)
    )
}
