//! Draw every figure from small data, and check what is in the drawing.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::collections::BTreeSet;

use hmcvi_record::figure::{
    Binarised, ChainPath, Density, EnergySurface, Ensemble, Field, Fitted, FlowChart, FlowState,
    LatentSquare, Modes, Mosaic, Motion, Particles, Phase, Picture, Point, Posteriors,
};
use hmcvi_record::{Curve, Estimate, LatentPoint};
use hmcvi_report::{ReportError, Scene, figure};

fn field(f: impl Fn(Point) -> f64) -> Field {
    let mut field = Field::empty([-2.0; 2], [2.0; 2], 21, 21);
    field.values = field.points().map(f).collect();
    field
}

fn bowl() -> Field {
    field(|[x, y]| x * x + 2.0 * y * y)
}

fn gaussian(mean: f64) -> Field {
    field(move |[x, y]| (-2.0 * ((x - mean).powi(2) + y * y)).exp() * 2.0 / std::f64::consts::PI)
}

fn picture(height: usize, width: usize) -> Picture {
    Picture { height, width, values: (0..height * width).map(|i| (i % 3) as f32 / 2.0).collect() }
}

fn mosaic() -> Mosaic {
    Mosaic { columns: 2, rows: 2, picture: picture(8, 8) }
}

/// The SVG without the bytes of its pictures.
fn without_bytes(svg: &str) -> String {
    let mut parts = svg.split("base64,");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
}

/// Checks that every tag is closed, that all numbers are numbers, and that the PNG has the SVG's shape.
fn check(scene: &Scene, texts: &[&str]) -> String {
    let svg = without_bytes(&scene.to_svg());
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "a number is none");
    for tag in ["svg", "path", "image", "text", "tspan", "title"] {
        let opened = svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    for text in texts {
        assert!(svg.contains(text), "`{text}` is not in the figure");
    }
    let png = scene.to_png().expect("it can be painted");
    let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("it is PNG");
    let size = |key: &str| -> f64 {
        let after = svg.split_once(&format!("{key}=\"")).expect("the size is there").1;
        after.split('"').next().and_then(|n| n.parse().ok()).expect("a number")
    };
    let info = reader.info();
    assert!((f64::from(info.width) - 1.6 * size("width")).abs() <= 1.0);
    assert!((f64::from(info.height) - 1.6 * size("height")).abs() <= 1.0);
    svg
}

/// Dots in a drawing.
fn dots(svg: &str) -> usize {
    svg.matches("h0").count()
}

#[test]
fn a_motion_has_three_panels_and_marks_new_momenta() {
    let phase = |i: usize| Phase {
        time: 0.1 * i as f64,
        z: [0.1 * i as f64, 0.5],
        v: [1.0, -0.2 * i as f64],
        potential: 1.0 - 0.1 * i as f64,
        kinetic: 0.5,
    };
    let one = Motion {
        step_size: 0.1,
        landscape: bowl(),
        simulations: vec![(0..4).map(phase).collect()],
        accepted: vec![true],
    };
    let svg = check(&figure::motion(&one), &["Position on U(z)", "Momentum on K(v)", "Energies over time"]);
    assert!(!svg.contains("momentum drawn anew"));
    // Three energies of four states; positions and momenta are discs of their own.
    assert_eq!(dots(&svg), 12);
    assert!(svg.matches("<circle").count() >= 8);
    let two = Motion { simulations: vec![(0..4).map(phase).collect(), (3..6).map(phase).collect()], ..one };
    check(&figure::motion(&two), &["momentum drawn anew", "stroke-dasharray"]);
}

#[test]
fn an_ensemble_shows_every_particle_twice_in_each_row() {
    let particles = |shift: f64| Particles {
        positions: (0..50).map(|i| [0.03 * f64::from(i) - 0.8, shift]).collect(),
        momenta: (0..50).map(|i| [shift, 0.03 * f64::from(i)]).collect(),
        potential: (0..50).map(|i| f64::from(i) + shift).collect(),
    };
    let data =
        Ensemble { landscape: bowl(), before: particles(0.0), after: particles(0.5), ..Ensemble::default() };
    let svg =
        check(&figure::ensemble(&data), &["Positions before", "Momenta after one HMC step", "particles"]);
    assert_eq!(dots(&svg), 200);
}

