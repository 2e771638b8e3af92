//! Prove the leapfrog integrator's properties on every landscape: reversible, volume-preserving, an
//! energy error of second order, and one path for both of its forms.

mod common;

use common::{STENCIL, assert_close, determinant, evaluate, normals, per_row};
use hmcvi::hmc::{Kinetic, Leapfrog, State};
use hmcvi::potential::Landscape;
use hmcvi_graph::{Expr, Graph};

/// The kinds of step size that an integrator can be given.
#[derive(Clone, Copy, Debug)]
enum Steps {
    Global,
    PerDimension,
    PerRow,
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    landscape: Landscape,
    mass: [f64; 2],
    kind: Steps,
}

/// Every landscape with an identity and a non-trivial mass, and with all kinds of step size.
fn setups() -> Vec<Setup> {
    let mut all = Vec::new();
    for landscape in Landscape::ALL {
        all.push(Setup { landscape, mass: [1.0, 1.0], kind: Steps::Global });
        for kind in [Steps::Global, Steps::PerDimension, Steps::PerRow] {
            all.push(Setup { landscape, mass: [2.5, 0.4], kind });
        }
    }
    all
}

impl Setup {
    fn leapfrog<'g>(&self, graph: &'g Graph, step_size: f64, steps: usize) -> Leapfrog<'g> {
        let step_size = match self.kind {
            Steps::Global => graph.constant(step_size),
            Steps::PerDimension => graph.constant_matrix(1, 2, &[step_size, 0.6 * step_size]),
            // Between ½ and 1 of the step size, from row to row.
            Steps::PerRow => (graph.uniform(9, 1) + 1.0) * (0.5 * step_size),
        };
        let kinetic = Kinetic { log_mass: graph.constant_matrix(1, 2, &self.mass).log() };
        Leapfrog { potential: self.landscape.potential(graph), kinetic, step_size, steps }
    }
}

fn state<'g>(leapfrog: &Leapfrog<'g>, graph: &'g Graph) -> State<'g> {
    State::new(&leapfrog.potential, graph.batch_input("z", 2), graph.batch_input("v", 2))
}

const ROWS: usize = 24;

/// Starting positions and momenta.
fn start() -> (Vec<f64>, Vec<f64>) {
    (normals(1, 2 * ROWS), normals(2, 2 * ROWS))
}

#[test]
fn a_trajectory_run_backwards_ends_where_it_began() {
    let (z, v) = start();
    for setup in setups() {
        let graph = Graph::new();
        let leapfrog = setup.leapfrog(&graph, 0.1, 15);
        let first = state(&leapfrog, &graph);
        let there = leapfrog.integrate(first);
        let turned = there.end().with_momentum(-there.end().v);
        let back = leapfrog.integrate(turned);
        let outputs = [
            ("z", back.end().z),
            ("v", -back.end().v),
            ("far", there.end().z),
            ("diverged", there.diverged.max(back.diverged)),
        ];
        let found = evaluate(&graph, ROWS, &[("z", &z), ("v", &v)], &outputs);
        let what = format!("{setup:?}");
        assert!(found["diverged"].iter().all(|d| *d == 0.0), "{what}");
        assert_close(&what, &found["z"], &z, 1e-10);
        assert_close(&what, &found["v"], &v, 1e-10);
        // The particles were somewhere else in between.
        let moved = found["far"].iter().zip(&z).map(|(a, b)| (a - b).abs()).sum::<f64>() / (2 * ROWS) as f64;
        assert!(moved > 0.1, "{what}: moved by {moved}");
    }
}

#[test]
fn a_trajectory_preserves_volume() {
    const BASES: usize = 6;
    const STEP: f64 = 1e-3;
    let (z, v) = start();
    // Rows of one base point: for each of its four coordinates the four points of the stencil.
    let mut inputs = (Vec::new(), Vec::new());
    for base in 0..BASES {
        for coordinate in 0..4 {
            for (distance, _) in STENCIL {
                let mut s = [z[2 * base], z[2 * base + 1], v[2 * base], v[2 * base + 1]];
                s[coordinate] += distance * STEP;
                inputs.0.extend(&s[..2]);
                inputs.1.extend(&s[2..]);
            }
        }
    }
    for setup in setups() {
        // Rows differ in step size in this one; the rows of a base point must not.
        if matches!(setup.kind, Steps::PerRow) {
            continue;
        }
        let graph = Graph::new();
        let leapfrog = setup.leapfrog(&graph, 0.15, 4);
        let end = leapfrog.integrate(state(&leapfrog, &graph)).end();
        let rows = BASES * 16;
        let given: &[(&str, &[f64])] = &[("z", &inputs.0), ("v", &inputs.1)];
        let found = evaluate(&graph, rows, given, &[("z", end.z), ("v", end.v)]);
        let value =
            |row: usize, k: usize| if k < 2 { found["z"][2 * row + k] } else { found["v"][2 * row + k - 2] };
        for base in 0..BASES {
            let derivative = |coordinate: usize, k: usize| -> f64 {
                let row = |i| base * 16 + coordinate * 4 + i;
                STENCIL.iter().enumerate().map(|(i, (_, w))| w * value(row(i), k) / STEP).sum()
            };
            let jacobian = (0..4).map(|c| (0..4).map(|k| derivative(c, k)).collect()).collect();
            assert_close(&format!("{setup:?} {base}"), &[determinant(jacobian)], &[1.0], 1e-6);
        }
    }
}

