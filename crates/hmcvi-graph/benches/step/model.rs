//! Write the HMCVI training step of the paper's table on the engine: a variational auto-encoder
//! whose posterior takes `T` HMC steps of `L` leapfrog steps with a learnt global mass and step size.

use hmcvi_graph::{Expr, Graph, Program, Store};

/// Sizes of the model.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub pixels: usize,
    pub hidden: usize,
    pub latent: usize,
    /// `T`; 0 for a plain variational auto-encoder.
    pub hmc_steps: usize,
    /// `L`
    pub leapfrog_steps: usize,
}

impl Sizes {
    pub fn paper(hmc_steps: usize, leapfrog_steps: usize) -> Self {
        Sizes { pixels: 784, hidden: 200, latent: 20, hmc_steps, leapfrog_steps }
    }
}

/// Parameters of the model, in the order of their creation.
pub struct Parameters<'g> {
    graph: &'g Graph,
    pub all: Vec<(String, Expr<'g>)>,
}

impl<'g> Parameters<'g> {
    fn get(&mut self, name: &str, rows: usize, cols: usize) -> Expr<'g> {
        let parameter = self.graph.parameter(name, rows, cols);
        if !self.all.iter().any(|(n, _)| n == name) {
            self.all.push((name.into(), parameter));
        }
        parameter
    }

    fn layer(&mut self, name: &str, x: Expr<'g>, cols: usize) -> Expr<'g> {
        let weight = self.get(&format!("{name}.weight"), x.cols(), cols);
        let bias = self.get(&format!("{name}.bias"), 1, cols);
        x.matmul(weight) + bias
    }

    /// Two hidden layers of rectified linear units; mean and log variance of a Gaussian.
    fn gaussian(&mut self, name: &str, x: Expr<'g>, sizes: Sizes) -> (Expr<'g>, Expr<'g>) {
        let h = self.layer(&format!("{name}.0"), x, sizes.hidden).relu();
        let h = self.layer(&format!("{name}.1"), h, sizes.hidden).relu();
        let out = self.layer(&format!("{name}.2"), h, 2 * sizes.latent);
        (out.slice_cols(0, sizes.latent), out.slice_cols(sizes.latent, sizes.latent))
    }
}

/// `½ log 2π`
const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// The bound of every data point `[N, 1]`, with all parameters it depends on.
pub fn bound<'g>(graph: &'g Graph, x: Expr<'g>, sizes: Sizes) -> (Expr<'g>, Parameters<'g>) {
    let mut p = Parameters { graph, all: Vec::new() };
    let d = sizes.latent as f64;

    let (mean, log_variance) = p.gaussian("encoder", x, sizes);
    let mut z = mean + (log_variance * 0.5).exp() * graph.normal(1, sizes.latent);
    let mut bound = (log_variance.sum_cols() + d) * 0.5 + d * HALF_LOG_TWO_PI;

    let mut energy = |z: Expr<'g>| {
        let h = p.layer("decoder.0", z, sizes.hidden).softplus();
        let h = p.layer("decoder.1", h, sizes.hidden).softplus();
        let logits = p.layer("decoder.2", h, sizes.pixels);
        (logits.softplus() - x * logits).sum_cols() + z.square().sum_cols() * 0.5 + d * HALF_LOG_TWO_PI
    };
    let mut last_energy = energy(z);
    if sizes.hmc_steps > 0 {
        let mut momenta = Vec::new();
        let log_mass = graph.parameter("log_mass", 1, sizes.latent);
        let log_step_size = graph.parameter("log_step_size", 1, 1);
        let (mass_root, step_size) = ((log_mass * 0.5).exp(), log_step_size.exp());
        let velocity_factor = step_size * (-log_mass).exp();
        for t in 0..sizes.hmc_steps {
            let mut v = mass_root * graph.normal(2 + t as u16, sizes.latent);
            for _ in 0..sizes.leapfrog_steps {
                v = v - step_size * 0.5 * graph.row_grad(last_energy, z);
                z = z + velocity_factor * v;
                last_energy = energy(z);
                v = v - step_size * 0.5 * graph.row_grad(last_energy, z);
            }
            momenta.push((t, z, v));
        }
        let entropy = (log_mass.sum_cols() + d) * 0.5 + d * HALF_LOG_TWO_PI;
        bound = bound + entropy * sizes.hmc_steps as f64;
        p.all.push(("log_mass".into(), log_mass));
        p.all.push(("log_step_size".into(), log_step_size));
        for (t, z, v) in momenta {
            let inputs = Expr::concat_cols(&[x, z, graph.constant(t as f64 + 2.0)]);
            let (mean, log_variance) = p.gaussian("reverse", inputs, sizes);
            let square = (v - mean).square() * (-log_variance).exp();
            bound = bound - (square + log_variance).sum_cols() * 0.5 - d * HALF_LOG_TWO_PI;
        }
    }
    (bound - last_energy, p)
}