#[test]
fn a_flow_chart_writes_subscripts_below_the_line() {
    let state = |name: &str| FlowState { name: name.into(), meaning: "a state".into() };
    let data = FlowChart {
        states: vec![state("s_{t−1}"), state("s_HD")],
        steps: vec!["one\ntwo".into(), "decide".into()],
        ends: vec![("accepted".into(), "s_t".into()), ("rejected".into(), "s_t".into())],
    };
    let svg = check(&figure::flow_chart(&data), &["accepted", "rejected", ">one</text>", ">two</text>"]);
    assert!(svg.contains(">t−1</tspan>") && svg.contains(">HD</tspan>") && !svg.contains("s_"));
}

#[test]
fn binarisation_has_a_picture_for_every_strategy() {
    let one = picture(4, 4);
    let data = Binarised {
        original: one.clone(),
        threshold: one.clone(),
        stochastic: one.clone(),
        average: one,
        draws: 7,
        ..Binarised::default()
    };
    let svg =
        check(&figure::binarised(&data), &["Original", "Threshold", "Stochastic", "mean of 7 such draws"]);
    assert_eq!(svg.matches("<image").count(), 4);
}

#[test]
fn an_energy_surface_shows_where_chains_begin_and_end() {
    let path = |x: f64| ChainPath { points: vec![[x, 0.1], [x, 0.2], [x, 0.3]], end: [x, 0.3] };
    let mut near = bowl();
    (near.low, near.high) = ([-0.5; 2], [0.5; 2]);
    let data = EnergySurface {
        observed: picture(4, 4),
        energy: field(|[x, y]| 100.0 * (x * x + y * y)),
        decoded: mosaic(),
        near,
        paths: vec![path(0.0), path(0.2)],
        leapfrog_steps: 2,
        ..EnergySurface::default()
    };
    let svg =
        check(&figure::energy_surface(&data), &["Chains near the posterior", "after the chain", "encoder"]);
    // Two chains with a ring and a disc each, and both in the legend.
    assert_eq!(svg.matches("<circle").count(), 6);
    // Two leapfrog steps of two chains.
    assert_eq!(dots(&svg), 4);
}

#[test]
fn a_latent_map_shows_every_image_once_in_its_colour() {
    let points =
        (0..30).map(|i| LatentPoint { x: f64::from(i) / 30.0, y: 0.5, class: Some(i as u8 % 3) }).collect();
    let data = LatentSquare { images: 30, decoded: mosaic(), points, hmc_steps: 3 };
    let svg =
        check(&figure::latent_square(&data), &["30 training images after the HMC steps", "class", "Φ(z"]);
    assert_eq!(dots(&svg), 30);
    for (r, g, b) in &hmcvi_report::COLOURS[..3] {
        assert!(svg.contains(&format!("#{r:02x}{g:02x}{b:02x}")));
    }
}

#[test]
fn posteriors_say_how_far_they_are_and_how_well_that_is_known() {
    let data = Posteriors {
        observed: picture(4, 4),
        log_evidence: -123.456,
        exact: gaussian(0.0),
        initial: Density { density: gaussian(0.5), divergence: 0.5 },
        improved: Density { density: gaussian(0.1), divergence: 0.02 },
        hmc_steps: 2,
        draws: 1000,
        estimate_of_exact: 0.004,
        estimate_of_initial: 0.512,
        ..Posteriors::default()
    };
    let texts =
        ["KL = 0.500 nats", "KL ≈ 0.020 nats", "log p(x) = −123.46 nats", "1,000 draws", "0.004", "0.512"];
    check(&figure::posteriors(&data), &texts);
}

