//! Compare products whose right operand is packed once for all rows with a general product, which packs in every call.

use std::time::Instant;

use hmcvi_graph::{CpuOptions, Executable, Graph, Run, Store};
use hmcvi_yardstick::{Right, multiply};
use serde::Serialize;

use super::{ROUND, median};
use crate::failure::Failure;

/// The decoder's largest product and its transpose, as often as a step of three trajectories of four evaluates them.
const TIMES: usize = 13;
const NARROW: usize = 200;
const WIDE: usize = 784;
const FLOP_PER_ROW: usize = 2 * 2 * TIMES * NARROW * WIDE;

/// What products with the same operand reach.
#[derive(Serialize)]
pub(super) struct Packing {
    pub(super) batch: usize,
    pub(super) gflops_packed_once: f64,
    pub(super) gflops_packed_always: f64,
    /// Median over the rounds of the quotient of both.
    pub(super) gain: f64,
}

/// Times both in turn.
pub(super) fn packing(batch: usize, threads: usize, rounds: usize) -> Result<Packing, Failure> {
    let mut once = Once::new(batch, threads)?;
    let flop = (FLOP_PER_ROW * batch) as f64;
    let steps = (ROUND / once.seconds(3)?).ceil().max(1.0) as usize;
    let (mut ours, mut general) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(flop / once.seconds(steps)? / 1e9);
        general.push(always(batch, threads, steps));
    }
    Ok(Packing {
        batch,
        gflops_packed_once: median(ours.iter().copied()),
        gflops_packed_always: median(general.iter().copied()),
        gain: median(ours.iter().zip(&general).map(|(ours, general)| ours / general)),
    })
}

/// Equal weights, so large that values keep their size.
fn weights() -> Vec<f32> {
    vec![1.0 / ((NARROW * WIDE) as f32).sqrt(); NARROW * WIDE]
}

/// The engine, which packs both operands at the beginning of a step.
struct Once {
    executable: Executable<f32>,
    store: Store<f32>,
    x: Vec<f32>,
}

impl Once {
    fn new(batch: usize, threads: usize) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| Failure::Other(format!("the products: {why}"));
        let graph = Graph::new();
        let (x, w) = (graph.batch_input("x", NARROW), graph.parameter("w", NARROW, WIDE));
        let last = (0..TIMES).fold(x, |x, _| x.matmul(w).matmul_transposed(w));
        let program = graph.program().output("last", last).compile().map_err(|why| failed(&why))?;
        let mut store = Store::new();
        store.insert("w", NARROW, WIDE, weights()).map_err(|why| failed(&why))?;
        let executable = program.on_cpu(CpuOptions { threads, ..CpuOptions::for_rows(batch) });
        Ok(Once { executable, store, x: vec![1.0; batch * NARROW] })
    }

    /// Seconds of a step.
    fn seconds(&mut self, steps: usize) -> Result<f64, Failure> {
        let run = Run { rows: self.x.len() / NARROW, inputs: &[("x", &self.x)], ..Run::default() };
        let start = Instant::now();
        for _ in 0..steps {
            let done = self.executable.evaluate(&self.store, &run);
            done.map_err(|why| Failure::Other(format!("the products: {why}")))?;
        }
        Ok(start.elapsed().as_secs_f64() / steps as f64)
    }
}

/// GFLOP/s of the `gemm` crate. Each thread takes its part of the rows in tiles that are no larger than the engine's, and
/// waits for no other thread at the end of a step.
fn always(batch: usize, threads: usize, steps: usize) -> f64 {
    let tile = CpuOptions::for_rows(batch).tile_rows;
    let part = |rows: usize| {
        let (w, tiles) = (weights(), rows.div_ceil(tile).max(1));
        let rows = rows.div_ceil(tiles);
        let (mut narrow, mut wide) = (vec![1.0; rows * NARROW], vec![0.0; rows * WIDE]);
        for _ in 0..steps * tiles * TIMES {
            let right = Right { values: &w, is_transposed: false };
            multiply([rows, NARROW, WIDE], &narrow, right, &mut wide);
            let right = Right { is_transposed: true, ..right };
            multiply([rows, WIDE, NARROW], &wide, right, &mut narrow);
        }
        rows * tiles
    };
    let start = Instant::now();
    let rows: usize = std::thread::scope(|scope| {
        let rows = |thread| (thread + 1) * batch / threads - thread * batch / threads;
        let parts: Vec<_> = (0..threads).map(|t| scope.spawn(move || part(rows(t)))).collect();
        parts.into_iter().map(|part| part.join().unwrap_or_default()).sum()
    });
    (FLOP_PER_ROW * rows * steps) as f64 / start.elapsed().as_secs_f64() / 1e9
}