/// Images of the batch, drawn anew from the pixels' bytes.
pub fn images(graph: &Graph, sizes: Sizes) -> Expr<'_> {
    let bytes = graph.gather("images", "batch", sizes.pixels);
    graph.uniform(0, sizes.pixels).less(bytes * (1.0 / 256.0))
}

/// One step of training: draw images, bound, gradient, Adam.
pub fn training_step(sizes: Sizes) -> Program {
    let graph = Graph::new();
    let (bound, parameters) = bound(&graph, images(&graph, sizes), sizes);
    let bound = bound.mean_rows();
    let wrt: Vec<Expr<'_>> = parameters.all.iter().map(|(_, p)| *p).collect();
    let gradient = graph.grad(-bound, &wrt);
    let mut program = graph.program().output("bound", bound);
    let rate = graph.scalar_input("learning_rate");
    let count = graph.scalar_input("count");
    // Bias corrections 1 - βᵗ.
    let [first, second] = [0.9, 0.999].map(|beta: f64| 1.0 - (count * beta.ln()).exp());
    let scale = rate * second.sqrt() / first;
    for ((name, p), g) in parameters.all.iter().zip(gradient) {
        let shape = p.shape();
        let state =
            |kind: &str| graph.parameter(&format!("adam.{kind}.{name}"), shape_rows(shape), shape.cols);
        let (m, v) = (state("m"), state("v"));
        let new_m = m * 0.9 + g * 0.1;
        let new_v = v * 0.999 + g.square() * 0.001;
        let new_p = *p - scale * new_m / (new_v.sqrt() + second.sqrt() * 1e-8);
        program = program.update(m, new_m).update(v, new_v).update(*p, new_p);
    }
    program.compile().expect("the program is well formed")
}

fn shape_rows(shape: hmcvi_graph::Shape) -> usize {
    match shape.rows {
        hmcvi_graph::Rows::Fixed(n) => n,
        hmcvi_graph::Rows::Batch => unreachable!("parameters have fixed rows"),
    }
}

/// Parameters drawn from N(0, 0.01), biases zero, a small step size, optimiser state zero.
pub fn initial_store(sizes: Sizes) -> Store<f32> {
    let graph = Graph::new();
    let (_, parameters) = bound(&graph, images(&graph, sizes), sizes);
    let mut store = Store::new();
    for (i, (name, p)) in parameters.all.iter().enumerate() {
        let (rows, cols) = (shape_rows(p.shape()), p.cols());
        let mut values = vec![0f32; rows * cols];
        if name.ends_with("weight") {
            let key = hmcvi_graph::random::Key { seed: 1, stream: i as u16, step: 0, row: 0 };
            hmcvi_graph::random::normal(key, &mut values);
            values.iter_mut().for_each(|v| *v *= 0.1);
        }
        if name == "log_step_size" {
            values[0] = 0.01f32.ln();
        }
        for kind in ["m", "v"] {
            let zeros = vec![0.0; rows * cols];
            store.insert(&format!("adam.{kind}.{name}"), rows, cols, zeros).expect("sizes agree");
        }
        store.insert(name, rows, cols, values).expect("sizes agree");
    }
    store
}
