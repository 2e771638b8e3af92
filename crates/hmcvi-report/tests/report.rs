//! Check that the record of a report says what is known of its runs, and that the page says what the record does.

mod common;

use common::{basic, maker, run};
use hmcvi_record::{Report, RunState, Section};
use hmcvi_report::{GreyGrid, Noun, Picture, RunData, compare, comparison_text, page, report};

fn picture(run: usize) -> Picture {
    Picture {
        run,
        title: "Samples".into(),
        caption: "Drawn.".into(),
        alternative: "A grid of images.".into(),
        drawing: GreyGrid { height: 1, width: 1, columns: 1, values: vec![0.5] }.scene().expect("one image"),
        full: false,
    }
}

/// A run that began with the plain model.
fn refined(name: &str) -> RunData {
    RunData { began_with: Some(Box::new(basic())), ..run(name, 0.0) }
}

#[test]
fn the_record_is_what_it_was() {
    let found = serde_json::to_string_pretty(&report(&[refined("a")], maker())).expect("plain values") + "\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/report.json");
    if std::env::var_os("HMCVI_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(file, &found).expect("a writable folder");
    }
    let known = std::fs::read_to_string(file).expect("the snapshot is there");
    assert_eq!(found, known, "if this is meant, run the test with HMCVI_UPDATE_SNAPSHOTS=1");
    let read: Report = serde_json::from_str(&known).expect("a record can be read");
    assert_eq!(read.verdict, report(&[refined("a")], maker()).verdict);
}

#[test]
fn the_page_has_every_part_and_stands_alone() {
    let text = page(&report(&[refined("a")], maker()), &[picture(0)]);
    for id in ["results", "learning", "chain", "trust", "pictures", "diagnosis", "reproduce"] {
        assert!(text.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(text.contains(&format!("<a href=\"#{id}\">")), "no way to {id}");
    }
    for word in ["<script", "http://", "https://", "<iframe", "@import", "url(http"] {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains(word), "`{word}` would need something from elsewhere");
    }
    assert!(
        text.contains("aria-label=\"A grid of images.\"")
            && text.contains("href=\"data:image/png;base64,iVBORw")
    );
    assert!(text.contains("hmcvi train runs/a/config.toml --out runs/a-again"));
    assert!(text.contains("hmcvi train hmcvi-18 --set 'model.hidden=[200,200]'"), "the command as typed");
}

#[test]
fn numbers_of_the_page_are_those_of_the_record() {
    let record = report(&[refined("a")], maker());
    let text = page(&record, &[]);
    let evaluation = record.runs[0].facts.evaluation.as_ref().expect("evaluated");
    let sampling = evaluation.importance_sampling.as_ref().expect("sampled");
    for estimate in [evaluation.bound, sampling.log_likelihood] {
        let shown = format!("{:.2} ± {:.2}", -estimate.mean, estimate.standard_error);
        assert!(text.contains(&shown), "{shown}");
    }
    // All images are moved by as much, so pairs have no error.
    let basic = record.runs[0].basic.as_ref().expect("a plain model");
    let gain = basic.bound_gain.expect("both were evaluated");
    assert!(gain.paired && (gain.estimate.mean - 3.0).abs() < 1e-9 && gain.estimate.standard_error < 1e-9);
    assert!(record.verdict.contains("3.00 ± 0.00 nats better"), "{}", record.verdict);
    for known in ["16.7", "42.5", "1,000 temperatures", "0.125 ± 0.250", "1.004", "6.000 ± 0.250"] {
        assert!(text.contains(known), "{known}");
    }
}

