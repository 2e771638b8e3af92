//! Draw every figure from small data, and check what is in the drawing.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi_record::figure::{
    Binarised, ChainPath, Density, EnergySurface, Ensemble, Field, FlowChart, FlowState, LatentSquare,
    Mosaic, Motion, Particles, Phase, Picture, Point, Posteriors,
};
use hmcvi_record::{Curve, LatentPoint};
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
    for tag in ["g", "text", "tspan", "clipPath", "title"] {
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
        (0..30).map(|i| LatentPoint { x: f64::from(i) / 30.0, y: 0.5, class: i as u8 % 3 }).collect();
    let data = LatentSquare { images: 30, decoded: mosaic(), points };
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
        draws: 1000,
        estimate_of_exact: 0.004,
        estimate_of_initial: 0.512,
        ..Posteriors::default()
    };
    let texts =
        ["KL = 0.500 nats", "KL ≈ 0.020 nats", "log p(x) = −123.46 nats", "1000 draws", "0.004", "0.512"];
    check(&figure::posteriors(&data), &texts);
}

#[test]
fn data_without_a_point_is_drawn_without_one() {
    check(&figure::latent_square(&LatentSquare { decoded: mosaic(), ..LatentSquare::default() }), &["class"]);
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
    // Two lines have colours that came before: they and their signs are dashed.
    assert_eq!(svg.matches("stroke-dasharray").count(), 4);
}

#[test]
fn a_chart_without_points_is_refused_by_name() {
    let curves = vec![Curve { name: "row".into(), points: vec![(0.0, f64::NAN)] }];
    let data = figure::Chart { title: "Bound".into(), curves, ..figure::Chart::default() };
    assert!(matches!(figure::chart(&data), Err(ReportError::Empty(title)) if title == "Bound"));
}

#[test]
fn latent_maps_have_a_panel_for_each_model_and_one_legend() {
    let point = |i: u8| LatentPoint { x: f64::from(i), y: -f64::from(i), class: i };
    let panel = |name: &str| (name.to_string(), (0..3).map(point).collect());
    let scene = figure::latent_map(&[panel("basic"), panel("hmcvi")]).expect("there are points");
    let svg = check(&scene, &["basic", "hmcvi", "class"]);
    assert_eq!(svg.matches(">class<").count(), 1);
    assert!(figure::latent_map(&[("empty".into(), Vec::new())]).is_err());
}
