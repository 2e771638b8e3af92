//! Measure the table of this machine: training steps, numbers of threads, products, and a GPU where there is one.

use clap::Args;
use hmcvi::device::Device;
use serde::Serialize;

use super::Ours;
use super::host::{Host, other_kernels};
use super::peer::Peer;
use super::products::{Packing, packing};
use super::step::{Measured, measure};
use super::table;
use crate::Context;
use crate::arguments::{DeviceName, Machine, PrecisionName, SumsName};
use crate::failure::Failure;
use crate::settings::{find, open_device};

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Rounds of about a second for each figure; medians are reported
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Compare with JAX and with the matrix products of NumPy, alternating with ours, using this Python
    #[arg(long, value_name = "PYTHON")]
    peer: Option<String>,
}

/// Presets and batches that are timed: three trajectories of four steps, and none.
const STEPS: [(&str, usize); 4] =
    [("hmcvi-13", 100), ("hmcvi-13", 500), ("hmcvi-13", 2000), ("basic-20d", 100)];
/// Batches that numbers of threads are timed with.
pub(super) const BATCHES: [usize; 3] = [100, 500, 2000];
/// Batches of the products.
const PRODUCTS: [usize; 2] = [100, 500];

/// Everything that was measured.
#[derive(Serialize)]
pub(super) struct Table {
    pub(super) command: String,
    pub(super) version: &'static str,
    pub(super) host: Host,
    pub(super) steps: Vec<Measured>,
    pub(super) threads: Vec<Threads>,
    pub(super) packing: Vec<Packing>,
    pub(super) gpu: Gpu,
}

/// Times of a step with some number of threads.
#[derive(Serialize)]
pub(super) struct Threads {
    pub(super) threads: usize,
    /// Median microseconds per image, for each of the batches.
    pub(super) us_per_image: Vec<f64>,
}

/// Steps on the GPU, or why there are none.
#[derive(Serialize)]
pub(super) struct Gpu {
    pub(super) steps: Vec<Measured>,
    pub(super) missing: Option<String>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if context.processes.ranks().is_some() {
        let text = "`bench all` is for one process, but several were started together";
        return Err(Failure::Usage(text.into()));
    }
    let Arguments { rounds, peer } = arguments;
    let bench = Bench { context, rounds: *rounds as usize, peer: peer.as_deref() };
    let threads = Device::cpu(0).threads();
    let command = peer.as_ref().map_or(String::new(), |python| format!(" --peer {python}"));
    let table = Table {
        command: format!("hmcvi bench all{command} --rounds {rounds}"),
        version: env!("CARGO_PKG_VERSION"),
        host: Host::find(threads, bench.peer),
        steps: bench.steps(DeviceName::Cpu, PrecisionName::F32)?,
        threads: bench.threads(threads)?,
        packing: PRODUCTS
            .iter()
            .map(|batch| packing(*batch, threads, bench.rounds))
            .collect::<Result<_, _>>()?,
        gpu: bench.gpu()?,
    };
    match context.terminal.json {
        true => context.terminal.print_json(&table),
        false => context.terminal.print(&table::markdown(&table)),
    }
}

/// How everything is measured.
struct Bench<'a> {
    context: &'a Context,
    rounds: usize,
    peer: Option<&'a str>,
}

impl Bench<'_> {
    /// All steps on a device, which is opened anew for each of them.
    fn steps(&self, device: DeviceName, precision: PrecisionName) -> Result<Vec<Measured>, Failure> {
        let machine = Machine { threads: 0, device, precision, sums: SumsName::Auto };
        STEPS.iter().map(|(preset, batch)| self.step(preset, *batch, &machine)).collect()
    }

    fn step(&self, preset: &str, batch: usize, machine: &Machine) -> Result<Measured, Failure> {
        let mut spec = find(preset)?.spec;
        spec.train.batch = batch;
        let device = open_device(machine)?;
        self.context.terminal.say(&format!("{preset}, batch {batch}, {}", device.describe()));
        let mut ours = Ours::new(&spec, &device)?;
        let mut peers = Vec::new();
        if let Some(python) = self.peer {
            peers.extend(Peer::jax_in_both_shapes(python, machine, &spec)?);
            if machine.device == DeviceName::Cpu {
                let products = ours.trainer.products();
                for kernels in std::iter::once(None).chain(other_kernels().map(Some)) {
                    peers.push(Peer::blas(python, kernels, products)?);
                }
            }
        }
        measure(self.context, preset, self.rounds, &mut ours, &mut peers)
    }

    /// The step with one thread, twice as many, and so on up to all.
    fn threads(&self, all: usize) -> Result<Vec<Threads>, Failure> {
        let powers = std::iter::successors(Some(1), |threads| Some(2 * threads));
        let numbers = powers.take_while(|threads| *threads < all).chain(std::iter::once(all));
        let with = |threads| {
            let machine = Machine {
                threads,
                device: DeviceName::Cpu,
                precision: PrecisionName::F32,
                sums: SumsName::Auto,
            };
            let time = |batch: &usize| {
                let alone = Bench { peer: None, ..*self };
                Ok(alone.step("hmcvi-13", *batch, &machine)?.us_per_image)
            };
            Ok(Threads { threads, us_per_image: BATCHES.iter().map(time).collect::<Result<_, Failure>>()? })
        };
        numbers.map(with).collect()
    }

    /// All steps on the GPU in both precisions, where there is one.
    fn gpu(&self) -> Result<Gpu, Failure> {
        let machine = Machine {
            threads: 0,
            device: DeviceName::Cuda,
            precision: PrecisionName::Tf32,
            sums: SumsName::Auto,
        };
        if let Err(why) = open_device(&machine) {
            return Ok(Gpu { steps: Vec::new(), missing: Some(why.parts().0) });
        }
        let mut steps = self.steps(DeviceName::Cuda, PrecisionName::Tf32)?;
        steps.extend(self.steps(DeviceName::Cuda, PrecisionName::F32)?);
        Ok(Gpu { steps, missing: None })
    }
}