#[test]
fn fitted_families_say_how_far_they_are_and_which_modes_they_have() {
    let fit = |name: &str, at: f64, divergence: f64| Fitted {
        name: name.into(),
        density: Density { density: gaussian(at), divergence },
        shares: vec![0.75, 0.125],
        parts: 4,
        ..Fitted::default()
    };
    let data = Modes {
        observed: picture(4, 4),
        log_evidence: -123.456,
        exact: gaussian(0.0),
        shares: vec![0.625, 0.25],
        fits: vec![fit("As it was trained", 0.5, 2.5), fit("From a mixture", 0.1, 0.125)],
        updates: 1200,
        draws: 5000,
        estimate_of_exact: 0.004,
        ..Modes::default()
    };
    let texts = [
        "KL ≈ 2.500 nats",
        "KL ≈ 0.125 nats",
        "log p(x) = −123.46 nats",
        "75%, 12%",
        "62%, 25%",
        "1,200 updates",
        "4 parts",
        "0.004",
    ];
    check(&figure::modes(&data), &texts);
    check(
        &figure::modes(&Modes { exact: bowl(), observed: picture(2, 2), ..Modes::default() }),
        &["Exact posterior"],
    );
}

#[test]
fn data_without_a_point_is_drawn_without_one() {
    check(
        &figure::latent_square(&LatentSquare { decoded: mosaic(), ..LatentSquare::default() }),
        &["0 training images"],
    );
    let empty = Ensemble { landscape: bowl(), ..Ensemble::default() };
    check(&figure::ensemble(&empty), &["Positions before"]);
}

#[test]
fn charts_name_their_lines_and_leave_out_what_is_not_a_number() {
    let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, f64::NEG_INFINITY), (3.0, 2.0)];
    let curve = |i: usize| Curve { name: format!("row {i}"), points: points.clone() };
    let data = figure::Chart {
        title: "Bound & more".into(),
        x: "epoch".into(),
        y: "nats".into(),
        curves: (0..8).map(curve).collect(),
    };
    let scene = figure::chart(&data).expect("some points are finite");
    let svg = check(&scene, &["Bound &amp; more", "epoch", "nats", "row 0", "row 7"]);
    // Lines whose colours came before have other dashes.
    let looks: BTreeSet<&str> = svg
        .split("<path ")
        .filter(|path| path.contains("stroke-width=\"2.2\""))
        .filter_map(|path| path.split_once("stroke=")?.1.split('>').next())
        .collect();
    assert_eq!(looks.len(), 8, "{looks:?}");
}

#[test]
fn a_chart_without_points_is_refused_by_name() {
    let curves = vec![Curve { name: "row".into(), points: vec![(0.0, f64::NAN)] }];
    let data = figure::Chart { title: "Bound".into(), curves, ..figure::Chart::default() };
    assert!(matches!(figure::chart(&data), Err(ReportError::Empty(title)) if title == "Bound"));
}

#[test]
fn latent_maps_have_a_panel_for_each_model_and_one_legend() {
    let point = |i: u8| LatentPoint { x: f64::from(i), y: -f64::from(i), class: Some(i) };
    let panel = |name: &str| (name.to_string(), (0..3).map(point).collect());
    let scene = figure::latent_map(&[panel("basic"), panel("hmcvi")]).expect("there are points");
    let svg = check(&scene, &["basic", "hmcvi", "class"]);
    assert_eq!(svg.matches(">class<").count(), 1);
    assert!(figure::latent_map(&[("empty".into(), Vec::new())]).is_err());
}

#[test]
fn panels_of_a_latent_map_share_their_axes() {
    let panel = |name: &str, reach: f64| {
        let point = |x: f64, y: f64| LatentPoint { x, y, class: None };
        (name.to_string(), vec![point(0.0, 0.0), point(reach, 2.0 * reach)])
    };
    let scene = figure::latent_map(&[panel("near", 1.0), panel("far", 3.0)]).expect("there are points");
    let svg = check(&scene, &["near", "far"]);
    let dots: Vec<(f64, f64)> = svg
        .split("\"M")
        .filter(|d| d.contains("h0"))
        .flat_map(|d| d.split('"').next().unwrap_or_default().split("h0"))
        .filter_map(|d| d.trim_start_matches('M').split_once(' '))
        .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
        .collect();
    let [zero, near, other_zero, far] = dots[..] else { panic!("four points: {dots:?}") };
    assert_eq!((other_zero.0 - zero.0, other_zero.1 - zero.1), (556.0, 0.0), "one panel further right");
    // Three times as far in both directions, and twice as far upwards as to the right.
    assert!((far.0 - other_zero.0 - 3.0 * (near.0 - zero.0)).abs() < 0.3, "{dots:?}");
    assert!((zero.1 - near.1 - 2.0 * (near.0 - zero.0)).abs() < 0.3, "{dots:?}");
}