#[test]
fn a_table_with_the_plotted_numbers_is_behind_every_figure() {
    let record = report(&[refined("a")], maker());
    let text = page(&record, &[]);
    let ids: Vec<&str> = record.figures.iter().map(|f| f.id.as_str()).collect();
    for id in [
        "bound",
        "log_joint",
        "acceptance",
        "acceptance_rate",
        "acceptance_by_step",
        "energy_error",
        "step_size",
        "mass",
        "alpha",
        "divergences",
        "k_hat",
        "effective_sample_size",
        "energies",
    ] {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
    for figure in &record.figures {
        let begin = text.find(&format!("<figure id=\"figure-{}\"", figure.id)).expect("drawn");
        let panel = &text[begin..begin + text[begin..].find("</figure>").expect("closed")];
        assert!(
            panel.contains("<svg") && panel.contains("aria-label=") && panel.contains("<details>"),
            "{}",
            figure.id
        );
        let rows = panel.matches("<tr>").count() - 1;
        let points = figure.curves.iter().map(|c| c.points.len()).max().unwrap_or(0);
        let closing = usize::from(figure.section == Section::Trust);
        assert_eq!(rows, points - closing, "{}", figure.id);
    }
    let bound = record.figures.iter().find(|f| f.id == "bound").expect("drawn");
    // -90 - 40 / 3
    assert_eq!(bound.curves[0].points[2], (3.0, -90.0 - 40.0 / 3.0));
    assert!(text.contains("<td>−103.33</td>"));
}

#[test]
fn long_trainings_make_small_pages() {
    let mut long = run("long", 0.0);
    long.epochs = (1..=20_000).map(common::epoch).collect();
    let record = report(&[long.clone()], maker());
    let points = record.figures.iter().flat_map(|f| &f.curves).map(|c| c.points.len()).max();
    assert!(points <= Some(240), "{points:?}");
    let bound = &record.figures[0].curves[0].points;
    assert_eq!((bound[0].0, bound[bound.len() - 1].0), (1.0, 20_000.0));
    let size = page(&record, &[]).len();
    assert!(size < 1_000_000, "{size}");
    let several = page(&report(&vec![long; 6], maker()), &[]).len();
    assert!(several < 1_500_000, "{several}");
}

#[test]
fn names_cannot_do_harm() {
    let evil = "<script>alert('x')</script>\"><img src=x onerror=y>";
    let mut a = refined(evil);
    a.facts.place = evil.into();
    a.facts.config = format!("# </code></pre>{evil}\n");
    a.facts.reproduce = vec![evil.into()];
    let mut b = run(evil, 1.0);
    b.facts.name = format!("{evil} 2");
    for runs in [vec![a.clone()], vec![a, b]] {
        let text = page(
            &report(&runs, maker()),
            &[Picture { title: evil.into(), alternative: evil.into(), ..picture(0) }],
        );
        assert!(!text.contains("<script") && !text.contains("<img src=x") && !text.contains("\"><img s"));
        assert!(text.contains("&lt;script&gt;"), "the name is still there to be read");
    }
}

#[test]
fn a_run_that_was_not_judged_says_what_to_do() {
    let mut young = run("young", 0.0);
    (young.facts.evaluation, young.facts.summary, young.facts.state) = (None, None, RunState::Stopped);
    young.images.clear();
    young.epochs.truncate(2);
    let record = report(&[young.clone()], maker());
    assert!(record.verdict.contains("stopped after 2 of 10 epochs"), "{}", record.verdict);
    let text = page(&record, &[]);
    assert!(text.contains("hmcvi eval runs/young") && text.contains("hmcvi resume runs/young"));
    young.facts.state = RunState::Running;
    let record = report(&[young.clone()], maker());
    assert!(record.verdict.contains("is being trained, with 2 of 10 epochs done"), "{}", record.verdict);
    assert!(record.runs[0].findings.iter().all(|f| f.about != "training"), "it has not stopped");
    young.epochs.clear();
    let text = page(&report(&[young], maker()), &[]);
    assert!(text.contains("hmcvi eval runs/young"), "nothing at all is known");
}

#[test]
fn differences_are_over_pairs_only_if_the_images_are_the_same() {
    let (a, b) = (run("a", 0.0), run("b", 2.0));
    let found = compare(&[a.clone(), b.clone()]);
    let difference = found.runs[1].bound_difference.expect("both were evaluated");
    assert!(difference.paired && (difference.estimate.mean - 2.0).abs() < 1e-9);
    assert!(found.runs[0].bound_difference.is_none());
    let text = comparison_text(&found, Noun::Image);
    assert!(text.contains("-2.00 +- 0.00") && text.contains("pairs of the same binary images"), "{text}");
    let other_draws = {
        let mut b = b.clone();
        b.facts.evaluation.as_mut().expect("evaluated").draws = 1;
        b
    };
    let fewer = {
        let mut b = b;
        b.images.pop();
        b
    };
    for other in [other_draws, fewer] {
        let found = compare(&[a.clone(), other]);
        let difference = found.runs[1].bound_difference.expect("both were evaluated");
        // Independent means: √2 times the error of one.
        assert!(!difference.paired && (difference.estimate.standard_error - 7.64 * 2f64.sqrt()).abs() < 1e-9);
        assert!(comparison_text(&found, Noun::Image).contains("independent means"));
    }
}

#[test]
fn numbers_that_mean_different_things_are_not_set_against_each_other() {
    type Spoil = fn(&mut RunData);
    let cases: [(&str, Spoil); 5] = [
        ("different data", |r| r.facts.evaluation.as_mut().expect("evaluated").data_sha256 = "other".into()),
        ("different ways", |r| r.facts.settings.binarisation = "threshold".into()),
        ("different ways", |r| r.facts.evaluation.as_mut().expect("evaluated").pixel_scale = 255),
        ("on test and on train", |r| r.facts.evaluation.as_mut().expect("evaluated").split = "train".into()),
        ("b was trained further", |r| r.facts.evaluation_is_current = Some(false)),
    ];
    for (why, spoil) in cases {
        let mut b = run("b", 2.0);
        spoil(&mut b);
        let record = report(&[run("a", 0.0), b], maker());
        let compared = &record.comparison.runs[1];
        assert!(compared.bound_difference.is_none() && compared.log_likelihood_difference.is_none(), "{why}");
        assert!(compared.not_comparable.as_ref().is_some_and(|w| w.contains(why)), "{compared:?}");
        assert!(record.verdict.contains("cannot be compared"), "{}", record.verdict);
        assert!(
            comparison_text(&record.comparison, Noun::Image).contains("WARNING b cannot be compared with a")
        );
    }
}

#[test]
fn a_run_has_the_same_colour_in_all_figures() {
    let mut plain = basic();
    for epoch in &mut plain.epochs {
        epoch.train.retain(|k, _| k == "bound");
        epoch.validation = epoch.validation.take().map(|mut v| {
            v.retain(|k, _| k == "bound");
            v
        });
    }
    let record = report(&[plain, run("b", 0.0)], maker());
    for figure in record.figures.iter().filter(|f| f.section != Section::Trust) {
        let names: Vec<&str> = figure.curves.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["basic", "b"], "{}", figure.id);
    }
    let text = page(&record, &[]);
    let begin = text.find("<figure id=\"figure-mass\"").expect("drawn");
    let panel = &text[begin..begin + text[begin..].find("</figure>").expect("closed")];
    assert!(
        panel.contains("stroke=\"var(--line-1)\"") && !panel.contains("stroke=\"var(--line-0)\""),
        "the first run has no mass"
    );
}

