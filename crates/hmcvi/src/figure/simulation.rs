//! Simulate one HMC step on a landscape and keep the whole path.

use hmcvi_graph::{CpuOptions, Executable, Graph, Run, Shape, Store};
use hmcvi_record::figure::{Field, Point};

use crate::hmc::{Kinetic, Leapfrog, SamplerError, State, Transition};
use crate::potential::Landscape;

/// An HMC step on a landscape with unit masses and the acceptance step.
pub(super) struct Simulation {
    executable: Executable<f64>,
    store: Store<f64>,
    leapfrog_steps: usize,
    seed: u64,
}

/// Particles after a leapfrog step.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    pub(super) z: Vec<Point>,
    pub(super) v: Vec<Point>,
    pub(super) potential: Vec<f64>,
    pub(super) kinetic: Vec<f64>,
}

/// What happened in an HMC step.
pub(super) struct Happened {
    /// From the new momenta to the proposals.
    pub(super) moments: Vec<Moment>,
    /// Whether each proposal was accepted.
    pub(super) accepted: Vec<bool>,
    /// The next states.
    pub(super) next: Moment,
}

/// Names of what is known of a moment.
const PARTS: [&str; 4] = ["z", "v", "potential", "kinetic"];

impl Simulation {
    pub(super) fn new(
        landscape: Landscape,
        (step_size, leapfrog_steps): (f64, usize),
        particles: usize,
        seed: u64,
    ) -> Result<Self, SamplerError> {
        let graph = Graph::new();
        let (potential, kinetic) = (landscape.potential(&graph), Kinetic::identity(&graph, 2));
        let leapfrog =
            Leapfrog { potential, kinetic, step_size: graph.constant(step_size), steps: leapfrog_steps };
        let transition = Transition { leapfrog, alpha: None, accept: true };
        let (z, v) = (graph.batch_input("z", 2), graph.batch_input("v", 2));
        let state = State::new(&transition.leapfrog.potential, z, v);
        let (next, info) = transition.step(state, graph.normal(0, 2), graph.uniform(1, 1));
        let mut program = graph.program().output("accepted", info.accepted.broadcast_to(Shape::batch(1)));
        let states = info.trajectory.states.iter().copied().chain([next]);
        for (i, state) in states.enumerate() {
            let kinetic = transition.leapfrog.kinetic.energy(state.v);
            for (part, value) in PARTS.iter().zip([state.z, state.v, -state.log_density, kinetic]) {
                program = program.output(&format!("{part}{i}"), value);
            }
        }
        let executable = program.compile()?.on_cpu(CpuOptions::for_rows(particles));
        Ok(Simulation { executable, store: Store::new(), leapfrog_steps, seed })
    }

    /// Moves particles on. Different steps draw different momenta.
    pub(super) fn run(&mut self, start: &[Point], step: u64) -> Result<Happened, SamplerError> {
        let (z, v) = (start.as_flattened(), vec![0.0; 2 * start.len()]);
        let inputs: &[(&str, &[f64])] = &[("z", z), ("v", &v)];
        let run = Run { rows: start.len(), inputs, seed: self.seed, step, ..Run::default() };
        self.executable.evaluate(&self.store, &run)?;
        let moment = |i: usize| {
            let output = |part: usize| {
                self.executable.output(&format!("{}{i}", PARTS[part])).expect("the program has this output")
            };
            let points = |part: usize| output(part).as_chunks::<2>().0.to_vec();
            Moment { z: points(0), v: points(1), potential: output(2).to_vec(), kinetic: output(3).to_vec() }
        };
        let accepted = self.executable.output("accepted").expect("the program has this output");
        Ok(Happened {
            moments: (0..=self.leapfrog_steps).map(moment).collect(),
            accepted: accepted.iter().map(|a| *a != 0.0).collect(),
            next: moment(self.leapfrog_steps + 1),
        })
    }
}

/// Half of the side of the square in which landscapes are shown.
const SIDE: f64 = 3.0;
/// Grid points of a side.
const GRID: usize = 121;

/// The potential energy of a landscape over a square.
pub(super) fn field(landscape: Landscape) -> Result<Field, SamplerError> {
    let graph = Graph::new();
    let energy = landscape.potential(&graph).energy(graph.batch_input("z", 2));
    let mut field = Field::empty([-SIDE; 2], [SIDE; 2], GRID, GRID);
    let points: Vec<Point> = field.points().collect();
    let program = graph.program().output("energy", energy).compile()?;
    let mut executable: Executable<f64> = program.on_cpu(CpuOptions::for_rows(points.len()));
    let inputs: &[(&str, &[f64])] = &[("z", points.as_flattened())];
    executable.evaluate(&Store::new(), &Run { rows: points.len(), inputs, ..Run::default() })?;
    field.values = executable.output("energy").expect("the program has this output").to_vec();
    Ok(field)
}
