//! Time the training step on a GPU, in turn with the JAX peer on the same GPU.

use std::collections::BTreeMap;
use std::time::Instant;

use hmcvi_graph::cuda::{
    CudaData, CudaDevice, CudaExecutable, CudaIndex, CudaIndices, CudaOptions, CudaRun, CudaStore, Precision,
};
use hmcvi_graph::{DataSet, Program};

use crate::{Arguments, Peer, images, index, least, median, model, ratios};

/// Seconds that one repetition should take.
const REPETITION: f64 = 0.3;

pub fn measure(arguments: &Arguments, program: &Program) {
    for &batch in &arguments.batches {
        let options = CudaOptions {
            precision: if arguments.exact { Precision::F32 } else { Precision::Tf32 },
            row_tiles: arguments.row_tiles,
            cluster: arguments.cluster,
            trace: arguments.trace,
            cache: arguments.cache.as_ref().map(Into::into),
            ..CudaOptions::for_rows(batch)
        };
        if arguments.cuda_source {
            print!("{}", program.cuda_source(&options, 132));
            continue;
        }
        let device = CudaDevice::new(0).unwrap_or_else(|why| panic!("{why}"));
        if arguments.jobs > 1 {
            side_by_side(arguments, program, &device, &options);
        } else {
            one_batch(arguments, program, &device, &options);
        }
    }
}

fn one_batch(arguments: &Arguments, program: &Program, device: &CudaDevice, options: &CudaOptions) {
    let batch = options.rows;
    let start = Instant::now();
    let executable = program.on_cuda(device, options).unwrap_or_else(|why| panic!("{why}"));
    let prepared = start.elapsed().as_secs_f64();
    let mut ours = Ours::new(arguments, device, executable);
    let precision = if arguments.exact { "highest" } else { "tf32" };
    let mut peers: Vec<Peer> = match &arguments.peer {
        Some(python) => ["scan", "unroll"].map(|l| Peer::start(python, l, arguments, precision)).into(),
        None => Vec::new(),
    };
    ours.time(20);
    let steps = (REPETITION / ours.time(20)).ceil() as usize;
    for peer in &mut peers {
        peer.time(batch, 20);
    }
    let (mut own, mut theirs) = (Vec::new(), vec![Vec::new(); peers.len()]);
    for _ in 0..arguments.rounds {
        own.push(ours.time(steps) * 1e6 / batch as f64);
        for (peer, times) in peers.iter_mut().zip(&mut theirs) {
            times.push(peer.time(batch, steps));
        }
    }
    if arguments.trace {
        return trace(&ours.executable);
    }
    let kernels = ours.executable.kernels();
    let us = median(&own);
    let bound = f64::from(ours.executable.output("bound").unwrap()[0]);
    let (rows, cluster) = ours.executable.tile();
    let profile: Vec<serde_json::Value> = ours
        .executable
        .profile(20)
        .unwrap()
        .into_iter()
        .map(|(name, us)| serde_json::json!([name, us]))
        .collect();
    let peer: serde_json::Map<String, serde_json::Value> = peers
        .iter()
        .zip(&theirs)
        .map(|(p, times)| {
            let ratio = median(&ratios(times, &own));
            (p.name.into(), serde_json::json!({"us_per_image": median(times), "ratio": ratio}))
        })
        .collect();
    let record = serde_json::json!({
        "device": device.name(), "precision": precision, "batch": batch,
        "hmc_steps": arguments.sizes.hmc_steps, "leapfrog_steps": arguments.sizes.leapfrog_steps,
        "tile_rows": rows, "cluster": cluster, "us_per_image": us, "us_per_image_best": least(&own),
        "ms_per_step": us * batch as f64 / 1e3, "kernels": kernels, "us_per_kernel": us * batch as f64 / kernels as f64,
        "steps": ours.step, "bound": bound, "bytes": ours.executable.bytes(), "seconds_to_prepare": prepared,
        "kernel_us": profile, "peers": peer,
    });
    println!("{record}");
}