/// What stands above the parts of a page.
fn headline(text: &str) -> &str {
    text.split_once("<nav").expect("the parts are listed").0
}

#[test]
fn the_papers_numbers_are_shown_for_its_data_and_its_protocol_only() {
    let mut paper = run("a", 0.0);
    paper.facts.published.as_mut().expect("a row of the paper").same_data = Some(true);
    paper.facts.evaluation.as_mut().expect("evaluated").images = 10_000;
    let text = page(&report(std::slice::from_ref(&paper), maker()), &[]);
    for published in ["paper 91.40", "paper 87.28"] {
        assert!(headline(&text).contains(published), "{published}");
    }
    type Change = fn(&mut RunData);
    let changes: [Change; 5] = [
        |r| r.facts.published.iter_mut().for_each(|p| p.same_data = None),
        |r| r.facts.evaluation.iter_mut().for_each(|e| e.images = 1000),
        |r| r.facts.evaluation.iter_mut().for_each(|e| e.draws = 1),
        |r| r.facts.evaluation.iter_mut().for_each(|e| e.pixel_scale = 255),
        |r| r.facts.evaluation.iter_mut().for_each(|e| e.split = "train".into()),
    ];
    for change in changes {
        let mut other = paper.clone();
        change(&mut other);
        let text = page(&report(&[other], maker()), &[]);
        assert!(!headline(&text).contains("91.40") && !headline(&text).contains("87.28"));
    }
    paper.facts.published.as_mut().expect("a row of the paper").same_data = Some(false);
    let text = page(&report(&[paper], maker()), &[]);
    assert!(
        !text.contains("91.40") && !text.contains("87.28"),
        "other data is not compared with the paper's at all"
    );
}

#[test]
fn paired_differences_have_a_figure_of_their_own() {
    let text = page(&report(&[run("a", 0.0), run("b", 2.0)], maker()), &[]);
    let begin = text.find("<figure id=\"figure-differences\"").expect("drawn");
    let panel = &text[begin..begin + text[begin..].find("</figure>").expect("closed")];
    assert!(panel.contains("Differences from a") && panel.contains("b, bound: −2.00"), "{panel}");
    assert!(panel.contains("b, likelihood: −1.00") && panel.contains("Left of zero is better"), "{panel}");
    assert!(!panel.contains("unpaired"), "{panel}");
    assert!(!page(&report(&[run("a", 0.0)], maker()), &[]).contains("figure-differences"));
}

#[test]
fn pages_speak_of_hmc_steps_as_there_are() {
    let of = |hmc_steps, leapfrog_steps| {
        let mut one = run("a", 0.0);
        (one.facts.settings.hmc_steps, one.facts.settings.leapfrog_steps) = (hmc_steps, leapfrog_steps);
        page(&report(&[one], maker()), &[])
    };
    let plain = of(0, 0);
    assert!(plain.contains("no HMC steps") && plain.contains("Distance from the posterior"));
    for word in ["fter the HMC steps", "0 HMC steps", "0 leapfrog steps"] {
        assert!(!plain.contains(word), "{word}");
    }
    assert!(
        of(1, 1).contains(">1 HMC step of 1 leapfrog step<")
            && of(3, 4).contains(">3 HMC steps of 4 leapfrog steps<")
    );
}

#[test]
fn nothing_on_a_page_is_white_in_the_dark() {
    let text = page(&report(&[refined("a"), run("b", 0.0)], maker()), &[picture(0)]);
    let body = text.split_once("<body>").expect("a page").1;
    for white in ["#fff", "\"white\"", "background"] {
        assert!(!body.contains(white), "{white}");
    }
}

#[test]
fn wide_tables_say_that_they_scroll() {
    let text = page(&report(&[run("a", 0.0), run("b", 2.0)], maker()), &[]);
    let (before, _) = text.split_once("−log p(x) in nats per image").expect("the table of results");
    assert!(before.contains("Scroll the table sideways to see all of it"));
}
