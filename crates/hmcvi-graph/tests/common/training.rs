//! Run the training step of the benchmark's model at small sizes.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test file uses a part of this")]

#[path = "../../benches/step/model.rs"]
pub mod model;

use hmcvi_graph::{CpuOptions, DataSet, Executable, Program, Real, Run, Store};

use crate::common::Draws;
use model::Sizes;

/// Sizes that are no multiples of any vector.
pub const SMALL: Sizes = Sizes { pixels: 30, hidden: 17, latent: 3, hmc_steps: 2, leapfrog_steps: 2 };

/// Images in the data set.
pub const IMAGES: usize = 300;

pub fn images(sizes: Sizes) -> Vec<u8> {
    let mut draws = Draws(11);
    (0..IMAGES * sizes.pixels).map(|_| draws.below(256) as u8).collect()
}

/// Parameters that are all different from zero, so that nothing is hidden by a zero bias.
pub fn random_store<T: Real>(sizes: Sizes) -> Store<T> {
    let mut store = model::initial_store(sizes).convert::<f64>();
    let names: Vec<String> = store.iter().map(|(name, _)| name.into()).collect();
    let mut draws = Draws(12);
    for name in names.iter().filter(|name| !name.starts_with("adam.")) {
        for value in &mut store.get_mut(name).expect("it was listed").values {
            *value += draws.uniform(-0.3, 0.3);
        }
    }
    store.get_mut("log_step_size").expect("the model has one").values[0] = 0.2f64.ln();
    store.convert()
}

/// A training run: a prepared program with its store and its data.
pub struct Trainer<T: Real> {
    pub executable: Executable<T>,
    pub store: Store<T>,
    images: Vec<u8>,
    batch: Vec<u32>,
    step: u64,
}

impl<T: Real> Trainer<T> {
    pub fn new(program: &Program, options: CpuOptions, sizes: Sizes, store: Store<T>) -> Self {
        let batch = (0..options.rows as u32).collect();
        Trainer { executable: program.on_cpu(options), store, images: images(sizes), batch, step: 0 }
    }

    /// Takes a step on a batch of some rows and returns the bound. Allocates nothing itself.
    pub fn step(&mut self, rows: usize) -> T {
        for (i, index) in self.batch.iter_mut().enumerate() {
            *index = ((i as u64 * 7 + self.step * 31) % IMAGES as u64) as u32;
        }
        let (rate, count) = ([T::from_f64(0.01)], [T::from_f64(self.step as f64 + 1.0)]);
        let run = Run {
            rows,
            inputs: &[("learning_rate", &rate), ("count", &count)],
            data: &[("images", DataSet::Bytes(&self.images))],
            indices: &[("batch", &self.batch[..rows])],
            seed: 42,
            step: self.step,
            row_offset: 0,
        };
        self.executable.run(&mut self.store, &run).expect("everything is given");
        self.step += 1;
        self.executable.output("bound").expect("the bound is an output")[0]
    }
}