#[test]
fn the_energy_error_falls_with_the_square_of_the_step_size() {
    let (z, v) = start();
    for setup in setups() {
        // The same trajectory length of 0.4 in steps of 0.02 and 0.01.
        let error = |step_size: f64, steps: usize| {
            let graph = Graph::new();
            let leapfrog = setup.leapfrog(&graph, step_size, steps);
            let first = state(&leapfrog, &graph);
            let error = leapfrog.energy(leapfrog.integrate(first).end()) - leapfrog.energy(first);
            let found = evaluate(&graph, ROWS, &[("z", &z), ("v", &v)], &[("error", error)]);
            found["error"].iter().map(|e| e * e).sum::<f64>().sqrt()
        };
        let ratio = error(0.02, 20) / error(0.01, 40);
        // 2² up to relative corrections of order (εω)², where ω < 8 is the largest frequency.
        assert!((ratio - 4.0).abs() < 0.1, "{setup:?}: {ratio}");
    }
}

#[test]
fn motion_under_constant_acceleration_is_the_same_path() {
    let (z, v) = start();
    for setup in setups() {
        let graph = Graph::new();
        let leapfrog = setup.leapfrog(&graph, 0.1, 8);
        let first = state(&leapfrog, &graph);
        let trajectory = leapfrog.integrate(first);
        assert_eq!(trajectory.states.len(), 9);
        let (mut kicks, mut positions) = (first, first);
        let mut differences: Vec<Expr<'_>> = Vec::new();
        for integrated in &trajectory.states[1..] {
            kicks = leapfrog.step(kicks);
            positions = leapfrog.position_step(positions);
            for other in [kicks, positions] {
                differences.push((integrated.z - other.z).abs().sum_cols());
                differences.push((integrated.v - other.v).abs().sum_cols());
                differences.push((integrated.force - other.force).abs().sum_cols());
                differences.push((integrated.log_density - other.log_density).abs());
            }
        }
        let all = Expr::concat_cols(&differences);
        let moved = per_row((trajectory.end().z - first.z).abs().sum_cols());
        let found = evaluate(&graph, ROWS, &[("z", &z), ("v", &v)], &[("all", all), ("moved", moved)]);
        let worst = found["all"].iter().copied().fold(0.0, f64::max);
        assert!(worst < 1e-11, "{setup:?}: {worst}");
        assert!(found["moved"].iter().all(|m| *m > 1e-3), "{setup:?}");
    }
}

#[test]
fn a_known_trajectory_of_the_harmonic_oscillator() {
    // U = z²/2, M = 4, ε = 0.5. One step from z = 1, v = 2:
    //   v½ = 2 - 0.25·1 = 1.75;  z = 1 + 0.5·1.75/4 = 1.21875;  v = 1.75 - 0.25·1.21875 = 1.4453125
    let graph = Graph::new();
    let potential = hmcvi::potential::Potential::from_expression(1, |z| z.square() * -0.5);
    let kinetic = Kinetic { log_mass: graph.constant(4.0).log() };
    let leapfrog = Leapfrog { potential, kinetic, step_size: graph.constant(0.5), steps: 1 };
    let first = State::new(&leapfrog.potential, graph.batch_input("z", 1), graph.batch_input("v", 1));
    let end = leapfrog.integrate(first).end();
    let outputs = [("z", end.z), ("v", end.v), ("energy", leapfrog.energy(first)), ("force", end.force)];
    let found = evaluate(&graph, 1, &[("z", &[1.0]), ("v", &[2.0])], &outputs);
    assert_close("position", &found["z"], &[1.218_75], 1e-15);
    assert_close("momentum", &found["v"], &[1.445_312_5], 1e-15);
    // ½·1² + ½·2²/4
    assert_close("energy", &found["energy"], &[1.0], 1e-15);
    assert_close("force", &found["force"], &[-1.218_75], 1e-15);
}