/// Prints cycles of the row stages' steps, those of one kind together: how many, waiting and working.
fn trace(executable: &CudaExecutable) {
    let mut kinds: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for (label, wait, work) in executable.trace().unwrap() {
        let kind = kinds.entry(label).or_default();
        *kind = (kind.0 + 1, kind.1 + wait, kind.2 + work);
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, (_, wait, work))| std::cmp::Reverse(wait + work));
    let total: u64 = kinds.iter().map(|(_, (_, wait, work))| wait + work).sum();
    println!("{total} cycles in all; number of steps, cycles of each waiting and working, share");
    for (label, (count, wait, work)) in kinds {
        let share = 100.0 * (wait + work) as f64 / total as f64;
        println!("{count:4} {:7} {:7} {share:5.1}% {label}", wait / count, work / count);
    }
}

struct Ours {
    executable: CudaExecutable,
    store: CudaStore,
    images: CudaData,
    index: CudaIndex,
    step: u64,
}

impl Ours {
    fn new(arguments: &Arguments, device: &CudaDevice, executable: CudaExecutable) -> Self {
        Ours {
            store: CudaStore::upload(device, &model::initial_store(arguments.sizes)).unwrap(),
            images: CudaData::upload(device, DataSet::Bytes(&images(arguments.sizes))).unwrap(),
            index: CudaIndex::upload(device, &index(executable.rows())).unwrap(),
            executable,
            step: 0,
        }
    }

    /// Queues a step.
    fn run(&mut self) {
        self.step += 1;
        let run = CudaRun {
            rows: self.executable.rows(),
            inputs: &[("learning_rate", &[1e-4]), ("count", &[self.step as f32])],
            data: &[("images", &self.images)],
            indices: &[("batch", CudaIndices::Device(&self.index, 0))],
            seed: 7,
            step: self.step,
            ..CudaRun::default()
        };
        self.executable.run(&mut self.store, &run).expect("the run is complete");
    }

    /// Seconds per step, of steps that are queued without waiting.
    fn time(&mut self, steps: usize) -> f64 {
        self.executable.synchronise().unwrap();
        let start = Instant::now();
        (0..steps).for_each(|_| self.run());
        self.executable.synchronise().unwrap();
        start.elapsed().as_secs_f64() / steps as f64
    }
}

/// Times several runs on queues of their own, one after the other and side by side.
fn side_by_side(arguments: &Arguments, program: &Program, device: &CudaDevice, options: &CudaOptions) {
    let mut jobs: Vec<Ours> = (0..arguments.jobs)
        .map(|_| {
            let queue = device.another_queue().unwrap();
            let executable = program.on_cuda(&queue, options).unwrap_or_else(|why| panic!("{why}"));
            Ours::new(arguments, &queue, executable)
        })
        .collect();
    let steps = (REPETITION / jobs.iter_mut().map(|job| job.time(20)).fold(0.0, f64::max)).ceil() as usize;
    let (mut apart, mut together) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        apart.push(jobs.iter_mut().map(|job| job.time(steps)).sum());
        let start = Instant::now();
        for _ in 0..steps {
            jobs.iter_mut().for_each(Ours::run);
        }
        jobs.iter().for_each(|job| job.executable.synchronise().unwrap());
        together.push(start.elapsed().as_secs_f64() / steps as f64);
    }
    let record = serde_json::json!({
        "device": device.name(), "batch": options.rows, "jobs": arguments.jobs,
        "hmc_steps": arguments.sizes.hmc_steps, "leapfrog_steps": arguments.sizes.leapfrog_steps,
        "ms_apart": 1e3 * median(&apart), "ms_together": 1e3 * median(&together),
        "times_sooner": median(&ratios(&apart, &together)),
    });
    println!("{record}");
}