#[test]
fn data_without_labels_has_one_colour_and_no_legend() {
    let points: Vec<LatentPoint> =
        (0..9).map(|i| LatentPoint { x: f64::from(i), y: 0.5, class: None }).collect();
    let square = LatentSquare { images: 9, decoded: mosaic(), points: points.clone(), hmc_steps: 1 };
    let map = figure::latent_map(&[("plane".into(), points)]).expect("there are points");
    for scene in [figure::latent_square(&square), map] {
        let svg = check(&scene, &[]);
        assert!(!svg.contains(">class<") && !svg.contains("<circle"), "no legend");
        assert_eq!((dots(&svg), svg.split("h0\"").count()), (9, 2), "one path of one colour");
    }
}

#[test]
fn points_of_earlier_versions_can_be_read() {
    let read = |text: &str| serde_json::from_str::<LatentPoint>(text).expect("a point").class;
    assert_eq!(read(r#"{"x":1.0,"y":2.0,"class":3}"#), Some(3));
    assert_eq!(read(r#"{"x":1.0,"y":2.0,"class":null}"#), None);
}

#[test]
fn figures_of_models_without_hmc_steps_do_not_speak_of_them() {
    let square = |hmc_steps| {
        figure::latent_square(&LatentSquare { decoded: mosaic(), hmc_steps, ..LatentSquare::default() })
            .to_svg()
    };
    assert!(square(0).contains("drawn from the encoder") && !square(0).contains("HMC"));
    assert!(square(1).contains("after the HMC step<") && square(2).contains("after the HMC steps<"));
    let density = || Density { density: gaussian(0.5), divergence: 0.5 };
    let data = Posteriors {
        observed: picture(4, 4),
        exact: gaussian(0.0),
        initial: density(),
        improved: density(),
        ..Posteriors::default()
    };
    assert!(!check(&figure::posteriors(&data), &["Encoder", "Exact posterior"]).contains("HMC"));
    let surface = EnergySurface {
        observed: picture(4, 4),
        energy: bowl(),
        decoded: mosaic(),
        near: bowl(),
        paths: vec![ChainPath { points: vec![[0.1, 0.1]], end: [0.1, 0.1] }],
        ..EnergySurface::default()
    };
    assert!(!check(&figure::energy_surface(&surface), &["Draws near the posterior"]).contains("chain"));
}

#[test]
fn the_gain_says_how_much_of_the_gap_is_closed() {
    let near = |mean: f64| Estimate { mean, standard_error: 0.1 };
    let of = |name: &str, exact: f64, gap: f64| figure::GainOf {
        name: name.into(),
        exact: near(exact),
        bound: near(exact + gap),
        gap: near(gap),
        posterior: Posteriors {
            observed: picture(4, 4),
            exact: gaussian(0.0),
            initial: Density { density: gaussian(0.5), divergence: 1.25 },
            improved: Density { density: gaussian(0.1), divergence: 0.375 },
            hmc_steps: 2,
            ..Posteriors::default()
        },
    };
    let data = figure::Gain {
        plain: of("Plain", 145.0, 4.0),
        hmcvi: of("HMCVI", 143.0, 1.0),
        chosen: "It is the first.".into(),
    };
    let texts = [
        "close 75% of the bound’s gap",
        "2.0 nats better",
        "= 1.25 nats",
        "≈ 0.38 nats",
        "gap 4.00 ± 0.10",
        "It is the first.",
    ];
    check(&figure::gain(&data), &texts);
    let worse = figure::Gain { plain: data.hmcvi, hmcvi: data.plain, chosen: data.chosen };
    let svg = check(&figure::gain(&worse), &["1.00 and 4.00 nats"]);
    assert!(!svg.contains("close"), "no gain is claimed where there is none");
}
